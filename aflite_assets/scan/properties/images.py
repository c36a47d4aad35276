"""Properties of image files: storage format and simple pixel statistics, computed with Pillow and numpy."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.images import as_rgb, read_encoded, read_image
from aflite_assets.scan.properties.records import Flags, Number, PropertyInfo, flags_of, info_of, number_of
from aflite_assets.scan.properties.tables import MOST_VALUES

if TYPE_CHECKING:
    from PIL import Image

PATCH = 8
"""Side of the square that is measured in each corner, in pixels."""

_SET_OFF = 25.0
"""Minimum difference between a patch and the nearby pixels, in levels from 0 to 255."""

_SIDES, _SMALL_SIDES = (4, 6, 8, 16), (2, 3)
"""Sides of the corner patches that are searched for in usual and in small images, in pixels."""

_FLAT = 6.0
"""Maximum standard deviation of an area that has one colour, in levels from 0 to 255."""

_SMALL, _SHRUNK = 32, 64
"""Sides in pixels: shorter images are small; colours of large images are measured after shrinking."""

_MIDDLE, _MOST_SHIFT = 128, 4
"""Side of the middle of an image in which pixels are compared, and the largest shift that is tried, in pixels."""

_OF_NOISE = 35.0
"""Ratio of the variances of fourth and first differences of noise."""

_CORNERS = ("top left", "top right", "bottom left", "bottom right")
_COLOURS = ("red", "green", "blue")

_LUMINANCE = np.array(
    [16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58, 51, 61,
     60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113,
     121, 112, 100, 120, 92, 101, 103, 99],
    dtype=np.float64,
)  # fmt: skip
"""The luminance table of the JPEG standard (ITU T.81, Annex K), in zigzag order as in JPEG files."""

_EXIF_TAGS = {271: "camera maker", 272: "camera model", 305: "software"}


@dataclass(frozen=True, eq=False)
class _Measured:
    """Measurements of one image file: numbers, values and flags by name. `copy`: a key that is equal for near
    copies.
    """

    numbers: Mapping[tuple[str, str], float]
    values: Mapping[tuple[str, str], str]
    marks: frozenset[tuple[str, str]]
    copy: bytes


def image_properties(
    images: pa.ChunkedArray, *, fewest: int, threads: int
) -> tuple[list[Flags], list[Number], list[bytes]]:
    """Measure every image, and return the images' properties and a key per row (bytes) that is equal for near copies.

    `images`: a column of `IMAGE_TYPE`. `fewest`: minimum number of rows with a value that becomes a property. An image
    that cannot be decoded has only the properties of its file and the property "cannot be decoded".

    Raises:
        MissingDataError: a file is missing.
        UnsettledDataError: a file changed since it was registered.
    """
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")  # Pillow warns about unusual but readable files
        measured = list(pool.map(_measure, images, chunksize=16))
    flags = flags_of(_flags(measured, fewest), rows=len(measured))
    names = dict.fromkeys(name for one in measured for name in one.numbers)
    numbers = [
        number_of(info_of(*name), np.array([one.numbers.get(name, np.nan) for one in measured])) for name in names
    ]
    return [flags], [one for one in numbers if one is not None], [one.copy for one in measured]


def _flags(measured: Sequence[_Measured], fewest: int) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    for name in dict.fromkeys(name for one in measured for name in one.values):
        kind, shown = name
        values = np.array([one.values.get(name, "none") for one in measured], dtype=object)
        different, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
        for place in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
            if counts[place] >= fewest:
                text = f"{shown} = {different[place]}"
                yield info_of(kind, text, absent=f"{shown} is not {different[place]}"), codes == place
    for name in sorted(set().union(*(one.marks for one in measured))):
        yield (
            info_of(*name, absent=f"no {name[1]}"),
            np.array([name in one.marks for one in measured]),
        )


def _measure(image: pa.StructScalar) -> _Measured:
    value = image.as_py()
    content = read_image(value)
    # The file size depends on the picture, so it is not an artefact.
    stored: dict[tuple[str, str], float] = {("image", "bytes"): float(len(content))}
    values: dict[tuple[str, str], str] = {}
    marks: set[tuple[str, str]] = set()
    copy = hashlib.blake2b(content, digest_size=16).digest()
    read = read_encoded(content, lambda opened: (_size(opened, len(content)), _storage(opened), as_rgb(opened)))
    if read is None:
        marks.add(("file format", "cannot be decoded"))
    else:
        sizes, values, decoded = read
        pixels = np.asarray(decoded)
        at_corners, marks = _corner_properties(pixels)
        stored |= sizes | _light(decoded) | _colour_shifts(pixels) | at_corners
        copy = _thumbnail(decoded) or copy
    return _Measured(stored, values, frozenset(marks), copy)


def _size(opened: "Image.Image", content: int) -> dict[tuple[str, str], float]:
    width, height = opened.size
    return {
        ("file format", "width in pixels"): float(width),
        ("file format", "height in pixels"): float(height),
        ("file format", "width : height"): width / max(height, 1),
        ("image", "bytes per pixel"): content / max(width * height, 1),
    }


def _storage(opened: "Image.Image") -> dict[tuple[str, str], str]:
    """Return the format, colour mode, JPEG settings and camera as text."""
    values = {"format": str(opened.format), "colour mode": opened.mode}
    tables: Mapping[int, Sequence[int]] | None = getattr(opened, "quantization", None)
    if tables:
        luminance = tables[min(tables)]
        quality = jpeg_quality(luminance)
        values["JPEG quality"] = str(quality)
        joined = repr(sorted((number, tuple(table)) for number, table in tables.items()))
        own = hashlib.blake2b(joined.encode(), digest_size=3).hexdigest()
        values["JPEG tables"] = "standard" if sorted(luminance) == standard_table(quality) else own
        values["JPEG progressive"] = "yes" if opened.info.get("progressive") else "no"
        values["JPEG layers"] = "x".join(str(layer[1:3]) for layer in getattr(opened, "layer", []))
    exif: Any = opened.getexif()
    values["EXIF"] = "yes" if len(exif) else "no"
    for tag, name in _EXIF_TAGS.items():
        if exif.get(tag):
            values[name] = str(exif.get(tag))[:60]
    if opened.info.get("dpi"):
        values["resolution in dpi"] = "x".join(f"{float(one):.0f}" for one in opened.info["dpi"])
    values["colour profile"] = "yes" if opened.info.get("icc_profile") else "no"
    return {("file format", name): value for name, value in values.items()}


def standard_table(quality: int) -> list[int]:
    """Return the luminance table that libjpeg uses at the given quality (1 to 100), sorted in ascending order."""
    scale = 5_000 // quality if quality < 50 else 200 - 2 * quality
    table = np.clip((_LUMINANCE * scale + 50) // 100, 1, 255)
    return sorted(int(value) for value in table)


@cache
def _standard_sums() -> np.ndarray:
    return np.array([sum(standard_table(quality)) for quality in range(1, 101)])


def jpeg_quality(luminance: Sequence[int]) -> int:
    """Return the libjpeg quality (1 to 100) with the luminance table nearest to the given table of 64 numbers."""
    return 1 + int(np.abs(_standard_sums() - sum(luminance)).argmin())


def _light(image: "Image.Image") -> dict[tuple[str, str], float]:
    """Measure brightness, contrast, colours and sharpness. The colours of a large image are measured after the image is
    shrunk.
    """
    shrunk = image.reduce(max(1, min(image.size) // _SHRUNK))
    pixels = np.asarray(shrunk, dtype=np.float32)
    brightest = pixels.max(axis=2)
    grey = np.asarray(image.convert("L"), dtype=np.int16)
    means = pixels.mean(axis=(0, 1)).tolist()
    measured = {
        "brightness": float(np.mean(means)),
        "contrast": float(pixels.mean(axis=2).std()),
        "saturation": float(((brightest - pixels.min(axis=2)) / np.maximum(brightest, 1)).mean()),
        "sharpness": float(np.abs(np.diff(grey[::4], axis=1)).mean()) if image.width > 1 else 0.0,
        **{f"mean {colour}": mean for colour, mean in zip(_COLOURS, means, strict=True)},
    }
    return {("image", name): value for name, value in measured.items()} | _fine_detail(grey)


def _fine_detail(grey: np.ndarray) -> dict[tuple[str, str], float]:
    """Measure the finest detail against coarser detail, 1 for noise and about 0 for an enlarged or blurred image.

    The measure is the variance of fourth differences of neighbouring pixels divided by the variance of their first
    differences, so it does not depend on contrast. An image of one colour has no value. `grey`: int16 of shape
    (height, width).
    """
    top, left = (max(0, (size - _MIDDLE) // 2) for size in grey.shape)
    middle = grey[top : top + _MIDDLE, left : left + _MIDDLE]
    if min(middle.shape) < 5:
        return {}
    coarse, fine = (sum(float(np.diff(middle, n=order, axis=axis).var()) for axis in (0, 1)) for order in (1, 4))
    return {("image", "fine detail (low if enlarged or blurred)"): fine / coarse / _OF_NOISE} if coarse else {}


def _colour_shifts(pixels: np.ndarray) -> dict[tuple[str, str], float]:
    """Return by how many pixels red is shifted against blue, across and down; scanners and lenses leave such fringes.

    The shift is the one at which the edges of red and blue in the middle of the image agree best. An axis without edges
    has no value. `pixels`: uint8 of shape (height, width, 3).
    """
    top, left = (max(0, (size - _MIDDLE) // 2) for size in pixels.shape[:2])
    middle = pixels[top : top + _MIDDLE, left : left + _MIDDLE].astype(np.float32)
    measured = {}
    for name, turned in (("to the right", middle), ("down", middle.transpose(1, 0, 2))):
        edges = np.diff(turned, axis=1)
        red, blue = edges[:, :, 0], edges[:, :, 2]
        if red.shape[1] > 4 * _MOST_SHIFT and red.any() and blue.any():
            measured["image", f"pixels by which red is shifted {name} of blue"] = _shift(red, blue)
    return measured


def _shift(red: np.ndarray, blue: np.ndarray) -> float:
    """Return the shift along the second axis at which both arrays agree best, the smallest of several such shifts."""
    inside = slice(_MOST_SHIFT, red.shape[1] - _MOST_SHIFT)
    shifts = sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs)
    agreement = [float((np.roll(red, -shift, axis=1)[:, inside] * blue[:, inside]).sum()) for shift in shifts]
    return float(shifts[int(np.argmax(agreement))])


def _corner_properties(pixels: np.ndarray) -> tuple[dict[tuple[str, str], float], set[tuple[str, str]]]:
    """Return three kinds of properties: the colours of the corners, corner patches of one colour, and borders of one
    colour.

    In most images, a corner patch is a mark that somebody added. In a small image, a patch of one colour may be part of
    the picture. `pixels`: uint8 of shape (height, width, 3).
    """
    measured: dict[tuple[str, str], float] = {}
    marks: set[tuple[str, str]] = set()
    side = max(1, min(PATCH, *(size // 4 for size in pixels.shape[:2])))
    is_small = min(pixels.shape[:2]) < _SMALL
    sides = _SMALL_SIDES if is_small else _SIDES
    for name, turned in _corners(pixels):
        for colour, mean in zip(_COLOURS, turned[:side, :side].mean(axis=(0, 1)).tolist(), strict=True):
            measured["image", f"{colour} of the {name} corner"] = mean
        if (shade := _patch_shade(turned, sides)) is not None:
            marks.add(("image" if is_small else "file format", f"{shade} patch of one colour in the {name} corner"))
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    if _is_flat(edge):
        marks.add(("image", "border of one colour"))
    return measured, marks


def _is_flat(pixels: np.ndarray) -> bool:
    """Return True if all pixels have one colour, apart from JPEG noise."""
    return float(pixels.reshape(-1, 3).std(axis=0).max()) <= _FLAT


def _corners(pixels: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each corner's name and the pixels, which are flipped so that the corner is at the start of both axes."""
    for name in _CORNERS:
        turned = pixels[::-1] if name.startswith("bottom") else pixels
        yield name, turned[:, ::-1] if name.endswith("right") else turned


