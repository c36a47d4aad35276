"""Where randomness comes from: one generator per purpose, iteration and partition, from the run's seed alone."""

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a generator is for; draws for one purpose never shift those for another."""

    PARTITION = 0
    TIES = 1
    GUMBEL = 2
    CURVATURE = 3
    START = 4
    SCORED_PARTITION = 5
    SCORED_CUT = 6
    SCORED_GUMBEL = 7


def generator(seed: int, purpose: Purpose, iteration: int, partition: int = 0) -> np.random.Generator:
    """A fresh generator that depends on these four numbers and on nothing drawn before."""
    # The spawn key keeps the numbers apart: SeedSequence pads a plain list with zeros and splits large
    # integers into words, so that different lists can give the same stream.
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, iteration, partition)))
