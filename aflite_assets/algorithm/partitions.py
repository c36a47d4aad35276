"""Random draws: a generator per purpose, the training rows of each classifier, and the rows that a classifier does not
predict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.errors import InvalidInputError


class Purpose(IntEnum):
    """Purpose of a random generator. Draws for one purpose never change the draws for another purpose."""

    PARTITION = 0
    TIES = 1
    GUMBEL = 2
    CURVATURE = 3
    START = 4
    SCORED_PARTITION = 5
    SCORED_CUT = 6
    SCORED_GUMBEL = 7
    PERMUTATION = 8


def generator(seed: int, purpose: Purpose, iteration: int, partition: int = 0) -> np.random.Generator:
    """Return a new random generator that depends only on the arguments and not on earlier draws."""
    # The spawn key keeps the numbers apart: SeedSequence pads a plain list with zeros and splits large
    # integers into words, so that different lists can give the same stream.
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, iteration, partition)))


@dataclass(frozen=True)
class Partitions:
    """Random train / held-out partitions of one iteration, as arrays of ascending int64 row numbers.

    `trainable`: the rows of the pool that may be trained on; `scored_only`: the other rows of the pool. `subsets`: the
    training rows of each partition. `unpredicted`: for each partition, the `scored_only` rows that its classifiers do
    not predict.
    """

    trainable: np.ndarray
    scored_only: np.ndarray
    subsets: list[np.ndarray]
    unpredicted: list[np.ndarray]


def draw_iteration(
    inputs: Inputs,
    settings: FilterSettings,
    *,
    pool: np.ndarray,
    seed: int,
    iteration: int = 0,
    numbers: range | None = None,
) -> Partitions:
    """Draw the partitions of an iteration from `pool`, an ascending array of rows. `numbers` is a range of partition
    numbers; None means all partitions.

    A train row is not predicted by the partitions that train on it. For a partition that trains on a share p of the
    train rows, each `scored_only` row is left out with probability p. Train rows and `scored_only` rows then have the
    same distribution of the number of predictions. The rows of a group are predicted or left out together. In a group
    with train rows, the `scored_only` rows are left out if and only if the train rows are trained on.

    Raises:
        InvalidInputError: every group is larger than `train_size`.
    """
    numbers = range(settings.n_partitions) if numbers is None else numbers
    scored = inputs.score_only[pool]
    trainable, scored_only = pool[~scored], pool[scored]
    subsets = draw_partitions(
        trainable,
        None if inputs.groups is None else inputs.groups[trainable],
        train_size=settings.train_size,
        n_partitions=len(numbers),
        seed=seed,
        iteration=iteration,
        first=numbers.start,
    )
    unpredicted = follows_training(inputs, scored_only, subsets)
    if len(scored_only):
        units, free = np.arange(len(scored_only)), np.ones(len(scored_only), dtype=bool)
        if inputs.groups is not None:
            units = np.unique(inputs.groups[scored_only], return_inverse=True)[1]
            free = ~np.isin(inputs.groups[scored_only], inputs.groups[trainable])
        for place, (number, subset) in enumerate(zip(numbers, subsets, strict=True)):
            drawn = generator(seed, Purpose.SCORED_PARTITION, iteration, number).random(int(units.max()) + 1)
            left_out = scored_only[free & (drawn[units] < len(subset) / len(trainable))]
            unpredicted[place] = np.union1d(unpredicted[place], left_out)
    return Partitions(trainable, scored_only, subsets, unpredicted)


def follows_training(inputs: Inputs, scored_only: np.ndarray, subsets: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return, for each of `subsets`, the `scored_only` rows that share a group with a training row of the subset."""
    groups = inputs.groups
    if groups is None:
        return [scored_only[:0] for _ in subsets]
    return [scored_only[np.isin(groups[scored_only], groups[subset])] for subset in subsets]


def draw_partitions(
    rows: np.ndarray,
    groups: np.ndarray | None,
    *,
    train_size: int,
    n_partitions: int,
    seed: int,
    iteration: int,
    first: int = 0,
) -> list[np.ndarray]:
    """Return the training rows of each partition of one iteration, starting with partition `first`, as ascending int64
    row numbers.

    `rows` are the numbers of the rows that may be trained on. `groups` holds the group of each row in `rows`. Partition
    j depends only on (seed, iteration, j) and on the rows.

    Raises:
        InvalidInputError: every group is larger than `train_size`.
    """
    streams = [generator(seed, Purpose.PARTITION, iteration, number) for number in range(first, first + n_partitions)]
    if groups is None:
        return [rows[_draw_rows(len(rows), train_size, stream)] for stream in streams]
    codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    if sizes.min() > train_size:
        raise InvalidInputError(
            f"`train_size` is {train_size}, but the smallest of the {len(sizes)} groups in the pool of iteration "
            f"{iteration} has {sizes.min()} rows; raise `train_size`, or give smaller groups"
        )
    return [rows[_draw_groups(sizes, train_size, stream)[codes]] for stream in streams]


def fill_in_order(sizes: np.ndarray, capacity: int | Sequence[int]) -> np.ndarray:
    """Return a bool mask of the items that fit into `capacity`. Items are considered in order, and an item that does
    not fit is skipped.

    If there are several capacities, `sizes` is items x capacities, and an item must fit into all capacities.
    """
    needs = sizes[:, None] if sizes.ndim == 1 else sizes
    taken = np.zeros(len(needs), dtype=bool)
    left, start = np.atleast_1d(capacity).astype(np.int64), 0
    while start < len(needs):
        passes = np.flatnonzero((np.cumsum(needs[start:], axis=0) > left).any(axis=1))
        stop = start + int(passes[0]) if passes.size else len(needs)
        taken[start:stop] = True
        left = left - needs[start:stop].sum(axis=0)
        fitting = np.flatnonzero((needs[stop:] <= left).all(axis=1))
        if not fitting.size:
            break
        start = stop + int(fitting[0])
    return taken


def _draw_rows(n_rows: int, train_size: int, stream: np.random.Generator) -> np.ndarray:
    """Return a bool mask over rows that is True for the training rows."""
    drawn = np.zeros(n_rows, dtype=bool)
    drawn[stream.choice(n_rows, min(train_size, n_rows), replace=False, shuffle=False)] = True
    return drawn


def _draw_groups(sizes: np.ndarray, train_size: int, stream: np.random.Generator) -> np.ndarray:
    """Return a bool mask over groups that is True for the training groups."""
    order = stream.permutation(len(sizes))
    drawn = np.zeros(len(sizes), dtype=bool)
    drawn[order] = fill_in_order(sizes[order], train_size)
    return drawn
