"""Zero-shot accuracy on all challenge sets side by side, a row per train set (ICML 2020, Table 1)."""

from dataclasses import dataclass

import numpy as np

from aflite_assets.reports.cached_per_record import cached_per_record
from aflite_assets.reports.inputs.records import BenchmarkData, TestSet
from aflite_assets.reports.inputs.train_sets import compared_pairs
from aflite_assets.reports.scores.accuracy import Score, correct_rows, score
from aflite_assets.reports.scores.groups import cell_groups, train_rows
from aflite_assets.reports.scores.subsets import Subset, subsets_of
from aflite_assets.reports.tables.main_tables import points


@dataclass(frozen=True)
class ZeroShotColumn:
    """Some rows of a challenge set; column, category and label as in `tables.ChallengePart`."""

    test_set: str
    column: str | None
    category: str | None
    label: str | None
    test_rows: int


@dataclass(frozen=True)
class ZeroShotRow:
    """One train set of one evaluator; a score per column of the table."""

    train_set: str
    train_rows: tuple[int, ...]
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class ZeroShotDifference:
    """Trained on `train_set` minus trained on `against`: means in points per column, None where either is missing."""

    train_set: str
    against: str
    points: tuple[float | None, ...]


@dataclass(frozen=True)
class ZeroShotTable:
    """All train sets of one evaluator and representation."""

    evaluator: str
    columns: tuple[ZeroShotColumn, ...]
    rows: tuple[ZeroShotRow, ...]
    differences: tuple[ZeroShotDifference, ...]


@cached_per_record
def zero_shot_tables(data: BenchmarkData, representation: str) -> tuple[ZeroShotTable, ...]:
    """A table per evaluator that was trained on a train set alone; none without a challenge set.

    The paper's convention for HANS, the non-entailment half of each heuristic, is here the part of one gold label
    within a category, and the other half stands beside it.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    groups = [group for group in cell_groups(data, representation) if group[0] in data.plain_evaluators]
    shown = [(one, zero_shot_subsets(one)) for one in data.test_sets if one.challenge]
    if not shown:
        return ()
    columns = tuple(
        ZeroShotColumn(one.name, part.column, part.category, part.label, int(part.mask.sum()))
        for one, parts in shown
        for part in parts
    )
    rows: dict[str, list[ZeroShotRow]] = {name: [] for name, _, _ in groups}
    for evaluator, train_set, cells in groups:
        scores: list[Score] = []
        for one, parts in shown:
            correct = [correct_rows(cell, one) for cell in cells]
            scores += [score(correct, part.mask, one.groups) for part in parts]
        rows[evaluator].append(ZeroShotRow(train_set, train_rows(cells), tuple(scores)))
    return tuple(ZeroShotTable(name, columns, tuple(lines), _differences(lines)) for name, lines in rows.items())


def _differences(rows: list[ZeroShotRow]) -> tuple[ZeroShotDifference, ...]:
    """Of filtered, and of what it had left earlier, against full and against the random rows of its size."""
    scores = {row.train_set: row.scores for row in rows}
    return tuple(
        ZeroShotDifference(pair, against, tuple(map(points, scores[pair], scores[against])))
        for pair, against in compared_pairs(scores)
    )


def zero_shot_subsets(test_set: TestSet) -> list[Subset]:
    """The whole set, then the smaller parts that the table shows: gold labels alone of sets without categories.

    Of a set with several category columns, a column with rows of no value (NLI Diagnostics) is the rows of any value,
    as in the paper; its values stand apart in the set's own table.
    """
    parts = subsets_of(test_set)
    if test_set.categories:
        parts = [part for part in parts if part.column is not None]
    if len(test_set.categories) > 1:
        summed = {part.column for part in parts if part.category is None}
        parts = [part for part in parts if part.category is None or part.column not in summed]
    whole = Subset(None, None, None, np.ones(len(test_set.row_ids), dtype=bool))
    return [whole, *(part for part in parts if not part.mask.all())]
