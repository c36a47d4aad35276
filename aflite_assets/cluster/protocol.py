"""Interface of a cluster: workers that hold something, and answer items one at a time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from aflite_assets.errors import MemoryRanOutError

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

Log = Callable[[str], None]
"""Takes a line."""

Work = Callable[[Any, Any, Log], Any]
"""(item, what all items share or None, log) -> answer: what a worker holds. It may keep a model between items."""


@dataclass(frozen=True)
class Needs:
    """Record of what one worker takes of a node: CPU cores, and a GPU where the work can use one and nodes have any."""

    cpus: int = 1
    gpu: bool = False


class Shared(Protocol):
    """A value that is sent once per node and read there by all workers; arrays in it are read-only."""

    def get(self) -> Any:
        """Return the value, in any worker and in the process that shared it."""
        ...


class Workers(Protocol):
    """Workers that hold the same; any thread may ask them."""

    @property
    def count(self) -> int:
        """How many work at a time."""
        ...

    def call(self, item: object, *, common: Shared | None = None, log: Log) -> Any:
        """Return the answer to one item, by the next worker that is free; asked again of another where a worker is
        lost.

        Raises:
            WorkerLostError: the worker was lost each time.
            MemoryRanOutError: a node's memory did not suffice.
            ClusterError: no worker is left.
            AfliteError, OSError: whatever the work raised; other errors from another process as a RuntimeError.
        """
        ...


class Cluster(Protocol):
    """Where work can be spread; everything that is sent is pickled, so only our own processes may listen."""

    @property
    def spreads(self) -> bool:
        """Whether stages should spread their work at all; False where all of it is done in this process."""
        ...

    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> AbstractContextManager[Workers]:
        """As many workers as there is room for. Each calls `make` once, before its first item.

        Raises:
            ClusterError: there is room for none.
        """
        ...

    def share(self, value: object) -> Shared:
        """Send a value to the nodes, when they first ask for it."""
        ...


def map_in_order(
    workers: Workers,
    items: Sequence[_Item],
    *,
    common: Shared | None = None,
    log: Log,
    halves: Callable[[_Item], Sequence[_Item]] = lambda item: (),
) -> Iterator[_Answer]:
    """Yield the answers to all items, in order. One for which memory did not suffice is asked in `halves`, if it has
    any.

    Raises:
        AfliteError, OSError, RuntimeError: as `Workers.call`; items not begun are left.
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
