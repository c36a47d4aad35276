"""Predictions of a test set's rows, matched by row id, and the rank that they give to a row's own class."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.errors import DataError, InvalidInputError

RANK = "gold_rank"
"""Column of a predictions table that holds ranks in place of probabilities, int64, null if there were none."""

TOP = 5
"""In top-5 accuracy a row counts as right if its class is among this many likeliest."""

FEWEST_CLASSES = 10
"""With fewer classes top-5 accuracy says little."""

BLOCK_ROWS = 2_048
"""Rows whose probabilities are ranked together: 16 MB as float64 at 1,000 classes."""

MOST_RESULTS = 4_096
"""Results of a training on a test set that are kept in memory."""


@dataclass(frozen=True)
class MissingScore:
    """The reason why a cell has no score on a test set."""

    status: Literal["failed", "not run", "no probabilities"]
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class MatchedPredictions:
    """A cell's predictions of one test set.

    `table`: the rows of `Cell.predictions`; `positions` int64: where in it each row of the test set is; `where` names
    both in errors.
    """

    table: pa.Table
    positions: np.ndarray
    where: str


def match_predictions(cell: Cell, test_set: TestSet) -> MatchedPredictions | MissingScore:
    """Return the cell's predictions of the test set, or why there are none.

    Raises:
        DataError: some rows are predicted twice or not at all.
    """
    if cell.predictions is None:
        return MissingScore("failed" if cell.status == "failed" else "not run", cell.reason)
    table = cell.predictions.filter(pc.equal(cell.predictions["test_set"], test_set.name))
    if not table.num_rows:
        return MissingScore("not run")
    where = f"{cell.evaluator!r} trained on {cell.train_set!r} (seed {cell.seed}), test set {test_set.name!r}"
    row_ids = table["row_id"].to_numpy()
    order, wanted = np.argsort(row_ids, kind="stable"), np.argsort(test_set.row_ids, kind="stable")
    if len(order) != len(wanted) or np.any(row_ids[order] != test_set.row_ids[wanted]):
        raise DataError(
            f"{where}: {len(order)} predictions do not match the set's {len(wanted)} rows one "
            "to one; they come from different versions, materialise evaluator_models again"
        )
    positions = np.empty(len(order), dtype=np.int64)
    positions[wanted] = order
    return MatchedPredictions(table, positions, where)


def required_predictions(cell: Cell, test_set: TestSet) -> MatchedPredictions:
    """Return the cell's predictions of the test set.

    Raises:
        InvalidInputError: there are none.
        DataError: some rows are predicted twice or not at all.
    """
    matched = match_predictions(cell, test_set)
    if isinstance(matched, MissingScore):
        raise InvalidInputError(f"{cell.evaluator!r} has no predictions of {test_set.name!r}: {matched.status}")
    return matched


def is_ranked(label_names: tuple[str, ...], test_set: TestSet) -> bool:
    """Return True if the dataset and the set itself have enough classes to report top-5 accuracy."""
    return min(len(label_names), len(test_set.label_names)) >= FEWEST_CLASSES


@lru_cache(MOST_RESULTS)
def gold_ranks(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    """Count the classes that the cell finds likelier than the row's own: int64, in the test set's row order.

    0 means that the row's own class comes first; of equal probabilities the lowest class number does. If the set adds
    probabilities up (`TestSet.adds_probabilities`), the classes are the set's own, without those that count as none;
    otherwise they are the dataset's, and the rank is that of the likeliest class that counts as the row's own.

    Raises:
        DataError: rows do not match, or probabilities are not finite or not of the dataset's classes.
    """
    matched = match_predictions(cell, test_set)
    if isinstance(matched, MissingScore):
        return matched
    table = matched.table
    if RANK in table.column_names and not table[RANK].null_count:
        ranks = table[RANK].to_numpy()[matched.positions]
    elif "probabilities" in table.column_names and not table["probabilities"].null_count:
        ranks = _ranks(matched, test_set)
    else:
        return MissingScore("no probabilities", f"{cell.evaluator} gives none to add up")
    ranks.setflags(write=False)
    return ranks


def with_ranks(cell: Cell, test_set: TestSet) -> pa.Table:
    """Return the cell's predictions of the set with the column `RANK` in place of `probabilities`, to save memory.

    Raises:
        DataError: as `gold_ranks`.
        InvalidInputError: the cell has no predictions of the set.
    """
    matched, ranks = required_predictions(cell, test_set), gold_ranks(cell, test_set)
    column = pa.nulls(len(matched.positions), pa.int64())
    if not isinstance(ranks, MissingScore):
        column = pa.array(ranks[np.argsort(matched.positions)])
    return matched.table.drop(["probabilities"]).append_column(RANK, column)


def _ranks(matched: MatchedPredictions, test_set: TestSet) -> np.ndarray:
    classes = len(test_set.label_names if test_set.class_map is None else test_set.class_map)
    rows = matched.table.num_rows
    flat = matched.table["probabilities"].combine_chunks().flatten().to_numpy()
    if len(flat) != rows * classes or not np.isfinite(flat).all():
        raise DataError(
            f"{matched.where}: {len(flat)} probabilities for {rows} rows and the dataset's {classes} classes, "
            f"{int((~np.isfinite(flat)).sum())} of them not finite; train the evaluator again"
        )
    probabilities = flat.reshape(rows, classes)
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, rows, BLOCK_ROWS)]
    return np.concatenate(
        [_block_ranks(probabilities[matched.positions[one]], test_set.labels[one], test_set) for one in blocks]
    )


def _block_ranks(probabilities: np.ndarray, labels: np.ndarray, test_set: TestSet) -> np.ndarray:
    class_map = test_set.class_map
    if class_map is None:
        return _rank(probabilities, labels)
    if test_set.adds_probabilities:
        # A class that nothing counts as must not win even if all sums are zero.
        sums = np.full((len(probabilities), len(test_set.label_names)), -np.inf)
        for target in np.unique(class_map[class_map >= 0]):
            sums[:, target] = probabilities[:, class_map == target].sum(axis=1, dtype=np.float64)
        return _rank(sums, labels)
    own = np.where(class_map[None, :] == labels[:, None], probabilities, -np.inf)
    return np.where(np.isneginf(own).all(axis=1), probabilities.shape[1], _rank(probabilities, own.argmax(axis=1)))


def _rank(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Count the classes before the chosen one: higher score, or the same and a lower number; all if it has none."""
    own = scores[np.arange(len(scores)), chosen][:, None]
    before = (scores > own) | ((scores == own) & (np.arange(scores.shape[1]) < chosen[:, None]))
    return np.where(np.isneginf(own[:, 0]), scores.shape[1], before.sum(axis=1))
