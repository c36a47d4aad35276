"""How many rows have which predictability, iteration by iteration: bins and counts."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BINS = 20
"""Bins of width 0.05; the last one holds 1."""


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """Train rows by predictability in every iteration of one filtering.

    `iterations`: int64, ascending. `rows` and `removed`: iterations x bins int64, the rows that entered the iteration
    and have a score, and those of them that it removed. `edges`: bins + 1 float64 in [0, 1]; a bin holds its lower
    edge, the last one both.
    """

    iterations: np.ndarray
    edges: np.ndarray
    rows: np.ndarray
    removed: np.ndarray


def bin_edges(bins: int = BINS) -> np.ndarray:
    """Return the edges of equal bins in [0, 1], float64."""
    return np.linspace(0, 1, bins + 1)


def binned(scores: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Count the scores in each bin, int64; they are float32, in [0, 1] and finite.

    Edges are compared in float32, as the filter compares its threshold: 0.7 lies in the bin that begins there.
    """
    places = np.searchsorted(bin_edges(bins).astype(np.float32), scores.astype(np.float32), side="right") - 1
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)


def count_scores(tables: Iterable[tuple[int, pa.Table]], rows: pa.Table, *, bins: int = BINS) -> ScoreCounts:
    """Count the train rows of one iteration's table after the other: only one is held at a time.

    Args:
        tables: per iteration its number and the rows that entered it, with `row_id` and `predictability` (the last
            known one; rows that never had one are absent).
        rows: every row of the filtering: row_id, split, removed_in_iteration (null: kept).
        bins: equal bins over [0, 1].
    """
    train = rows.filter(pc.equal(rows["split"], "train"))
    removed_in = pc.fill_null(train["removed_in_iteration"], -1)
    iterations, entered, removed = [], [], []
    for iteration, table in tables:
        places = pc.index_in(table["row_id"], value_set=train["row_id"])  # null for other splits
        scores = table["predictability"].filter(pc.is_valid(places)).to_numpy()
        leaves = removed_in.take(places.drop_null()).to_numpy() == iteration
        iterations.append(iteration)
        entered.append(binned(scores, bins))
        removed.append(binned(scores[leaves], bins))
    counts = (np.array(each, np.int64).reshape(len(iterations), bins) for each in (entered, removed))
    return ScoreCounts(np.array(iterations, np.int64), bin_edges(bins), *counts)
