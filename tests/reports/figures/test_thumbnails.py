import base64
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from aflite_assets.reports.figures.example_rows import square_pixels, thumbnail_uri


def encoded(image: Image.Image, kind: str = "png") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=kind)
    return buffer.getvalue()


def decoded(uri: str | None) -> Image.Image:
    assert uri is not None
    head, body = uri.split(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(body)))


def test_thumbnails_fit_and_keep_their_shape() -> None:
    assert decoded(thumbnail_uri(encoded(Image.new("RGB", (400, 200), "red")), side=96)).size == (96, 48)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK"])
def test_any_colour_mode_is_shown(mode: str) -> None:
    kind = "jpeg" if mode == "CMYK" else "png"
    assert decoded(thumbnail_uri(encoded(Image.new(mode, (8, 8)), kind))).mode == "RGB"


def test_transparent_pixels_turn_white() -> None:
    pixels = square_pixels(encoded(Image.new("RGBA", (4, 4), (0, 0, 0, 0))), 4)
    assert pixels is not None
    assert np.all(pixels == 255)


def test_images_are_fitted_in_on_white() -> None:
    pixels = square_pixels(encoded(Image.new("RGB", (40, 20), "black")), 10)
    assert pixels is not None
    assert pixels.shape == (10, 10, 3)
    assert pixels[:, 0, 0].tolist() == [255] * 2 + [0] * 5 + [255] * 3


def png_that_claims(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg onload=alert(1)>",
        encoded(Image.new("RGB", (64, 64)))[:60],
        png_that_claims(9_000, 9_000),
        png_that_claims(60_000, 60_000),
        png_that_claims(100, 100),
    ],
    ids=["empty", "svg", "cut", "large", "bomb", "no pixels"],
)
def test_unreadable_images_are_none(content: bytes) -> None:
    assert thumbnail_uri(content) is None
    assert square_pixels(content, 8) is None


@pytest.mark.parametrize(
    "content",
    [
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%EOF\n",
        encoded(Image.new("1", (9, 9)), "XBM"),
        b"P6 99999 99999 255\n",
    ],
    ids=["PostScript", "a kind that is not read", "a bomb"],
)
def test_only_kinds_of_the_allow_list_are_shown(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.check_call", lambda *_, **__: pytest.fail("another program is run"))
    assert thumbnail_uri(content) is None
    assert square_pixels(content, 8) is None


@pytest.mark.parametrize("error", [struct.error("x"), IndexError("x"), TypeError("x"), zlib.error("x")])
def test_whatever_a_reader_raises_is_no_thumbnail(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    content = encoded(Image.new("RGB", (9, 9)))
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", fail)
    assert thumbnail_uri(content) is None
