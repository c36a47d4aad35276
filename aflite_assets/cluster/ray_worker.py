"""A worker on a node of a Ray cluster, which processes items and reports facts about the node.

This module does not import Ray.
"""

import platform
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue

from aflite_assets.cluster.protocol import Work
from aflite_assets.errors import as_sent
from aflite_assets.paths import configure_libraries

_DECIDE = ("aflite-assets", "numpy", "torch", "transformers", "numba", "scikit-learn", "pyarrow")
"""Packages of which the versions affect results, or the pickling of values."""


@dataclass(frozen=True)
class NodeFacts:
    """Facts that a worker collects about its node.

    `versions`: versions of Python and of the packages that affect results. `processor`: model and instruction sets of
    the processor, which affect the last bits of floating-point results. `sees_files`: whether the probe file exists on
    the node.
    """

    host: str
    versions: tuple[tuple[str, str], ...]
    processor: str
    sees_files: bool


def node_facts(probe: Path | None = None) -> NodeFacts:
    """Return facts about this machine. `probe`: a file in the folder that all nodes share."""
    versions = (("python", platform.python_version()), *((name, _version(name)) for name in _DECIDE))
    return NodeFacts(socket.gethostname(), versions, _processor(), probe is None or probe.is_file())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    flags = next(
        (set(line.partition(":")[2].split()) for line in lines if line.startswith(("flags", "Features"))), set()
    )
    decisive = sorted(flag for flag in flags if flag.startswith(("avx", "amx", "fma", "sve", "asimd")))
    return " ".join([model or platform.machine(), *decisive])


class WorkHolder:
    """A worker that processes all items in one thread."""

    def __init__(self, make: Callable[[], Work]) -> None:
        """Store `make`, a function that is called before the first item and creates the object that processes items."""
        configure_libraries()
        self._make = make
        self._work: Work | None = None
        self._thread = ThreadPoolExecutor(1)

    def facts(self, probe: Path | None = None) -> NodeFacts:
        """Return facts about the node. A response also shows that the worker has started."""
        return node_facts(probe)

    def stream(self, item: object, common: object) -> Iterator[tuple[str, object]]:
        """Yield ("log", line) for each line that the work logs, then ("done", result) or ("error", exception)."""
        said: SimpleQueue[tuple[str, object] | None] = SimpleQueue()
        answer = self._thread.submit(self._answer, item, common, lambda line: said.put(("log", line)))
        answer.add_done_callback(lambda _: said.put(None))
        while (message := said.get()) is not None:
            yield message
        yield _outcome(answer)

    def collect(self, item: object, common: object) -> list[tuple[str, object]]:
        """Return the pairs of `stream` as a list, for connections that do not support streams."""
        return list(self.stream(item, common))

    def _answer(self, item: object, common: object, log: Callable[[str], None]) -> object:
        if self._work is None:
            self._work = self._make()
        return self._work(item, common, log)


def _outcome(answer: "Future[object]") -> tuple[str, object]:
    error = answer.exception()
    if error is None:
        return "done", answer.result()
    if not isinstance(error, Exception):
        raise error
    sent = as_sent(error, what=f"on {socket.gethostname()}", remedy="lower batch_size, or free memory")
    return "error", (sent, "".join(traceback.format_exception(error)))
