import numpy as np
import pytest

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.scores.questions import is_multiple_choice, question_scores, whole_questions

GROUPS = np.repeat([7, 3, 5, 9], [2, 3, 4, 5])
RIGHT = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], bool)


def test_questions_of_two_to_five_answers_are_right_where_the_right_answer_is_likeliest() -> None:
    probability = np.array([0.2, 0.1, 0.9, 0.8, 0.1, 0.3, 0.3, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0, 0.001])
    scores = question_scores(probability, RIGHT, GROUPS)
    assert scores.questions.tolist() == [3, 5, 7, 9]
    assert scores.credit.tolist() == [0, 1, 1, 1]
    assert scores.accuracy == 0.75
    assert scores.chance.tolist() == [1 / 3, 1 / 4, 1 / 2, 1 / 5]


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    probability, order = rng.random(len(GROUPS)), rng.permutation(len(GROUPS))
    one, other = (
        question_scores(probability, RIGHT, GROUPS),
        question_scores(probability[order], RIGHT[order], GROUPS[order]),
    )
    assert np.array_equal(one.credit, other.credit)


def test_equal_probabilities_give_the_credit_of_a_draw_among_them() -> None:
    scores = question_scores(np.full(len(GROUPS), 0.5), RIGHT, GROUPS)
    assert np.array_equal(scores.credit, scores.chance)
    probability = np.array([0.5, 0.5, 0.2])
    credit = question_scores(probability, np.array([True, False, False]), np.zeros(3, np.int64)).credit
    assert credit.tolist() == [0.5]


def test_rows_of_a_question_that_is_not_whole_are_left_out() -> None:
    assert is_multiple_choice(RIGHT, GROUPS)
    kept = np.ones(len(GROUPS), bool)
    kept[3] = False
    assert whole_questions(RIGHT, GROUPS, kept).tolist() == [True] * 2 + [False] * 3 + [True] * 9
    two_right = RIGHT.copy()
    two_right[1] = True
    assert whole_questions(two_right, GROUPS).tolist() == [False] * 2 + [True] * 12
    assert not is_multiple_choice(two_right, GROUPS)
    assert not is_multiple_choice(RIGHT, None)
    assert not is_multiple_choice(np.array([True]), np.array([0]))


def test_what_is_no_question_or_no_number_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="fewer than two answers or not exactly one that is right"):
        question_scores(np.array([0.1, 0.2]), np.array([True, True]), np.zeros(2, np.int64))
    with pytest.raises(InvalidInputError, match="2 answers with 1 probabilities that are not finite"):
        question_scores(np.array([0.1, np.nan]), np.array([True, False]), np.zeros(2, np.int64))
    with pytest.raises(InvalidInputError, match="0 answers with 0 probabilities"):
        question_scores(np.zeros(0), np.zeros(0, bool), np.zeros(0, np.int64))
