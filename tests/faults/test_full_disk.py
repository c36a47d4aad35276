"""A disk that is full at any write, or that may only be read: what is said, and that the next run goes on."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError, TrackingError
from aflite_assets.results import Draft, ResultKey, ResultStore, files
from aflite_assets.results.doctor import examine_store
from aflite_assets.tracking import MlflowTracker
from tests.faults.kills import attempt, published


def write(draft: Draft) -> Mapping[str, Any]:
    draft.part("one", ResultKey("1", {"part": 1}, {}), _write_rows)
    return _write_rows(draft)


def _write_rows(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("0123456789" * 100)
    return {"rows": 100}


def get_or_create(store: ResultStore) -> str:
    return store.get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), write).result.data_version


def test_full_at_every_flush_of_a_publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, own = get_or_create(ResultStore(tmp_path / "whole")), os.fsync
    messages, number, calls = list[str](), 0, 1
    while number <= calls:
        number, calls = number + 1, 0

        def full(descriptor: int, last: int = number) -> None:
            nonlocal calls
            calls += 1
            if calls == last:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            own(descriptor)

        store = ResultStore(tmp_path / f"store-{number}")
        with monkeypatch.context() as patch:
            patch.setattr(files.os, "fsync", full)
            try:
                get_or_create(store)
            except StoreError as error:
                messages.append(str(error))
        assert get_or_create(store) == expected
        assert list(examine_store(store, deep=True)) == []
    assert len(messages) >= 10
    assert {message.split(" for /")[0] for message in messages} == {
        "raw_dataset of 'digits' was not published: no space is left"
    }
    assert "free some space, or set AFLITE_HOME to a folder on a larger disk, and try again" in messages[0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own that is made, and made anew, with mount options."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting a small disk takes root")

    def remount(options: str) -> Path:
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)
        return place

    yield remount
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # MLflow keeps its database open


@pytest.mark.slow
def test_a_disk_that_fills_up_at_every_stage(
    feature_content: dict[str, Any], small_disk: Callable[[str], Path], tmp_path: Path
) -> None:
    """Every attempt ends with a message and has twice the room of the one before, until there is enough."""
    assert attempt(tmp_path / "whole", feature_content) == ""
    said, size = list[str](), 64.0
    while size < 50_000:
        size *= 2
        root = small_disk(f"size={size:.0f}k") / "results"
        said.append(attempt(root, feature_content))
        if not said[-1]:
            break
    assert not said[-1]
    assert published(root) == published(tmp_path / "whole")
    assert list(examine_store(ResultStore(root), deep=True, fix=False)) == []
    unlike = [line for line in said[:-1] if "No space left on device" not in line or "AFLITE_HOME" not in line]
    assert unlike == []
    assert len({line.split(" of ")[0] for line in said[:-1]}) >= 3


def test_a_disk_that_may_only_be_read(
    feature_content: dict[str, Any], small_disk: Callable[[str], Path], tmp_path: Path
) -> None:
    root = small_disk("size=20m") / "results"
    get_or_create(ResultStore(root))
    small_disk("ro")
    message = r"cannot be taken \(Read-only file system\); make this folder writable or set AFLITE_HOME"
    place = r"results cannot be stored in .*/results/"
    with pytest.raises(StoreError, match=rf"{place}raw_dataset/digits: the lock \.lock {message}"):
        ResultStore(root).get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), write)
    with (
        pytest.raises(StoreError, match=rf"{place}\.locks: the lock digits\.lock {message}"),
        ResultStore(root).dataset_lock("digits", what="test"),
    ):
        pytest.fail("locked what cannot be written")
    found = ResultStore(root).find("raw_dataset", "digits", ResultKey("1", {}, {}))
    assert found is not None
    assert found.part("one").file("rows.txt").is_file()
    small_disk("rw")
    assert ResultStore(root).get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), write).cached


def test_a_disk_that_is_full_while_mlflow_makes_its_database(small_disk: Callable[[str], Path]) -> None:
    """Half a database would stay broken for good: its migrations do not go on in it."""
    advice = "the disk of this database is full; free some space or set `AFLITE_HOME` to a folder on a larger disk"
    for size in ("64k", "200k"):
        tracker = MlflowTracker(None, small_disk(f"size={size}") / "home")
        with pytest.raises(TrackingError, match=f"database or disk is full; {advice}"), tracker.run("a", "b", "c"):
            pytest.fail("tracked without a database")
        assert [path.name for path in (tracker.home / "mlflow").iterdir()] == ["mlflow.lock"]
    small_disk("size=20m")
    with MlflowTracker(None, tracker.home).run("a", "b", "c") as run:
        run.log_metrics({"accuracy": 0.5})
