"""Reading of numpy's array files without unpickling.

Every damaged file raises the same type of error. The header of a file is not trusted: it may declare a negative shape,
more numbers than the file contains, or pickled objects.
"""

import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Literal

import numpy as np

_ERRORS = (ValueError, OSError, EOFError, SyntaxError, TokenError, TypeError, ArithmeticError, RecursionError)
_ARCHIVE_ERRORS = (*_ERRORS, LookupError, NotImplementedError, zipfile.BadZipFile, zlib.error)


class ArrayFileError(ValueError):
    """A file does not hold the expected arrays; the message gives the reason, but neither the file nor a remedy."""


def open_array(path: str | Path, *, mode: Literal["r", "r+"] = "r", shape: tuple[int, ...] | None = None) -> np.memmap:
    """Return the array of a `.npy` file, memory-mapped; `shape`: the only accepted shape.

    Raises:
        ArrayFileError: the file is not one complete array of plain values, or has another shape.
    """
    try:
        with np.errstate(over="raise"):  # a product of dimensions that wraps around would pass for a small one
            array: np.memmap = np.lib.format.open_memmap(path, mode="r")
            if mode == "r+":  # which would lengthen a file that is too short
                array = np.lib.format.open_memmap(path, mode=mode)
    except _ERRORS as error:
        raise ArrayFileError(_reason(error)) from None
    if shape is not None and array.shape != shape:
        raise ArrayFileError(f"the array has the shape {array.shape} instead of {shape}")
    return array


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a `.npz` file by name.

    Raises:
        ArrayFileError: the file is not an archive of complete arrays of plain values.
    """
    try:
        with np.errstate(over="raise"), path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            read = {} if isinstance(loaded, np.ndarray) else dict(loaded)
    except _ARCHIVE_ERRORS as error:
        raise ArrayFileError(_reason(error)) from None
    if isinstance(loaded, np.ndarray):
        raise ArrayFileError("the file contains a single array, not an archive")
    others = sorted(name for name, array in read.items() if not isinstance(array, np.ndarray))
    if others:
        raise ArrayFileError(f"its entry {others[0]!r} is not an array")
    return read


def _reason(error: Exception) -> str:
    """Return the first line of numpy's message, without its advice to unpickle or to trust the file."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return "the file does not contain an array of plain values" if "pickle" in line.lower() else line[:200]
