"""Work shared out among threads, for kernels that release Python's lock. What the work is: elsewhere."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Threads:
    """`count` parts are worked on at a time: one by the thread that asks, the others by those of `executor`."""

    executor: Executor
    count: int

    def share(self, kernel: Callable[[np.ndarray], None], work: np.ndarray) -> None:
        """Run a kernel on as many parts of `work` as there are threads, the first in this one: it is awake already."""
        first, *parts = np.array_split(work, min(self.count, max(1, len(work))))
        others = [self.executor.submit(kernel, part) for part in parts]
        kernel(first)
        for other in others:
            other.result()
