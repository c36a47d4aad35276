"""Workers that run in this process and have the same interface as the workers of a cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock

from aflite_assets.cluster.protocol import Log, Needs, Shared, Work, Workers


@dataclass(frozen=True)
class _Here:
    """A shared value of this process, which needs no copy."""

    value: object

    def get(self) -> object:
        """Return the value."""
        return self.value


class _TakingTurns:
    """Workers that are created on demand. Neural models are trained one at a time, because models share random
    generators.
    """

    def __init__(self, make: Callable[[], Work], count: int) -> None:
        self.count = count
        self._make, self._turn = make, Lock()
        self._free: SimpleQueue[Work | None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)

    def call(self, item: object, *, common: Shared | None = None, log: Log) -> object:
        """Return the result of one item, as described in `Workers.call`."""
        work = self._free.get()
        try:
            with self._turn:
                work = work or self._make()
                return work(item, None if common is None else common.get(), log)
        finally:
            self._free.put(work)


@dataclass(frozen=True)
class LocalCluster:
    """A cluster that consists of this process only.

    `spreads`: True if stages divide their work into items for `count` workers, as on a cluster of several nodes.
    """

    spreads: bool = False
    count: int = 1

    @contextmanager
    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> Iterator[Workers]:
        """Yield workers of this process. The argument `needs` is ignored, because this process cannot provide more
        resources.
        """
        yield _TakingTurns(make, self.count)

    def share(self, value: object) -> Shared:
        """Return a reference to the value without copying the value."""
        return _Here(value)
