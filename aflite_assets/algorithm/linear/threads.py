"""Work shared out among the engine's threads, and torch's own threads kept out of it. What the work is: elsewhere.

torch shares an operation among OpenMP threads that wait for each other at its end, and they wait by spinning. As soon
as another process wants a core, one of them waits for that core and the others burn theirs: operations that take
microseconds then take milliseconds. So torch works in one thread here, and whatever is worth two is cut up by the
engine, whose threads sleep while they wait.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch

# Blocks that the rows of a large product are cut into, whatever the number of threads: the same blocks, the same bits.
_PRODUCT_BLOCKS = 8
# Held while what torch gives to threads that start is not what it should be.
_NUMBERS = Lock()


@dataclass(frozen=True)
class Threads:
    """`count` parts are worked on at a time: one by the thread that asks, the others by those of `executor`."""

    executor: Executor
    count: int

    @classmethod
    def started(cls, count: int) -> "Threads":
        """New threads, in each of which torch works alone; to be ended by the executor's `shutdown`."""
        return cls(ThreadPoolExecutor(count, initializer=_set_torch_threads, initargs=(1,)), count)

    def share(self, kernel: Callable[[np.ndarray], None], work: np.ndarray) -> None:
        """Run a kernel on as many parts of `work` as there are threads, the first in this one: it is awake already."""
        first, *parts = np.array_split(work, min(self.count, max(1, len(work))))
        others = [self.executor.submit(kernel, part) for part in parts]
        kernel(first)
        for other in others:
            other.result()

    def product(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """`left @ right`, two matrices on the CPU; the same bits whatever the number of threads."""
        whole = left.new_empty(len(left), right.shape[1])
        blocks = -(-len(left) // _PRODUCT_BLOCKS)
        parts = zip(left.split(blocks), whole.split(blocks), strict=True)
        list(self.executor.map(lambda part: torch.matmul(part[0], right, out=part[1]), parts))
        return whole


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Within, torch's work in the thread that enters takes one thread; afterwards as many as before.

    Any number of threads may be within at a time, each as often as it likes. Threads that did not enter, those that
    start meanwhile too, keep their numbers. Not for a block that calls `torch.set_num_threads` itself.
    """
    # Threads other than OpenMP's sleep while they wait, and their number can be set only once.
    if not torch.backends.openmp.is_available():
        yield
        return
    before = _set_torch_threads(1)
    try:
        yield
    finally:
        _set_torch_threads(before)


def _set_torch_threads(count: int) -> int:
    """Set the number of torch's threads for work in this thread, and in no other; returns the number before.

    OpenMP and MKL keep a number for every thread, but torch another one, which a thread takes over when it first asks
    or computes. `torch.set_num_threads` sets that one too, so a thread that has taken it over puts it back. A thread
    not from here that first asks in just those microseconds takes over `count`.
    """
    with _NUMBERS:
        before = torch.get_num_threads()
        if before != count:
            with ThreadPoolExecutor(1) as other:
                given = other.submit(torch.get_num_threads).result()
                torch.set_num_threads(count)
                other.submit(torch.set_num_threads, given).result()
    return before
