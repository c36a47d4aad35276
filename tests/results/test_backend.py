"""What a `ResultStore` relies on, of a folder and of a bucket: whole records, listings, marks compared and set."""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from aflite_assets.errors import StoreUnreachableError
from aflite_assets.results import ResultStore
from aflite_assets.results.damage import Look, damage_with_parts
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.object_store.results import ObjectBackend
from aflite_assets.results.store import Backend
from tests.object_stores import key, make


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ResultStore:
    if request.param == "folder":
        return ResultStore(tmp_path / "results")
    machine: Callable[[str], ResultStore] = request.getfixturevalue("machine")
    return machine("here")


@pytest.fixture
def backend(store: ResultStore) -> Backend:
    return store.backend


def test_records_are_read_as_they_were_written(backend: Backend) -> None:
    assert (backend.read("a/b/one.json"), backend.exists("a/b/one.json")) == (None, False)
    backend.put("a/b/one.json", b"1")
    backend.put("a/b/one.json", b"22")
    assert (backend.read("a/b/one.json"), backend.exists("a/b/one.json")) == (b"22", True)
    assert (backend.exists("a/b"), backend.exists("a/b/one")) == (False, False)
    backend.prepare("format.json", b"3")
    backend.prepare("format.json", b"4")
    assert backend.read("format.json") == b"3"


def test_listings_have_folders_in_order_and_their_sizes(backend: Backend) -> None:
    assert (backend.folders(""), backend.folders("a/"), backend.size("a/b/")) == ([], [], 0)
    for name in ("c/d/x", "a/b/two", "a/b/deep/three", "a/c/four", "top"):
        backend.put(name, name.encode())
    assert (backend.folders(""), backend.folders("a/"), backend.folders("a/b/")) == (["a", "c"], ["b", "c"], ["deep"])
    assert (backend.size("a/b/"), backend.size("a/"), backend.size("c/")) == (21, 29, 5)


def test_a_mark_of_what_was_asked_for_later_stays(store: ResultStore, backend: Backend) -> None:
    now = backend.now()
    times = [None] * 3 if now is None else [now, now + timedelta(seconds=2), now + timedelta(seconds=1)]
    kept = [
        backend.make_current("a/current.json", {"key": digit * 20, "data_version": "x"}, asked)
        for digit, asked in zip("579", times, strict=True)
    ]
    assert kept == [None, None, "7" * 20 if store.keeps_copies else None]
    mark = json.loads(backend.read("a/current.json") or b"")
    assert (mark["key"], "asked" in mark) == (("7" if store.keeps_copies else "9") * 20, store.keeps_copies)


def test_a_mark_that_others_keep_writing_is_named(
    store: ResultStore, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isinstance(backend, ObjectBackend):
        pytest.skip("in a folder the lock keeps writers apart")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr(Bucket, "put_if", lambda *_: False)
    with pytest.raises(
        StoreUnreachableError, match=r"/a/current\.json is being written by other machines at the same time; .* so try"
    ):
        backend.make_current("a/current.json", {"key": "5" * 20}, backend.now())


@pytest.mark.parametrize("look", Look)
def test_a_whole_result_is_whole_however_it_is_looked_at(store: ResultStore, backend: Backend, look: Look) -> None:
    made = make(store)
    there = backend.result("embeddings", "digits", made.folder)
    assert there == made
    assert backend.damage(there, look) is None
    assert damage_with_parts(there, partial(backend.own_damage, deep=True)) is None
    assert there.exists
    assert not backend.result("embeddings", "digits", made.folder.with_name("0" * 20)).exists


def test_what_is_whole_again_is_not_set_aside(store: ResultStore, backend: Backend) -> None:
    old = make(store)
    if store.keeps_copies:
        backend.put(f"embeddings/digits/{old.key}/manifest.json", b"published again")
    assert backend.set_aside(old) is None
    assert store.has("embeddings", "digits", key().digest)
