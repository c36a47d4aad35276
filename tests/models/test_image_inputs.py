import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from aflite_assets.errors import DataError
from aflite_assets.models import image_inputs
from aflite_assets.models.image_inputs import ImageInputs, decode_image, flip_and_crop, rand_augment
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.images import IMAGE_TYPE


def _one_image(table: Callable[..., Examples], content: bytes) -> Examples:
    value = {"bytes": content, "path": None, "sha256": None}
    return table([0], ("a", "b"), image=pa.array([value], IMAGE_TYPE))


def _encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format=kind, **options)
    return stream.getvalue()


def test_pixels_are_normalised_to_minus_one_and_one(table: Callable[..., Examples]) -> None:
    pixels = np.zeros((4, 4, 3), dtype=np.uint8)
    pixels[0, 1] = [255, 51, 0]
    batch = ImageInputs(_one_image(table, _encoded(Image.fromarray(pixels))), image_size=4).batch([0])
    values = batch["pixel_values"]
    assert tuple(values.shape) == (1, 3, 4, 4)
    assert values.dtype.is_floating_point
    np.testing.assert_allclose(values[0, :, 0, 1], [1.0, (0.2 - 0.5) / 0.5, -1.0], atol=1e-6)
    assert values[0, :, 2, 2].tolist() == [-1.0, -1.0, -1.0]


def test_images_are_resized_to_a_square_bilinearly(png_images: Callable[..., Examples]) -> None:
    examples = png_images(1, sizes=[(20, 10)])
    expected = Image.open(io.BytesIO(examples.image_bytes(0))).resize((8, 8), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(decode_image(examples, 0, size=(8, 8)), np.asarray(expected))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "1", "LA"])
def test_other_colour_modes_become_rgb(table: Callable[..., Examples], mode: str) -> None:
    pixels = decode_image(_one_image(table, _encoded(Image.new("RGB", (5, 3), "white").convert(mode))), 0)
    assert pixels.shape == (3, 5, 3)
    assert (pixels == 255).all()


def test_a_palette_with_transparency_is_no_warning(table: Callable[..., Examples]) -> None:
    content = _encoded(Image.new("P", (3, 3)), transparency=b"\x00\x80")
    assert decode_image(_one_image(table, content), 0).shape == (3, 3, 3)


@pytest.mark.parametrize("content", [b"no image", b"", _encoded(Image.new("RGB", (64, 64)), "JPEG")[:400]])
def test_a_broken_image_is_named_by_its_row_id(table: Callable[..., Examples], content: bytes) -> None:
    with pytest.raises(DataError, match=r"the image of row 100 cannot be decoded.*repair or remove it"):
        ImageInputs(_one_image(table, content), image_size=8)


def test_large_sets_are_decoded_per_batch(png_images: Callable[..., Examples], monkeypatch: pytest.MonkeyPatch) -> None:
    examples = png_images(5)
    cached = ImageInputs(examples, image_size=16)
    monkeypatch.setattr(image_inputs, "CACHE_BYTES", 0)
    streamed = ImageInputs(examples, image_size=16)
    assert streamed._decoded is None
    assert cached._decoded is not None
    assert cached.batch([3, 1])["pixel_values"].equal(streamed.batch([3, 1])["pixel_values"])
    assert len(cached) == 5
    assert cached.lengths.tolist() == [1] * 5


def test_crops_are_windows_of_the_reflected_image_or_its_mirror() -> None:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 255, size=(40, 8, 8, 3), dtype=np.uint8)
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


def test_augmentation_depends_on_its_generator_alone(png_images: Callable[..., Examples]) -> None:
    examples = png_images(6)
    batches = [
        ImageInputs(examples, image_size=16, augmentation=np.random.default_rng(seed)).batch(range(6))
        for seed in (4, 4, 5)
    ]
    assert batches[0]["pixel_values"].equal(batches[1]["pixel_values"])
    assert not batches[0]["pixel_values"].equal(batches[2]["pixel_values"])


def test_random_operations_depend_on_their_generator_alone() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, size=(24, 16, 16, 3), dtype=np.uint8)
    before = pixels.copy()
    torch.manual_seed(0)
    state = torch.get_rng_state()
    first = rand_augment(pixels, rng=np.random.default_rng(4))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(1)
    again, other = (rand_augment(pixels, rng=np.random.default_rng(seed)) for seed in (4, 5))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(pixels, before)
    assert first.shape == pixels.shape
    assert first.dtype == np.uint8
    assert not np.array_equal(first, other)
    rng = np.random.default_rng(6)
    assert not np.array_equal(rand_augment(pixels, rng=rng), rand_augment(pixels, rng=rng))


def test_each_image_is_changed_for_itself_and_not_beyond_recognition() -> None:
    pixels = np.repeat(np.random.default_rng(2).integers(0, 256, (1, 16, 16, 3), np.uint8), 60, axis=0)
    changed = rand_augment(pixels, rng=np.random.default_rng(0))
    assert len(np.unique(changed.reshape(60, -1), axis=0)) > 30
    # About 1 in 400 is as it was: no flip, and two operations that change nothing here.
    same = (changed == pixels).all(axis=(1, 2, 3))
    mirrored = (changed == pixels[:, :, ::-1]).all(axis=(1, 2, 3))
    assert same.sum() + mirrored.sum() < 20
    assert (changed.reshape(60, -1).std(axis=1) > 10).all()


def test_random_operations_reach_the_model_as_pixels(png_images: Callable[..., Examples]) -> None:
    examples = png_images(6)
    plain = ImageInputs(examples, image_size=16).batch(range(6))["pixel_values"]
    batches = [
        ImageInputs(examples, image_size=16, augmentation=np.random.default_rng(seed), augment=rand_augment).batch(
            range(6)
        )["pixel_values"]
        for seed in (4, 4, 5)
    ]
    assert batches[0].shape == plain.shape
    assert float(batches[0].min()) >= -1
    assert float(batches[0].max()) <= 1
    assert batches[0].equal(batches[1])
    assert not batches[0].equal(batches[2])
    assert not batches[0].equal(plain)
