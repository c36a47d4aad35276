"""Which rows are answers of questions, one of them right. Reading multiple choice: `formats.choices`."""

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.choices import RIGHT


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


def right_answers(examples: Examples) -> np.ndarray | None:
    """Which rows are right answers, bool; None where the rows are no multiple choice."""
    if RIGHT not in examples.label_names or len(examples.label_names) != 2:
        return None
    right: np.ndarray = examples.labels == examples.label_names.index(RIGHT)
    return right if is_multiple_choice(right, examples.groups) else None
