"""The rank of a row's own class when classes are ordered by probability; in blocks, since sets may be large."""

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.predictions import MatchedPredictions, MissingScore, match_predictions
from aflite_assets.errors import DataError, InvalidInputError

RANK = "gold_rank"
"""Column of a predictions table that holds ranks in place of probabilities, int64, null where there were none."""

TOP = 5
"""In top-5 accuracy a row counts as right when its class is among this many likeliest."""

FEWEST_CLASSES = 10
"""With fewer classes five guesses say little."""

BLOCK_ROWS = 2_048
"""Rows whose probabilities are looked at together: 16 MB as float64 at 1,000 classes."""


def is_ranked(label_names: tuple[str, ...], test_set: TestSet) -> bool:
    """Whether top-5 accuracy is reported: the dataset, and the set itself, have enough classes."""
    return min(len(label_names), len(test_set.label_names)) >= FEWEST_CLASSES


@cached_per_record
def gold_ranks(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    """How many classes the cell finds likelier than the row's own: int64, in the test set's row order; or why unknown.

    0 means that the row's own class comes first; of equal probabilities the lowest class number does. Where the set
    adds probabilities up (`TestSet.adds_probabilities`), the classes are the set's own and those that count as none
    are left out; otherwise they are the dataset's, and the likeliest one that counts as the row's own class has the
    rank.

    Raises:
        DataError: rows do not match, or probabilities are not finite or not of the dataset's classes.
    """
    matched = match_predictions(cell, test_set)
    if isinstance(matched, MissingScore):
        return matched
    column = matched.table[RANK] if RANK in matched.table.column_names else None
    if column is not None and not column.null_count:
        ranks = column.to_numpy()[matched.positions]
    elif "probabilities" in matched.table.column_names and not matched.table["probabilities"].null_count:
        ranks = _ranks(matched, test_set)
    else:
        return MissingScore("no probabilities", f"{cell.evaluator} gives none to add up")
    ranks.setflags(write=False)
    return ranks


def with_ranks(cell: Cell, test_set: TestSet) -> pa.Table:
    """The cell's predictions of the set with the column `RANK` in place of `probabilities`, which take more memory.

    Raises:
        DataError: as `gold_ranks`.
        InvalidInputError: the cell has no predictions of the set.
    """
    matched = match_predictions(cell, test_set)
    if isinstance(matched, MissingScore):
        raise InvalidInputError(f"{cell.evaluator!r} has no predictions of {test_set.name!r}: {matched.status}")
    ranks = gold_ranks(cell, test_set)
    column = np.empty(len(matched.positions), dtype=np.int64)
    if not isinstance(ranks, MissingScore):
        column[matched.positions] = ranks
    missing = np.full(len(column), isinstance(ranks, MissingScore))
    return matched.table.drop(["probabilities"]).append_column(RANK, pa.array(column, pa.int64(), mask=missing))


def _ranks(matched: MatchedPredictions, test_set: TestSet) -> np.ndarray:
    column, rows = matched.table["probabilities"].combine_chunks(), matched.table.num_rows
    classes = len(test_set.label_names if test_set.class_map is None else test_set.class_map)
    flat = column.flatten().to_numpy()
    if len(flat) != rows * classes or not np.isfinite(flat).all():
        raise DataError(
            f"{matched.where}: {len(flat)} probabilities for {rows} rows and the dataset's {classes} classes, "
            f"{int((~np.isfinite(flat)).sum())} of them not finite; train the evaluator again"
        )
    probabilities = flat.reshape(rows, classes)
    ranks = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        ranks[block] = _block_ranks(probabilities[matched.positions[block]], test_set.labels[block], test_set)
    return ranks


def _block_ranks(probabilities: np.ndarray, labels: np.ndarray, test_set: TestSet) -> np.ndarray:
    if test_set.class_map is None:
        return _rank(probabilities, labels)
    if test_set.adds_probabilities:
        return _rank(_added(probabilities, test_set.class_map, len(test_set.label_names)), labels)
    own = np.where(test_set.class_map[None, :] == labels[:, None], probabilities, -np.inf)
    return np.where(np.isneginf(own).all(axis=1), probabilities.shape[1], _rank(probabilities, own.argmax(axis=1)))


def _added(probabilities: np.ndarray, class_map: np.ndarray, own_classes: int) -> np.ndarray:
    """Sums over the dataset's classes that count as each of the set's own: rows x own classes, float64."""
    # What nothing counts as must not win even where all sums are zero.
    sums = np.full((len(probabilities), own_classes), -np.inf)
    for target in np.unique(class_map[class_map >= 0]):
        sums[:, target] = probabilities[:, class_map == target].sum(axis=1, dtype=np.float64)
    return sums


def _rank(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """How many classes come before the chosen one: higher score, or the same and a lower number; all if it has none."""
    own = scores[np.arange(len(scores)), chosen][:, None]
    before = (scores > own) | ((scores == own) & (np.arange(scores.shape[1]) < chosen[:, None]))
    return np.where(np.isneginf(own[:, 0]), scores.shape[1], before.sum(axis=1))
