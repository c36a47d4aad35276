"""Threads of the engine, and a limit of one thread for torch. Torch divides an operation among OpenMP threads. At the
end of the operation, the OpenMP threads wait for each other in a busy loop. If another process needs a core, one thread
waits for that core while all other threads wait in busy loops. Operations of microseconds then take milliseconds.
To avoid such waits in busy loops, torch uses one thread in this package. The engine divides larger work among its own
threads, which sleep when they wait.
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
    """Threads that work on `count` parts at a time: one part in the calling thread, the other parts in the threads of
    `executor`.
    """

    executor: Executor
    count: int

    @classmethod
    def started(cls, count: int) -> "Threads":
        """Start new threads and limit torch to one thread in each of them. `executor.shutdown` ends the threads."""
        return cls(ThreadPoolExecutor(count, initializer=_set_torch_threads, initargs=(1,)), count)

    def share(self, kernel: Callable[[np.ndarray], None], work: np.ndarray) -> None:
        """Divide `work` into one part per thread and run the kernel on each part. The first part runs in the calling
        thread.
        """
        first, *parts = np.array_split(work, min(self.count, max(1, len(work))))
        others = [self.executor.submit(kernel, part) for part in parts]
        kernel(first)
        for other in others:
            other.result()

    def product(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return `left @ right` for two matrices on the CPU. The result is bit-identical for any number of threads."""
        whole = left.new_empty(len(left), right.shape[1])
        blocks = -(-len(left) // _PRODUCT_BLOCKS)
        parts = zip(left.split(blocks), whole.split(blocks), strict=True)
        list(self.executor.map(lambda part: torch.matmul(part[0], right, out=part[1]), parts))
        return whole


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread for work in the calling thread. The previous number of threads is restored afterwards.

    Several threads may use this context manager at the same time, and uses may be nested. In all other threads,
    including threads that start meanwhile, torch's number of threads does not change. Code in the `with` block must not
    call `torch.set_num_threads`.
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
    """Set torch's number of threads for work in the calling thread only. Return the previous number.

    OpenMP and MKL store a number of threads for every thread. In addition, torch stores a default number. A thread
    adopts the default when it first computes or when it first queries the number. `torch.set_num_threads` also sets
    that default. A helper thread that already uses the old default then resets the default to the old number. If
    another thread makes its first query before the old default is restored, that thread adopts `count`.
    """
    with _DEFAULT_CHANGED:
        before = torch.get_num_threads()
        if before != count:
            with ThreadPoolExecutor(1) as other:
                given = other.submit(torch.get_num_threads).result()
                torch.set_num_threads(count)
                other.submit(torch.set_num_threads, given).result()
    return before
