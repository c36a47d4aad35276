import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.accuracy import MissingScore, correct_rows, score
from aflite_assets.analysis.scores.questions import (
    answer_credit,
    question_predictions,
    question_set,
)
from aflite_assets.errors import InvalidInputError

GROUPS = np.repeat([7, 3, 5, 9], [2, 3, 4, 5])
RIGHT = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], bool)


def test_questions_of_two_to_five_answers_are_right_where_the_right_answer_is_likeliest() -> None:
    probability = np.array([0.2, 0.1, 0.9, 0.8, 0.1, 0.3, 0.3, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0, 0.001])
    credit = answer_credit(probability, RIGHT, GROUPS)
    assert credit.tolist() == [0, 1, 1, 1]  # of questions 3, 5, 7 and 9
    assert credit.mean() == 0.75


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    probability, order = rng.random(len(GROUPS)), rng.permutation(len(GROUPS))
    one, other = (
        answer_credit(probability, RIGHT, GROUPS),
        answer_credit(probability[order], RIGHT[order], GROUPS[order]),
    )
    assert np.array_equal(one, other)


def test_equal_probabilities_give_the_credit_of_a_draw_among_them() -> None:
    assert answer_credit(np.full(len(GROUPS), 0.5), RIGHT, GROUPS).tolist() == [1 / 3, 1 / 4, 1 / 2, 1 / 5]
    probability = np.array([0.5, 0.5, 0.2])
    credit = answer_credit(probability, np.array([True, False, False]), np.zeros(3, np.int64))
    assert credit.tolist() == [0.5]


def test_what_is_no_question_or_no_number_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="a question lacks a right or a wrong answer"):
        answer_credit(np.array([0.1, 0.2]), np.array([True, True]), np.zeros(2, np.int64))
    with pytest.raises(InvalidInputError, match="2 answers, and 1 probabilities are not finite"):
        answer_credit(np.array([0.1, np.nan]), np.array([True, False]), np.zeros(2, np.int64))
    with pytest.raises(InvalidInputError, match="0 answers, and 0 probabilities"):
        answer_credit(np.zeros(0), np.zeros(0, bool), np.zeros(0, np.int64))


def _by_answer(kept: np.ndarray | None = None, *, groups: np.ndarray | None = GROUPS) -> TestSet:
    """Answers with the row ids 100, 101, ...; class 0 is right."""
    rows = len(RIGHT)
    marks = {} if kept is None else {"small": kept}
    labels = np.where(RIGHT, 0, 1)
    return TestSet("test", False, np.arange(100, 100 + rows), labels, ("right", "wrong"), marks, groups=groups)


def _cell(probability: np.ndarray | None) -> Cell:
    """Predictions of the answers in another order than the test set's."""
    order = np.random.default_rng(1).permutation(len(RIGHT))
    values = None if probability is None else [[p, 1 - p] for p in probability[order].tolist()]
    table = pa.table(
        {
            "test_set": ["test"] * len(order),
            "row_id": 100 + order,
            "predicted": np.ones(len(order), np.int64),  # by answer it always says wrong
            "probabilities": pa.array(values, pa.list_(pa.float64()))
            if values
            else pa.nulls(len(order), pa.list_(pa.float64())),
        }
    )
    return Cell("model", "full", None, 0, 10, "done", None, table)


def test_a_set_of_questions_has_the_right_answers_rows_and_the_mean_chance() -> None:
    asked = question_set(_by_answer(), right=0)
    assert (asked.unit, asked.groups) == ("question", None)
    assert asked.row_ids.tolist() == [103, 108, 100, 113]  # of the groups 3, 5, 7, 9
    assert asked.labels.tolist() == [0, 0, 0, 0]
    assert asked.chance == pytest.approx(np.mean([1 / 3, 1 / 4, 1 / 2, 1 / 5]))


def test_a_question_is_kept_where_all_its_answers_are() -> None:
    kept = np.ones(len(RIGHT), bool)
    kept[[6, 13]] = False  # a wrong answer of group 5, the right one of group 9
    assert question_set(_by_answer(kept), right=0).kept["small"].tolist() == [True, False, True, False]


def test_a_question_that_is_not_whole_is_left_out_and_said() -> None:
    groups = GROUPS.copy()
    groups[0] = 4  # the right answer of group 7 by itself
    asked = question_set(_by_answer(groups=groups), right=0)
    assert asked.row_ids.tolist() == [103, 108, 113]
    assert asked.notes == ("Questions without a right answer or without a wrong one are left out: 2.",)
    with pytest.raises(InvalidInputError, match="no question of test set 'test' has both"):
        question_set(_by_answer(groups=None), right=0)


def test_questions_of_several_right_answers_share_their_credit_and_keep_their_groups() -> None:
    right, questions = np.array([True, True, False, True, False]), np.array([4, 4, 4, 2, 2])
    credit = answer_credit(np.array([0.7, 0.9, 0.9, 0.5, 0.5]), right, questions)
    assert credit.tolist() == [0.5, 0.5]  # by question number: 2, then 4
    labels, groups = np.where(right, 0, 1), np.full(5, 8)
    one = TestSet("t", False, np.arange(5), labels, ("right", "wrong"), {}, groups=groups, questions=questions)
    asked = question_set(one, right=0)
    assert asked.row_ids.tolist() == [3, 0]
    assert asked.chance == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert asked.groups is not None
    assert asked.groups.tolist() == [8, 8]  # both questions are of one group, and intervals count groups


def test_predictions_of_answers_become_those_of_questions() -> None:
    probability = np.array([0.2, 0.1, 0.9, 0.8, 0.1, 0.3, 0.3, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    by_answer = _by_answer()
    table = question_predictions(_cell(probability), by_answer, right=0)
    assert table["row_id"].to_pylist() == [103, 108, 100, 113]
    assert table["credit"].to_pylist() == [0.0, 1.0, 1.0, 0.2]
    assert table["picked"].to_pylist() == [102, 108, 100, 109]  # of equal ones the first
    assert table["predicted"].to_pylist() == [1, 0, 0, 1]
    cell = Cell("model", "full", None, 0, 10, "done", None, table)
    asked = question_set(by_answer, right=0)
    credit = correct_rows(cell, asked)
    assert isinstance(credit, np.ndarray)
    assert credit.tolist() == [0.0, 1.0, 1.0, 0.2]
    found = score([credit], np.array([True, True, False, True]), asked.groups)
    assert found.accuracy is not None
    assert (found.test_rows, found.accuracy) == (3, pytest.approx(0.4))


def test_without_probabilities_there_is_no_score() -> None:
    table = question_predictions(_cell(None), _by_answer(), right=0)
    assert table["credit"].null_count == 4
    cell = Cell("model", "full", None, 0, 10, "done", None, table)
    missing = correct_rows(cell, question_set(_by_answer(), right=0))
    assert missing == MissingScore("no probabilities", "model gives none to choose an answer by")
    with pytest.raises(InvalidInputError, match="'model' has no predictions of test set 'test': not run"):
        question_predictions(Cell("model", "full", None, 0, 10, "not run"), _by_answer(), right=0)