def _patch_shade(turned: np.ndarray, sides: Sequence[int]) -> str | None:
    """Return "bright" or "dark" if the corner has one colour and nearby pixels have another; otherwise None.

    A patch is bright or dark relative to nearby pixels.
    """
    for side in sides:
        far = side + max(side // 2, 1)
        patch = turned[:side, :side]
        if min(turned.shape[:2]) < far + 2 or not _is_flat(patch):
            return None  # the one-coloured area may be larger than this patch
        beside = (turned[far : far + 2, :side], turned[:side, far : far + 2])
        around = np.concatenate([part.reshape(-1, 3) for part in beside]).mean(axis=0)
        colour = patch.mean(axis=(0, 1))
        if float(np.abs(colour - around).max()) >= _SET_OFF:
            return "bright" if float(colour.sum()) > float(around.sum()) else "dark"
    return None


def _thumbnail(image: "Image.Image") -> bytes | None:
    """Return the image, shrunk to 8 x 8 pixels with 16 levels each. Return None if nearly all pixels have one
    colour.
    """
    from PIL import Image

    if min(image.size) < 8:
        return None
    small = np.asarray(image.convert("L").resize((8, 8), Image.Resampling.BOX)) // 16
    return small.tobytes() if small.std() > 1 else None


def path_parts(path: str, label: str) -> tuple[str, str]:
    """Return (folder, file name) of an image's path without the part that names the class of the image."""
    inside = PurePath(path)
    folders = [part for part in inside.parts[:-1] if part != label]
    return "/".join(folders), inside.name
