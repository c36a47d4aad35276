"""Processes that begin with the heavy libraries loaded: forked from one that has imported them once for all tests.

A fresh interpreter spends seven processor seconds on imports before it trains anything.
"""

import multiprocessing
from multiprocessing.context import ForkServerContext

from aflite_assets.stages.pipeline import STAGES

PRELOADED = [
    "torch",
    "transformers",
    "matplotlib.pyplot",
    "mlflow",
    "plotly.graph_objects",
    *(f"aflite_assets.stages.{name}" for name in STAGES),
    "aflite_assets.stages.evaluation.cell_workers",
    "aflite_assets.models.encoders",
    "aflite_assets.models.evaluators",
    "aflite_assets.models.training.train",
    "tests.faults.kills",
]


def forking_context() -> ForkServerContext:
    """A context of `multiprocessing` whose processes have all of `PRELOADED` imported when they begin.

    They have the environment variables of the moment at which the first of them was started.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context
