"""Decoding of image files into batches of pixels, and caching of the pixels. The module `transforms` crops and augments
the images.
"""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import as_rgb, open_encoded
from aflite_assets.errors import DataError
from aflite_assets.models.image.transforms import ImagePreparation

CACHE_BYTES = 2**30
"""Maximum number of bytes of decoded images that are kept in memory. Larger sets of images are decoded again for every
batch.
"""


def open_image(examples: Examples, position: int) -> Image.Image:
    """Open the image at `position` with Pillow. Only the size of the image is read; the pixels are not decoded.

    Raises:
        DataError: the bytes are not an image of a supported kind (`data.images`).
    """
    content = examples.image_bytes(position)
    try:
        return open_encoded(content)
    except MemoryError:
        raise
    except Exception as error:  # of hostile bytes, readers raise anything; each says that this is no image
        raise _broken_image(examples, position, error) from error


def decode_image(examples: Examples, position: int, *, size: tuple[int, int] | None = None) -> np.ndarray:
    """Decode one image to height x width x 3 uint8. If `size` (width, height) is given, the image is resized
    bilinearly.

    Transparency is dropped. Grey images and palette images are converted to RGB.

    Raises:
        DataError: the image cannot be decoded; the message contains the row id.
    """
    image = rgb_image(examples, position)
    if size is not None and image.size != size:
        image = image.resize(size, Image.Resampling.BILINEAR)
    return np.asarray(image)


def rgb_image(examples: Examples, position: int) -> Image.Image:
    """Return the image at `position`, decoded and in RGB. Transparency is dropped.

    Raises:
        DataError: the image cannot be decoded; the message contains the row id.
    """
    image = open_image(examples, position)
    try:
        return as_rgb(image)
    except MemoryError:
        raise
    except Exception as error:  # as above
        raise _broken_image(examples, position, error) from error


def _broken_image(examples: Examples, position: int, error: Exception) -> DataError:
    return DataError(
        f"the image of row {examples.row_ids[position]} cannot be decoded ({error}); repair the image or remove the "
        "row in the source, and materialise the asset `raw_dataset` again"
    )


class ImageInputs:
    """Square RGB images of a table's rows, normalised to [-1, 1] (mean 0.5, standard deviation 0.5).

    `augmentation` is the random generator that augments train rows, or None for no augmentation.
    """

    def __init__(
        self, examples: Examples, preparation: ImagePreparation, *, augmentation: np.random.Generator | None = None
    ) -> None:
        self._examples = examples
        self._preparation = preparation
        self._augmentation = augmentation if preparation.change is not None else None
        self._of_originals = self._augmentation is not None and preparation.changes_originals
        fits = len(examples) * 3 * preparation.image_size**2 <= CACHE_BYTES
        self._decoded = self._squares(range(len(examples))) if fits and not self._of_originals else None

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def lengths(self) -> np.ndarray:
        """An array of ones, because all images have the same size and therefore the same cost."""
        return np.ones(len(self), dtype=np.int64)

    def batch(self, positions: Sequence[int] | np.ndarray) -> dict[str, torch.Tensor]:
        """Return `pixel_values`, rows x 3 x size x size float32.

        Raises:
            DataError: an image cannot be decoded; the message contains the row id.
        """
        normalised = self._pixels(list(positions)).astype(np.float32) / 127.5 - 1.0
        return {"pixel_values": torch.from_numpy(np.ascontiguousarray(normalised.transpose(0, 3, 1, 2)))}

    def _pixels(self, rows: list[int]) -> np.ndarray:
        change = self._preparation.change
        if self._of_originals:
            assert change is not None
            return change((rgb_image(self._examples, row) for row in rows), rng=self._augmentation)
        pixels = self._squares(rows) if self._decoded is None else self._decoded[rows]
        return pixels if self._augmentation is None or change is None else change(pixels, rng=self._augmentation)

    def _squares(self, positions: Sequence[int]) -> np.ndarray:
        size = self._preparation.image_size
        pixels = np.empty((len(positions), size, size, 3), dtype=np.uint8)
        for target, position in zip(pixels, positions, strict=True):
            target[:] = self._preparation.square(rgb_image(self._examples, position))
        return pixels
