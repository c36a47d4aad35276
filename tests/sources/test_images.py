import hashlib
from pathlib import Path

import pytest

from aflite_assets.errors import DataError
from aflite_assets.sources.images import read_image


def test_stored_bytes_are_returned_without_a_file() -> None:
    assert read_image({"bytes": b"\x89PNG", "path": "/no/such/file", "sha256": None}) == b"\x89PNG"


def test_file_is_read_and_a_change_of_its_content_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"first")
    image = {"bytes": None, "path": str(path), "sha256": hashlib.sha256(b"first").hexdigest()}
    assert read_image(image) == b"first"
    path.write_bytes(b"other")
    with pytest.raises(DataError, match=r"a\.png' changed since raw_dataset was materialised; materialise raw_dataset"):
        read_image(image)


def test_lost_file_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lost\.png' cannot be read \(No such file or directory\); restore it"):
        read_image({"bytes": None, "path": str(tmp_path / "lost.png"), "sha256": "0"})
