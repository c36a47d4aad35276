"""A new folder appears whole or not at all."""

from pathlib import Path

import pytest

from aflite_assets.errors import DataError
from aflite_assets.fixing.copying import new_folder


def test_the_folder_takes_its_place_at_the_end(tmp_path: Path) -> None:
    to = tmp_path / "deep" / "new"
    with new_folder(to) as aside:
        (aside / "a.txt").write_text("a")
        assert not to.exists()
    assert [path.name for path in to.iterdir()] == ["a.txt"]
    assert [path.name for path in to.parent.iterdir()] == ["new"]
    assert to.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("error", [DataError("no"), KeyboardInterrupt()])
def test_an_error_or_an_interruption_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    def write() -> None:
        with new_folder(tmp_path / "new") as aside:
            (aside / "a.txt").write_text("a")
            raise error

    with pytest.raises(type(error)):
        write()
    assert list(tmp_path.iterdir()) == []


def test_places_that_are_taken_or_cannot_be_written_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for taken in (file, tmp_path):
        with pytest.raises(DataError, match="exists and is not an empty folder; name a new folder"), new_folder(taken):
            pass
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="exists and is not an empty folder"), new_folder(tmp_path / "link"):
        pass
    with (
        pytest.raises(DataError, match=r"which cannot be written \(File exists\); name another"),
        new_folder(file / "new"),
    ):
        pass
    assert file.read_text() == "mine"


def test_a_folder_that_was_filled_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    to = tmp_path / "new"

    def write() -> None:
        with new_folder(to) as aside:
            (aside / "a.txt").write_text("a")
            to.mkdir()
            (to / "theirs.txt").write_text("theirs")

    with pytest.raises(DataError, match=r"the cleaned copy cannot be written to '.*new' \(Directory not empty: "):
        write()
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "theirs.txt"]
