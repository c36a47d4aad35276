"""Random train / held-out partitions of one iteration. The module `partitions.py` draws a single partition."""

from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.partitions import draw_partitions, draw_unpredicted
from aflite_assets.algorithm.settings import FilterSettings


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
    iteration: int,
    numbers: range | None = None,
) -> Partitions:
    """Draw the partitions of an iteration from `pool`, an ascending array of rows. `numbers` is a range of partition
    numbers; None means all partitions.

    Raises:
        InvalidInputError: every group is larger than `train_size`.
    """
    numbers = range(settings.n_partitions) if numbers is None else numbers
    scored = inputs.score_only[pool]
    trainable, scored_only = pool[~scored], pool[scored]
    groups, scored_groups = (None if inputs.groups is None else inputs.groups[of] for of in (trainable, scored_only))
    subsets = draw_partitions(
        trainable,
        groups,
        train_size=settings.train_size,
        n_partitions=len(numbers),
        seed=seed,
        iteration=iteration,
        first=numbers.start,
    )
    unpredicted = draw_unpredicted(
        scored_only,
        scored_groups,
        subsets=subsets,
        rows=trainable,
        groups=groups,
        seed=seed,
        iteration=iteration,
        first=numbers.start,
    )
    return Partitions(trainable, scored_only, subsets, unpredicted)
