"""What the doctor finds in a store, and what it mends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aflite_assets.results import ResultKey, ResultStore
from aflite_assets.results.doctor import Problem, examine_store
from aflite_assets.results.locks import writing
from aflite_assets.results.pins import pin
from tests.results.small_results import kinds, publish, write


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def test_a_sound_store_has_nothing_wrong(store: ResultStore) -> None:
    assert list(examine_store(store)) == []
    pin(store, [publish(store)])
    with store.dataset_lock("digits", what="test"):
        assert list(examine_store(store, deep=True)) == []


def test_a_truncated_file_is_set_aside(store: ResultStore) -> None:
    whole, damaged = publish(store, 1), publish(store, 2)
    os.truncate(damaged.path / "rows.txt", 4)
    expected = f"{damaged.path}: rows.txt has 4 bytes instead of 10"
    remedy = "materialise filtered_sets of digits again"
    assert list(examine_store(store)) == [Problem("damaged result", expected, remedy)]
    told = list(examine_store(store, fix=True))
    assert told[0] == Problem("damaged result", expected, remedy, mended=True)
    assert [one.kind for one in told[1:]] == ["lost result"]  # it was current
    assert not damaged.path.exists()
    assert whole.path.exists()
    assert publish(store, 2).data_version == whole.data_version
    assert list(examine_store(store, deep=True)) == []


def test_other_content_is_found_by_a_deep_look_though_nothing_touched_the_file(store: ResultStore) -> None:
    part = publish(store).part("given")
    seen = part.path.parent / ".seen" / f"{part.key}.json"
    (part.path / "rows.txt").write_text("012345678!")
    stat = (part.path / "rows.txt").stat()
    # As of a disk that gives back other bytes: inode, size and times are those of the last look.
    seen.write_text(json.dumps({"rows.txt": [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]}))
    assert list(examine_store(store)) == []
    (told,) = examine_store(store, deep=True)
    assert told.what.endswith(": part given: the content of rows.txt has changed")
    assert kinds(examine_store(store, deep=True, fix=True)) == [("damaged result", True), ("lost result", False)]
    assert not part.path.exists()
    publish(store)
    assert list(examine_store(store, deep=True)) == []


def test_a_damaged_part_that_no_result_names_is_found(store: ResultStore) -> None:
    part = store.get_or_create_part("filtered_sets", "digits", ResultKey("1", {"orphan": 1}, {}), write).result
    (part.path / "manifest.json").unlink()
    (told,) = examine_store(store, fix=True)
    assert (told.what, told.mended) == (f"{part.path}: manifest.json is missing", True)
    assert list(examine_store(store)) == []


KILLED = """
import os, sys
from pathlib import Path
from aflite_assets.results import ResultKey, ResultStore

def write(draft):
    (draft.path / "rows.txt").write_text("half")
    (draft.scratch / "progress.txt").write_text("7")
    os._exit(9)

store = ResultStore(Path(sys.argv[1]))
with store.dataset_lock("digits", what="aflite refresh"):
    store.get_or_create("filtered_sets", "digits", ResultKey("1", {"n": 9}, {}), write)
"""


def test_what_a_killed_writer_left_is_removed_but_not_what_it_resumes_from(store: ResultStore) -> None:
    publish(store)
    assert subprocess.run([sys.executable, "-c", KILLED, str(store.root)], check=False).returncode == 9
    home = store.root / "filtered_sets" / "digits"
    (home / ".current.json.123.456").write_text("{")
    expected = ["half-written folder", "half-written file", "stale lock"]
    assert [one.kind for one in examine_store(store)] == expected
    told = list(examine_store(store, fix=True))
    assert [(one.kind, one.mended) for one in told] == [(kind, True) for kind in expected]
    assert "aflite refresh, process " in told[-1].what
    assert list(examine_store(store)) == []
    assert [path.read_text() for path in (home / ".work").rglob("progress.txt")] == ["7"]


def test_what_a_living_writer_has_in_work_is_left_alone(store: ResultStore) -> None:
    result = publish(store)
    draft = result.path.parent / ".work" / "aa" / "draft"
    draft.mkdir(parents=True)
    with writing(result.path.parent):
        assert list(examine_store(store, fix=True)) == []
    assert draft.exists()


def test_records_trash_and_lost_results_are_named(store: ResultStore) -> None:
    result = publish(store)
    pin(store, [result])
    (path,) = (store.root / "pins").rglob("*.json")
    path.write_text("[]")
    (store.root / ".trash" / "x").mkdir(parents=True)
    (store.root / ".locks").mkdir()
    result.path.rename(result.path.with_name("elsewhere"))
    assert kinds(examine_store(store, fix=True)) == [("lost result", False), ("pin", False), ("trash", True)]


def test_a_store_of_a_later_format_is_left_alone(store: ResultStore) -> None:
    result = publish(store)
    os.truncate(result.path / "rows.txt", 4)
    (store.root / "format.json").write_text('{"format": 99}')
    (told,) = examine_store(store, fix=True)
    assert told.kind == "store format"
    assert "store format 99" in told.what
    assert result.path.exists()
