"""Features of the pool, standardized and padded. If the features fit, the features are kept in main memory or on the
GPU; otherwise, the features are read in blocks.

Because intercepts are not penalised, a shift of the features does not change the predictions. A change of the features'
scale does not change the predictions if the L2 strength is scaled accordingly. Features are standardized because
float32 is most precise for values near zero and of size about 1.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import torch

from aflite_assets.algorithm.inputs import row_blocks

_log = logging.getLogger(__name__)

# A multiple of a cache line, so that every row starts at one.
_LINE_BYTES = 64
# Rows converted by one thread at a time: small enough for its cache.
_CHUNK_BYTES = 2**20
# Rows rotated by one thread at a time: enough for a fast matrix product.
_ROTATED_ROWS = 1024
# Share of a card's free memory that the pool may take; the rest is for weights, gradients and gathered rows.
_CARD_SHARE = 0.5


@dataclass(frozen=True)
class Standardization:
    """The linear map from features x to (x - origin) / scale. The result is padded with zeros to `width` columns and
    then rotated.

    `origin`: one number per column, float64. `scale`: one number for all columns. `rotation`: a matrix (width x width)
    that multiplies the rows of a pool in memory, or None for no rotation.
    """

    origin: np.ndarray
    scale: float
    width: int
    rotation: np.ndarray | None = None

    @classmethod
    def of(cls, rows: np.ndarray, dtype: np.dtype) -> "Standardization":
        """Estimate the map from some rows. `origin` is the mean of each column, and `scale` is the root mean square
        deviation from the means.
        """
        values = rows.astype(np.float64)
        origin = values.mean(axis=0)
        values -= origin
        largest = float(np.abs(values).max())
        spread = largest * float(np.sqrt(np.mean((values / (largest or 1.0)) ** 2)))
        lanes = _LINE_BYTES // dtype.itemsize
        return cls(origin, spread if spread > 0 else 1.0, -(-rows.shape[1] // lanes) * lanes)


@dataclass(frozen=True)
class Block:
    """Features of consecutive slots (positions in the pool), slots x padded width. The first slot is `first`."""

    first: int
    features: np.ndarray

    @property
    def stop(self) -> int:
        """Number of the slot after the last slot of the block."""
        return self.first + len(self.features)


class PoolFeatures:
    """Standardized and padded rows of a feature matrix, in `dtype`. A slot is a position in `rows`."""

    def __init__(
        self,
        features: np.ndarray,
        rows: np.ndarray,
        standardization: Standardization,
        dtype: np.dtype,
        *,
        memory_limit: int,
        threads: Executor,
        hold: bool = True,
    ) -> None:
        """Store the ascending row numbers `rows`. If `hold` is True and the rows fit into half of `memory_limit`,
        convert all rows now.
        """
        self._features, self._standardization, self.dtype, self._threads = features, standardization, dtype, threads
        self.rows, self.width, self._fixed = rows, standardization.width, False
        row_bytes = standardization.width * dtype.itemsize
        # A rotated pool cannot be read again in pieces.
        fits = len(rows) * row_bytes <= memory_limit // 2 or standardization.rotation is not None
        self.resident = hold and fits
        self._block_bytes = len(rows) * row_bytes if self.resident else max(row_bytes, memory_limit // 4)
        self.slices = self._sliced()
        self._buffer = aligned(self.slices[0].stop, standardization.width, dtype)
        if self.resident:
            self._fill(self.slices[0])
            self._rotate()

    def blocks(self) -> Iterator[Block]:
        """Yield the features of all slots, block by block, in slot order. Unless the pool is in memory, each block is
        overwritten by the next block.
        """
        for block in self.slices:
            if not self.resident:
                self._fill(block)
            yield Block(block.start, self._buffer[: block.stop - block.start])

    def keep(self, rows: np.ndarray) -> None:
        """Keep only the given rows. Nothing changes if the pool is in memory or if its slots are fixed."""
        if not self.resident and not self._fixed:
            self.rows = rows
            self.slices = self._sliced()

    def fix_slots(self) -> None:
        """Fix the numbering of the slots from now on, because a copy of the pool uses this numbering."""
        self._fixed = True

    def slots_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the slots of the given rows. The row numbers must be ascending."""
        return np.searchsorted(self.rows, rows)

    def _sliced(self) -> list[slice]:
        row_bytes = self.width * self.dtype.itemsize
        return list(row_blocks(len(self.rows), row_bytes=row_bytes, memory_limit=self._block_bytes))

    def _fill(self, block: slice) -> None:
        row_bytes = self._standardization.width * self.dtype.itemsize
        chunks = list(row_blocks(block.stop - block.start, row_bytes=row_bytes, memory_limit=_CHUNK_BYTES))
        rows = self.rows[block]

        def fill(chunk: slice) -> None:
            convert(self._features, rows[chunk], self._standardization, self._buffer[chunk])

        list(self._threads.map(fill, chunks))

    def _rotate(self) -> None:
        if self._standardization.rotation is None:
            return
        rotation = torch.from_numpy(self._standardization.rotation).to(torch.from_numpy(self._buffer).dtype)
        blocks = torch.from_numpy(self._buffer).split(_ROTATED_ROWS)
        list(self._threads.map(lambda rows: rows.copy_(rows @ rotation), blocks))


