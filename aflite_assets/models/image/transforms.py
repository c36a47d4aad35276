"""Transforms that convert images to squares of pixels. The settings select whole or cropped images, and training with
or without random augmentation. The standard transforms for ImageNet come from timm. The module `inputs` decodes the
images.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL import Image

from aflite_assets.models.global_state import isolated_cpu_random_state
from aflite_assets.specs.models.settings import ImageModelSpec, RandAugmentSpec

GREY = 128
"""Middle of the range of pixel values. After normalisation, this value is zero."""

SHIFT_PIXELS = 100
"""Shift of an image by RandAugment at magnitude 10, in pixels, as in the EfficientNet authors' code for any image
size.
"""

LARGEST_SHIFT = 0.5
"""Largest shift at any magnitude, as a share of the width. Without this limit, small images would be shifted out of the
picture.
"""

LONGEST_SHAPE = 4
"""Largest ratio of the longer to the shorter side. Only the middle of longer images is used, because an image with a
height of one pixel would fill the memory when enlarged.
"""


@dataclass(frozen=True)
class ImagePreparation:
    """The functions that convert images to the input of a model.

    `square` converts an RGB image to image_size x image_size x 3 uint8 for prediction. `change(images, rng=)` augments
    train images and returns rows x image_size x image_size x 3. `change` receives the squares or, with
    `changes_originals`, the original RGB images. If `change` is None, train images are prepared in the same way as all
    other images.
    """

    image_size: int
    square: Callable[[Image.Image], np.ndarray]
    change: Callable[..., np.ndarray] | None = None
    changes_originals: bool = False


def image_preparation(settings: ImageModelSpec) -> ImagePreparation:
    """Return the image preparation that the settings describe."""
    size = settings.image_size
    whole = partial(squeezed, image_size=size, interpolation=settings.interpolation)
    if settings.augmentation == "flip_crop":
        return ImagePreparation(size, whole, flip_and_crop)
    if settings.augmentation == "randaugment":
        flip = _first_changes(settings, scale=(1.0, 1.0), ratio=(1.0, 1.0))
        operations = _operations(settings, settings.randaugment or RandAugmentSpec())
        return ImagePreparation(size, whole, RandomChanges((flip, operations)))
    if settings.augmentation == "resized_crop":
        # A rectangle of aspect ratio 3:4 to 4:3 anywhere in the image is resized to the square, and flipped at random.
        crop = _first_changes(settings, scale=(settings.crop_area, 1.0))
        steps: list[Callable[[Image.Image], Image.Image]] = [
            partial(_large_enough, pixels=1 / settings.crop_area),
            crop,
        ]
        if settings.randaugment is not None:
            steps.append(_operations(settings, settings.randaugment))
        if settings.autoaugment:
            steps.append(_policies(settings))
        transform = _transforms(settings, crop_pct=settings.centre_share)
        centre = partial(_centre, transform=transform)
        return ImagePreparation(size, centre, RandomChanges(tuple(steps)), changes_originals=True)
    return ImagePreparation(size, whole)


def squeezed(image: Image.Image, *, image_size: int, interpolation: str) -> np.ndarray:
    """Resize the whole image to a square, without keeping the aspect ratio. The result is image_size x image_size x 3
    uint8.
    """
    size = (image_size, image_size)
    return np.asarray(image if image.size == size else image.resize(size, _resampling(interpolation)))


def _centre(image: Image.Image, *, transform: Callable[[Image.Image], torch.Tensor]) -> np.ndarray:
    """Cut out the middle square of an image. `transform` is timm's test transform, which returns 3 x size x size
    uint8.
    """
    return transform(_middle(image)).permute(1, 2, 0).numpy()


def _middle(image: Image.Image) -> Image.Image:
    width, height = image.size
    longest = LONGEST_SHAPE * min(width, height)
    if max(width, height) <= longest:
        return image
    left, top = max(0, width - longest) // 2, max(0, height - longest) // 2
    return image.crop((left, top, left + min(width, longest), top + min(height, longest)))


def _large_enough(image: Image.Image, *, pixels: float) -> Image.Image:
    """Enlarge an image with fewer than `pixels` pixels, because timm's crops of very small images could be empty."""
    times = math.ceil(math.sqrt(pixels / (image.width * image.height)))
    return image if times <= 1 else image.resize((times * image.width, times * image.height))


