"""Records of whole runs."""

import json
from pathlib import Path

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import PublishedResult, ResultKey, ResultStore
from aflite_assets.results.refresh_records import newest_distinct, read_refreshes, record_refresh


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def publish(store: ResultStore, asset: str, number: int) -> PublishedResult:
    return store.get_or_create(asset, "digits", ResultKey("1", {"n": number}, {}), lambda draft: {}).result


def test_a_record_names_what_a_run_used_and_made(store: ResultStore) -> None:
    used = [publish(store, "raw_dataset", 1), publish(store, "embeddings", 1)]
    written = record_refresh(store, used, made=["embeddings"], what="run_pipeline")
    (read,) = read_refreshes(store, "digits")
    assert read == written
    assert read.keys == {result.asset: result.key for result in used}
    assert read.data_versions == {result.asset: result.data_version for result in used}
    assert (read.made, read.what, read.partition) == (("embeddings",), "run_pipeline", "digits")
    assert read_refreshes(store, "other") == ()


def test_newest_first_and_equal_ones_as_one(store: ResultStore) -> None:
    for number in (1, 2, 2, 3, 3):
        record_refresh(store, [publish(store, "raw_dataset", number)], what=f"run {number}")
    refreshes = read_refreshes(store, "digits")
    assert [refresh.what for refresh in refreshes] == ["run 3", "run 3", "run 2", "run 2", "run 1"]
    assert newest_distinct(refreshes, 2) == [refreshes[0], refreshes[2]]


def test_what_is_no_refresh_is_refused(store: ResultStore) -> None:
    with pytest.raises(ValueError, match=r"a refresh belongs to one dataset, but these results belong to \[\]"):
        record_refresh(store, [], what="x")
    written = record_refresh(store, [publish(store, "raw_dataset", 1)], what="x")
    written.path.write_text("{}")
    with pytest.raises(StoreError, match=r"the record .* cannot be read .*; `aflite prune` removes nothing until"):
        read_refreshes(store, "digits")


@pytest.mark.parametrize(
    "content",
    [
        b"[]", b"null", b"{}", b"\xff", b"[" * 100_000, b'{"keys": []}', b'{"keys": {"raw_dataset": 3}}',
        b'{"ended": "2026-01-01"}', b'{"partition": "letters"}', b'{"made": 3}', b'{"data_versions": null}',
    ],
)  # fmt: skip
def test_a_record_that_is_none_is_named(store: ResultStore, content: bytes) -> None:
    path = record_refresh(store, [publish(store, "raw_dataset", 1)], what="x").path
    if content.startswith(b'{"'):
        content = json.dumps({**json.loads(path.read_text()), **json.loads(content)}).encode()
    path.write_bytes(content)
    with pytest.raises(
        StoreError,
        match=r"the record /.*\.json cannot be read \(.*\); `aflite prune` removes nothing until you delete this",
    ):
        read_refreshes(store, "digits")
