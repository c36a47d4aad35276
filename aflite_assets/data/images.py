"""One stored image: its bytes, its decoding by Pillow, and which images of a column cannot be decoded. No models are
used.
"""

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
"""Endings of the files that an image folder is read from, in lower case; other files are ignored."""

IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string()), ("sha256", pa.string())])
"""Type of an image column: the encoded bytes or, for local image folders, the path and the file's hash ("" if not
computed).
"""

_FORMATS = (
    "AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "SGI", "TGA", "TIFF", "WEBP",
)  # fmt: skip
"""Formats that Pillow may open: it goes by content, not by file name, and passes data that look like PostScript to a
system program.
"""

_LARGE_PIXELS = 2**24
"""Images with more pixels are decoded one at a time, because Pillow accepts up to half a gigabyte decoded."""

_CHECKED_AT_ONCE = 10_000


def read_image(image: Mapping[str, Any]) -> bytes:
    """Return the encoded image for one value of an image column.

    Raises:
        MissingDataError: the file does not exist any more.
        UnsettledDataError: the file's hash differs from the registered one.
    """
    if image["bytes"] is not None:
        return bytes(image["bytes"])
    try:
        content = Path(image["path"]).read_bytes()
    except OSError as error:
        raise MissingDataError(
            f"image {image['path']!r} cannot be read ({error.strerror}); restore it or materialise raw_dataset again"
        ) from error
    if image["sha256"] and hashlib.sha256(content).hexdigest() != image["sha256"]:
        raise UnsettledDataError(
            f"image {image['path']!r} changed since raw_dataset was materialised; materialise raw_dataset again"
        )
    return content


def open_encoded(content: bytes) -> "Image.Image":
    """Open the image with Pillow: its size is known, but its pixels are not yet decoded. If an image has several
    frames, the first is used.

    Raises:
        Exception: any error that Pillow raises on bytes that are not an image; its readers raise errors of many types.
    """
    from PIL import Image

    return Image.open(BytesIO(content), formats=_formats())


def read_encoded(content: bytes, read: "Callable[[Image.Image], Value]") -> Value | None:
    """Return the result of `read` for an encoded image opened with Pillow, or None if the bytes are not an image.

    `read` must only decode: any error it raises is taken to mean damaged bytes.
    """
    try:
        return read(open_encoded(content))
    except MemoryError:
        raise
    except Exception:  # of hostile bytes, readers raise anything; each says that this is no image
        return None


def as_rgb(image: "Image.Image") -> "Image.Image":
    """Return the decoded pixels as RGB; transparency is dropped, and grey and palette images are converted.

    Raises:
        Exception: any error that Pillow raises on damaged bytes; its readers raise errors of many types.
    """
    # Pillow warns when a palette with transparency goes to RGB directly.
    return (image.convert("RGBA") if image.mode == "P" else image).convert("RGB")


def undecodable(column: pa.ChunkedArray, *, threads: int, log: Callable[[str], None] = lambda line: None) -> np.ndarray:
    """Return the positions (int64, ascending) of the images that cannot be decoded: empty, truncated, text, or too
    large.

    `column` is of `IMAGE_TYPE`. An image is too large if Pillow takes it for a decompression bomb, over 179 million
    pixels. A line is logged after every 10,000 images of a larger column.

    Raises:
        DataError: an image's file was deleted or changed after it was registered.
    """
    large = threading.Lock()
    broken: list[int] = []
    # Set once for all threads, since the filters are the process's: Pillow warns of odd but readable files.
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
