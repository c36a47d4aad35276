"""Which rows are answers of questions, one of them right. Reading multiple choice: `formats.choices`."""

from collections.abc import Sequence

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


def right_class(label_names: Sequence[str]) -> int | None:
    """The number of the class of right answers, where it is one of two; None otherwise."""
    return label_names.index(RIGHT) if RIGHT in label_names and len(label_names) == 2 else None


def is_multiple_choice(right: np.ndarray, groups: np.ndarray | None, *, partly: bool = False) -> bool:
    """Whether every group of the rows is a question: at least two answers, exactly one of them right.

    With `partly` one such group is enough, as where a source says that it is multiple choice and lost rows since.
    """
    if groups is None or not len(groups):
        return False
    whole = whole_questions(right, groups)
    return bool(whole.any() if partly else whole.all())


def right_answers(examples: Examples, *, partly: bool = False) -> np.ndarray | None:
    """Which rows are right answers, bool; None where the rows are no multiple choice (`is_multiple_choice`)."""
    number = right_class(examples.label_names)
    if number is None:
        return None
    right: np.ndarray = examples.labels == number
    return right if is_multiple_choice(right, examples.groups, partly=partly) else None
