"""A run of the linear classifiers: its pool, precision and device, the fits, and the counts of predictions.

Code that handles rows, memory and devices belongs here. The search for an optimum is in solver, and the arithmetic on
rows is in kernels.
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
