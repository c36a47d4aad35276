"""Reading one stored image: its bytes from the table, or from the file it points to, checked against its hash."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from aflite_assets.errors import DataError

IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""Endings of the files that an image folder is read from, in lower case; other files are left alone."""

IMAGE_TYPE = pa.struct([("bytes", pa.binary()), ("path", pa.string()), ("sha256", pa.string())])
"""An image column: the encoded bytes, or for local image folders the path and the file's hash."""


def read_image(image: Mapping[str, Any]) -> bytes:
    """The encoded image that one value of an image column stands for.

    Raises:
        DataError: the file is gone, or is not the one whose hash was registered.
    """
    if image["bytes"] is not None:
        return bytes(image["bytes"])
    try:
        content = Path(image["path"]).read_bytes()
    except OSError as error:
        raise DataError(
            f"image {image['path']!r} cannot be read ({error.strerror}); restore it or materialise raw_dataset again"
        ) from error
    if hashlib.sha256(content).hexdigest() != image["sha256"]:
        raise DataError(
            f"image {image['path']!r} changed since raw_dataset was materialised; materialise raw_dataset again"
        )
    return content
