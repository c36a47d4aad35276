"""Small versions of a dataset's images for figures and pages; an image that cannot be decoded is None."""

import base64
import io
import warnings
from typing import TYPE_CHECKING

import numpy as np

from aflite_assets.data.images import open_encoded

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 50_000_000
"""Larger images are not decoded: a few kilobytes can claim gigabytes of pixels."""


def thumbnail_uri(encoded: bytes, *, side: int = 96, quality: int = 90) -> str | None:
    """A `data:` URI of a JPEG that fits into `side` x `side` pixels; None when the image cannot be read.

    `quality`: of the JPEG, 1 to 95.
    """
    image = _decoded(encoded)
    if image is None:
        return None
    image.thumbnail((side, side))
    jpeg = io.BytesIO()
    image.save(jpeg, format="jpeg", quality=quality)
    return png_or_jpeg_uri(jpeg.getvalue(), "jpeg")


def png_or_jpeg_uri(encoded: bytes, kind: str = "png") -> str:
    """The `data:` URI of an encoded image of this kind ("png" or "jpeg")."""
    return f"data:image/{kind};base64,{base64.b64encode(encoded).decode('ascii')}"


def square_pixels(encoded: bytes, side: int) -> np.ndarray | None:
    """Pixels (side x side x 3, uint8) with the image fitted in on white; None when it cannot be read."""
    from PIL import Image, ImageOps

    image = _decoded(encoded)
    if image is None:
        return None
    fitted = ImageOps.contain(image, (side, side))
    square = Image.new("RGB", (side, side), "white")
    square.paste(fitted, ((side - fitted.width) // 2, (side - fitted.height) // 2))
    return np.asarray(square)


def _decoded(encoded: bytes) -> "Image.Image | None":
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MAX_PIXELS is the stricter limit
            image = open_encoded(encoded)
            if image.width * image.height > MAX_PIXELS:
                return None
            # transparent pixels turn white, not black
            coloured = image.convert("RGBA")
    except MemoryError:
        raise
    except Exception:  # of hostile bytes, readers raise anything; each says that this is no image
        return None
    return Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured).convert("RGB")
