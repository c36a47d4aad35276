"""The result store: publishing whole or not at all, reuse by key, locks, the current version."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, ResultKey, ResultStore, files, manifests
from aflite_assets.results.damage import find_damage


def key(**fields: Any) -> ResultKey:
    return ResultKey("1", fields, {"raw_dataset": "abc"})


def write_text(text: str) -> Any:
    def write(draft: Draft) -> Mapping[str, Any]:
        (draft.path / "rows.txt").write_text(text)
        return {"rows": len(text)}

    return write


def _files(store: ResultStore) -> list[str]:
    """What lies in the store beside its locks and its version."""
    return [path.name for path in store.root.rglob("*") if path.is_file() and path.name not in (".lock", "format.json")]


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def test_published_files_are_found_by_key_and_never_written_again(store: ResultStore) -> None:
    first = store.get_or_create("embeddings", "digits", key(a=1), write_text("one"))
    again = store.get_or_create("embeddings", "digits", key(a=1), write_text("two"))

    assert (first.cached, again.cached) == (False, True)
    assert again.result.file("rows.txt").read_text() == "one"
    assert again.result.summary == {"rows": 3}
    assert store.current("embeddings", "digits").key == first.result.key
    assert find_damage(again.result) is None


def test_a_mark_that_leads_out_of_the_store_is_refused(store: ResultStore) -> None:
    store.get_or_create("embeddings", "digits", key(), write_text("one"))
    mark = store.root / "embeddings" / "digits" / "current.json"
    mark.write_text('{"key": "../../../elsewhere"}')
    with pytest.raises(StoreError, match=r"current\.json cannot be read \('\.\./\.\./\.\./elsewhere' is not a key\)"):
        store.current("embeddings", "digits")


def test_data_version_is_the_content_and_not_the_key(store: ResultStore) -> None:
    one, same, other = (
        store.get_or_create("embeddings", "digits", key(a=a), write_text(text)).result
        for a, text in ((1, "x"), (2, "x"), (3, "y"))
    )
    assert one.key != same.key
    assert one.data_version == same.data_version != other.data_version


def test_current_names_the_version_obtained_last(store: ResultStore) -> None:
    one = store.get_or_create("embeddings", "digits", key(a=1), write_text("1")).result
    store.get_or_create("embeddings", "digits", key(a=2), write_text("2"))
    store.get_or_create("embeddings", "digits", key(a=1), write_text("-"))
    assert store.current("embeddings", "digits") == one
    assert one.file("rows.txt").read_text() == "1"


def test_key_sees_every_value_and_the_order_of_fields() -> None:
    assert ResultKey("1", {"a": 1, "b": 2}, {}).digest == ResultKey("1", {"a": 1, "b": 2}, {}).digest
    assert ResultKey("1", {"a": 1, "b": 2}, {}).digest != ResultKey("1", {"b": 2, "a": 1}, {}).digest
    digests = {
        ResultKey(version, {"a": a}, {"raw": raw}).digest for version in "12" for a in (1, 1.5, "1") for raw in "xy"
    }
    assert len(digests) == 12


def test_an_error_while_writing_leaves_nothing(store: ResultStore) -> None:
    def fail(draft: Draft) -> Mapping[str, Any]:
        (draft.path / "half.txt").write_text("half")
        raise ValueError("broken input")

    with pytest.raises(ValueError, match="broken input"):
        store.get_or_create("embeddings", "digits", key(a=1), fail)
    assert store.find("embeddings", "digits", key(a=1)) is None
    assert _files(store) == []
    with pytest.raises(StoreError, match=r"embeddings of 'digits' was never materialised"):
        store.current("embeddings", "digits")


@pytest.mark.parametrize("moment", ["write", "flush_folder", "write_json"])
def test_a_full_disk_is_named_and_leaves_nothing(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(draft: Draft) -> Mapping[str, Any]:
        (draft.path / "rows.txt").write_text("half")
        if moment == "write":
            full()
        return {}

    if moment != "write":
        monkeypatch.setattr(manifests if moment == "write_json" else files, moment, full)
    with pytest.raises(
        StoreError, match=r"of 'digits' was not published: .* \(No space left on device\); free some space, or set"
    ):
        store.get_or_create("embeddings", "digits", key(a=1), write)
    assert _files(store) == []
    monkeypatch.undo()
    assert not store.get_or_create("embeddings", "digits", key(a=1), write_text("x")).cached


KILLED_WRITER = """
import os, sys
from pathlib import Path
from aflite_assets.results import ResultKey, ResultStore

