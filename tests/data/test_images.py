import hashlib
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, UnidentifiedImageError

from aflite_assets.data import images as images_module
from aflite_assets.data.images import IMAGE_TYPE, as_rgb, open_encoded, read_image, undecodable
from aflite_assets.errors import DataError


def test_stored_bytes_are_returned_without_a_file() -> None:
    assert read_image({"bytes": b"\x89PNG", "path": "/no/such/file", "sha256": None}) == b"\x89PNG"


def test_file_is_read_and_a_change_of_its_content_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"first")
    image = {"bytes": None, "path": str(path), "sha256": hashlib.sha256(b"first").hexdigest()}
    assert read_image(image) == b"first"
    path.write_bytes(b"other")
    with pytest.raises(DataError, match=r"a\.png' was changed after `raw_dataset` was materialised; materialise"):
        read_image(image)


def test_lost_file_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lost\.png' cannot be read \(No such file or directory\); restore the file"):
        read_image({"bytes": None, "path": str(tmp_path / "lost.png"), "sha256": "0"})


def test_a_hash_that_was_not_taken_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"first")
    assert read_image({"bytes": None, "path": str(tmp_path / "a.png"), "sha256": ""}) == b"first"


def encoded(image: Image.Image, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, form)
    return stream.getvalue()


NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8))


def column(*contents: bytes) -> pa.ChunkedArray:
    values = [{"bytes": content, "path": None, "sha256": None} for content in contents]
    return pa.chunked_array([pa.array(values[:2], IMAGE_TYPE), pa.array(values[2:], IMAGE_TYPE)])


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_every_form_decodes_whole_and_not_cut_short(form: str) -> None:
    content = encoded(NOISE, form)
    images = column(content, content[: len(content) // 2], content[:10], b"")
    assert undecodable(images, threads=2).tolist() == [1, 2, 3]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_every_mode_becomes_rgb(mode: str) -> None:
    image = Image.new(mode, (5, 4))
    if mode == "P":
        image.info["transparency"] = b"\x00\x80"
    content = encoded(image)
    assert undecodable(column(content), threads=1).tolist() == []
    assert as_rgb(open_encoded(content)).mode == "RGB"


def png_of_size(width: int, height: int) -> bytes:
    """A sound PNG header that promises more pixels than there are bytes for."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"\x00" * 100)
    chunks = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, data, b"IEND")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_text_postscript_bombs_and_huge_sizes_do_not_decode() -> None:
    hostile = [
        b"<html>not an image</html>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        png_of_size(20_000, 20_000),
        png_of_size(2**31 - 1, 2**31 - 1),
        png_of_size(0, 5),
        png_of_size(12_000, 12_000),
    ]
    assert undecodable(column(*hostile, encoded(NOISE)), threads=2).tolist() == [0, 1, 2, 3, 4, 5]


def test_postscript_is_handed_to_no_other_program() -> None:
    with pytest.raises(UnidentifiedImageError):
        open_encoded(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%EOF\n")


def test_a_large_image_decodes_without_a_warning() -> None:
    large = encoded(Image.new("1", (10_000, 9_000)))
    assert undecodable(column(large, large, encoded(NOISE)), threads=3).tolist() == []


@pytest.mark.parametrize("threads", [1, 4])
def test_files_are_read_and_their_changes_raised(tmp_path: Path, threads: int) -> None:
    values = []
    for number, content in enumerate((encoded(NOISE), b"", encoded(NOISE))):
        (tmp_path / f"{number}.jpg").write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        values.append({"bytes": None, "path": str(tmp_path / f"{number}.jpg"), "sha256": sha256})
    images = pa.chunked_array([pa.array(values, IMAGE_TYPE)])
    assert undecodable(images, threads=threads).tolist() == [1]
    (tmp_path / "2.jpg").write_bytes(b"other")
    with pytest.raises(DataError, match=r"2\.jpg' was changed after"):
        undecodable(images, threads=threads)


def test_progress_of_large_columns_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images_module, "_CHECKED_AT_ONCE", 4)
    lines: list[str] = []
    contents = [encoded(NOISE), b"x"] * 3
    assert undecodable(column(*contents), threads=2, log=lines.append).tolist() == [1, 3, 5]
    assert lines == ["images decoded: 4 of 6, 2 of them broken", "images decoded: 6 of 6, 3 of them broken"]
    assert undecodable(column(*contents[:4]), threads=2, log=lines.append).tolist() == [1, 3]
    assert len(lines) == 2


def test_running_out_of_memory_is_no_broken_image(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(content: bytes) -> Image.Image:
        raise MemoryError

    monkeypatch.setattr(images_module, "open_encoded", exhausted)
    with pytest.raises(MemoryError):
        undecodable(column(b"x"), threads=1)


def test_no_rows() -> None:
    assert undecodable(pa.chunked_array([], IMAGE_TYPE), threads=2).tolist() == []
