import numpy as np

from aflite_assets.data.questions import is_multiple_choice, whole_questions

GROUPS = np.repeat([7, 3, 5, 9], [2, 3, 4, 5])
RIGHT = np.array([1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], bool)


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
