"""Processes that begin with the heavy libraries loaded: forked from one that has imported them once for all tests.

A fresh interpreter spends seven processor seconds on imports before it trains anything.
"""

import multiprocessing
import os
from collections.abc import Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

from aflite_assets.stages.pipeline import STAGES

PRELOADED = [
    "torch",
    "transformers",
    "matplotlib.pyplot",
    "mlflow",
    "mlflow.store.tracking.sqlalchemy_store",
    "cleanlab.filter",
    *(stage.run.__module__ for stage in STAGES.values()),
    "aflite_assets.stages.shared.training_workers",
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


class ForkedChild:
    """`ChildProcess` with its libraries loaded, for tests in which the start of an interpreter is not the matter."""

    def __init__(self, serve: str, environment: Mapping[str, str]) -> None:
        context = forking_context()
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(serve, theirs, dict(environment)))
        self._process.start()
        theirs.close()

    def exit_code(self) -> int | None:
        """As of `ChildProcess`."""
        self._process.join(10)
        return self._process.exitcode

    def end(self, *, interrupt: bool) -> None:
        """As of `ChildProcess`."""
        if interrupt:
            self._process.terminate()
        self.connection.close()
        self._process.join(10)
        self._process.kill()
        self._process.join()


def _serve(serve: str, connection: Connection, environment: Mapping[str, str]) -> None:
    os.environ.update(environment)
    module, _, name = serve.partition(":")
    getattr(import_module(module), name)(connection)
