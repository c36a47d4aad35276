"""Images are stored alike, without metadata; corners and borders are covered, and other pixels stay."""

from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.fixing.images import ImageChanges, changed_image, plan_images


def _pixels(seed: int, side: int = 48) -> np.ndarray:
    rng = np.random.default_rng(seed)
    small = rng.integers(40, 180, size=(6, 6, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(small).resize((side, side), Image.Resampling.BICUBIC))


def _encoded(pixels: np.ndarray, form: str = "PNG", **settings: object) -> bytes:
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, form, **settings)
    return buffer.getvalue()


def _opened(content: bytes | None) -> Image.Image:
    assert content is not None
    return Image.open(BytesIO(content))


def _column(images: list[bytes]) -> pa.ChunkedArray:
    values = [{"bytes": content, "path": None, "sha256": None} for content in images]
    return pa.chunked_array([pa.array(values, IMAGE_TYPE)])


def test_metadata_go_and_pixels_stay_in_png() -> None:
    exif = Image.Exif()
    exif[271] = "Camera & Co"
    content = _encoded(_pixels(0), exif=exif.tobytes(), dpi=(300, 300), icc_profile=b"profile")
    image = _opened(changed_image(content, ImageChanges(extension=".png")))
    assert image.format == "PNG"
    assert not len(image.getexif())
    assert "dpi" not in image.info
    assert "icc_profile" not in image.info
    assert np.array_equal(np.asarray(image), _pixels(0))


def test_pictures_are_turned_upright_before_their_metadata_go() -> None:
    exif = Image.Exif()
    exif[274] = 6
    pixels = _pixels(0)[:, :24]
    image = _opened(changed_image(_encoded(pixels, exif=exif.tobytes()), ImageChanges(extension=".png")))
    assert image.size == (48, 24)
    assert np.array_equal(np.asarray(image), np.rot90(pixels, -1))


def test_the_common_format_is_png_without_losses_and_else_jpeg_of_a_quality_that_most_have() -> None:
    lossless = [_encoded(_pixels(seed), form) for seed, form in enumerate(("PNG", "BMP", "TIFF"))]
    mixed = [
        *lossless,
        *(_encoded(_pixels(seed), "JPEG", quality=quality) for seed, quality in enumerate((70, 80, 95))),
    ]
    carriers = np.ones(6, dtype=bool)
    changes = plan_images(["format = PNG"], _column(lossless), carriers[:3])
    assert (changes.extension, changes.phrases()) == (
        ".png", ["All images are stored as PNG without metadata, turned upright."],
    )  # fmt: skip
    changes = plan_images(["JPEG quality = 95"], _column([*mixed, b"no image"]), np.append(carriers, False))
    assert (changes.extension, changes.quality, changes.size) == (".jpg", 70, None)
    opened = [_opened(changed_image(content, changes)) for content in mixed]
    stored = {tuple(image.quantization[0]) for image in opened if isinstance(image, JpegImageFile)}
    assert {image.format for image in opened} == {"JPEG"}
    assert len(stored) == 1
    assert changed_image(b"no image", changes) is None


def test_one_size_is_reached_by_scaling_and_cutting() -> None:
    images = [_encoded(_pixels(seed, side)) for seed, side in enumerate((40, 48, 64, 64))]
    changes = plan_images(["width in pixels"], _column(images), np.ones(4, dtype=bool))
    assert changes.size == (40, 40)
    assert {_opened(changed_image(content, changes)).size for content in images} == {(40, 40)}


@pytest.mark.parametrize("corner", ["top left", "top right", "bottom left", "bottom right"])
def test_a_patch_is_covered_in_all_images_with_the_colour_beside_it(corner: str) -> None:
    rows = slice(0, 8) if corner.startswith("top") else slice(-8, None)
    columns = slice(0, 8) if corner.endswith("left") else slice(-8, None)
    marked = [_pixels(seed).copy() for seed in range(20)]
    for pixels in marked[:10]:
        pixels[rows, columns] = 255
    images = [_encoded(pixels) for pixels in marked]
    changes = plan_images([f"bright patch of one colour in the {corner} corner"], _column(images), np.arange(20) < 10)
    assert changes.corners == ((corner, 16),)
    for pixels, content in zip(marked, images, strict=True):
        covered = np.asarray(_opened(changed_image(content, changes)))
        assert covered[rows, columns].max() < 200
        assert covered[rows, columns].std(axis=(0, 1)).max() == 0
        middle = slice(16, 32)
        assert np.array_equal(covered[middle, middle], pixels[middle, middle])
    assert (
        f"The {corner} corner of all images is covered (16 x 16 pixels); what was there is lost." in changes.phrases()
    )


def test_a_border_is_covered_in_all_images() -> None:
    framed = _pixels(0).copy()
    framed[:3] = framed[-3:] = framed[:, :3] = framed[:, -3:] = 255
    images = [_encoded(framed), _encoded(_pixels(1))]
    changes = plan_images(["border of one colour"], _column(images), np.array([True, False]))
    assert changes.border == 5
    for content, pixels in zip(images, (framed, _pixels(1)), strict=True):
        covered = np.asarray(_opened(changed_image(content, changes)))
        edge = np.concatenate([covered[0], covered[-1], covered[:, 0], covered[:, -1]])
        assert edge.std(axis=0).max() == 0
        assert edge.max() < 200
        assert np.array_equal(covered[5:-5, 5:-5], pixels[5:-5, 5:-5])


def test_new_names_alone_leave_the_files_as_they_are() -> None:
    changes = plan_images(
        ["file name is written like 'IMG_#'", "number in the file name"], _column([b"x"]), np.array([True])
    )
    assert (changes.is_renamed, changes.extension) == (True, "")
    assert changed_image(b"any bytes", changes) == b"any bytes"
