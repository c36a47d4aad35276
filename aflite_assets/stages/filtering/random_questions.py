"""Random controls for questions and preferences, which draw as many whole questions of each kind as the filter kept."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers, separate_questions


@dataclass(frozen=True, eq=False)
class QuestionKinds:
    """The questions of multiple-choice rows, and two descriptions of each question's kind (`sizes` and `alike`).

    `of_row` (int64): the question number of each row. `sizes` and `alike` have one entry per question. `sizes`: the
    numbers of right and of wrong answers. `alike`: the two numbers in `sizes`, the question's subset of the data, and
    the sign of the difference in mean length between right and wrong answers.
    """

    row_ids: np.ndarray
    of_row: np.ndarray
    sizes: Sequence[Hashable]
    alike: Sequence[Hashable]

    def has_whole(self, kept: np.ndarray) -> bool:
        """Return True if, for every question, `kept` (row ids, int64) contains either all or none of the question's
        rows.
        """
        inside = np.isin(self.row_ids, kept)
        counts = np.bincount(self.of_row, inside), np.bincount(self.of_row)
        return bool(np.isin(counts[0] / counts[1], (0, 1)).all())

    def drawn(self, kept: np.ndarray, kinds: Sequence[Hashable], seed: Sequence[int]) -> np.ndarray:
        """Draw as many random questions of each kind as `kept` contains; return their row ids in ascending order.

        Args:
            kept: row ids (int64) of whole questions.
            kinds: the kind of each question, either `self.sizes` or `self.alike`.
            seed: seed of the draw.
        """
        rng = np.random.default_rng(seed)
        wanted: dict[Hashable, int] = {}
        for question in np.unique(self.of_row[np.isin(self.row_ids, kept)]).tolist():
            wanted[kinds[question]] = wanted.get(kinds[question], 0) + 1
        places: dict[Hashable, list[int]] = {}
        for question, kind in enumerate(kinds):
            places.setdefault(kind, []).append(question)
        picked = [rng.choice(places[kind], count, replace=False) for kind, count in wanted.items()]
        chosen = np.concatenate(picked) if picked else np.zeros(0, dtype=np.int64)
        return np.sort(self.row_ids[np.isin(self.of_row, chosen)])


def question_kinds(rows: Examples, *, subset: str | None) -> QuestionKinds | None:
    """Return the questions and their kinds, or None if the rows are not answers to questions.

    `subset`: name of the attribute that divides the questions into subsets of the data; None if there is none.
    """
    right = right_answers(rows, partly=separate_questions(rows) is not None)
    if right is None or rows.questions is None or "text_pair" not in rows.table.column_names:
        return None
    _, firsts, of_row = np.unique(rows.questions, return_index=True, return_inverse=True)
    lengths = np.array([len(text or "") for text in rows.texts("text_pair")], dtype=np.float64)
    count, n_right = np.bincount(of_row), np.bincount(of_row, right)
    with np.errstate(invalid="ignore"):
        longer = np.sign(
            np.bincount(of_row, lengths * right) / n_right - np.bincount(of_row, lengths * ~right) / (count - n_right)
        )
    column = f"attribute.{subset}"
    has_subset = subset is not None and column in rows.table.column_names
    parts = [rows.table[column][int(row)].as_py() if has_subset else None for row in firsts]
    sizes = list(zip(n_right.astype(int).tolist(), (count - n_right).astype(int).tolist(), strict=True))
    alike = list(zip(sizes, map(str, parts), map(str, longer.tolist()), strict=True))
    return QuestionKinds(rows.row_ids, of_row, sizes, alike)
