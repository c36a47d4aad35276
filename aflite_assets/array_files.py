"""Reading of NumPy's array files without unpickling.

Every damaged file raises an ArrayFileError. The header of a file is not trusted, because it may declare a negative
shape, more numbers than the file contains, or pickled objects.
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
    """Error for a file that does not contain the expected arrays. The message contains only the reason."""


def open_array(path: str | Path, *, mode: Literal["r", "r+"] = "r", shape: tuple[int, ...] | None = None) -> np.memmap:
    """Return the array of a `.npy` file as a memory map.

    `shape`: the expected shape, or None for any shape.

    Raises:
        ArrayFileError: the file does not contain exactly one complete array of plain values, or the shape is different.
    """
    try:
        with np.errstate(over="raise"):  # an overflow of the product of dimensions must not look like a small array
            array: np.memmap = np.lib.format.open_memmap(path, mode="r")
            if mode == "r+":  # opened second, because this mode would lengthen a file that is too short
                array = np.lib.format.open_memmap(path, mode=mode)
    except _ERRORS as error:
        raise ArrayFileError(_reason(error)) from None
    if shape is not None and array.shape != shape:
        raise ArrayFileError(f"the array has the shape {array.shape} instead of {shape}")
    return array


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an `.npz` file by name.

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
        raise ArrayFileError(f"the entry {others[0]!r} of the file is not an array")
    return read


def _reason(error: Exception) -> str:
    """Return the first line of NumPy's error message.

    If NumPy suggests to allow pickled objects, the message is replaced.
    """
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return "the file does not contain an array of plain values" if "pickle" in line.lower() else line[:200]
