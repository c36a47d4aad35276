import io
import random
import struct
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.errors import DataError
from aflite_assets.models.image import inputs as image_inputs
from aflite_assets.models.image.inputs import ImageInputs, decode_image
from aflite_assets.models.image.transforms import ImagePreparation, image_preparation
from aflite_assets.specs.models.settings import ImageModelSpec


def _preparation(size: int, **settings: Any) -> ImagePreparation:
    return image_preparation(ImageModelSpec(kind="timm_image", architecture="test_resnet", image_size=size, **settings))


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
    batch = ImageInputs(_one_image(table, _encoded(Image.fromarray(pixels))), _preparation(4)).batch([0])
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
    with pytest.raises(DataError, match=r"the image of row 100 cannot be decoded.*repair the image or remove the row"):
        ImageInputs(_one_image(table, content), _preparation(8))


def test_large_sets_are_decoded_per_batch(png_images: Callable[..., Examples], monkeypatch: pytest.MonkeyPatch) -> None:
    examples = png_images(5)
    cached = ImageInputs(examples, _preparation(16))
    monkeypatch.setattr(image_inputs, "CACHE_BYTES", 0)
    streamed = ImageInputs(examples, _preparation(16))
    assert streamed._decoded is None
    assert cached._decoded is not None
    assert cached.batch([3, 1])["pixel_values"].equal(streamed.batch([3, 1])["pixel_values"])
    assert len(cached) == 5
    assert cached.lengths.tolist() == [1] * 5


@pytest.mark.parametrize("augmentation", ["flip_crop", "randaugment", "resized_crop"])
def test_augmented_batches_depend_on_the_generator_alone(
    augmentation: Literal["flip_crop", "randaugment", "resized_crop"], png_images: Callable[..., Examples]
) -> None:
    examples, preparation = png_images(6, sizes=[(20, 24)] * 6), _preparation(16, augmentation=augmentation)
    plain = ImageInputs(examples, preparation).batch(range(6))["pixel_values"]
    batches = [
        ImageInputs(examples, preparation, augmentation=np.random.default_rng(seed)).batch(range(6))["pixel_values"]
        for seed in (4, 4, 5)
    ]
    assert batches[0].shape == plain.shape == (6, 3, 16, 16)
    assert -1 <= float(batches[0].min()) <= float(batches[0].max()) <= 1
    assert batches[0].equal(batches[1])
    assert not batches[0].equal(batches[2])
    assert not batches[0].equal(plain)


def test_parts_of_train_images_are_cut_from_the_images_as_they_are(table: Callable[..., Examples]) -> None:
    """Lines four pixels wide: squeezed into 8 x 8 all is grey, in a quarter of the image they are seen."""
    lines = np.zeros((64, 64, 3), dtype=np.uint8)
    lines[:, np.arange(64) % 8 < 4] = 255
    examples = _one_image(table, _encoded(Image.fromarray(lines)))
    preparation = _preparation(8, augmentation="resized_crop", crop_area=0.1)
    rng = np.random.default_rng(0)
    train = ImageInputs(examples, preparation, augmentation=rng)
    sharpest = max(float(train.batch([0])["pixel_values"].std()) for _ in range(60))
    squeezed = float(ImageInputs(examples, preparation).batch([0])["pixel_values"].std())
    assert squeezed < 0.3 < 0.6 < sharpest


def test_broken_train_images_are_named_when_parts_are_cut(table: Callable[..., Examples]) -> None:
    inputs = ImageInputs(
        _one_image(table, b"no image"),
        _preparation(8, augmentation="resized_crop"),
        augmentation=np.random.default_rng(0),
    )
    state = random.getstate()
    with pytest.raises(DataError, match=r"the image of row 100 cannot be decoded.*repair the image or remove the row"):
        inputs.batch([0])
    assert random.getstate() == state


HOSTILE = {
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%EOF\n",
    "a kind that is not read": _encoded(Image.new("1", (9, 9)), "XBM"),
    "a bomb": b"P6 99999 99999 255\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_only_kinds_of_the_allow_list_are_opened(
    table: Callable[..., Examples], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.check_call", lambda *_, **__: pytest.fail("another program is run"))
    with pytest.raises(
        DataError,
        match=r"the image of row 100 cannot be decoded \(.*; repair the image or remove the row in the source",
    ):
        decode_image(_one_image(table, HOSTILE[name]), 0)


@pytest.mark.parametrize(
    "error", [struct.error("x"), IndexError("x"), TypeError("x"), Image.DecompressionBombError("x")]
)
def test_whatever_a_reader_raises_names_the_row(
    table: Callable[..., Examples], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    examples = _one_image(table, _encoded(Image.new("RGB", (9, 9))))
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", fail)
    with pytest.raises(DataError, match=r"the image of row 100 cannot be decoded \(x\)"):
        decode_image(examples, 0)
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile._open", fail)
    with pytest.raises(DataError, match=r"the image of row 100 cannot be decoded"):
        decode_image(examples, 0)
