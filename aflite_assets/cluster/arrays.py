"""Large arrays for workers: mapped from a file, or sent to each node once."""

import mmap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aflite_assets.cluster.protocol import Cluster, Shared


@dataclass(frozen=True)
class MappedArray:
    """An array in a file that every node sees under the same path."""

    path: Path
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def get(self) -> np.ndarray:
        """Return the memory map, which is read-only."""
        return np.memmap(self.path, mode="r", offset=self.offset, dtype=self.dtype, shape=self.shape)


def map_or_share(cluster: Cluster, array: np.ndarray) -> Shared:
    """Return the array's file if the array is a memory map of the whole file in C order, or else the array."""
    base: object = array.base  # a slice of a map has the offset of the whole, and the map as its base
    if isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and array.flags.c_contiguous:
        return MappedArray(Path(str(array.filename)).resolve(), array.offset, array.dtype, array.shape)
    return cluster.share(np.asarray(array))
