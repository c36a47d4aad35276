import random
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from aflite_assets.models.image.transforms import ImagePreparation, RandomChanges, flip_and_crop, image_preparation
from aflite_assets.specs.models.settings import ImageModelSpec, RandAugmentSpec


def _preparation(size: int, **settings: Any) -> ImagePreparation:
    return image_preparation(ImageModelSpec(kind="timm_image", architecture="test_resnet", image_size=size, **settings))


def _changed(preparation: ImagePreparation, pixels: np.ndarray, *, seed: int = 0) -> np.ndarray:
    assert preparation.change is not None
    return preparation.change(pixels, rng=np.random.default_rng(seed))


def _numpy_state() -> tuple[list[int], int]:
    state = np.random.get_state(legacy=False)["state"]
    return state["key"].tolist(), state["pos"]


def _noise(rows: int, size: int, *, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size=(rows, size, size, 3), dtype=np.uint8)


def _photograph(height: int, width: int) -> Image.Image:
    """Brightness tells the column in the first channel and the row in the second."""
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[..., 0] = np.linspace(0, 255, width).round()[None, :]
    pixels[..., 1] = np.linspace(0, 255, height).round()[:, None]
    return Image.fromarray(pixels)


def test_crops_are_windows_of_the_reflected_image_or_its_mirror() -> None:
    pixels = np.random.default_rng(1).integers(0, 255, size=(40, 8, 8, 3), dtype=np.uint8)
    augmented = flip_and_crop(pixels, rng=np.random.default_rng(0))
    mirrored = 0
    for before, after in zip(pixels, augmented, strict=True):
        found = []
        for flipped in (False, True):
            padded = np.pad(before[:, ::-1] if flipped else before, ((1, 1), (1, 1), (0, 0)), mode="reflect")
            windows = [padded[y : y + 8, x : x + 8] for y in range(3) for x in range(3)]
            found.append(any((window == after).all() for window in windows))
        assert sum(found) == 1
        mirrored += found[1]
    assert 10 <= mirrored <= 30


def test_by_default_the_whole_image_is_squeezed_and_train_images_are_like_others() -> None:
    preparation, image = _preparation(16), _photograph(20, 40)
    np.testing.assert_array_equal(
        preparation.square(image), np.asarray(image.resize((16, 16), Image.Resampling.BILINEAR))
    )
    assert preparation.change is None
    bicubic = _preparation(16, interpolation="bicubic").square(image)
    np.testing.assert_array_equal(bicubic, np.asarray(image.resize((16, 16), Image.Resampling.BICUBIC)))


@pytest.mark.parametrize(("centre_share", "resized"), [(0.875, 256), (1.0, 224)])
def test_test_images_are_cut_from_the_middle(centre_share: float, resized: int) -> None:
    """He et al. 2016: the shorter side resized to 256 pixels, the 224 x 224 in the middle."""
    image = _photograph(300, 450)
    square = _preparation(224, augmentation="resized_crop", centre_share=centre_share).square(image)
    small = np.asarray(image.resize((round(resized * 1.5), resized), Image.Resampling.BILINEAR))
    top, left = (resized - 224) // 2, (small.shape[1] - 224) // 2
    assert square.shape == (224, 224, 3)
    assert square.dtype == np.uint8
    np.testing.assert_allclose(square.astype(int), small[top : top + 224, left : left + 224].astype(int), atol=1)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 2), (1, 20_000), (20_000, 2), (500, 100)])
def test_images_of_any_size_and_shape_are_cut(size: tuple[int, int]) -> None:
    """Resized as a whole, the fourth would take 78 megabytes for this square, and 4 gigabytes for one of 224 pixels."""
    preparation = _preparation(32, augmentation="resized_crop", crop_area=0.01)
    image = Image.new("RGB", size, (10, 200, 30))
    assert preparation.change is not None
    parts = preparation.change([image] * 100, rng=np.random.default_rng(0))
    for pixels in (*parts, preparation.square(image)):
        assert pixels.shape == (32, 32, 3)
        assert (pixels == (10, 200, 30)).all()


def test_the_middle_of_a_long_image_is_the_same_as_of_its_middle() -> None:
    preparation = _preparation(32, augmentation="resized_crop")
    long = np.tile(_noise(1, 64)[0], (1, 9, 1))
    square = preparation.square(Image.fromarray(long))
    np.testing.assert_allclose(square.astype(int), preparation.square(Image.fromarray(long[:, 256:320])), atol=1)


def test_train_images_are_parts_of_the_stated_sizes_and_half_of_them_are_mirrored() -> None:
    preparation = _preparation(32, augmentation="resized_crop", crop_area=0.25)
    assert preparation.changes_originals
    assert preparation.change is not None
    parts = preparation.change([_photograph(100, 100)] * 200, rng=np.random.default_rng(0)).astype(float)
    across, down = parts[:, 16, :, 0], parts[:, :, 16, 1]
    widths = np.abs(across[:, -1] - across[:, 0]) / 255 * 32 / 31
    heights = np.abs(down[:, -1] - down[:, 0]) / 255 * 32 / 31
    areas, ratios = widths * heights, widths / heights
    assert 0.23 < areas.min() < 0.35
    assert 0.85 < areas.max() < 1.02
    assert 0.72 < ratios.min() < 0.85
    assert 1.18 < ratios.max() < 1.4
    assert (down[:, -1] > down[:, 0]).all()
    assert 75 <= (across[:, -1] < across[:, 0]).sum() <= 125


