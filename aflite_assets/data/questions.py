"""Functions for questions with one row per right or wrong answer, including scoring with credit per question.

The package `formats` reads the rows from files.
"""

from collections.abc import Sequence

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.answers import RIGHT, WRONG

_BLOCK = 4096
"""Number of answers whose features are processed together."""


def whole_questions(right: np.ndarray, groups: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Return a bool per row: True if the row's question can be scored.

    A question can be scored if it has a right and a wrong answer, and all its rows are `chosen`. `right`: bool (rows,).
    `groups`: int64 (rows,), a number per question. `chosen`: bool (rows,), or None for all rows.
    """
    _, question = np.unique(groups, return_inverse=True)
    answers = np.bincount(question)
    n_right = np.bincount(question, weights=right)
    fit = (n_right >= 1) & (n_right < answers)
    if chosen is not None:
        fit &= np.bincount(question, weights=chosen) == answers
    return fit[question]


def right_class(label_names: Sequence[str]) -> int | None:
    """Return the class number of right answers, or None if the rows are not right and wrong answers.

    The two classes must have the names for right and for wrong answers. Classes such as left and right are no answers.
    """
    return label_names.index(RIGHT) if sorted(label_names) == sorted((RIGHT, WRONG)) else None


def is_multiple_choice(right: np.ndarray, groups: np.ndarray | None, *, partly: bool = False) -> bool:
    """Return True if every group of the rows is a question with at least one right answer and one wrong answer.

    If `partly` is True, one such group is enough, for example for multiple choice data from which rows were removed.
    """
    if groups is None or not len(groups):
        return False
    whole = whole_questions(right, groups)
    return bool(whole.any() if partly else whole.all())


def separate_questions(examples: Examples) -> np.ndarray | None:
    """Return the question number of each row (int64), or None if each group is a question.

    Question numbers are needed if groups may contain several questions.
    """
    return examples.questions if "question" in examples.table.column_names else None


def credit_by_question(scores: np.ndarray, right: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the credit of each question, float64 in [0, 1], by ascending group number.

    The credit is the share of right answers among the answers with the highest score. For example, the credit is 0.5 if
    one right and one wrong answer share the highest score. `scores` float64, `right` bool, `groups` int64, all of shape
    (rows,).
    """
    questions, question = np.unique(groups, return_inverse=True)
    highest = np.full(len(questions), -np.inf)
    np.maximum.at(highest, question, scores)
    among = scores == highest[question]
    return np.asarray(np.bincount(question, weights=among & right) / np.bincount(question, weights=among))


def less_other_answers(features: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return each answer's features minus the mean features of the other answers to its question (float32, same shape).

    If a question has two answers, the two results differ only in their sign. If a question has a single answer, the
    answer's features become zeros.

    Args:
        features: float32 of shape (answers, width).
        questions: int64 of shape (answers,), the number of each answer's question.
    """
    _, codes = np.unique(questions, return_inverse=True)
    sums = np.zeros((int(codes.max(initial=-1)) + 1, features.shape[1]))
    np.add.at(sums, codes, features)
    others = np.bincount(codes)[codes] - 1
    compared = np.zeros(features.shape, dtype=np.float32)
    for start in range(0, len(features), _BLOCK):
        rows = slice(start, start + _BLOCK)
        mean = (sums[codes[rows]] - features[rows]) / np.maximum(others[rows], 1)[:, None]
        compared[rows] = np.where(others[rows, None] > 0, features[rows] - mean, 0.0)
    return compared


def guessing_credit(right: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the expected credit for guessing (the share of right answers) per question, by ascending group number."""
    return credit_by_question(np.zeros(len(right)), right, groups)


def answer_pairs(examples: Examples) -> np.ndarray:
    """Return the positions of every pair of a right and a wrong answer to the same question, int64 (pairs, 2).

    The right answer comes first. Returns no pair if the rows are not answers to questions.
    """
    right, questions = right_class(examples.label_names), examples.questions
    if right is None or questions is None:
        return np.zeros((0, 2), dtype=np.int64)
    order = np.argsort(questions, kind="stable")
    starts = np.flatnonzero(np.diff(questions[order], prepend=questions[order][:1] - 1))
    pairs = [
        (one, other)
        for answers in np.split(order, starts[1:])
        for one in answers[examples.labels[answers] == right].tolist()
        for other in answers[examples.labels[answers] != right].tolist()
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def right_answers(examples: Examples, *, partly: bool = False) -> np.ndarray | None:
    """Return a bool per row, True for right answers, or None if `is_multiple_choice` is false for the rows."""
    number = right_class(examples.label_names)
    if number is None:
        return None
    right: np.ndarray = examples.labels == number
    return right if is_multiple_choice(right, examples.questions, partly=partly) else None
