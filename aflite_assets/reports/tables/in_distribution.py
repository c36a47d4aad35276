"""Accuracy on natural test sets before and after filtering, all representations side by side.

ICML 2020, Tables 3 and 4; ICLR 2020 submission, Tables 1 and 2.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.reports.cached_per_record import cached_per_record
from aflite_assets.reports.inputs.records import BenchmarkData, TestSet
from aflite_assets.reports.scores.accuracy import Score, correct_rows, score
from aflite_assets.reports.scores.groups import Compared, cells_of, natural_columns, train_rows
from aflite_assets.reports.tables.main_tables import points


@dataclass(frozen=True)
class InDistributionRow:
    """One evaluator: a score per column, and per representation full minus filtered, in points."""

    evaluator: str
    scores: tuple[Score, ...]
    differences: tuple[float | None, ...]


@dataclass(frozen=True)
class HumanAgreement:
    """`share` in [0, 1]: mean over `rows` annotated rows of the share of annotators that gave the row's label."""

    share: float
    rows: int


@dataclass(frozen=True)
class HumanRow:
    """What single annotators reach on each column's test rows; None where no row has annotators."""

    agreements: tuple[HumanAgreement | None, ...]
    differences: tuple[float | None, ...]


@dataclass(frozen=True)
class InDistributionTable:
    """One natural test set.

    `representations`: one difference column each: full (trained and tested on full) minus filtered (trained on
    filtered, tested on filtered rows or, where the test rows were left alone, on full). `test_rows` and
    `train_rows` (each distinct size over evaluators and seeds) per column. `human` is None where no row has annotators.
    """

    test_set: str
    representations: tuple[str, ...]
    columns: tuple[Compared, ...]
    test_rows: tuple[int, ...]
    rows: tuple[InDistributionRow, ...]
    human: HumanRow | None
    train_rows: tuple[tuple[int, ...], ...]

    @property
    def filtered_rows(self) -> bool:
        """Whether any column is about filtered test rows."""
        return any(column.tested_on == "filtered" for column in self.columns)


@cached_per_record
def in_distribution_tables(data: BenchmarkData) -> tuple[InDistributionTable, ...]:
    """A table per natural test set; none without a representation or an evaluator trained on a train set alone.

    Random is tested on full rows, as in the paper, and on the filtered rows, where nothing but training differs from
    filtered; where test rows were left alone, all are tested on full rows. The paper's
    difference column is of its last representation; here each has one.
    """
    if not data.plain_evaluators or not data.representations:
        return ()
    return tuple(_table(data, one) for one in data.test_sets if not one.challenge)


def _table(data: BenchmarkData, test_set: TestSet) -> InDistributionTable:
    columns = natural_columns(data, test_set)
    masks = [tested_rows(test_set, column) for column in columns]
    return InDistributionTable(
        test_set.name,
        data.representations,
        columns,
        tuple(int(mask.sum()) for mask in masks),
        tuple(_row(data, test_set, evaluator, columns) for evaluator in data.plain_evaluators),
        _human(data, test_set, columns, masks),
        tuple(_sizes(data, column) for column in columns),
    )


def tested_rows(test_set: TestSet, column: Compared) -> np.ndarray:
    """Which rows of the test set a column is about, bool."""
    if column.tested_on == "full" or column.representation is None:
        return np.ones(len(test_set.row_ids), dtype=bool)
    return test_set.kept[column.representation]


def _row(data: BenchmarkData, test_set: TestSet, evaluator: str, columns: tuple[Compared, ...]) -> InDistributionRow:
    scores = tuple(
        score(
            [
                correct_rows(cell, test_set)
                for cell in cells_of(data, evaluator, column.train_set, column.representation)
            ],
            tested_rows(test_set, column),
            test_set.groups,
        )
        for column in columns
    )
    after = [filtered for one, filtered in zip(columns, scores, strict=True) if one.train_set == "filtered"]
    return InDistributionRow(evaluator, scores, tuple(points(scores[0], one) for one in after))


def _sizes(data: BenchmarkData, column: Compared) -> tuple[int, ...]:
    wanted = (column.train_set, column.representation)
    return train_rows([cell for cell in data.cells if (cell.train_set, cell.representation) == wanted])


def _human(
    data: BenchmarkData, test_set: TestSet, columns: tuple[Compared, ...], masks: list[np.ndarray]
) -> HumanRow | None:
    shares = annotators_right(data, test_set)
    if shares is None:
        return None
    agreements = tuple(_agreement(shares[mask]) for mask in masks)
    full = agreements[0]
    after = [filtered for one, filtered in zip(columns, agreements, strict=True) if one.train_set == "filtered"]
    differences = tuple(None if full is None or one is None else 100 * (full.share - one.share) for one in after)
    return HumanRow(agreements, differences)


def annotators_right(data: BenchmarkData, test_set: TestSet) -> np.ndarray | None:
    """Per row the share of its annotators that gave its label, float64 in [0, 1], NaN without annotators.

    None where no row has any. Where the label is the majority of the same annotators, as in SNLI, each of them had a
    say in it, so this is more than a new annotator would reach.
    """
    if "annotator_labels" not in data.examples.table.column_names:
        return None
    examples = data.examples.select(test_set.row_ids)
    column = examples.table["annotator_labels"]
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    if not counts.any():
        return None
    row = np.repeat(np.arange(len(counts)), counts)
    right = pc.list_flatten(column).to_numpy() == examples.labels[row]
    shares = np.full(len(counts), np.nan)
    np.divide(np.bincount(row, weights=right, minlength=len(counts)), counts, out=shares, where=counts > 0)
    return shares


def _agreement(shares: np.ndarray) -> HumanAgreement | None:
    annotated = shares[~np.isnan(shares)]
    return HumanAgreement(float(annotated.mean()), len(annotated)) if len(annotated) else None
