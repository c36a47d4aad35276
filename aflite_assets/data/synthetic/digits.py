"""Generation of tables from scikit-learn's images of digits, with optional degradation and planted marks."""

import io

import numpy as np
import pyarrow as pa

from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.specs.sources import DIGIT_SIZE, MARK_SIZE, DegradedSpec, DigitsSource, MarksSpec

MARKS = (
    "###\n#..\n...", "##.\n.##\n...", "##.\n...\n##.", "#.#\n.#.\n#..", "#.#\n..#\n.#.",
    "#..\n##.\n.#.", "#..\n#.#\n#..", ".##\n.#.\n.#.", ".##\n..#\n#..", ".#.\n##.\n#..",
)  # fmt: skip
"""The mark of each digit, line by line.

Four of nine pixels are lit, so that all marks are equally bright. Any two marks differ in at least four pixels.
"""

_WHITE = 255


def digits(source: DigitsSource) -> dict[str, pa.Table]:
    """Return scikit-learn's digits as grey PNG images with pixel values 0 to 255 (scaled from 0 to 16).

    The columns are `image` (bytes), `label` (int64, 0 to 9) and `id` (int64, position in scikit-learn's table). If the
    source has marks, there are two more columns: `mark` ("right" if the mark encodes the image's class, "wrong" or
    "none") and `mark_names` (the encoded digit as text, or "none"). In each class of each split, `round(share * rows)`
    rows carry a mark. Of all marks in a split, `round(wrong_share * marks)` are wrong; each wrong mark encodes one of
    the nine other classes, chosen at random. The degradation depends only on the seed and the image. If two sources
    differ only in their marks, they have the same splits and, except for the marks, the same images.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    labels = data.target.astype(np.int64)
    size = round(source.test_share * len(labels))
    test = np.zeros(len(labels), bool)
    test[stratified_sample(labels, None, size, rng=np.random.default_rng(source.seed))] = True
    shift = 0 if source.degraded is None else source.degraded.shift
    images, places = _on_canvas(data.images * (_WHITE / data.images.max()), source.canvas, shift, source.seed)
    if source.degraded is not None:
        images = _degraded(images, places, source.degraded, source.seed)
    pixels = np.clip(np.round(images), 0, _WHITE).astype(np.uint8)
    splits = {"train": np.flatnonzero(~test), "test": np.flatnonzero(test)}
    return {split: _table(split, source, pixels[rows], labels[rows], rows) for split, rows in splits.items()}


def _on_canvas(images: np.ndarray, canvas: int, shift: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the digits on black images (rows x canvas x canvas), and the top left pixel of each digit (rows x 2)."""
    places = canvas - DIGIT_SIZE - np.random.default_rng([seed, 4]).integers(0, shift + 1, (len(images), 2))
    whole = np.zeros((len(images), canvas, canvas))
    for target, image, (top, left) in zip(whole, images, places, strict=True):
        target[top : top + DIGIT_SIZE, left : left + DIGIT_SIZE] = image
    return whole, places


def _degraded(images: np.ndarray, places: np.ndarray, settings: DegradedSpec, seed: int) -> np.ndarray:
    """Return degraded images (rows x canvas x canvas), without clipping; each step has its own random generator."""
    from scipy.ndimage import gaussian_filter

    changed = gaussian_filter(images, settings.blur, axes=(1, 2)) if settings.blur else images.copy()
    rng = np.random.default_rng([seed, 1])
    squares = places + rng.integers(0, DIGIT_SIZE - settings.occlusion + 1, places.shape)
    for image, (top, left) in zip(changed, squares, strict=True):
        image[top : top + settings.occlusion, left : left + settings.occlusion] = 0
    return changed + np.random.default_rng([seed, 2]).normal(0, settings.noise, images.shape)


def _table(split: str, source: DigitsSource, images: np.ndarray, labels: np.ndarray, ids: np.ndarray) -> pa.Table:
    columns = {"label": labels, "id": ids}
    if source.marks is not None:
        named = _named_classes(labels, source.marks, np.random.default_rng([source.seed, 3, *split.encode()]))
        images = _marked(images, named)
        columns["mark"] = np.where(named < 0, "none", np.where(named == labels, "right", "wrong"))
        columns["mark_names"] = np.where(named < 0, "none", named.astype(str))
    return pa.table({"image": pa.array([_png(image) for image in images], IMAGE_TYPE), **columns})


def _named_classes(labels: np.ndarray, marks: MarksSpec, rng: np.random.Generator) -> np.ndarray:
    """Return the class that each row's mark encodes, or -1 for a row without a mark."""
    named = np.full(len(labels), -1)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        named[rng.choice(rows, round(marks.share * len(rows)), replace=False)] = label
    marked = np.flatnonzero(named >= 0)
    wrong = rng.choice(marked, round(marks.wrong_share * len(marked)), replace=False)
    named[wrong] = (labels[wrong] + rng.integers(1, len(MARKS), len(wrong))) % len(MARKS)
    return named


def _marked(images: np.ndarray, named: np.ndarray) -> np.ndarray:
    marks = np.array([[sign == "#" for sign in mark.replace("\n", "")] for mark in MARKS])
    marked = images.copy()
    for row in np.flatnonzero(named >= 0):
        marked[row, :MARK_SIZE, :MARK_SIZE] = marks[named[row]].reshape(MARK_SIZE, MARK_SIZE) * _WHITE
    return marked


def _png(pixels: np.ndarray) -> dict[str, bytes | None]:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return {"bytes": stream.getvalue(), "path": None, "sha256": None}