def convert(features: np.ndarray, rows: np.ndarray, standardization: Standardization, target: np.ndarray) -> None:
    """Standardize the rows with the given ascending numbers and write them to `target` without rotation."""
    consecutive = int(rows[-1]) - int(rows[0]) + 1 == len(rows)
    taken = features[rows[0] : rows[-1] + 1] if consecutive else features[rows]
    # Float64 and integers may be large beside their spread: there the difference is taken in float64.
    kind = np.float32 if taken.dtype.itemsize <= 4 and taken.dtype.kind == "f" else np.float64
    difference = np.subtract(taken, standardization.origin.astype(kind), dtype=np.result_type(kind, target.dtype))
    np.multiply(difference, 1.0 / standardization.scale, out=target[:, : taken.shape[1]], casting="same_kind")


def aligned(rows: int, width: int, dtype: np.dtype) -> np.ndarray:
    """Return a matrix of zeros in which every row starts at a cache line. A row of `width` numbers must fill whole
    cache lines.
    """
    size = rows * width * dtype.itemsize
    raw = np.zeros(size + _LINE_BYTES, dtype=np.uint8)
    start = -raw.ctypes.data % _LINE_BYTES
    return raw[start : start + size].view(dtype).reshape(rows, width)


def working_memory(device: torch.device, memory_limit: int) -> int:
    """Return how many bytes may be used in addition to the pool: a quarter of a GPU's free memory or, on the CPU,
    `memory_limit`.
    """
    return torch.cuda.mem_get_info(device)[0] // 4 if device.type == "cuda" else memory_limit


def pool_on(device: torch.device, pool: PoolFeatures) -> torch.Tensor | None:
    """Return the whole pool as a tensor on the GPU. Return None on the CPU, or if the GPU has too little memory."""
    if device.type == "cpu":
        return None
    needed, free = len(pool.rows) * pool.width * 4, torch.cuda.mem_get_info(device)[0]
    if needed > _CARD_SHARE * free:
        _log.info(
            "%d MiB of features do not fit into %d MiB of free GPU memory; the features are streamed to the GPU in "
            "blocks",
            needed >> 20,
            free >> 20,
        )
        return None
    return copied_to(device, pool)


def copied_to(device: torch.device, pool: PoolFeatures) -> torch.Tensor:
    """Return the whole pool as a tensor, and fix the numbering of the slots so that the numbering stays valid for the
    tensor.
    """
    dtype = torch.from_numpy(np.empty(0, dtype=pool.dtype)).dtype
    resident = torch.empty(len(pool.rows), pool.width, dtype=dtype, device=device)
    for block in pool.blocks():
        resident[block.first : block.stop] = torch.from_numpy(block.features).to(device)
    pool.fix_slots()
    return resident
