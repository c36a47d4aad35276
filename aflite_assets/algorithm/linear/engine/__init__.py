"""The engine that fits linear classifiers to the rows of a pool and counts their predictions.

Code that handles rows, memory and devices belongs here. The package `solver` searches for an optimum, and the package
`kernels` has the arithmetic on rows.
"""

from aflite_assets.algorithm.linear.engine.linear_engine import LinearEngine
from aflite_assets.algorithm.linear.engine.passes import Counts
from aflite_assets.algorithm.linear.engine.preparation import is_exact
from aflite_assets.algorithm.linear.engine.results import (
    EngineTally,
    KeptClassifiers,
    SetCounts,
    SummedClassifiers,
    WholeIteration,
    tally_of,
)

__all__ = [
    "Counts",
    "EngineTally",
    "KeptClassifiers",
    "LinearEngine",
    "SetCounts",
    "SummedClassifiers",
    "WholeIteration",
    "is_exact",
    "tally_of",
]
