"""Sharing of large arrays with workers, either as a memory-mapped file or as one copy per node."""

import mmap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aflite_assets.cluster.protocol import Cluster, Shared


@dataclass(frozen=True)
class MappedArray:
    """A memory-mapped array in a file that has the same path on every node."""

    path: Path
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def get(self) -> np.ndarray:
        """Return the array as a read-only memory map."""
        return np.memmap(self.path, mode="r", offset=self.offset, dtype=self.dtype, shape=self.shape)


def map_or_share(cluster: Cluster, array: np.ndarray) -> Shared:
    """Return a reference to the file of a memory-mapped array, or share the array itself if it is not memory-mapped.

    A memory map that is not C-contiguous is shared like any other array.
    """
    base: object = array.base  # of a slice, the base is not an mmap but the whole array, which has another offset
    if isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and array.flags.c_contiguous:
        return MappedArray(Path(str(array.filename)).resolve(), array.offset, array.dtype, array.shape)
    return cluster.share(np.asarray(array))
