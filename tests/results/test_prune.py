"""What is removed and what stays: refreshes, pins, readers, writers, what is current; a kill in the middle."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.prune import prune_lines
from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results.damage import find_damage
from aflite_assets.results.locks import reading, writing
from aflite_assets.results.manifests import sealed
from aflite_assets.results.pins import pin, read_pins, unpin
from aflite_assets.results.prune import Pruned, prune
from aflite_assets.results.refresh_records import read_refreshes, record_refresh


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def publish(store: ResultStore, asset: str, fields: dict[str, Any], *inputs: PublishedResult) -> PublishedResult:
    """A result with one part of its own and one that never changes."""
    key = ResultKey("1", fields, {one.asset: one.data_version for one in inputs})

    def write(draft: Draft) -> Mapping[str, Any]:
        for name, part in (("own", fields), ("shared", {})):
            draft.part(name, ResultKey("1", {"part": part}, {}), partial(_text, text=str(part)))
        return _text(draft, str(fields))

    return store.get_or_create(asset, "digits", key, write).result


def _text(draft: Draft, text: str) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text(text * 10)
    return {}


def refresh(store: ResultStore, number: int) -> list[PublishedResult]:
    """A run of three assets; the source changes every time, the middle one's answer every other time."""
    raw = publish(store, "raw_dataset", {"n": number})
    middle = publish(store, "embeddings", {"n": number // 2}, raw)
    used = [raw, middle, publish(store, "benchmark_report", {}, raw, middle)]
    record_refresh(store, used, what=f"run {number}")
    return used


def keys(store: ResultStore) -> set[tuple[str, str]]:
    return {(asset, one.key) for asset, partition, _ in store.partitions() for one in store.results(asset, partition)}


def parts(store: ResultStore, asset: str) -> set[str]:
    return {one.key for one in store.results(asset, "digits", parts=True)}


def used_keys(*runs: list[PublishedResult]) -> set[tuple[str, str]]:
    return {(one.asset, one.key) for run in runs for one in run}


def assert_whole(store: ResultStore) -> None:
    for asset, partition, _ in store.partitions():
        store.current(asset, partition)
        for result in store.results(asset, partition):
            assert find_damage(result, ignore_cache=True) is None


def tree(store: ResultStore) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(store.root.rglob("*")) if path.is_file()}


def test_thirty_refreshes_are_pruned_to_two(store: ResultStore) -> None:
    runs = [refresh(store, number) for number in range(30)]
    before = sum(len(content) for content in tree(store).values())
    pruned = prune(store, keep=2)
    assert keys(store) == used_keys(*runs[-2:])
    assert_whole(store)
    named = {part.key for run in runs[-2:] for part in run[0].parts.values()}
    assert parts(store, "raw_dataset") == named
    assert len(read_refreshes(store, "digits")) == 2
    kinds = pruned.by_kind()
    assert {kind: count for kind, (count, _) in kinds.items()} == {
        "results": 28 * 3, "parts": 28 + 14, "records of refreshes": 28
    }  # fmt: skip
    after = sum(len(content) for content in tree(store).values())
    assert 0 < before - after <= sum(one.size for one in pruned.removed) + 90 * 300  # and notes of what was whole
    assert not (store.root / ".trash").exists()
    assert refresh(store, 29) == runs[-1]


def test_a_dry_run_says_the_same_and_touches_nothing(store: ResultStore) -> None:
    for number in range(6):
        refresh(store, number)
    before = tree(store)
    said = prune(store, keep=2, dry_run=True)
    assert tree(store) == before
    done = prune(store, keep=2)
    assert said.removed == done.removed
    assert len(done.removed) > 10
    assert prune(store, keep=2) == Pruned()


def test_refreshes_that_used_the_same_count_once(store: ResultStore) -> None:
    runs = [refresh(store, number) for number in (1, 2, 3, 3, 3, 3)]
    prune(store, keep=2)
    assert keys(store) == used_keys(runs[1], runs[2])
    assert [one.what for one in read_refreshes(store, "digits")] == ["run 3", "run 2"]


def test_what_something_current_was_made_from_stays(store: ResultStore) -> None:
    raw = publish(store, "raw_dataset", {"n": 1})
    report = publish(store, "benchmark_report", {}, raw)
    newer = publish(store, "raw_dataset", {"n": 2})
    unused = publish(store, "raw_dataset", {"n": 3})
    publish(store, "raw_dataset", {"n": 2})
    prune(store, keep=0)
    assert keys(store) == used_keys([raw, report, newer])
    assert unused.path.exists() is False


def test_a_pin_keeps_a_folder_with_its_parts_and_nothing_else(store: ResultStore) -> None:
    runs = [refresh(store, number) for number in range(4)]
    (pinned,) = pin(store, [runs[0][2]], note="sent to reviewers")
    assert read_pins(store) == [pinned]
    prune(store, keep=1)
    assert keys(store) == used_keys(runs[-1], [runs[0][2]])
    assert_whole(store)
    assert unpin(store, "digits", "raw_dataset") == []
    assert unpin(store, "digits") == [pinned]
    prune(store, keep=1)
    assert keys(store) == used_keys(runs[-1])


def test_a_pin_that_cannot_be_read_stops_everything(store: ResultStore) -> None:
    runs = [refresh(store, number) for number in range(3)]
    pin(store, [runs[0][2]])
    (path,) = (store.root / "pins").rglob("*.json")
    path.write_text("{}")
    before = tree(store)
    with pytest.raises(StoreError, match=r"the pin .* cannot be read .*; delete it and pin the result again"):
        prune(store, keep=1)
    assert tree(store) == before


def test_what_is_read_or_written_stays(store: ResultStore) -> None:
    runs = [refresh(store, number) for number in range(4)]
    with reading([runs[0][2]]), writing(store.root / "embeddings" / "digits"):
        pruned = prune(store, keep=1)
    assert pruned.in_use == ["embeddings of digits: it is being written"]
    # What is read stays with what it was made from; of what is written everything stays.
    assert keys(store) == used_keys(runs[-1], runs[0], [run[1] for run in runs])
    prune(store, keep=1)
    assert keys(store) == used_keys(runs[-1])


def test_only_what_is_older_goes(store: ResultStore) -> None:
    runs = [refresh(store, number) for number in range(3)]
    assert prune(store, keep=1, older_than=timedelta(hours=1)).removed == []
    _published_before(runs[0], hours=2)
    prune(store, keep=1, older_than=timedelta(hours=1))
    assert keys(store) == used_keys(*runs[1:])
    assert_whole(store)


def _published_before(run: list[PublishedResult], *, hours: int) -> None:
    for result in (*run, *(part for one in run for part in one.parts.values())):
        path = result.path / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["published"] = f"2020-01-01T{hours:02d}:00:00+00:00"
        path.write_text(json.dumps(sealed(manifest)))


@pytest.mark.parametrize("harm", ["edited", "cut", "set aside"])
def test_parts_stay_while_the_result_that_names_them_is_damaged(store: ResultStore, harm: str) -> None:
    """Made again, it is put together from them."""
    (raw, *_) = refresh(store, 0)
    named = parts(store, "raw_dataset")
    path = raw.path / "manifest.json"
    if harm == "edited":
        path.write_text(path.read_text().replace('"rows.txt"', '"row.txt"'))
    elif harm == "cut":
        path.write_text(path.read_text()[:-20])
    else:
        path.unlink()
        damage = store.damage("raw_dataset", "digits", ResultKey("1", {"n": 0}, {}))
        assert damage is not None
        store.set_aside(damage)
    pruned = prune(store)
    assert parts(store, "raw_dataset") == named
    why = f"{raw.path}, which is current, is missing" if harm == "set aside" else f"{raw.path} is damaged"
    assert pruned.damaged == [f"parts of raw_dataset of digits: {why}; materialise it again, then prune"]
    assert list(prune_lines(pruned, dry_run=False))[-1] == f"damaged, left alone: {pruned.damaged[0]}"
    assert refresh(store, 0)[0].data_version == raw.data_version
    assert prune(store).damaged == []


@pytest.mark.parametrize(
    "content",
    [
        {"asset": "../../precious", "partition": "digits"},
        {"asset": "embeddings", "partition": "../.."},
        {"note": 3},
        [],
        None,
    ],
)
def test_a_pin_that_names_another_file_removes_nothing(store: ResultStore, tmp_path: Path, content: Any) -> None:
    """Unpinning removes the file that a pin's content names."""
    (raw, *_) = refresh(store, 0)
    (pinned,) = pin(store, [raw])
    precious = tmp_path / f"precious-{pinned.key}.json"
    precious.write_text("precious")
    (path,) = (store.root / "pins").glob("*/*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **content} if isinstance(content, dict) else content))
    for use in (lambda: unpin(store, "digits"), lambda: read_pins(store), lambda: prune(store)):
        with pytest.raises(
            StoreError, match=r"the pin /.*\.json cannot be read \(.*; delete it and pin the result again"
        ):
            use()
    assert precious.read_text() == "precious"


def test_leftovers_go_after_a_week_and_caches_with_them(store: ResultStore, tmp_path: Path) -> None:
    (result, *_) = refresh(store, 0)
    home, cache = result.path.parent, tmp_path / "kernels"
    for place in (home / ".work" / "aa", home / ".damaged" / "bb", cache):
        place.mkdir(parents=True)
        (place / "big").write_bytes(b"0" * 1000)
    assert prune(store, caches=[cache]).removed == []
    for path in (*home.rglob("*"), cache, cache / "big"):
        os.utime(path, (0, 0))
    pruned = prune(store, caches=[cache])
    assert {one.kind: one.size for one in pruned.removed} == {
        "unfinished work": 1000, "damaged results": 1000, "caches": 1000
    }  # fmt: skip
    assert not cache.exists()


def test_samples_of_a_learning_curve_stay_with_the_result_that_used_them(store: ResultStore) -> None:
    def write(draft: Draft) -> Mapping[str, Any]:
        sample = store.get_or_create_part(
            "warmup_split", "digits", ResultKey("1", {}, {}), lambda one: _text(one, "s")
        ).result
        draft.provenance["learning_curve"] = {"small.10": sample.key}
        return _text(draft, "rows")

    store.get_or_create("warmup_split", "digits", ResultKey("1", {}, {"raw_dataset": "gone"}), write)
    assert prune(store, keep=0).removed == []


KILLED = """
import os, sys
from pathlib import Path
from aflite_assets.results import ResultStore, prune as module

calls = 0
own = {"rename": Path.rename, "rmtree": module.shutil.rmtree}[sys.argv[2]]

def counted(*args, **kwargs):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os._exit(9)
    return own(*args, **kwargs)

if sys.argv[2] == "rename":
    Path.rename = counted
else:
    module.shutil.rmtree = counted
module.prune(ResultStore(Path(sys.argv[1])), keep=2)
"""


@pytest.mark.parametrize(("call", "number"), [("rename", 1), ("rename", 4), ("rename", 9), ("rmtree", 1)])
def test_killed_in_the_middle_it_leaves_results_whole(store: ResultStore, call: str, number: int) -> None:
    runs = [refresh(store, number) for number in range(6)]
    script = [sys.executable, "-c", KILLED, str(store.root), call, str(number)]
    assert subprocess.run(script, check=False).returncode == 9
    assert_whole(store)
    assert used_keys(*runs[-2:]) <= keys(store)
    prune(store, keep=2)
    assert keys(store) == used_keys(*runs[-2:])
    assert not (store.root / ".trash").exists()
    assert_whole(store)


def test_an_empty_store_has_nothing_to_remove(store: ResultStore) -> None:
    assert prune(store) == Pruned()
    assert not store.root.exists()
    with pytest.raises(ValueError, match="`keep` is -1"):
        prune(store, keep=-1)
