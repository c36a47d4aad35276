"""Accuracy of every evaluator and train set before and after filtering, on natural test sets; and the iterations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aflite_assets.reports.cached_per_record import cached_per_record
from aflite_assets.reports.inputs.records import BenchmarkData, Cell, FilteredSet, TestSet
from aflite_assets.reports.scores.accuracy import Score, correct_rows, score
from aflite_assets.reports.scores.groups import cell_groups, train_rows
from aflite_assets.reports.scores.subsets import MAX_LABELS_APART, subsets_of
from aflite_assets.reports.tables.cells import points_cell, rows_heading, score_cell, sizes_cell
from aflite_assets.reports.tables.long_form import CELL, SCORE, LongForm, Record
from aflite_assets.reports.tables.score_table import Place, score_record, score_table
from aflite_assets.reports.tables.table import Column, Heading, Shown, Table, columns_of, rows_of


@dataclass(frozen=True)
class TestColumns:
    """One natural test set as seen by one train set.

    `full`: all its rows; `filtered`: those that survived filtering, None when the set was not filtered.
    `drop`: full minus filtered of the same models, in points (hundredths of accuracy). `own`: the rows left by the law
    that made the train set, so that it is trained and tested on one distribution; None for a train set without.
    """

    __test__ = False  # not a test class

    test_set: str
    full: Score
    filtered: Score | None
    drop: float | None
    own: Score | None = None


@dataclass(frozen=True)
class MainRow:
    """One evaluator trained on one train set; `train_rows` holds each distinct size over the seeds."""

    evaluator: str
    train_set: str
    train_rows: tuple[int, ...]
    tests: tuple[TestColumns, ...]


@dataclass(frozen=True)
class ChallengePart:
    """Score on part of a challenge set.

    `column` is the category column and None for a part of the whole set. `category` None with a column means any
    value of it, `label` None every gold label.
    """

    column: str | None
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
    """One iteration of filtering.

    `rows_in`, `removed`: rows of the pool, of which `train_rows_in`, `train_removed` are train rows. `scored_*` count
    the rows that are scored but never trained on.
    """

    iteration: int
    rows_in: int
    train_rows_in: int
    scored_rows_in: int
    removed: int
    train_removed: int
    scored_removed: int
    cutoff: float | None
    representation_bias: float
    rows_never_held_out: int


@cached_per_record
def main_table(data: BenchmarkData, representation: str) -> tuple[MainRow, ...]:
    """Accuracy of every evaluator and train set on all and on the filtered rows of each natural test set.

    Train sets full, random and filtered always have a row; the others when any cell names them.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    natural = [test_set.name for test_set in data.test_sets if not test_set.challenge]
    return tuple(
        MainRow(
            evaluator,
            train_set,
            train_rows(cells),
            tuple(_test_columns(data, Place(representation, evaluator, train_set, name)) for name in natural),
        )
        for evaluator, train_set, cells in cell_groups(data, representation)
    )


def _test_columns(data: BenchmarkData, place: Place) -> TestColumns:
    scores = score_table(data)
    full = scores[place._replace(tested_on="full")]
    filtered, own = (scores.get(place._replace(tested_on=rows)) for rows in ("filtered", "own"))
    return TestColumns(place.test_set, full, filtered, None if filtered is None else points(full, filtered), own)


def accuracy_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """One per representation; none without an evaluator."""
    return tuple(_accuracy_table(name, rows) for name in data.representations if (rows := main_table(data, name)))


def _accuracy_table(representation: str, rows: Sequence[MainRow]) -> Table:
    shown: list[Shown[MainRow]] = [(Column(Heading("train rows")), lambda row: sizes_cell(row.train_rows))]
    for number, test in enumerate(rows[0].tests):
        shown += _columns_of_set(test, number, own=has_own_rows(rows, test.test_set))
    return Table(
        f"accuracy_{representation}",
        "",
        f"Accuracy in per cent, filtered with representation {representation}",
        ("evaluator", "trained on"),
        columns_of(shown),
        rows_of(rows, lambda row: (row.evaluator, row.train_set), shown),
        _CAPTION,
    )


