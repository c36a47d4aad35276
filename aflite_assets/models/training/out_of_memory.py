"""Handling of out-of-memory errors: detection, release of memory, and continuation with smaller batches."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from aflite_assets.errors import ModelError
from aflite_assets.models.training.prefetch import prefetch

MESSAGES = ("out of memory", "can't allocate memory", "not enough memory", "_alloc_failed")
"""Texts of out-of-memory errors from CUDA, the CPU's allocator, cuBLAS and cuDNN, which do not have a special error
class.
"""

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an operation failed because the GPU or main memory was exhausted."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(message in str(error).lower() for message in MESSAGES)


def more_parts(parts: int, *, batch_size: int) -> int | None:
    """Return the smallest divisor of `batch_size` that is at least twice `parts`. Return None if the parts are already
    single rows.
    """
    return next((more for more in range(2 * parts, batch_size + 1) if batch_size % more == 0), None)


def release_memory() -> None:
    """Free unused memory. Call this function after the `except` block, because the traceback inside the block keeps
    tensors alive.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@dataclass(frozen=True)
class RanOut:
    """A failure because memory was exhausted, with the text of the error."""

    problem: str


def tried(action: Callable[..., Answer], *arguments: Any) -> Answer | RanOut:
    """Return the result of `action(*arguments)`, or `RanOut` if memory was exhausted."""
    try:
        return action(*arguments)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return RanOut(str(error))


@dataclass
class AdaptiveBatchSize:
    """The number of rows per batch, which adapts to the available memory. The number is `most` at the start and is
    halved each time memory runs out.

    Each reduction is written to `log`. While a batch is computed, `threads` threads prepare the next batches (see
    `prefetch`).
    """

    log: Callable[[str], None]
    most: int = sys.maxsize
    threads: int = 0

    def ask(
        self, rows: np.ndarray, batch: Callable[[np.ndarray], Batch], answer: Callable[[Batch], Answer]
    ) -> Iterator[tuple[np.ndarray, Answer]]:
        """Yield each consecutive part of `rows` (int64), in order, with `answer(batch(part))`.

        Raises:
            ModelError: memory is too small for a single row.
        """
        start = 0
        while start < len(rows):
            pieces = [rows[first : first + self.most] for first in range(start, len(rows), self.most)]
            with closing(prefetch(batch, pieces, threads=self.threads)) as batches:
                for piece, made in zip(pieces, batches, strict=True):
                    outcome = tried(answer, made)
                    if isinstance(outcome, RanOut):
                        break
                    yield piece, outcome
                    start += len(piece)
            if isinstance(outcome, RanOut):
                self._halve(len(piece), outcome.problem)

    def _halve(self, rows: int, problem: str) -> None:
        release_memory()
        if rows == 1:
            raise ModelError(
                f"memory ran out on the prediction of a single row ({problem}); lower `max_length` or `image_size`, "
                "choose a smaller model, or free memory of the device"
            )
        self.most = rows // 2
        self.log(f"memory ran out: the model now predicts {self.most} rows at once instead of {rows}")