def write(draft):
    (draft.path / "rows.txt").write_text("written before the kill")
    (draft.scratch / "progress.txt").write_text("7")
    return {}

Path.rename = lambda self, target: os._exit(9)
key = ResultKey("1", {"a": 1}, {"raw_dataset": "abc"})
ResultStore(Path(sys.argv[1])).get_or_create("embeddings", "digits", key, write)
"""


def test_kill_between_write_and_rename_is_never_read_and_can_resume(store: ResultStore) -> None:
    code = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(store.root)], check=False).returncode
    assert code == 9
    assert store.find("embeddings", "digits", key(a=1)) is None

    def resume(draft: Draft) -> Mapping[str, Any]:
        assert list(draft.path.iterdir()) == []
        (draft.path / "rows.txt").write_text((draft.scratch / "progress.txt").read_text())
        return {}

    result = store.get_or_create("embeddings", "digits", key(a=1), resume).result
    assert result.file("rows.txt").read_text() == "7"
    assert not (result.path.parent / ".work" / result.key).exists()


KILLED_PUBLISHER = KILLED_WRITER.replace(
    "Path.rename = lambda self, target: os._exit(9)",
    """rename = Path.rename
Path.rename = lambda self, target: os._exit(9) if self.parent.name == "ready" else rename(self, target)""",
)


@pytest.mark.parametrize("damaged", [False, True])
def test_what_was_whole_when_its_process_was_killed_is_published_by_the_next(store: ResultStore, damaged: bool) -> None:
    code = subprocess.run([sys.executable, "-c", KILLED_PUBLISHER, str(store.root)], check=False).returncode
    assert code == 9
    assert store.find("embeddings", "digits", key(a=1)) is None
    (left,) = (store.root / "embeddings" / "digits").glob(".work/*/ready/*/rows.txt")
    if damaged:
        left.write_text("written after the kill")
    lines: list[str] = []
    obtained = store.get_or_create("embeddings", "digits", key(a=1), write_text("made again"), log=lines.append)
    assert obtained.result.file("rows.txt").read_text() == ("made again" if damaged else "written before the kill")
    said = f"embeddings of 'digits' was computed before but not published: {left.parent} is published now"
    assert lines == ([] if damaged else [said])
    assert find_damage(obtained.result, ignore_cache=True) is None
    assert not (store.root / "embeddings" / "digits" / ".work").exists()


def test_a_folder_that_another_machine_published_meanwhile_is_taken(store: ResultStore, tmp_path: Path) -> None:
    """As on a shared disk whose clients see new folders late."""
    elsewhere = ResultStore(tmp_path / "elsewhere").get_or_create("embeddings", "digits", key(a=1), write_text("two"))
    lines: list[str] = []

    def late(draft: Draft) -> Mapping[str, Any]:
        shutil.copytree(elsewhere.result.path, draft.target)
        return write_text("one")(draft)

    result = store.get_or_create("embeddings", "digits", key(a=1), late, log=lines.append).result
    assert result.file("rows.txt").read_text() == "two"
    assert store.current("embeddings", "digits").data_version == elsewhere.result.data_version
    assert lines == [f"another machine published {result.path} first: its result is used"]
    assert not (result.path.parent / ".work").exists()


def test_a_damaged_folder_that_appears_meanwhile_is_not_taken(store: ResultStore) -> None:
    def late(draft: Draft) -> Mapping[str, Any]:
        draft.target.mkdir()
        (draft.target / "something").touch()
        return write_text("one")(draft)

    with pytest.raises(OSError, match="Directory not empty"):
        store.get_or_create("embeddings", "digits", key(a=1), late)


SLOW_WRITER = """
import os, sys, time
from pathlib import Path
from aflite_assets.results import ResultKey, ResultStore