@pytest.mark.parametrize(
    "settings",
    [
        {"augmentation": "randaugment"},
        {"augmentation": "resized_crop"},
        {"augmentation": "resized_crop", "randaugment": RandAugmentSpec(magnitude=28)},
        {"augmentation": "resized_crop", "autoaugment": True},
    ],
)
def test_changes_depend_on_their_generator_alone_and_leave_all_others(settings: dict[str, Any]) -> None:
    preparation, pixels = _preparation(16, **settings), _noise(24, 16)
    before = pixels.copy()
    torch.manual_seed(0)
    states = random.getstate(), _numpy_state(), torch.get_rng_state()
    first = _changed(preparation, pixels, seed=4)
    assert random.getstate() == states[0]
    assert _numpy_state() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])
    random.seed(9)
    np.random.seed(9)
    torch.manual_seed(9)
    np.testing.assert_array_equal(first, _changed(preparation, pixels, seed=4))
    assert not np.array_equal(first, _changed(preparation, pixels, seed=5))
    np.testing.assert_array_equal(pixels, before)
    assert first.shape == pixels.shape
    assert first.dtype == np.uint8
    assert preparation.change is not None
    rng = np.random.default_rng(6)
    assert not np.array_equal(preparation.change(pixels, rng=rng), preparation.change(pixels, rng=rng))


def test_each_image_is_changed_for_itself_and_not_beyond_recognition() -> None:
    pixels = np.repeat(_noise(1, 16, seed=2), 60, axis=0)
    changed = _changed(_preparation(16, augmentation="randaugment"), pixels)
    assert len(np.unique(changed.reshape(60, -1), axis=0)) > 30
    same = (changed == pixels).all(axis=(1, 2, 3))
    mirrored = (changed == pixels[:, :, ::-1]).all(axis=(1, 2, 3))
    assert same.sum() + mirrored.sum() < 20
    assert (changed.reshape(60, -1).std(axis=1) > 10).all()


def _operations(**settings: Any) -> tuple[int, list[Any]]:
    change = _preparation(**settings).change
    assert isinstance(change, RandomChanges)
    policy: Any = change.steps[-1]
    return policy.num_layers, list(policy.ops)


def test_operations_have_the_papers_number_and_strength() -> None:
    number, operations = _operations(size=224, augmentation="randaugment")
    assert (number, {op.magnitude for op in operations}) == (2, {9})
    number, operations = _operations(
        size=600, augmentation="resized_crop", randaugment=RandAugmentSpec(operations=3, magnitude=28)
    )
    assert (number, {op.magnitude for op in operations}) == (3, {28})
    # timm would stop at 10 and leave out every second one.
    assert {op.magnitude_max for op in operations} == {28}
    assert {op.prob for op in operations} == {1.0}
    assert {op.kwargs["fillcolor"] for op in operations} == {(128, 128, 128)}


def test_autoaugment_has_the_papers_policies_for_imagenet() -> None:
    """Cubuk et al. 2018, Table 9: 25 policies of two operations, each with a probability and a magnitude."""
    change = _preparation(224, augmentation="resized_crop", autoaugment=True).change
    assert isinstance(change, RandomChanges)
    step: Any = change.steps[-1]
    policies = [[(op.name, op.prob, op.magnitude) for op in policy] for policy in step.policy]
    assert [len(policy) for policy in policies] == [2] * 25
    assert policies[0] == [("PosterizeOriginal", 0.4, 8), ("Rotate", 0.6, 9)]
    assert policies[1] == [("Solarize", 0.6, 5), ("AutoContrast", 0.6, 5)]
    assert {op.kwargs["fillcolor"] for policy in step.policy for op in policy} == {(128, 128, 128)}


@pytest.mark.parametrize(
    ("size", "magnitude", "pixels"), [(600, 28, 280), (456, 17, 170), (224, 9, 90), (32, 9, 14), (64, 28, 32)]
)
def test_images_are_moved_by_the_authors_pixels_and_never_out_of_sight(size: int, magnitude: int, pixels: int) -> None:
    _, operations = _operations(
        size=size, augmentation="resized_crop", randaugment=RandAugmentSpec(magnitude=magnitude)
    )
    move = next(op for op in operations if op.name == "TranslateXRel")
    bright = Image.new("RGB", (size, size), "white")
    grey = (np.asarray(move(bright))[size // 2, :, 0] == 128).sum()
    assert grey == pytest.approx(pixels, abs=1)


def test_the_strongest_operations_leave_something_to_see() -> None:
    """timm's own shift, 45 % of the width at magnitude 10, would at 28 make one image in four all grey."""
    pixels = _noise(200, 64)
    preparation = _preparation(64, augmentation="randaugment", randaugment=RandAugmentSpec(magnitude=28))
    changed = _changed(preparation, pixels)
    assert (changed.reshape(200, -1).std(axis=1) == 0).mean() < 0.02
