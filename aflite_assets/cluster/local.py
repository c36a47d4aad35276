"""Workers in this process: what a cluster's are, with nothing sent anywhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock

from aflite_assets.cluster.protocol import Log, Needs, Shared, Work, Workers


@dataclass(frozen=True)
class _Here:
    """A value of this process."""

    value: object

    def get(self) -> object:
        """Return the value."""
        return self.value


class _TakingTurns:
    """Workers that are made when they are first needed; they take turns, since models share a process's generators."""

    def __init__(self, make: Callable[[], Work], count: int) -> None:
        self.count = count
        self._make, self._turn = make, Lock()
        self._free: SimpleQueue[Work | None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)

    def call(self, item: object, *, common: Shared | None = None, log: Log) -> object:
        """See `Workers`."""
        work = self._free.get()
        try:
            with self._turn:
                work = work or self._make()
                return work(item, None if common is None else common.get(), log)
        finally:
            self._free.put(work)


@dataclass(frozen=True)
class LocalCluster:
    """Cluster of this process alone. With `spreads`, stages cut their work up all the same, for `count` workers."""

    spreads: bool = False
    count: int = 1

    @contextmanager
    def workers(self, make: Callable[[], Work], *, needs: Needs, log: Log) -> Iterator[Workers]:
        """See `Cluster`; what workers need is there or not, whatever they say."""
        yield _TakingTurns(make, self.count)

    def share(self, value: object) -> Shared:
        """See `Cluster`."""
        return _Here(value)
