"""Reading and decoding of single stored images, and a search for images that cannot be decoded."""

import hashlib
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from aflite_assets.errors import MissingDataError, UnsettledDataError

if TYPE_CHECKING:
    from PIL import Image

Value = TypeVar("Value")

IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""Lower-case suffixes of the files in an image folder that are read; other files are ignored."""

IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string()), ("sha256", pa.string())])
"""Type of an image column.

An image column contains the encoded bytes or, for local image folders, the path and the file's hash ("" if not
computed).
"""

_FORMATS = (
    "AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "SGI", "TGA", "TIFF", "WEBP",
)  # fmt: skip
"""Formats that Pillow may open.

Pillow detects formats by content, not by file name, and would pass data that look like PostScript to a system program.
"""

_LARGE_PIXELS = 2**24
"""Number of pixels above which images are decoded one at a time; a decoded image may have half a gigabyte."""

_CHECKED_AT_ONCE = 10_000


def read_image(image: Mapping[str, Any]) -> bytes:
    """Return the encoded image for one value of an image column.

    Raises:
        MissingDataError: the image file no longer exists.
        UnsettledDataError: the image file was changed after `raw_dataset` was materialised.
    """
    if image["bytes"] is not None:
        return bytes(image["bytes"])
    try:
        content = Path(image["path"]).read_bytes()
    except OSError as error:
        raise MissingDataError(
            f"image {image['path']!r} cannot be read ({error.strerror}); restore the file or materialise "
            "`raw_dataset` again"
        ) from error
    if image["sha256"] and hashlib.sha256(content).hexdigest() != image["sha256"]:
        raise UnsettledDataError(
            f"image {image['path']!r} was changed after `raw_dataset` was materialised; materialise `raw_dataset` again"
        )
    return content


def open_encoded(content: bytes) -> "Image.Image":
    """Open an encoded image with Pillow, which reads its size but does not decode its pixels yet.

    If an image has several frames, the first is used.

    Raises:
        Exception: the bytes are not an image; Pillow raises errors of many types.
    """
    from PIL import Image

    return Image.open(BytesIO(content), formats=_formats())


def read_encoded(content: bytes, read: "Callable[[Image.Image], Value]") -> Value | None:
    """Open an encoded image with Pillow and return the result of `read`, or None if the bytes are not an image.

    `read` must do nothing but decode, because any error from `read` is interpreted as damaged bytes.
    """
    try:
        return read(open_encoded(content))
    except MemoryError:
        raise
    except Exception:  # Pillow raises errors of many types for invalid bytes; each means that this is no image
        return None


def as_rgb(image: "Image.Image") -> "Image.Image":
    """Return the decoded pixels as RGB; transparency is dropped, and grey and palette images are converted.

    Raises:
        Exception: the bytes are damaged; Pillow raises errors of many types.
    """
    # Pillow warns if a palette with transparency is converted to RGB directly.
    return (image.convert("RGBA") if image.mode == "P" else image).convert("RGB")


def undecodable(column: pa.ChunkedArray, *, threads: int, log: Callable[[str], None] = lambda line: None) -> np.ndarray:
    """Return the positions (int64, ascending) of the images that cannot be decoded.

    An undecodable image is empty, truncated, a text, or too large. `column` has the type `IMAGE_TYPE`. An image is too
    large if it has over 179 million pixels, which Pillow treats as a decompression bomb. Progress is logged after every
    10,000 images.

    Raises:
        DataError: an image file was deleted or changed after `raw_dataset` was materialised.
    """
    large = threading.Lock()
    broken: list[int] = []
    # Pillow warns about unusual but readable files. Filters apply to the whole process, so they are set only once.
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")
        for start in range(0, len(column), _CHECKED_AT_ONCE):
            part = column.slice(start, _CHECKED_AT_ONCE)
            decoded = pool.map(partial(_decodes, large=large), part)
            broken += [start + row for row, fine in enumerate(decoded) if not fine]
            if len(column) > _CHECKED_AT_ONCE:
                log(f"images decoded: {start + len(part):,} of {len(column):,}, {len(broken):,} of them broken")
    return np.array(broken, np.int64)


def _decodes(image: pa.StructScalar, *, large: threading.Lock) -> bool:
    def decode(opened: "Image.Image") -> bool:
        with large if opened.width * opened.height > _LARGE_PIXELS else nullcontext():
            as_rgb(opened)
        return True

    return read_encoded(read_image(image.as_py()), decode) is not None


@lru_cache
def _formats() -> tuple[str, ...]:
    from PIL import Image

    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)
