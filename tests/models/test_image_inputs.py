import io
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.errors import DataError
from aflite_assets.models import image_inputs
from aflite_assets.models.image_inputs import ImageInputs, decode_image, flip_and_crop
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
