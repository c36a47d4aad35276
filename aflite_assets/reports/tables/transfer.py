"""Transfer (ICML 2020, Table 2): accuracy on challenge sets after fine-tuning on their own train rows, by train set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from aflite_assets.reports.cached_per_record import cached_per_record
from aflite_assets.reports.inputs.records import BenchmarkData, Cell, FineTuned, TestSet, started_from, starts
from aflite_assets.reports.inputs.train_sets import compared_pairs
from aflite_assets.reports.intervals import CrossedInterval
from aflite_assets.reports.scores.accuracy import Score, correct_rows, score
from aflite_assets.reports.scores.groups import cell_groups, train_rows
from aflite_assets.reports.tables.paired import paired_cells


@dataclass(frozen=True)
class TransferColumn:
    """The test rows of a challenge set, predicted by an evaluator that was fine-tuned on `stages`, this set among
    them."""

    evaluator: str
    stages: tuple[str, ...]
    test_set: str
    test_rows: int


@dataclass(frozen=True)
class TransferScores:
    """On the same rows: after fine-tuning, and zero-shot, of the evaluator that fine-tuning started from."""

    fine_tuned: Score
    zero_shot: Score


@dataclass(frozen=True)
class TransferRow:
    """One train set; a pair of scores per column of the table."""

    train_set: str
    train_rows: tuple[int, ...]
    scores: tuple[TransferScores, ...]


@dataclass(frozen=True)
class TransferGain:
    """Paired differences in points on the same test rows, None where either side has no finished seed."""

    fine_tuned: CrossedInterval | None
    zero_shot: CrossedInterval | None


@dataclass(frozen=True)
class TransferDifference:
    """Trained on `train_set` minus trained on `against`, per column of the table."""

    train_set: str
    against: str
    gains: tuple[TransferGain, ...]


@dataclass(frozen=True)
class TransferTable:
    """All train sets of one evaluator and representation, and everything that was fine-tuned from it."""

    evaluator: str
    columns: tuple[TransferColumn, ...]
    rows: tuple[TransferRow, ...]
    differences: tuple[TransferDifference, ...]


@cached_per_record
def transfer_tables(data: BenchmarkData, representation: str) -> tuple[TransferTable, ...]:
    """A table per evaluator that others were fine-tuned from; none without these or without a challenge set of theirs.

    The differences are of filtered against full, its control and random, and the same of every earlier iteration.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
        DataError: predictions do not fit their test sets.
    """
    groups = cell_groups(data, representation)
    tables = (_table(data, representation, start, groups) for start in starts(data.fine_tuned))
    return tuple(table for table in tables if table.columns)


def _table(
    data: BenchmarkData, representation: str, start: str, groups: Sequence[tuple[str, str, list[Cell]]]
) -> TransferTable:
    tests = {one.name: one for one in data.test_sets if one.challenge}
    columns = _columns(start, data.fine_tuned, tests)
    names = {start, *(column.evaluator for column in columns)}
    cells: dict[str, dict[str, list[Cell]]] = {}
    for evaluator, train_set, seed_cells in groups:
        if evaluator in names:
            cells.setdefault(train_set, {})[evaluator] = seed_cells
    rows = []
    for train_set, trained in cells.items():
        scored = partial(_scores, trained, start, tests)
        sizes = train_rows([cell for one in trained.values() for cell in one])
        rows.append(TransferRow(train_set, sizes, tuple(map(scored, columns))))
    differences = []
    for train_set, against in compared_pairs(cells):
        gained = partial(_gain, cells[train_set], cells[against], start, tests)
        differences.append(TransferDifference(train_set, against, tuple(map(gained, columns))))
    return TransferTable(start, columns, tuple(rows), tuple(differences))


def _columns(
    start: str, fine_tuned: Mapping[str, FineTuned], tests: Mapping[str, TestSet]
) -> tuple[TransferColumn, ...]:
    """A column per evaluator fine-tuned from `start` and challenge set of its stages; missing sets have none."""
    return tuple(
        TransferColumn(name, one.sets, test_set, len(tests[test_set].row_ids))
        for name, one in started_from(start, fine_tuned).items()
        for test_set in one.sets
        if test_set in tests
    )


def _scores(
    cells: Mapping[str, list[Cell]], start: str, tests: Mapping[str, TestSet], column: TransferColumn
) -> TransferScores:
    test_set = tests[column.test_set]
    rows = np.ones(len(test_set.row_ids), dtype=bool)
    after, before = (
        score([correct_rows(cell, test_set) for cell in cells.get(name, [])], rows, test_set.groups)
        for name in (column.evaluator, start)
    )
    return TransferScores(after, before)


def _gain(
    cells: Mapping[str, list[Cell]],
    others: Mapping[str, list[Cell]],
    start: str,
    tests: Mapping[str, TestSet],
    column: TransferColumn,
) -> TransferGain:
    after, before = (
        paired_cells(cells.get(name, []), others.get(name, []), tests[column.test_set])
        for name in (column.evaluator, start)
    )
    return TransferGain(after, before)
