"""Properties of image files: storage, light, patches, names, near copies, and bytes that are no image."""

from dataclasses import replace
from io import BytesIO
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from aflite_assets.scan.properties.anywhere import id_properties
from aflite_assets.scan.properties.images import (
    _fine_detail,
    image_properties,
    jpeg_quality,
    path_parts,
    standard_table,
)
from benchmarks.detection_kinds import build_rows, draw_pixels, encode, image_column
from benchmarks.detection_real.real_rows import cifar_pixels

RNG = np.random.default_rng(0)


def _properties(contents: list[bytes]):  # type: ignore[no-untyped-def]
    (flags,), numbers, copies = image_properties(image_column(contents), fewest=1, threads=1)
    dense = flags.present.toarray().astype(bool)
    has = {info.name: np.flatnonzero(dense[:, place]).tolist() for place, info in enumerate(flags.infos)}
    values = {number.info.name: number.lows[number.codes].tolist() for number in numbers}
    return has, values, copies


@pytest.mark.parametrize("quality", [10, 35, 50, 75, 80, 90, 95, 100])
def test_jpeg_quality_is_read_from_the_tables(quality: int) -> None:
    opened = Image.open(BytesIO(encode(draw_pixels(RNG), quality=quality)))
    table = opened.quantization[0]  # type: ignore[attr-defined]
    assert jpeg_quality(table) == pytest.approx(quality, abs=1)
    assert sorted(table) == standard_table(quality)


def test_storage_and_size() -> None:
    contents = [encode(draw_pixels(RNG, 40), "PNG"), encode(draw_pixels(RNG, 64), quality=90)]
    has, values, _ = _properties(contents)
    assert has["format = PNG"] == [0]
    assert has["JPEG quality = 90"] == [1]
    assert has["JPEG tables = standard"] == [1]
    assert values["width in pixels"] == [40, 64]
    assert values["bytes"] == [len(one) for one in contents]


def test_a_camera_and_a_resolution() -> None:
    stream = BytesIO()
    exif = Image.Exif()
    exif[271] = "Makers & Sons"
    Image.fromarray(draw_pixels(RNG)).save(stream, "JPEG", exif=exif, dpi=(300, 300))
    has, _, _ = _properties([stream.getvalue(), encode(draw_pixels(RNG))])
    assert has["EXIF = yes"] == [0]
    assert has["camera maker = Makers & Sons"] == [0]
    assert has["resolution in dpi = 300x300"] == [0]


@pytest.mark.parametrize(("level", "shade"), [(250, "bright"), (5, "dark")])
@pytest.mark.parametrize("side", [4, 5, 6, 8, 12, 20])
@pytest.mark.parametrize(
    ("rows", "columns", "name"), [(0, 0, "top left"), (-1, 0, "bottom left"), (-1, -1, "bottom right")]
)
def test_a_patch_in_a_corner_is_seen_at_every_size(
    side: int, rows: int, columns: int, name: str, level: int, shade: str
) -> None:
    pixels = np.full((96, 96, 3), 120, dtype=np.uint8) + RNG.integers(0, 30, (96, 96, 3), dtype=np.uint8)
    marked = pixels.copy()
    inside = slice(None, side), slice(-side, None)
    marked[inside[rows], inside[columns]] = level
    has, _, _ = _properties([encode(pixels, "PNG"), encode(marked, "PNG")])
    assert has[f"{shade} patch of one colour in the {name} corner"] == [1]
    assert sum("patch" in one for one in has) == 1


def test_an_image_of_one_colour_and_a_tiny_one_have_no_patch() -> None:
    plain, tiny = np.full((64, 64, 3), 255, dtype=np.uint8), np.zeros((1, 1, 3), dtype=np.uint8)
    has, _, _ = _properties([encode(plain, "PNG"), encode(tiny, "PNG"), encode(draw_pixels(RNG), "PNG")])
    assert not [name for name in has if "patch" in name]
    assert has["border of one colour"] == [0, 1]


def test_light_of_known_pixels() -> None:
    red, grey = np.zeros((64, 64, 3), np.uint8), np.full((64, 64, 3), 100, np.uint8)
    red[..., 0] = 240
    grey[:, ::2] = 140
    _, values, _ = _properties([encode(red, "PNG"), encode(grey, "PNG")])
    assert values["brightness"] == pytest.approx([80, 120])
    assert values["saturation"] == pytest.approx([1, 0])
    assert values["sharpness"] == pytest.approx([0, 40])


DETAIL = ("image", "fine detail (low if enlarged or blurred)")


