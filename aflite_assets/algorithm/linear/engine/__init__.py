"""The engine that fits linear classifiers to the rows of a pool and counts their predictions.

Code that handles rows, memory and devices belongs here. The package `solver` searches for an optimum, and the package
`kernels` has the arithmetic on rows.
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
