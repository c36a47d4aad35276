"""Which device the passes run on, and whether the pool fits there."""

import logging

import numpy as np
import torch

from aflite_assets.algorithm.linear.pool import PoolFeatures

_log = logging.getLogger(__name__)

# Share of a card's free memory that the pool may take; the rest is for weights, gradients and gathered rows.
_POOL_SHARE = 0.5


def chosen_device(device: str) -> torch.device:
    """What "auto" stands for here: the first GPU that torch can use, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)


def working_memory(device: torch.device, memory_limit: int) -> int:
    """Bytes for everything but the pool: a quarter of what a card has free, on the CPU the limit itself."""
    return torch.cuda.mem_get_info(device)[0] // 4 if device.type == "cuda" else memory_limit


def pool_on(device: torch.device, pool: PoolFeatures) -> torch.Tensor | None:
    """The whole pool as a tensor on a GPU; None on the CPU, and where the card has too little memory."""
    if device.type == "cpu":
        return None
    needed, free = len(pool.rows) * pool.width * 4, torch.cuda.mem_get_info(device)[0]
    if needed > _POOL_SHARE * free:
        _log.info("%d MiB of features do not fit beside %d MiB of free GPU memory: streaming", needed >> 20, free >> 20)
        return None
    return copied_to(device, pool)


def copied_to(device: torch.device, pool: PoolFeatures) -> torch.Tensor:
    """The whole pool as a tensor, whose rows are the pool's slots for good."""
    dtype = torch.from_numpy(np.empty(0, dtype=pool.dtype)).dtype
    resident = torch.empty(len(pool.rows), pool.width, dtype=dtype, device=device)
    for block in pool.blocks():
        resident[block.first : block.stop] = torch.from_numpy(block.features).to(device)
    pool.fix_slots()
    return resident
