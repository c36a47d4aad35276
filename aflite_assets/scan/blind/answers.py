"""Arrays with the answers to questions, which are read from the rows of a scan."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.data.questions import right_class, whole_questions
from aflite_assets.scan.rows import ScanRows


@dataclass(frozen=True, eq=False)
class BlindAnswers:
    """Answers to all questions that have at least one right and one wrong answer.

    `positions`: int64, the position of each answer among the scan's rows. `right`: bool, whether the answer is right.
    `questions`: int64, the question number of each answer, from 0 in file order. `units`: int64, the unit of each
    answer. Answers of one unit stay on the same side of every split. `subsets`: the name of the data subset of each
    question. `name`: the name of the answer column. `listed`: whether the answers are in the order of the source.
    """

    positions: np.ndarray
    right: np.ndarray
    questions: np.ndarray
    units: np.ndarray
    subsets: Sequence[str | None]
    name: str
    listed: bool

    @property
    def count(self) -> int:
        """Number of questions."""
        return int(self.questions.max(initial=-1)) + 1

    @property
    def question_units(self) -> np.ndarray:
        """Unit of each question, int64. Questions of one unit are not independent."""
        return self.units[np.unique(self.questions, return_index=True)[1]]


def blind_answers(rows: ScanRows, units: np.ndarray) -> BlindAnswers | None:
    """Return the scanned answers, or None if the rows are not answers to questions.

    `units`: int64, the unit of each row of the scan; rows of one unit stay on the same side of every split.
    """
    right_number, codes = right_class(rows.label_names), rows.question_codes
    if not rows.answers or right_number is None or codes is None or len(rows.texts) != 2:
        return None
    scanned = np.flatnonzero(rows.scanned)
    right = rows.labels[scanned] == right_number
    whole = whole_questions(right, codes[scanned])
    positions, right = scanned[whole], right[whole]
    if not len(positions):
        return None
    _, firsts, questions = np.unique(codes[positions], return_index=True, return_inverse=True)
    return BlindAnswers(
        positions=positions,
        right=right,
        questions=questions,
        units=units[positions],
        subsets=_subsets(rows, positions[firsts]),
        name=[*rows.texts][1],
        listed=rows.answers_listed,
    )


def _subsets(rows: ScanRows, positions: np.ndarray) -> list[str | None]:
    if rows.subset is None or rows.subset not in rows.columns:
        return [None] * len(positions)
    values = rows.columns[rows.subset].values
    return [None if values[row] is None else str(values[row]) for row in positions.tolist()]
