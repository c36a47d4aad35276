"""Passes over the rows with the compiled kernels, in float32 on the CPU. The models are divided among threads."""

from functools import partial

import numpy as np
import torch

from aflite_assets.algorithm.linear.engine.passes import Counts
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures
from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets
from aflite_assets.algorithm.linear.kernels.row_passes import add_gradients, count_predictions
from aflite_assets.algorithm.linear.threads import Threads

# Rows that all models go through before the next rows are looked at: half of a second-level cache; more where the
# models' own weights fill it anyway, or where a training set had so few of them that groups were seldom full.
_ROWS_BYTES = 2**19
_ROWS_PER_WEIGHTS = 16
_ROWS_PER_SET = 32


class CompiledPasses:
    """Passes over a pool that compute gradients and count predictions for several training sets. `counted`: the
    ascending slots (positions in the pool) for which predictions are counted.

    The rows of a training set are summed in ascending order. The result is therefore bit-identical for any division
    into blocks and threads.
    """

    def __init__(
        self,
        pool: PoolFeatures,
        sets: TrainingSets,
        counted: np.ndarray,
        *,
        loss: int,
        outputs: int,
        threads: Threads,
    ) -> None:
        self._pool, self._sets, self._loss, self._counted, self._threads = pool, sets, loss, counted, threads
        row_bytes = pool.width * 4
        gathered = _ROWS_PER_SET * len(pool.rows) // max(1, int(sets.sizes.mean()))
        rows = max(_ROWS_BYTES // row_bytes, _ROWS_PER_WEIGHTS * outputs, gathered)
        self._edges = np.concatenate([np.arange(block.start, block.stop, rows) for block in pool.slices])
        self._edges = np.append(self._edges, len(pool.rows))
        self._starts = sets.starts(self._edges)

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the gradients, as specified by `TorchPasses.gradients`."""
        sums, intercept_sums = torch.zeros_like(weights), torch.zeros(intercepts.shape, dtype=torch.float64)
        chosen = numbers.numpy()
        starts, seen = self._starts[chosen], self._sets.seen[chosen]
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
            self._threads.share(add, np.arange(len(chosen)))
        return sums, intercept_sums.to(intercepts.dtype)

    def count(self, weights: torch.Tensor, intercepts: torch.Tensor, counts: Counts) -> None:
        """Add the models' predictions to `counts`, as specified by `TorchPasses.count`."""
        bits = self._sets.unpredicted_bits(len(self._pool.rows))
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
                unpredicted=bits,
                correct=counts.correct,
                class_counts=counts.class_counts,
                label_sums=counts.label_sums,
                matrix_sums=counts.matrix_sums,
            )
            self._threads.share(count, self._counted[low:high])
