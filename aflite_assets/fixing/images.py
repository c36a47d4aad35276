"""Changes that make images alike: one format and quality, no metadata, one size, and covered corners and borders."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from aflite_assets.data.images import as_rgb, read_encoded, read_image
from aflite_assets.scan.properties.images import jpeg_quality
from aflite_assets.scan.remedies import BORDER, CORNER, NUMBER_IN_NAME

if TYPE_CHECKING:
    from PIL import Image

_LOSSLESS = frozenset({"BMP", "DIB", "GIF", "ICO", "PCX", "PNG", "PPM", "SGI", "TGA", "TIFF"})
_LOWEST_QUALITY, _USUAL_QUALITY, _HIGHEST_QUALITY = 50, 90, 95
_SIZES = frozenset({"width in pixels", "height in pixels", "width : height"})
_NAMES = ("file name is written like ", "folder = ", NUMBER_IN_NAME)
_FLAT = 6.0
"""Maximum standard deviation of an area that has one colour, in levels from 0 to 255, as in the scan."""

_MOST_MEASURED = 1_000
"""Maximum number of images in which patches and borders are measured."""

_ORIENTATION, _ON_ITS_SIDE = 274, (5, 6, 7, 8)
"""The EXIF tag for the orientation of an image, and the values that swap width and height."""

_MARGIN = 8
"""Width, in pixels, of a margin covered around a patch, because JPEG spreads the patch over blocks of 8 x 8."""


@dataclass(frozen=True, kw_only=True)
class ImageChanges:
    """Changes that are applied to every image.

    `extension`: the extension of the new format, which is ".jpg" or ".png", or "" if files stay unchanged. `quality`:
    the JPEG quality, 1 to 95. `size`: the new width and height in pixels, or None if sizes stay unchanged. `corners`:
    names of the corners that are covered, and the side of each covered square in pixels. `border`: width, in pixels, of
    the frame that is covered. `is_renamed`: whether files get new names.
    """

    extension: str = ""
    quality: int = _USUAL_QUALITY
    size: tuple[int, int] | None = None
    corners: tuple[tuple[str, int], ...] = ()
    border: int = 0
    is_renamed: bool = False

    def phrases(self) -> list[str]:
        """Return one sentence per change."""
        said = []
        if self.extension:
            form = "PNG" if self.extension == ".png" else f"JPEG of quality {self.quality}"
            said.append(f"All images are stored as {form} without metadata, turned upright.")
            if self.extension == ".jpg":
                said.append("Traces of an earlier compression can stay in the pixels.")
        if self.size:
            said.append(f"All images have {self.size[0]} x {self.size[1]} pixels: scaled, and cut at the margins.")
        for name, side in self.corners:
            said.append(f"The {name} corner of all images is covered ({side} x {side} pixels); what was there is lost.")
        if self.border:
            said.append(f"A frame of {self.border} pixels of all images is covered; what was there is lost.")
        if self.is_renamed:
            said.append("Image files have new names with numbers in random order.")
        return said


def plan_images(names: Sequence[str], images: pa.ChunkedArray, carriers: np.ndarray) -> ImageChanges:
    """Return the changes that remove the given properties from images.

    `images`: a column of `IMAGE_TYPE` with the scanned rows. `carriers`: bool of shape (images,), True if the image has
    the cue.

    Raises:
        MissingDataError: a file is missing.
    """
    renamed = any(name.startswith(_NAMES) for name in names)
    others = [name for name in names if not name.startswith(_NAMES)]
    if not others:
        return ImageChanges(is_renamed=renamed)
    stored = [one for one in map(_stored, images) if one is not None]
    extension, quality = _common_format(stored)
    carrying = images.take(pa.array(np.flatnonzero(carriers)[:_MOST_MEASURED]))
    corners = dict.fromkeys(found[1] for found in map(CORNER.fullmatch, others) if found)
    return ImageChanges(
        extension=extension,
        quality=quality,
        size=_common_size(stored) if stored and _SIZES.intersection(others) else None,
        corners=tuple((corner, _patch_side(carrying, corner)) for corner in corners),
        border=_border_width(carrying) if BORDER in others else 0,
        is_renamed=renamed,
    )


def changed_image(content: bytes, changes: ImageChanges) -> bytes | None:
    """Return the changed image as encoded bytes, or None if the image cannot be decoded."""
    if not changes.extension:
        return content
    image = read_encoded(content, _upright)
    return None if image is None else _encoded(_edited(image, changes), changes)


def _edited(image: "Image.Image", changes: ImageChanges) -> "Image.Image":
    """Return a new image with the changes, and without the metadata of the original file."""
    from PIL import Image, ImageOps

    if changes.size:
        image = ImageOps.fit(image, changes.size)
    pixels = np.array(image)
    if changes.border:
        _cover_border(pixels, changes.border)
    for corner, side in changes.corners:
        _cover_corner(pixels, corner, side)
    return Image.fromarray(pixels)


def _encoded(image: "Image.Image", changes: ImageChanges) -> bytes:
    buffer = BytesIO()
    if changes.extension == ".png":
        image.save(buffer, "PNG")
    else:
        image.save(buffer, "JPEG", quality=changes.quality, subsampling="4:2:0")
    return buffer.getvalue()


def _upright(opened: "Image.Image") -> "Image.Image":
    """Return the first frame as RGB, rotated as stated in the metadata."""
    from PIL import ImageOps

    return as_rgb(ImageOps.exif_transpose(opened))


@dataclass(frozen=True)
class _Stored:
    """Storage of an image: format, JPEG quality (or None), and width and height in pixels after rotation."""

    form: str
    quality: int | None
    size: tuple[int, int]


def _stored(image: pa.StructScalar) -> _Stored | None:
    """Read the header of an image; return None if the file is not an image."""
    return read_encoded(read_image(image.as_py()), _header)


def _header(opened: "Image.Image") -> _Stored:
    is_turned = opened.getexif().get(_ORIENTATION) in _ON_ITS_SIDE
    tables = getattr(opened, "quantization", None)
    size = opened.size[::-1] if is_turned else opened.size
    return _Stored(str(opened.format), jpeg_quality(tables[min(tables)]) if tables else None, size)


def _common_format(stored: Sequence[_Stored]) -> tuple[str, int]:
    """Return the file extension and the JPEG quality of the new images. If all images are lossless, the new images are
    PNG files; otherwise they are JPEG files with a quality that nearly all images reach.
    """
    if {one.form for one in stored} <= _LOSSLESS:
        return ".png", _USUAL_QUALITY
    qualities = [one.quality for one in stored if one.quality is not None]
    quality = int(np.quantile(qualities, 0.1, method="lower")) if qualities else _USUAL_QUALITY
    return ".jpg", min(max(quality, _LOWEST_QUALITY), _HIGHEST_QUALITY)


def _common_size(stored: Sequence[_Stored]) -> tuple[int, int]:
    """Return a width and a height that 95 % of the images reach or exceed, so that few images are enlarged."""
    width, height = np.quantile(np.array([one.size for one in stored]), 0.05, axis=0, method="lower").tolist()
    return int(width), int(height)


def _decoded(images: pa.ChunkedArray) -> Iterator[np.ndarray]:
    """Yield the pixels of each image that can be decoded, uint8 of shape (height, width, 3)."""
    for image in images:
        upright = read_encoded(read_image(image.as_py()), _upright)
        if upright is not None:
            yield np.asarray(upright)


def _turned(pixels: np.ndarray, corner: str) -> np.ndarray:
    """Return a view of the pixels with the corner at the start of both axes."""
    pixels = pixels[::-1] if corner.startswith("bottom") else pixels
    return pixels[:, ::-1] if corner.endswith("right") else pixels


def _patch_side(images: pa.ChunkedArray, corner: str) -> int:
    """Return the side of the square to cover. The square covers the patch in most images, with a margin."""
    sides = [_largest_flat(_turned(pixels, corner)) for pixels in _decoded(images)]
    return int(np.quantile(sides, 0.75, method="lower")) + _MARGIN if sides else _MARGIN


def _largest_flat(turned: np.ndarray) -> int:
    most = min(turned.shape[:2]) // 4
    flat = (_is_flat(turned[:side, :side]) for side in range(2, most + 1))
    return 1 + next((side for side, is_flat in enumerate(flat) if not is_flat), max(most - 1, 0))


def _border_width(images: pa.ChunkedArray) -> int:
    widths = [_flat_frame(pixels) for pixels in _decoded(images)]
    return int(np.quantile(widths, 0.75, method="lower")) + 2 if widths else 2


def _flat_frame(pixels: np.ndarray) -> int:
    most = min(pixels.shape[:2]) // 4
    flat = (_is_flat(_frame(pixels, width)) for width in range(1, most + 1))
    return next((width for width, is_flat in enumerate(flat) if not is_flat), most)


def _frame(pixels: np.ndarray, width: int) -> np.ndarray:
    sides = (pixels[:width], pixels[-width:], pixels[width:-width, :width], pixels[width:-width, -width:])
    return np.concatenate([side.reshape(-1, 3) for side in sides])


def _is_flat(pixels: np.ndarray) -> bool:
    return float(pixels.reshape(-1, 3).std(axis=0).max()) <= _FLAT


def _cover_corner(pixels: np.ndarray, corner: str, side: int) -> None:
    """Fill the corner of uint8 pixels of shape (height, width, 3) with the mean colour of the adjacent pixels."""
    side = min(side, min(pixels.shape[:2]) // 2)
    turned = _turned(pixels, corner)
    beside = [turned[side : side + 2, :side].reshape(-1, 3), turned[:side, side : side + 2].reshape(-1, 3)]
    if side:
        turned[:side, :side] = np.rint(np.concatenate(beside).mean(axis=0)).astype(np.uint8)


def _cover_border(pixels: np.ndarray, width: int) -> None:
    """Fill the border of uint8 pixels with the mean colour of the pixels inside the border."""
    width = min(width, (min(pixels.shape[:2]) - 1) // 4)
    if width:
        inside = pixels[width:-width, width:-width]
        colour = np.rint(_frame(inside, 1).mean(axis=0)).astype(np.uint8)
        middle = inside.copy()
        pixels[:] = colour
        pixels[width:-width, width:-width] = middle