@dataclass(frozen=True)
class RandomChanges:
    """Random transforms from timm that are applied to each image in order. Global random generators are not changed."""

    steps: tuple[Callable[[Image.Image], Image.Image], ...]

    def __call__(self, images: Iterable[Image.Image | np.ndarray], *, rng: np.random.Generator) -> np.ndarray:
        """Return the changed images, rows x size x size x 3 uint8. All random numbers come from `rng`. `images` are
        RGB, as Pillow images or as uint8 pixels.
        """
        # timm draws from the generators of random, numpy and torch.
        with isolated_cpu_random_state(int(rng.integers(2**63))):
            return np.stack([np.asarray(self._changed(image)) for image in images])

    def _changed(self, image: Image.Image | np.ndarray) -> Image.Image:
        changed = Image.fromarray(image) if isinstance(image, np.ndarray) else image
        for step in self.steps:
            changed = step(changed)
        return changed


def _first_changes(settings: ImageModelSpec, **crop: Any) -> Callable[[Image.Image], Image.Image]:
    first, _, _ = _transforms(settings, is_training=True, color_jitter=None, separate=True, **crop)
    return first


def _transforms(settings: ImageModelSpec, **options: Any) -> Any:
    from timm.data import create_transform  # takes seconds, and pixels for scikit-learn need none

    return create_transform(settings.image_size, interpolation=settings.interpolation, normalize=False, **options)


def _operations(settings: ImageModelSpec, operations: RandAugmentSpec) -> Callable[[Image.Image], Image.Image]:
    """Return RandAugment with the strengths from the EfficientNet authors' code, which allows magnitudes above 10. With
    timm's defaults, the magnitude would be at most 10, every second operation would be omitted, and large images would
    be shifted further. As in the authors' code, posterising and solarising get weaker as the magnitude rises. Areas
    outside the image are filled with grey.
    """
    from timm.data import rand_augment_transform

    number, magnitude = operations.operations, operations.magnitude
    return rand_augment_transform(
        f"rand-n{number}-m{magnitude}-p1-mmax{max(10, magnitude)}",
        {
            "translate_pct": min(SHIFT_PIXELS / settings.image_size, LARGEST_SHIFT / max(1, magnitude / 10)),
            "img_mean": (GREY, GREY, GREY),
            "interpolation": _resampling(settings.interpolation),
        },
    )


def _policies(settings: ImageModelSpec) -> Callable[[Image.Image], Image.Image]:
    """Return AutoAugment for ImageNet. For each image, AutoAugment draws one of 25 policies, and each policy has two
    operations.
    """
    from timm.data import auto_augment_transform

    fixed = {"img_mean": (GREY, GREY, GREY), "interpolation": _resampling(settings.interpolation)}
    return auto_augment_transform("original", fixed)


def _resampling(interpolation: str) -> Image.Resampling:
    return Image.Resampling[interpolation.upper()]


def flip_and_crop(pixels: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Flip images horizontally at random, pad them by reflection and crop them at random. Shape and dtype do not
    change.

    `pixels` is rows x size x size x 3. The padding is 4 pixels per 32 pixels, as usual for CIFAR (He et al. 2016,
    section 4.2), but by reflection instead of zeros.
    """
    rows, size = pixels.shape[:2]
    border = max(1, size * 4 // 32)
    flips = rng.random(rows) < 0.5
    flipped = pixels.copy()
    flipped[flips] = pixels[flips][:, :, ::-1]
    corners = rng.integers(0, 2 * border + 1, size=(rows, 2))
    padded = np.pad(flipped, ((0, 0), (border, border), (border, border), (0, 0)), mode="reflect")
    crops = [image[y : y + size, x : x + size] for image, (y, x) in zip(padded, corners, strict=True)]
    return np.stack(crops)
