"""Multiple choice scored by question: whether the right answer is the one that a model finds likeliest.

Rows are answers, right or wrong; accuracy by row is in `accuracy`.
"""

from dataclasses import dataclass

import numpy as np

from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class QuestionScores:
    """A model on the questions of a test set.

    `questions` int64: their group numbers, ascending. `credit` float64 in [0, 1]: 1 where the right answer alone has
    the highest probability of being right, 1/n where n answers share the highest and the right one is among them, else
    0; the mean is what drawing among equals gives on average. `chance` float64: 1 over the answers of each question.
    """

    questions: np.ndarray
    credit: np.ndarray
    chance: np.ndarray

    @property
    def accuracy(self) -> float:
        """Share of questions answered right."""
        return float(self.credit.mean())


def whole_questions(right: np.ndarray, groups: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Which rows are of a question that can be scored, bool: at least two answers, one of them right, all `chosen`.

    `right` bool (rows,), `groups` int64 (rows,), `chosen` bool (rows,) or None for all rows.
    """
    _, question = np.unique(groups, return_inverse=True)
    answers = np.bincount(question)
    fit = (answers >= 2) & (np.bincount(question, weights=right) == 1)
    if chosen is not None:
        fit &= np.bincount(question, weights=chosen) == answers
    return fit[question]


def is_multiple_choice(right: np.ndarray, groups: np.ndarray | None) -> bool:
    """Whether every group of the rows is a question: at least two answers, exactly one of them right."""
    return groups is not None and len(groups) > 0 and bool(whole_questions(right, groups).all())


def question_scores(probability: np.ndarray, right: np.ndarray, groups: np.ndarray) -> QuestionScores:
    """Score answers by question, whatever the number of each question's answers.

    `probability` (rows,): the model's of this answer being right; `right` bool (rows,); `groups` int64 (rows,), one
    number per question.

    Raises:
        InvalidInputError: there is no row, a probability is not finite, or a group is no question.
    """
    if not len(groups) or not np.isfinite(probability).all():
        raise InvalidInputError(
            f"{len(groups)} answers with {int((~np.isfinite(probability)).sum())} probabilities that are not finite; "
            "give at least one question and finite numbers"
        )
    if not is_multiple_choice(right, groups):
        raise InvalidInputError(
            "a group has fewer than two answers or not exactly one that is right; choose rows by whole_questions"
        )
    questions, question, answers = np.unique(groups, return_inverse=True, return_counts=True)
    highest = np.full(len(questions), -np.inf)
    np.maximum.at(highest, question, probability)
    among_highest = probability == highest[question]
    sharing = np.bincount(question, weights=among_highest)
    credit = np.bincount(question, weights=among_highest & right) / sharing
    return QuestionScores(questions, credit, 1 / answers)