def _columns_of_set(test: TestColumns, number: int, *, own: bool) -> Iterator[Shown[MainRow]]:
    """The columns of the natural test set of this number."""
    group, filtered = Heading(test.test_set), test.filtered
    yield (
        Column(rows_heading("full", test.full.test_rows), group),
        lambda row: score_cell(
            row.tests[number].full, shaded=filtered is not None and row.train_set in ("full", "random")
        ),
    )
    if filtered is None:
        return
    yield (
        Column(rows_heading("filtered", filtered.test_rows), group),
        lambda row: score_cell(row.tests[number].filtered, shaded=row.train_set == "filtered"),
    )
    yield Column(Heading("drop", ("points",)), group), lambda row: points_cell(row.tests[number].drop)
    if own:
        yield Column(Heading("own test rows"), group), lambda row: score_cell(row.tests[number].own)


_CAPTION = (
    "Under each test set, each place: mean over seeds; its deviation over seeds; Wilson's 95 % interval for the number of "
    "test rows n, or, of rows in groups, for the rows that these are worth. Shaded: full tested on full, random on full, "
    "filtered on filtered, the papers' comparison. Drop: full minus filtered test rows, same models, in points. Own test "
    "rows: test rows chosen in the same way as the train set of that line, so that it is trained and tested on one "
    "distribution; every line has other rows there."
)


def _accuracy_rows(data: BenchmarkData) -> Iterator[Record]:
    natural = {one.name for one in data.test_sets if not one.challenge}
    for place, found in score_table(data).items():
        if place.test_set in natural and place.top == 1:
            yield place._asdict() | score_record(found)


ACCURACY = LongForm("accuracy", (*CELL, "test_set", "tested_on", *SCORE), _accuracy_rows)


@cached_per_record
def challenge_table(data: BenchmarkData, representation: str) -> tuple[ChallengeRow, ...]:
    """Accuracy on each challenge set: overall, per gold label, per category, per category and gold label.

    The parts are those of `subsets.subsets_of`.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    groups = cell_groups(data, representation)
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


def has_own_rows(rows: Sequence[MainRow], test_set: str) -> bool:
    """Whether train sets other than filtered have test rows left by their own law."""
    return any(
        test.own is not None
        for row in rows
        if row.train_set != "filtered"
        for test in row.tests
        if test.test_set == test_set
    )


def points(before: Score, after: Score) -> float | None:
    """How many points (hundredths of accuracy) `after` lies below `before`; None where either is missing."""
    if before.accuracy is None or after.accuracy is None:
        return None
    return 100 * (before.accuracy.mean - after.accuracy.mean)


def challenge_blocks(rows: Sequence[ChallengeRow]) -> list[tuple[str | None, list[ChallengeRow]]]:
    """The rows of one challenge set as they are shown: whole, or a block per category column where it has several.

    A block's rows have the parts of its column alone; the first block, with column None, has those of the whole set.
    """
    columns = list(dict.fromkeys(part.column for row in rows for part in row.parts if part.column is not None))
    if len(columns) < 2:
        return [(None, list(rows))]
    blocks = [None, *columns]
    return [
        (column, [replace(row, parts=tuple(part for part in row.parts if part.column == column)) for row in rows])
        for column in blocks
    ]


def _challenge_row(test_set: TestSet, evaluator: str, train_set: str, cells: Sequence[Cell]) -> ChallengeRow:
    correct = [correct_rows(cell, test_set) for cell in cells]
    parts = tuple(
        ChallengePart(part.column, part.category, part.label, score(correct, part.mask, test_set.groups))
        for part in subsets_of(test_set)
    )
    overall = score(correct, np.ones(len(test_set.row_ids), dtype=bool), test_set.groups)
    return ChallengeRow(test_set.name, evaluator, train_set, train_rows(cells), overall, parts)


__all__ = [
    "MAX_LABELS_APART",
    "ChallengePart",
    "ChallengeRow",
    "FilterRow",
    "MainRow",
    "TestColumns",
    "challenge_blocks",
    "challenge_table",
    "filter_table",
    "has_own_rows",
    "main_table",
    "points",
]
