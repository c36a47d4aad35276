"""From encoded images to pixel batches: decoding, resizing, augmentation; models are not built here."""

from collections.abc import Callable, Sequence
from io import BytesIO

import numpy as np
import torch
from PIL import Image

from aflite_assets.errors import DataError
from aflite_assets.sources.examples import Examples

CACHE_BYTES = 2**30
"""Decoded images are kept in memory up to this size; beyond it they are decoded again for every batch."""

GREY = 128
"""Half of the range of pixels, which is zero for a model."""

DECODING_ERRORS = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)
"""What Pillow raises on hostile or broken files."""


def open_image(examples: Examples, position: int) -> Image.Image:
    """The image at `position` as Pillow opens it: size known, pixels not yet decoded.

    Raises:
        DataError: the bytes are no image that Pillow knows.
    """
    content = examples.image_bytes(position)
    try:
        return Image.open(BytesIO(content))
    except DECODING_ERRORS as error:
        raise _broken_image(examples, position, error) from error


def decode_image(examples: Examples, position: int, *, size: tuple[int, int] | None = None) -> np.ndarray:
    """Pixels of one image, height x width x 3 uint8, resized bilinearly to `size` (width, height) if given.

    Transparency is dropped, grey and palette images become RGB.

    Raises:
        DataError: the image cannot be decoded; the message names its row id.
    """
    image = open_image(examples, position)
    try:
        # Pillow warns when a palette with transparency goes to RGB directly.
        image = image.convert("RGBA") if image.mode == "P" else image
        image = image.convert("RGB")
    except DECODING_ERRORS as error:
        raise _broken_image(examples, position, error) from error
    if size is not None and image.size != size:
        image = image.resize(size, Image.Resampling.BILINEAR)
    return np.asarray(image)


def _broken_image(examples: Examples, position: int, error: Exception) -> DataError:
    return DataError(
        f"the image of row {examples.row_ids[position]} cannot be decoded ({error}); "
        "repair or remove it in the source and materialise raw_dataset again"
    )


class ImageInputs:
    """Square RGB images of a table's rows, normalised to [-1, 1] (mean 0.5, standard deviation 0.5).

    `augmentation` is a generator that `augment` draws its changes of each batch from (train rows), or None.
    """

    def __init__(
        self,
        examples: Examples,
        *,
        image_size: int,
        augmentation: np.random.Generator | None = None,
        augment: Callable[..., np.ndarray] | None = None,
    ) -> None:
        self._examples = examples
        self._image_size = image_size
        self._augmentation = augmentation
        self._augment = augment or flip_and_crop
        fits = len(examples) * 3 * image_size**2 <= CACHE_BYTES
        self._decoded = self._decode(range(len(examples))) if fits else None

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def lengths(self) -> np.ndarray:
        """All alike: images of one size cost the same."""
        return np.ones(len(self), dtype=np.int64)

    def batch(self, positions: Sequence[int] | np.ndarray) -> dict[str, torch.Tensor]:
        """`pixel_values`, rows x 3 x size x size float32."""
        rows = list(positions)
        pixels = self._decode(rows) if self._decoded is None else self._decoded[rows]
        if self._augmentation is not None:
            pixels = self._augment(pixels, rng=self._augmentation)
        normalised = pixels.astype(np.float32) / 127.5 - 1.0
        return {"pixel_values": torch.from_numpy(np.ascontiguousarray(normalised.transpose(0, 3, 1, 2)))}

    def _decode(self, positions: Sequence[int]) -> np.ndarray:
        size = (self._image_size, self._image_size)
        pixels = np.empty((len(positions), *size, 3), dtype=np.uint8)
        for target, position in zip(pixels, positions, strict=True):
            target[:] = decode_image(self._examples, position, size=size)
        return pixels


def _flipped(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    flips = rng.random(len(pixels)) < 0.5
    flipped = pixels.copy()
    flipped[flips] = pixels[flips][:, :, ::-1]
    return flipped


def flip_and_crop(pixels: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Random horizontal flips, then random crops of the reflected surroundings; shape and dtype stay.

    `pixels` is rows x size x size x 3. The border is 4 pixels per 32, the usual CIFAR augmentation
    (He et al. 2016, section 4.2), with reflection instead of zeros.
    """
    rows, size = pixels.shape[:2]
    border = max(1, size * 4 // 32)
    flipped = _flipped(pixels, rng)
    corners = rng.integers(0, 2 * border + 1, size=(rows, 2))
    padded = np.pad(flipped, ((0, 0), (border, border), (border, border), (0, 0)), mode="reflect")
    crops = [image[y : y + size, x : x + size] for image, (y, x) in zip(padded, corners, strict=True)]
    return np.stack(crops)


def rand_augment(pixels: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Random horizontal flips, then two random operations of magnitude 9 on each image; shape and dtype stay.

    RandAugment (Cubuk et al. 2019), whose N = 2 and M = 9 are the paper's for a ResNet on ImageNet. `pixels` is
    rows x size x size x 3; what comes in from beyond the border is grey, as in the authors' code. torch's global
    generator is as before.
    """
    from torchvision.transforms.v2 import RandAugment

    change = RandAugment(num_ops=2, magnitude=9, fill=GREY)
    # As Pillow images: on tensors the operations take several times as long.
    images = [Image.fromarray(image) for image in _flipped(pixels, rng)]
    # torchvision draws from that generator alone; seeding all of them would change a GPU's dropout.
    state = torch.get_rng_state()
    try:
        torch.default_generator.manual_seed(int(rng.integers(2**63)))
        return np.stack([np.asarray(change(image)) for image in images])
    finally:
        torch.set_rng_state(state)
