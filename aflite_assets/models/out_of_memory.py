"""Telling that memory ran out, making room again, and how to go on in smaller parts."""

import gc

import torch

MESSAGES = ("out of memory", "can't allocate memory", "not enough memory", "_alloc_failed")
"""Of errors that torch's libraries raise without the name for it: CUDA, the CPU's allocator, cuBLAS and cuDNN."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an operation failed for want of memory on the card or on the CPU."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(message in str(error).lower() for message in MESSAGES)


def more_parts(parts: int, *, batch_size: int) -> int | None:
    """The fewest parts that are at least twice as many and divide `batch_size`; None when they are single rows."""
    return next((more for more in range(2 * parts, batch_size + 1) if batch_size % more == 0), None)


def release_memory() -> None:
    """Give back what nobody uses any more; call it outside the `except` block, whose traceback holds tensors."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
