"""One stored image: its bytes, decoding by Pillow, and which images of a column do not decode. No models."""

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
"""Endings of the files that an image folder is read from, in lower case; other files are left alone."""

IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string()), ("sha256", pa.string())])
"""An image column: the encoded bytes, or for local image folders the path and the file's hash ("" if not taken)."""

_FORMATS = (
    "AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "SGI", "TGA", "TIFF", "WEBP",
)  # fmt: skip
"""Pillow goes by content, not by file name, and hands what looks like PostScript to a program of the system's."""

_LARGE_PIXELS = 2**24
"""Images of more pixels are decoded one at a time: Pillow accepts up to half a gigabyte decoded."""

_CHECKED_AT_ONCE = 10_000


def read_image(image: Mapping[str, Any]) -> bytes:
    """Return the encoded image that one value of an image column stands for.

    Raises:
        MissingDataError: the file is gone.
        UnsettledDataError: it is not the one whose hash was registered.
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
    """Return the image as Pillow opens it: size known, pixels not yet decoded. Of several frames the first counts.

    Raises:
        Exception: whatever Pillow raises on bytes that are no image; its readers raise errors of many types.
    """
    from PIL import Image

    return Image.open(BytesIO(content), formats=_formats())


def read_encoded(content: bytes, read: "Callable[[Image.Image], Value]") -> Value | None:
    """Return what `read` makes of an encoded image as Pillow opens it, or None if these bytes are no image.

    `read` decodes and does nothing else: whatever it raises is taken for damaged bytes.
    """
    try:
        return read(open_encoded(content))
    except MemoryError:
        raise
    except Exception:  # of hostile bytes, readers raise anything; each says that this is no image
        return None


def as_rgb(image: "Image.Image") -> "Image.Image":
    """Return the decoded pixels, transparency dropped, grey and palette images as RGB.

    Raises:
        Exception: whatever Pillow raises on damaged bytes; its readers raise errors of many types.
    """
    # Pillow warns when a palette with transparency goes to RGB directly.
    return (image.convert("RGBA") if image.mode == "P" else image).convert("RGB")


def undecodable(column: pa.ChunkedArray, *, threads: int, log: Callable[[str], None] = lambda line: None) -> np.ndarray:
    """Positions (int64, ascending) of the images that cannot be decoded whole: empty, cut short, text, too large.

    `column` is of `IMAGE_TYPE`. Too large is what Pillow takes for a decompression bomb, over 179 million pixels.
    A line is logged after every 10,000 images of a larger column.

    Raises:
        DataError: an image's file is gone or changed since it was registered.
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
