"""Interface of a cluster: workers that hold an object and process items one at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from aflite_assets.errors import MemoryRanOutError

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

Log = Callable[[str], None]
"""A function that takes a line for the log."""

Work = Callable[[Any, Any, Log], Any]
"""A function that a worker holds: (item, value shared by all items or None, log) -> result. The function may keep a
model between items.
"""


@dataclass(frozen=True)
class Needs:
    """Resources that one worker needs on a node: CPU cores, and a GPU if the work can use a GPU and nodes have GPUs."""

    cpus: int = 1
    gpu: bool = False


class Shared(Protocol):
    """A value that is sent once per node and read by all workers of the node; its arrays are read-only."""

    def get(self) -> Any:
        """Return the value, in any worker or in the process that shared it."""
        ...


class Workers(Protocol):
    """Workers that hold the same work; calls from any thread are allowed."""

    @property
    def count(self) -> int:
        """Number of workers that work at a time."""
        ...

    def call(self, item: object, *, common: Shared | None = None, log: Log) -> Any:
        """Return the result of one item from the next free worker; if the worker is lost, another worker takes over.

        Raises:
            WorkerLostError: the worker was lost each time.
            MemoryRanOutError: a node's memory did not suffice.
            ClusterError: no worker is left. AfliteError, OSError: an error of the work; errors of other types from
            another process become a RuntimeError.
        """
        ...


class Cluster(Protocol):
    """A cluster for distributed work; everything sent is pickled, so only the project's own processes may listen."""

    @property
    def spreads(self) -> bool:
        """Whether stages should distribute their work; False if all of it is done in this process."""
        ...

    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> AbstractContextManager[Workers]:
        """Provide as many workers as the cluster has room for. Each worker calls `make` once, before its first item.

        Raises:
            ClusterError: the cluster has no room for a worker.
        """
        ...

    def share(self, value: object) -> Shared:
        """Send a value to each node when the node first requests the value."""
        ...


def map_in_order(
    workers: Workers,
    items: Sequence[_Item],
    *,
    common: Shared | None = None,
    log: Log,
    halves: Callable[[_Item], Sequence[_Item]] = lambda item: (),
) -> Iterator[_Answer]:
    """Yield the results of all items, in order.

    If memory does not suffice for an item, the item is divided into its `halves`, if there are any.

    Raises:
        AfliteError, OSError, RuntimeError: as in `Workers.call`; items that were not begun are skipped.
    """

    def answered(item: _Item) -> list[_Answer]:
        try:
            return [workers.call(item, common=common, log=log)]
        except MemoryRanOutError as error:
            parts = halves(item)
            if len(parts) < 2:
                raise
            log(f"{error}; tried again in {len(parts)} parts")
            return [answer for part in parts for answer in answered(part)]

    with ThreadPoolExecutor(max(1, workers.count)) as threads:
        waiting = [threads.submit(answered, item) for item in items]
        try:
            for one in waiting:
                yield from one.result()
        finally:
            for one in waiting:
                one.cancel()
