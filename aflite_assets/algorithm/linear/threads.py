"""The engine's own threads, and torch kept to one. What they work on is decided elsewhere.

torch shares an operation among OpenMP threads that wait for each other at its end, and they wait by spinning. As soon
as another process wants a core, one of them waits for that core and the others burn theirs: operations of microseconds
take milliseconds. So torch works in one thread here, and what is worth several is cut up by the engine, whose threads
sleep while they wait.
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
# Held while the number that torch gives to new threads is changed for a moment.
_DEFAULT_CHANGED = Lock()


@dataclass(frozen=True)
class Threads:
    """Work in `count` parts at a time: one in the calling thread, the others in threads of `executor`."""

    executor: Executor
    count: int

    @classmethod
    def started(cls, count: int) -> "Threads":
        """Return new threads, in each of which torch uses one thread; `executor.shutdown` ends them."""
        return cls(ThreadPoolExecutor(count, initializer=_set_torch_threads, initargs=(1,)), count)

    def share(self, kernel: Callable[[np.ndarray], None], work: np.ndarray) -> None:
        """Run a kernel on as many parts of `work` as there are threads, the first part in the calling thread."""
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
    """Keep torch to one thread for the calling thread's work; its number before is restored afterwards.

    Several threads may be inside at a time, each more than once. Other threads, also those that start meanwhile, keep
    their numbers. Not for a block that calls `torch.set_num_threads` itself.
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
    """Set the number of torch's threads for work of the calling thread alone; returns the number before.

    OpenMP and MKL keep a number for every thread. torch keeps a default besides, which a thread takes over when it
    first asks or computes, and `torch.set_num_threads` sets that default too. So a helper thread that has taken it over
    puts it back. A foreign thread that first asks within those microseconds takes over `count`.
    """
    with _DEFAULT_CHANGED:
        before = torch.get_num_threads()
        if before != count:
            with ThreadPoolExecutor(1) as other:
                given = other.submit(torch.get_num_threads).result()
                torch.set_num_threads(count)
                other.submit(torch.set_num_threads, given).result()
    return before