def test_fine_detail_falls_when_an_image_is_enlarged_and_does_not_depend_on_contrast() -> None:
    noise = np.random.default_rng(4).integers(60, 190, (96, 96), dtype=np.uint8)
    picture = Image.fromarray(np.repeat(noise[..., None], 3, axis=2))
    small = picture.resize((48, 48), Image.Resampling.BOX)
    enlarged = small.resize((96, 96), Image.Resampling.BICUBIC)
    faint = Image.fromarray((np.asarray(picture).astype(int) // 3 + 80).astype(np.uint8))
    flat = Image.new("RGB", (96, 96), (90, 90, 90))
    tiny = picture.crop((0, 0, 4, 4))
    contents = [encode(np.asarray(one), "PNG") for one in (picture, faint, enlarged, flat, tiny)]
    _, numbers, _ = image_properties(image_column(contents), fewest=1, threads=1)
    number = next(one for one in numbers if (one.info.kind, one.info.name) == DETAIL)
    values = np.where(number.codes < 0, np.nan, number.lows[number.codes])
    assert values[:2] == pytest.approx([1.0, 1.0], abs=0.06)
    assert values[2] < 0.15
    assert np.isnan(values[3:]).all()
    assert number.info.reason is None


def test_fine_detail_differs_between_natural_classes_so_it_is_no_artefact(example_data: Path) -> None:
    pixels, classes = cifar_pixels()
    values = np.array([_fine_detail(np.asarray(Image.fromarray(one).convert("L"), np.int16))[DETAIL] for one in pixels])
    of_class = {name: values[np.array(classes) == name] for name in sorted(set(classes))}
    areas = []
    for one, other in combinations(of_class.values(), 2):
        area = float((one[:, None] > other).mean() + (one[:, None] == other).mean() / 2)
        areas.append(max(area, 1 - area))
    assert len(areas) == 45
    assert sum(area > 0.6 for area in areas) == 19
    assert max(areas) == pytest.approx(0.8, abs=0.01)


def test_bytes_that_are_no_image_keep_the_properties_of_their_file() -> None:
    has, values, copies = _properties([b"no image", encode(draw_pixels(RNG)), b""])
    assert has["cannot be decoded"] == [0, 2]
    assert values["bytes"][0] == 8
    assert len(set(copies)) == 3


def test_the_same_picture_in_another_format_is_a_near_copy() -> None:
    pixels = draw_pixels(np.random.default_rng(3))
    _, _, copies = _properties([encode(pixels, "PNG"), encode(pixels, "BMP"), encode(draw_pixels(RNG), "PNG")])
    assert copies[0] == copies[1]
    assert copies[0] != copies[2]


def test_a_name_has_no_part_of_the_class() -> None:
    assert path_parts("cat/holiday/IMG_7.jpg", "cat") == ("holiday", "IMG_7.jpg")
    images = image_column([encode(draw_pixels(RNG))] * 4)
    paths = ["cat/cat_IMG_1.jpg", "cat/x/DSC_2.jpg", "dog/IMG_3.jpg", "dog/DSC_4.jpg"]
    rows = replace(build_rows(np.array([0, 0, 1, 1])), label_names=("cat", "dog"), images=images, ids=paths)
    flags, numbers = id_properties(rows, fewest=1)
    names = {info.name for part in flags for info in part.infos}
    assert {"folder = 'x'", "file name is written like 'DSC_#'"} & names == {"file name is written like 'DSC_#'"}
    assert not any("cat" in name or "dog" in name for name in names)
    assert numbers[0].lows[numbers[0].codes].tolist() == [1, 2, 3, 4]


def test_a_class_named_by_a_digit_leaves_longer_numbers_whole() -> None:
    images = image_column([encode(draw_pixels(np.random.default_rng(4)))] * 4)
    paths = ["IMG_1020.jpg", "0_IMG_511.jpg", "IMG_1101.jpg", "1_IMG_2010.jpg"]
    rows = replace(build_rows(np.array([0, 0, 1, 1])), label_names=("0", "1"), images=images, ids=paths)
    flags, (number,) = id_properties(rows, fewest=1)
    assert number.lows[number.codes].tolist() == [1_020, 511, 1_101, 2_010]
    written = {info.name for part in flags for info in part.infos}
    assert written == {"file name is written like 'IMG_#'", "file name is written like '_IMG_#'"}


@pytest.mark.parametrize(("across", "down"), [(2, 0), (-1, 0), (0, 3)])
def test_red_shifted_against_blue(across: int, down: int) -> None:
    plain = np.repeat(draw_pixels(RNG, 64)[:, :, :1], 3, axis=2)
    shifted = plain.copy()
    shifted[:, :, 0] = np.roll(plain[:, :, 0], (down, across), axis=(0, 1))
    _, values, _ = _properties([encode(plain, "PNG"), encode(shifted, "PNG")])
    expected = {"to the right": across, "down": down}
    for way, pixels in expected.items():
        found = values.get(f"pixels by which red is shifted {way} of blue", [0, 0])  # equal values are no property
        assert found == [0, pixels]


def test_an_image_of_one_colour_has_no_shift() -> None:
    flat = np.full((40, 40, 3), 90, np.uint8)
    _, values, _ = _properties([encode(flat, "PNG"), encode(draw_pixels(RNG, 40), "PNG")])
    assert not any("is shifted" in name for name in values)
