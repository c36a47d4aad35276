"""Hashes by mark: what is hashed again, what is not, budgets carried on, files that stand still."""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aflite_assets.errors import DataError, MissingDataError, UnsettledDataError
from aflite_assets.results import file_hashes
from aflite_assets.results.file_hashes import FileHashes, FileMark, Watch, check_unchanged


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were opened to be hashed; files need not be old to be remembered."""
    monkeypatch.setattr(file_hashes, "_RACY_NS", 0)
    paths: list[Path] = []
    hash_ = FileHashes._hash

    def noting(self: FileHashes, path: Path, mark: FileMark) -> tuple[str | None, int]:
        paths.append(path)
        return hash_(self, path, mark)

    monkeypatch.setattr(FileHashes, "_hash", noting)
    return paths


def _files(folder: Path, count: int, size: int = 10) -> list[Path]:
    paths = [folder / f"{number}.bin" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number % 256]) * size)
    return paths


def _digests(paths: list[Path]) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_unmoved_files_are_hashed_once(tmp_path: Path, opened: list[Path]) -> None:
    paths = _files(tmp_path, 3)
    assert FileHashes().of([*paths, paths[0]]) == [*_digests(paths), _digests(paths)[0]]
    assert opened == paths
    assert FileHashes().of(paths) == _digests(paths)
    assert opened == paths


def test_what_moved_is_hashed_again(tmp_path: Path, opened: list[Path]) -> None:
    paths = _files(tmp_path, 4)
    FileHashes().of(paths)
    opened.clear()
    os.utime(paths[0])
    entry = paths[1].stat()
    paths[1].write_bytes(b"x" * 10)
    os.utime(paths[1], ns=(entry.st_atime_ns, entry.st_mtime_ns))  # the size and this time as before
    (tmp_path / "aside").write_bytes(b"y" * 10)
    (tmp_path / "aside").replace(paths[2])
    assert FileHashes().of(paths) == _digests(paths)
    assert opened == paths[:3]


def test_a_file_that_is_just_written_is_not_remembered(tmp_path: Path) -> None:
    path = _files(tmp_path, 1)[0]
    for content in (b"a" * 10, b"b" * 10, b"c" * 10):
        path.write_bytes(content)
        assert FileHashes().of([path]) == [hashlib.sha256(content).hexdigest()]
    assert not file_hashes.default_database().exists()


def test_a_budget_is_carried_on_within_a_file_and_by_the_next(tmp_path: Path, opened: list[Path]) -> None:
    paths = _files(tmp_path, 2, size=1000)
    lefts = []
    for _ in range(4):
        with pytest.raises(UnsettledDataError, match="bytes are not hashed yet") as refused:
            FileHashes(most_bytes=450).of(paths)
        lefts.append(int(re.match(r"([\d,]+)", str(refused.value))[1].replace(",", "")))  # type: ignore[index]
    assert lefts == [1550, 1100, 650, 200]
    assert FileHashes(most_bytes=450).of(paths) == _digests(paths)


def test_a_budget_is_shared_and_a_file_that_changed_begins_anew(tmp_path: Path, opened: list[Path]) -> None:
    one, two = _files(tmp_path, 2, size=1000)
    hashes = FileHashes(most_bytes=1500)
    hashes.of([one])
    with pytest.raises(
        UnsettledDataError,
        match=r"^500 bytes are not hashed yet \(next file: '.*1\.bin'\); the next "
        r"check continues",
    ):
        hashes.of([two])
    two.write_bytes(b"z" * 1000)
    with pytest.raises(UnsettledDataError, match=r"^300 bytes"):
        FileHashes(most_bytes=700).of([two])
    assert FileHashes(most_bytes=300).of([two]) == [hashlib.sha256(b"z" * 1000).hexdigest()]


def test_files_that_are_gone_or_unreadable_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"file '.*gone' does not exist; correct the path"):
        FileHashes().of([tmp_path / "gone"])
    with pytest.raises(DataError, match=r"cannot be read \(Is a directory\); make it readable"):
        FileHashes().of([tmp_path])


def test_a_file_stands_still_after_two_looks(tmp_path: Path) -> None:
    now = [100.0]
    watch = Watch(clock=lambda: now[0])
    one, two = _files(tmp_path, 2)
    assert watch.look([one, two]) == (one, two)
    assert watch.look([one, two]) == (one, two), "at the same moment"
    now[0] += 60
    two.write_bytes(b"longer than before")
    assert watch.look([one, two]) == (two,)
    now[0] += 60
    assert Watch(clock=lambda: now[0]).look([one, two]) == ()


def test_what_was_hashed_before_needs_no_looks(tmp_path: Path, opened: list[Path]) -> None:
    paths = _files(tmp_path, 2)
    with pytest.raises(
        UnsettledDataError,
        match=r"'.*0.bin' and 1 more is new or has changed; it is used once two "
        r"checks",
    ):
        FileHashes(watch=Watch()).of(paths)
    assert opened == []
    FileHashes().of(paths)
    assert FileHashes(watch=Watch()).of(paths) == _digests(paths)


def test_unchanged_files_pass_and_others_are_named(tmp_path: Path) -> None:
    path = _files(tmp_path, 1)[0]
    hashes = FileHashes()
    hashes.of([path])
    check_unchanged(hashes.noted)
    os.utime(path)
    check_unchanged(hashes.noted)
    path.write_bytes(b"other")
    with pytest.raises(DataError, match=r"0.bin' changed between hashing .*sha256 [0-9a-f]{12}, now d9298a10d1b0"):
        check_unchanged(hashes.noted)
    path.unlink()
    with pytest.raises(MissingDataError, match="does not exist"):
        check_unchanged(hashes.noted)


@pytest.mark.parametrize("kind", ["damaged", "folder"])
def test_a_database_that_cannot_be_used_costs_time_and_no_result(
    tmp_path: Path, opened: list[Path], caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    database = file_hashes.default_database()
    database.parent.mkdir(parents=True)
    if kind == "damaged":
        database.write_bytes(b"no database" * 1000)
    else:
        database.mkdir()
    paths = _files(tmp_path, 2)
    for _ in range(2):
        assert FileHashes().of(paths) == _digests(paths)
    assert opened == paths * 2
    assert [record.message for record in caplog.records if "file hashes cannot be stored in" in record.message] != []
    assert len(caplog.records) == 1


def test_processes_share_the_hashes(tmp_path: Path, opened: list[Path]) -> None:
    paths = _files(tmp_path, 40)
    code = (
        "import sys; from pathlib import Path; from aflite_assets.results import file_hashes\n"
        "file_hashes._RACY_NS = 0\n"
        "print(len(file_hashes.FileHashes().of([Path(name) for name in sys.argv[1:]])))"
    )
    command = [sys.executable, "-c", code, *map(str, paths)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    outcomes = [process.communicate(timeout=60) for process in running]
    assert outcomes == [("40\n", "")] * 4
    assert FileHashes().of(paths) == _digests(paths)
    assert opened == []


def test_a_thousand_unmoved_files_are_a_moment(tmp_path: Path, opened: list[Path]) -> None:
    paths = _files(tmp_path, 1000)
    first = FileHashes().of(paths)
    opened.clear()
    started = time.perf_counter()
    assert FileHashes().of(paths) == first
    assert time.perf_counter() - started < 2
    assert opened == []