folder = Path(sys.argv[1])

def write(draft):
    with (folder / "writes.log").open("a") as stream:
        stream.write(f"{os.getpid()}\\n")
    time.sleep(0.5)
    (draft.path / "rows.txt").write_text(str(os.getpid()))
    return {}

(folder / f"ready-{os.getpid()}").touch()
while len(list(folder.glob("ready-*"))) < 2:
    time.sleep(0.01)
ResultStore(folder).get_or_create("embeddings", "digits", ResultKey("1", {"a": 1}, {"raw_dataset": "abc"}), write)
"""


def test_two_writers_make_a_result_once(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", SLOW_WRITER, str(tmp_path)]) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    result = ResultStore(tmp_path).find("embeddings", "digits", key(a=1))
    assert result is not None
    assert (tmp_path / "writes.log").read_text().split() == [result.file("rows.txt").read_text()]
    assert {path.name for path in result.path.parent.iterdir()} == {result.key, "current.json", ".lock", ".seen"}


def test_a_number_that_is_none_is_kept_as_null(store: ResultStore) -> None:
    summary = {"loss": float("nan"), "cells": [1.0, float("inf")], "inner": {"rate": float("-inf")}}
    result = store.get_or_create("embeddings", "digits", key(a=1), lambda draft: summary).result
    assert result.summary == {"loss": None, "cells": [1.0, None], "inner": {"rate": None}}


def test_a_folder_that_was_not_published_is_set_aside(store: ResultStore) -> None:
    home = store.root / "embeddings" / "digits"
    (home / key(a=1).digest).mkdir(parents=True)
    (home / key(a=1).digest / "mine.txt").write_text("kept")
    obtained = store.get_or_create("embeddings", "digits", key(a=1), write_text("x"))
    assert not obtained.cached
    assert obtained.result.file("rows.txt").read_text() == "x"
    assert [path.read_text() for path in (home / ".damaged").rglob("mine.txt")] == ["kept"]


def test_parts_are_kept_when_only_their_neighbour_changes(store: ResultStore) -> None:
    made: list[str] = []

    def write_cell(name: str, part: Draft) -> Mapping[str, Any]:
        made.append(name)
        return dict(write_text(name)(part))

    def write_grid(names: tuple[str, ...]) -> Any:
        def write(draft: Draft) -> Mapping[str, Any]:
            for name in names:
                draft.part(name, key(cell=name), partial(write_cell, name))
            return {"cells": len(names)}

        return write

    one = store.get_or_create("evaluator_models", "digits", key(n=1), write_grid(("a",))).result
    two = store.get_or_create("evaluator_models", "digits", key(n=2), write_grid(("a", "b"))).result
    assert made == ["a", "b"]
    assert two.part("a") == one.part("a")
    assert two.part("b").file("rows.txt").read_text() == "b"
    assert one.data_version != two.data_version
    with pytest.raises(StoreError, match=r"has no part 'c' \(it has \['a', 'b'\]\)"):
        two.part("c")


def test_missing_and_changed_files_are_noticed(store: ResultStore) -> None:
    result = store.get_or_create("embeddings", "digits", key(a=1), write_text("one")).result
    result.file("rows.txt").write_text("two")
    os.utime(result.file("rows.txt"), ns=(0, 0))  # the clock of files ticks coarsely
    damage = find_damage(result)
    assert damage is not None
    assert list(damage.reasons) == ["the content of rows.txt has changed"]
    result.file("rows.txt").unlink()
    damage = find_damage(result)
    assert damage is not None
    assert list(damage.reasons) == ["rows.txt is missing"]
    with pytest.raises(StoreError, match=r"holds no file 'rows.txt'"):
        result.file("rows.txt")


@pytest.mark.parametrize("name", ["../up", "", "A", "a/b", ".hidden"])
def test_names_that_are_not_folders_are_refused(store: ResultStore, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be the name of a result"):
        store.get_or_create("embeddings", name, key(a=1), write_text("x"))


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(StoreError, match=r"results cannot be stored in .*file.* set AFLITE_HOME"):
        ResultStore(blocker / "results").get_or_create("embeddings", "digits", key(a=1), write_text("x"))
