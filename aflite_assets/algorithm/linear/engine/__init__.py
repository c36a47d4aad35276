"""A run of the linear classifiers: its pool, its precision and device, fits, and counts of predictions.

Everything that knows rows, memory and devices belongs here. How an optimum is reached is in solver, arithmetic on rows
in kernels.
"""

from aflite_assets.algorithm.linear.engine.linear_engine import (
    EngineTally,
    KeptClassifiers,
    LinearEngine,
    SetCounts,
    SummedClassifiers,
    WholeIteration,
    tally_of,
)
from aflite_assets.algorithm.linear.engine.passes import Counts

__all__ = [
    "Counts",
    "EngineTally",
    "KeptClassifiers",
    "LinearEngine",
    "SetCounts",
    "SummedClassifiers",
    "WholeIteration",
    "tally_of",
]
