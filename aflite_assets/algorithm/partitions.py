"""Which rows each classifier is trained on: one iteration's random draw, in whole groups where rows have them."""

import numpy as np

from aflite_assets.algorithm.streams import Purpose, generator
from aflite_assets.errors import InvalidInputError


def draw_partitions(
    rows: np.ndarray,
    groups: np.ndarray | None,
    *,
    train_size: int,
    n_partitions: int,
    seed: int,
    iteration: int,
) -> list[np.ndarray]:
    """The training rows of each partition of one iteration, ascending row numbers (int64).

    `rows` are the row numbers that may be trained on and `groups`, as long as `rows`, what they belong to.
    Partition j depends on (seed, iteration, j) and the rows alone.

    Raises:
        InvalidInputError: every group is larger than `train_size`.
    """
    streams = [generator(seed, Purpose.PARTITION, iteration, number) for number in range(n_partitions)]
    if groups is None:
        return [rows[_draw_rows(len(rows), train_size, stream)] for stream in streams]
    codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    if sizes.min() > train_size:
        raise InvalidInputError(
            f"No group fits into train_size {train_size}: the smallest of the {len(sizes)} groups in the pool of "
            f"iteration {iteration} has {sizes.min()} rows. Raise train_size or use finer groups."
        )
    return [rows[_draw_groups(sizes, train_size, stream)[codes]] for stream in streams]


def fill_in_order(sizes: np.ndarray, capacity: int) -> np.ndarray:
    """Take items in the order given while they fit into `capacity`, passing over those that do not; a bool mask."""
    taken = np.zeros(len(sizes), dtype=bool)
    left, start = capacity, 0
    while start < len(sizes):
        stop = start + int(np.searchsorted(np.cumsum(sizes[start:]), left, side="right"))
        taken[start:stop] = True
        left -= int(sizes[start:stop].sum())
        fitting = np.flatnonzero(sizes[stop:] <= left)
        if not fitting.size:
            break
        start = stop + int(fitting[0])
    return taken


def _draw_rows(n_rows: int, train_size: int, stream: np.random.Generator) -> np.ndarray:
    """A bool mask over rows: the ones trained on."""
    drawn = np.zeros(n_rows, dtype=bool)
    drawn[stream.choice(n_rows, min(train_size, n_rows), replace=False, shuffle=False)] = True
    return drawn


def _draw_groups(sizes: np.ndarray, train_size: int, stream: np.random.Generator) -> np.ndarray:
    """A bool mask over groups: the ones trained on."""
    order = stream.permutation(len(sizes))
    drawn = np.zeros(len(sizes), dtype=bool)
    drawn[order] = fill_in_order(sizes[order], train_size)
    return drawn
