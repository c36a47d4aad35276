import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import (
    credit_by_question,
    guessing_credit,
    is_multiple_choice,
    right_answers,
    right_class,
    whole_questions,
)

GROUPS = np.repeat([7, 3, 5, 9], [2, 3, 4, 5])
RIGHT = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], bool)


def test_rows_of_a_question_that_is_not_whole_are_left_out() -> None:
    assert is_multiple_choice(RIGHT, GROUPS)
    kept = np.ones(len(GROUPS), bool)
    kept[3] = False
    assert whole_questions(RIGHT, GROUPS, kept).tolist() == [True] * 2 + [False] * 3 + [True] * 9
    all_right = RIGHT.copy()
    all_right[1] = True
    assert whole_questions(all_right, GROUPS).tolist() == [False] * 2 + [True] * 12
    assert not is_multiple_choice(all_right, GROUPS)
    two_right = RIGHT.copy()
    two_right[3:5] = True
    assert is_multiple_choice(two_right, GROUPS)
    assert not is_multiple_choice(RIGHT, None)
    assert not is_multiple_choice(np.array([True]), np.array([0]))


def test_where_a_source_lost_rows_one_whole_question_is_enough() -> None:
    two_right = RIGHT.copy()
    two_right[1] = True
    assert is_multiple_choice(two_right, GROUPS, partly=True)
    assert not is_multiple_choice(np.ones(2, bool), np.array([0, 0]), partly=True)
    assert not is_multiple_choice(np.zeros(0, bool), np.zeros(0, np.int64), partly=True)
    columns = {"row_id": range(5), "split": ["train"] * 5, "label": [0, 1, 1, 1, 0], "text": ["which?"] * 5}
    asked = Examples(pa.table(columns | {"group": [0, 0, 1, 1, 1]}), ("right", "wrong"))
    answers = right_answers(asked)
    assert answers is not None
    assert answers.tolist() == [True, False, False, False, True]
    broken = asked.select(np.array([0, 1, 2, 3]))
    assert right_answers(broken) is None
    assert right_answers(broken, partly=True) is not None


def test_ties_share_the_credit_and_guessing_counts_right_answers() -> None:
    right, groups = np.array([True, False, True, True, False]), np.array([1, 1, 2, 2, 2])
    assert credit_by_question(np.array([3.0, 3.0, 1.0, 2.0, 2.0]), right, groups).tolist() == [0.5, 0.5]
    assert guessing_credit(right, groups).tolist() == [0.5, pytest.approx(2 / 3)]


def test_right_is_one_of_two_classes() -> None:
    assert (right_class(("wrong", "right")), right_class(("right", "wrong"))) == (1, 0)
    assert right_class(("right", "wrong", "open")) is None
    assert right_class(("yes", "no")) is None


def test_left_and_right_are_no_answers_even_if_every_group_has_both() -> None:
    columns = {"row_id": range(4), "split": ["train"] * 4, "label": [0, 1, 1, 0], "text": list("abcd")}
    articles = Examples(pa.table(columns | {"group": [0, 0, 1, 1]}), ("left", "right"))
    assert right_class(articles.label_names) is None
    assert right_answers(articles) is None
