"""How many rows have which predictability, iteration by iteration: bins and counts."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import InvalidInputError

BINS = 20
"""Bins of width 0.05; the last one holds 1."""


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """Train rows by predictability in every iteration of one filtering.

    `iterations`: int64, ascending. `rows` and `removed`: iterations x bins int64, the rows that entered the iteration
    and have a score, and those of them that it removed. `edges`: bins + 1 float64 in [0, 1]; a bin holds its lower
    edge, the last one both.

    Raises:
        InvalidInputError: the shapes do not fit.
    """

    iterations: np.ndarray
    edges: np.ndarray
    rows: np.ndarray
    removed: np.ndarray

    def __post_init__(self) -> None:
        wanted = (len(self.iterations), len(self.edges) - 1)
        if self.rows.shape != wanted or self.removed.shape != wanted:
            raise InvalidInputError(
                f"score counts have the shapes {self.rows.shape} and {self.removed.shape}; with {wanted[0]} iterations "
                f"and {wanted[1]} bins both must be {wanted}"
            )


def bin_edges(bins: int = BINS) -> np.ndarray:
    """The edges of equal bins in [0, 1], float64."""
    return np.linspace(0, 1, bins + 1)


def binned(scores: np.ndarray, bins: int = BINS) -> np.ndarray:
    """How many scores lie in each bin, int64; they are float32, in [0, 1] and finite.

    Edges are compared in float32, as the filter compares its threshold: 0.7 lies in the bin that begins there.
    """
    places = np.searchsorted(bin_edges(bins).astype(np.float32), scores.astype(np.float32), side="right") - 1
    return np.bincount(np.minimum(places, bins - 1), minlength=bins)


def count_scores(tables: Iterable[tuple[int, pa.Table]], rows: pa.Table, *, bins: int = BINS) -> ScoreCounts:
    """Counts of the train rows, of one iteration's table after the other: only one is held at a time.

    Args:
        tables: per iteration its number and the rows that entered it, with `row_id` and `predictability` (the last
            known one; rows that never had one are absent).
        rows: every row of the filtering: row_id, split, removed_in_iteration (null: kept).
        bins: equal bins over [0, 1].
    """
    train = rows.filter(pc.equal(rows["split"], "train"))
    ids = train["row_id"].to_numpy()
    removed_in = pc.fill_null(train["removed_in_iteration"], -1).to_numpy()
    order = np.argsort(ids, kind="stable")
    ids, removed_in = ids[order], removed_in[order]
    iterations, entered, removed = [], [], []
    for iteration, table in tables:
        asked, scores = table["row_id"].to_numpy(), table["predictability"].to_numpy()
        places = np.searchsorted(ids, asked)
        known = places < len(ids)
        known[known] = ids[places[known]] == asked[known]
        going = removed_in[places[known]] == iteration
        iterations.append(iteration)
        entered.append(binned(scores[known], bins))
        removed.append(binned(scores[known][going], bins))
    shape = (len(iterations), bins)
    return ScoreCounts(
        np.array(iterations, np.int64),
        bin_edges(bins),
        np.array(entered, np.int64).reshape(shape),
        np.array(removed, np.int64).reshape(shape),
    )
