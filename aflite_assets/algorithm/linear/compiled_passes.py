"""Passes by the compiled kernels: float32 on the CPU, models shared out among threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np
import torch

from aflite_assets.algorithm.linear.kernels import add_gradients, count_predictions
from aflite_assets.algorithm.linear.passes import Counts
from aflite_assets.algorithm.linear.pool import PoolFeatures
from aflite_assets.algorithm.linear.training_sets import TrainingSets

# Rows that all models go through before the next rows are looked at: what a second-level cache holds, more where the
# models' own weights fill it anyway.
_ROWS_BYTES = 2**20
_ROWS_PER_WEIGHTS = 16


class CompiledPasses:
    """Passes over a pool for some training sets; predictions are counted for the slots `counted`, ascending.

    Sums run over a training set's rows in ascending order whatever the blocks and threads, so the bits of the result
    depend on neither.
    """

    def __init__(
        self,
        pool: PoolFeatures,
        sets: TrainingSets,
        counted: np.ndarray,
        *,
        loss: int,
        outputs: int,
        threads: Executor,
        n_threads: int,
    ) -> None:
        self._pool, self._sets, self._loss = pool, sets, loss
        self._counted, self._threads, self._n_threads = counted, threads, n_threads
        row_bytes = pool.width * 4
        rows = max(_ROWS_BYTES, _ROWS_PER_WEIGHTS * outputs * row_bytes) // row_bytes
        self._edges = np.concatenate([np.arange(block.start, block.stop, rows) for block in pool.slices])
        self._edges = np.append(self._edges, len(pool.rows))
        self._starts = sets.starts(self._edges)

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Passes`."""
        sums, intercept_sums = torch.zeros_like(weights), torch.zeros(intercepts.shape, dtype=torch.float64)
        chosen = numbers.numpy()
        starts, seen = self._starts[chosen], self._sets.seen[chosen]
        shares = np.array_split(np.arange(len(chosen)), min(self._n_threads, len(chosen)))
        for block in self._pool.blocks():
            first, last = np.searchsorted(self._edges, (block.first, block.stop))
            add = partial(
                add_gradients,
                features=block.features,
                offset=block.first,
                positions=self._sets.slots,
                starts=starts,
                blocks=(int(first), int(last)),
                weights=weights.numpy(),
                intercepts=intercepts.numpy(),
                codes=self._sets.codes,
                seen=seen,
                loss=self._loss,
                gradients=sums.numpy(),
                intercept_gradients=intercept_sums.numpy(),
            )
            self._share(add, shares)
        return sums, intercept_sums.to(intercepts.dtype)

    def count(self, weights: torch.Tensor, intercepts: torch.Tensor, counts: Counts) -> None:
        """See `Passes`."""
        bits = self._sets.trained_bits(len(self._pool.rows))
        for block in self._pool.blocks():
            low, high = np.searchsorted(self._counted, (block.first, block.stop))
            count = partial(
                count_predictions,
                features=block.features,
                offset=block.first,
                weights=weights.numpy(),
                intercepts=intercepts.numpy(),
                codes=self._sets.codes,
                seen=self._sets.seen,
                trained=bits,
                correct=counts.correct,
                label_sums=counts.label_sums,
                matrix_sums=counts.matrix_sums,
            )
            self._share(count, np.array_split(self._counted[low:high], self._n_threads))

    def _share(self, kernel: Callable[[np.ndarray], None], parts: Sequence[np.ndarray]) -> None:
        """Run a kernel on every part, the first in this thread: it is awake already."""
        others = [self._threads.submit(kernel, part) for part in parts[1:]]
        kernel(parts[0])
        for other in others:
            other.result()
