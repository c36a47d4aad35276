"""How many rows have which predictability, iteration by iteration: bins and counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BINS = 20
"""Bins of width 0.05; the last one holds 1."""


@dataclass(frozen=True)
class ScoreBin:
    """Train rows that entered an iteration with a predictability from `low` up to `high`, and those it removed.

    The last bin holds `high`, too.
    """

    representation: str
    iteration: int
    low: float
    high: float
    rows: int
    removed: int


def bin_edges(bins: int = BINS) -> np.ndarray:
    """Return the edges of equal bins in [0, 1], float64."""
    return np.linspace(0, 1, bins + 1)


def binned(scores: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Count the scores in each bin, int64; they are float32, in [0, 1] and finite.

    Edges are compared in float32, as the filter compares its threshold: 0.7 lies in the bin that begins there.
    """
    places = np.searchsorted(bin_edges(bins).astype(np.float32), scores.astype(np.float32), side="right") - 1
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)


def count_scores(
    representation: str, tables: Iterable[tuple[int, pa.Table]], rows: pa.Table, *, bins: int = BINS
) -> Iterator[ScoreBin]:
    """Yield the bins of one iteration's train rows after the other: only one table is held at a time.

    Args:
        representation: of the filtering.
        tables: per iteration its number and the rows that entered it, with `row_id` and `predictability` (the last
            known one; rows that never had one are absent).
        rows: every row of the filtering: row_id, split, removed_in_iteration (null: kept).
        bins: equal bins over [0, 1].
    """
    train, edges = rows.filter(pc.equal(rows["split"], "train")), bin_edges(bins).tolist()
    removed_in = pc.fill_null(train["removed_in_iteration"], -1)
    for iteration, table in tables:
        places = pc.index_in(table["row_id"], value_set=train["row_id"])  # null for other splits
        scores = table["predictability"].filter(pc.is_valid(places)).to_numpy()
        leaves = removed_in.take(places.drop_null()).to_numpy() == iteration
        counts = binned(scores, bins).tolist(), binned(scores[leaves], bins).tolist()
        for counted in zip(edges[:-1], edges[1:], *counts, strict=True):
            yield ScoreBin(representation, iteration, *counted)
