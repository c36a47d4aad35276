"""Interface of a cluster: workers that each hold an object and process items one at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from aflite_assets.errors import MemoryRanOutError

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

Log = Callable[[str], None]
"""Type of a function that logs one line."""

Work = Callable[[Any, Any, Log], Any]
"""Type of a worker's function: (item, value shared by all items or None, log) -> result.

The function may keep a loaded model between items.
"""


@dataclass(frozen=True)
class Needs:
    """Resources that one worker needs: a number of CPU cores and, if `gpu` is True and the nodes have GPUs, a GPU."""

    cpus: int = 1
    gpu: bool = False


class Shared(Protocol):
    """A value that is sent to each node once and is read by all workers on the node. Arrays in the value are
    read-only.
    """

    def get(self) -> Any:
        """Return the value. All workers and the process that shared the value may call this method."""
        ...


class Workers(Protocol):
    """Workers that all do the same work. Any thread may call the methods."""

    @property
    def count(self) -> int:
        """Number of workers that can work at the same time."""
        ...

    def call(self, item: object, *, common: Shared | None = None, log: Log) -> Any:
        """Process one item with the next free worker, and return the result.

        If the worker is lost, another worker processes the item.

        Raises:
            WorkerLostError: every worker that processed the item was lost.
            MemoryRanOutError: a node had too little memory.
            ClusterError: no worker is left.
            AfliteError, OSError: an error raised by the work.
            RuntimeError: an error of any other type, raised by the work in another process.
        """
        ...


class Cluster(Protocol):
    """A cluster for distributed work.

    Values are sent as pickles, so other programs must not be able to connect to the cluster.
    """

    @property
    def spreads(self) -> bool:
        """True if stages should divide their work into items for several workers."""
        ...

    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> AbstractContextManager[Workers]:
        """Start as many workers as the cluster has resources for. Each worker calls `make` once, before its first item.

        Raises:
            ClusterError: the cluster has too few resources for a worker.
        """
        ...

    def share(self, value: object) -> Shared:
        """Return a reference to a value. The value is sent to a node when the node first requests it."""
        ...


def map_in_order(
    workers: Workers,
    items: Sequence[_Item],
    *,
    common: Shared | None = None,
    log: Log,
    halves: Callable[[_Item], Sequence[_Item]] = lambda item: (),
) -> Iterator[_Answer]:
    """Yield the results of all items, in the order of the items.

    If there is too little memory for an item that has `halves`, the halves are processed instead.

    Raises:
        AfliteError, OSError, RuntimeError: raised for the same reasons as in `Workers.call`. After an error, no further
            item is started.
    """

    def answered(item: _Item) -> list[_Answer]:
        try:
            return [workers.call(item, common=common, log=log)]
        except MemoryRanOutError as error:
            parts = halves(item)
            if len(parts) < 2:
                raise
            log(f"{error}; the item is processed again in {len(parts)} parts")
            return [answer for part in parts for answer in answered(part)]

    with ThreadPoolExecutor(max(1, workers.count)) as threads:
        waiting = [threads.submit(answered, item) for item in items]
        try:
            for one in waiting:
                yield from one.result()
        finally:
            for one in waiting:
                one.cancel()
