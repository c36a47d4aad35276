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
    """Resources of one worker: the number of CPU cores, and a GPU if `gpu` is True and the nodes have GPUs."""

    cpus: int = 1
    gpu: bool = False


class Shared(Protocol):
    """A value that is sent to each node once and is read by all workers on the node; its arrays are read-only."""

    def get(self) -> Any:
        """Return the value, in any worker or in the process that shared the value."""
        ...


class Workers(Protocol):
    """Workers that all do the same work; their methods may be called from any thread."""

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

    Values are pickled to send them, so only the project's own processes may be able to connect.
    """

    @property
    def spreads(self) -> bool:
        """Whether stages should divide their work into items for several workers."""
        ...

    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> AbstractContextManager[Workers]:
        """Start as many workers as the cluster has resources for; each calls `make` once, before its first item.

        Raises:
            ClusterError: the cluster has too few resources for a worker.
        """
        ...

    def share(self, value: object) -> Shared:
        """Return a reference to a value, which is sent to each node when the node first requests it."""
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

    If memory does not suffice for an item, the item is divided into its `halves`, if it has any.

    Raises:
        AfliteError, OSError, RuntimeError: as in `Workers.call`; items that have not started are then skipped.
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
