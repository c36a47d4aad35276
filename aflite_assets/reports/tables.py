"""The report's tables as records: accuracies before and after, challenge sets, iterations; no text layout."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.accuracy import Score, correct_rows, score
from aflite_assets.reports.records import TRAIN_SETS, BenchmarkData, Cell, FilteredSet, TestSet

MAX_LABELS_APART = 4
"""Challenge sets with more gold labels than this are split by category alone."""

_ALWAYS_SHOWN = ("full", "random", "filtered")


@dataclass(frozen=True)
class TestColumns:
    """One natural test set as seen by one train set.

    `full`: all its rows; `filtered`: those that survived filtering, None when the set was not filtered.
    `drop`: full minus filtered of the same models, in points (hundredths of accuracy).
    """

    __test__ = False  # not a test class

    test_set: str
    full: Score
    filtered: Score | None
    drop: float | None


@dataclass(frozen=True)
class MainRow:
    """One evaluator trained on one train set; `train_rows` holds each distinct size over the seeds."""

    evaluator: str
    train_set: str
    train_rows: tuple[int, ...]
    tests: tuple[TestColumns, ...]


@dataclass(frozen=True)
class ChallengePart:
    """Score on part of a challenge set; None for `category` or `label` means all of them."""

    category: str | None
    label: str | None
    score: Score


@dataclass(frozen=True)
class ChallengeRow:
    """One evaluator trained on one train set, tested on a challenge set, whole and in parts."""

    test_set: str
    evaluator: str
    train_set: str
    train_rows: tuple[int, ...]
    overall: Score
    parts: tuple[ChallengePart, ...]


@dataclass(frozen=True)
class FilterRow:
    """One iteration of filtering; `scored_*` count the rows that are scored but never trained on."""

    iteration: int
    rows_in: int
    scored_rows_in: int
    removed: int
    scored_removed: int
    cutoff: float | None
    representation_bias: float
    rows_never_held_out: int


def main_table(data: BenchmarkData, representation: str) -> tuple[MainRow, ...]:
    """Accuracy of every evaluator and train set on all and on the filtered rows of each natural test set.

    Train sets full, random and filtered always have a row; random_matched and single_pass when any cell
    names them.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    natural = [test_set for test_set in data.test_sets if not test_set.challenge]
    return tuple(
        MainRow(
            evaluator, train_set, _train_rows(cells), tuple(_test_columns(cells, s, representation) for s in natural)
        )
        for evaluator, train_set, cells in _cell_groups(data, representation)
    )


def challenge_table(data: BenchmarkData, representation: str) -> tuple[ChallengeRow, ...]:
    """Accuracy on each challenge set: overall, per gold label, per category, per category and gold label.

    Sets with more than `MAX_LABELS_APART` gold labels are split by category alone.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    groups = list(_cell_groups(data, representation))
    return tuple(
        _challenge_row(test_set, evaluator, train_set, cells)
        for test_set in data.test_sets
        if test_set.challenge
        for evaluator, train_set, cells in groups
    )


def filter_table(filtered: FilteredSet) -> tuple[FilterRow, ...]:
    """The iterations of one filtering, in order."""
    rows = filtered.iterations.select(list(FilterRow.__dataclass_fields__)).to_pylist()
    return tuple(sorted((FilterRow(**row) for row in rows), key=lambda row: row.iteration))


def _cell_groups(data: BenchmarkData, representation: str) -> list[tuple[str, str, list[Cell]]]:
    if representation not in data.representations:
        raise InvalidInputError(
            f"dataset {data.name!r} was not filtered with {representation!r}; "
            f"its representations are {list(data.representations)}"
        )
    cells = [cell for cell in data.cells if cell.representation in (None, representation)]
    shown = {*_ALWAYS_SHOWN, *(cell.train_set for cell in cells)}
    return [
        (name, train_set, [cell for cell in cells if (cell.evaluator, cell.train_set) == (name, train_set)])
        for name in data.evaluators
        for train_set in TRAIN_SETS
        if train_set in shown
    ]


def _train_rows(cells: Sequence[Cell]) -> tuple[int, ...]:
    return tuple(sorted({cell.train_rows for cell in cells if cell.status == "done"}))


def _test_columns(cells: Sequence[Cell], test_set: TestSet, representation: str) -> TestColumns:
    correct = [correct_rows(cell, test_set) for cell in cells]
    full = score(correct, np.ones(len(test_set.row_ids), dtype=bool))
    kept = test_set.kept.get(representation)
    filtered = None if kept is None else score(correct, kept)
    return TestColumns(test_set.name, full, filtered, None if filtered is None else points(full, filtered))


def points(before: Score, after: Score) -> float | None:
    """How many points (hundredths of accuracy) `after` lies below `before`; None where either is missing."""
    if before.accuracy is None or after.accuracy is None:
        return None
    return 100 * (before.accuracy.mean - after.accuracy.mean)


def _challenge_row(test_set: TestSet, evaluator: str, train_set: str, cells: Sequence[Cell]) -> ChallengeRow:
    correct = [correct_rows(cell, test_set) for cell in cells]
    everything = np.ones(len(test_set.row_ids), dtype=bool)
    parts = tuple(ChallengePart(category, label, score(correct, mask)) for category, label, mask in _parts(test_set))
    overall = score(correct, everything)
    return ChallengeRow(test_set.name, evaluator, train_set, _train_rows(cells), overall, parts)


def _parts(test_set: TestSet) -> list[tuple[str | None, str | None, np.ndarray]]:
    """Category, gold label and row mask of each part: labels, then per category its whole and its labels."""
    present = [c for c in range(len(test_set.label_names)) if np.any(test_set.labels == c)]
    labels = [(test_set.label_names[c], test_set.labels == c) for c in present]
    if not 2 <= len(labels) <= MAX_LABELS_APART:
        labels = []
    parts: list[tuple[str | None, str | None, np.ndarray]] = [(None, name, mask) for name, mask in labels]
    if test_set.categories is None:
        return parts
    for category in sorted(set(test_set.categories.tolist())):
        inside = np.asarray(test_set.categories == category)
        halves = [(category, name, inside & mask) for name, mask in labels if np.any(inside & mask)]
        whole = (category, None, inside)
        # a category with one gold label is that half already
        parts += halves if len(halves) == 1 else [whole, *halves]
    return parts
