"""Manifests, marks and names in a bucket that anyone may have written: none leads out of this machine's folder."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results.doctor import examine_store
from aflite_assets.results.manifests import content_version, sealed
from aflite_assets.results.object_store.results import ObjectResult
from tests.object_stores import bucket

KEY = ResultKey("1", {}, {})


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("one")
    return {"rows": 3}


def make(store: ResultStore) -> PublishedResult:
    return store.get_or_create("embeddings", "digits", KEY, write).result


def _forged(result: PublishedResult, **changed: Any) -> bytes:
    """The result's manifest with other fields, the data version that they have, and the hash of all of it."""
    forged = {**result.manifest, **changed}
    forged["data_version"] = content_version(forged["files"], forged["parts"])
    return json.dumps(sealed(forged)).encode()


def _usable(result: PublishedResult, body: bytes) -> dict[str, Any] | None:
    """The manifest of a result whose manifest in the bucket has these bytes."""
    assert isinstance(result, ObjectResult)
    return replace(result, known=body).usable


def _place(result: PublishedResult) -> str:
    return f"embeddings/digits/{result.key}"


def test_a_manifest_that_leads_out_of_its_folder_is_no_result(here: ResultStore) -> None:
    result = make(here)
    name = f"embeddings/digits/{result.key}/manifest.json"
    for outside in ("../../rows.txt", "/tmp/rows.txt", "a/../../b", "./rows.txt", "", "rows\0", "\ud800"):
        files = {outside: result.manifest["files"]["rows.txt"]}
        hostile = _forged(result, files=files, sizes={outside: 3})
        assert _usable(result, hostile) is None
    bucket(here).put(name, hostile)
    assert here.find("embeddings", "digits", KEY) is None
    with pytest.raises(StoreError, match=r"manifest\.json cannot be used; run `aflite doctor --fix`, which removes it"):
        make(here)


@pytest.mark.parametrize("named", ["../../../../../victim", "/victim", "0" * 19 + "/", "0" * 21, "", 7, None])
def test_a_key_of_a_part_that_is_no_digest_is_no_result(here: ResultStore, there: ResultStore, named: object) -> None:
    """The folder that a forged part's key leads to stays, and so does what the doctor meets."""
    result = make(here)
    victim = there.root.parents[1] / "victim"
    victim.mkdir()
    (victim / "precious.txt").write_text("precious")
    part = {"key": named, "data_version": "0" * 20}
    hostile = _forged(result, parts={"cell": part})
    assert _usable(result, hostile) is None
    assert _usable(result, hostile.replace(b'"key": ', b'"no_key": ')) is None
    bucket(here).put(f"embeddings/digits/{result.key}/manifest.json", hostile)
    problems = list(examine_store(there, deep=True))
    assert [(one.kind, one.what.rpartition(": ")[2]) for one in problems[:1]] == [
        ("damaged result", "manifest.json cannot be used")
    ]
    with pytest.raises(StoreError, match="no longer has a current result:"):
        there.current("embeddings", "digits")
    assert (victim / "precious.txt").read_text() == "precious"


@pytest.mark.parametrize("size", ["3", -1, 3.0, True, None])
def test_sizes_that_are_no_bytes_are_no_result(here: ResultStore, size: object) -> None:
    result = make(here)
    forged = _forged(result, sizes={"rows.txt": size})
    assert _usable(result, forged) is None
    assert _usable(result, _forged(result)) is not None
    bucket(here).put(f"embeddings/digits/{result.key}/manifest.json", forged)
    assert [one.kind for one in examine_store(here, deep=True)] == ["damaged result", "lost result"]


@pytest.mark.parametrize("body", [b"[" * 100_000, b'"text"', b"\xff", b'{"files": {}, "parts": {}}'])
def test_what_is_no_manifest_is_none(here: ResultStore, body: bytes) -> None:
    assert _usable(make(here), body) is None


def test_a_manifest_of_another_result_or_with_another_summary_is_no_result(here: ResultStore) -> None:
    result = make(here)
    other = here.get_or_create("embeddings", "letters", KEY, write).result
    name, hostile = f"{_place(result)}/manifest.json", json.dumps(other.manifest).encode()
    assert result.key == other.key
    edited = json.dumps({**result.manifest, "summary": {"rows": 4}}).encode()
    unsealed = {name: value for name, value in result.manifest.items() if name != "manifest_sha256"}
    for body in (hostile, edited, json.dumps(unsealed).encode()):
        bucket(here).put(name, body)
        assert here.find("embeddings", "digits", KEY) is None
        (damaged, *_) = examine_store(here)
        assert (damaged.kind, damaged.what.rpartition(": ")[2]) == ("damaged result", "manifest.json cannot be used")
        with pytest.raises(StoreError, match=r"manifest\.json cannot be used; run `aflite doctor --fix`"):
            make(here)


def test_a_mark_that_leads_out_of_the_store_is_refused(here: ResultStore, there: ResultStore) -> None:
    make(here)
    victim = there.root.parents[1] / "victim2"
    victim.mkdir()
    bucket(here).put(
        "embeddings/digits/current.json",
        json.dumps({"key": "../../../../victim2", "data_version": "x", "asked": "2026-01-01"}).encode(),
    )
    bucket(here).put("victim2/manifest.json", b"{}")
    with pytest.raises(
        StoreError, match=r"current\.json cannot be read \('\.\./\.\./\.\./\.\./victim2' is not a key\); mater"
    ):
        there.current("embeddings", "digits")
    assert victim.is_dir()


def test_folders_of_the_bucket_that_no_key_names_are_no_results(here: ResultStore) -> None:
    result = make(here)
    manifest = json.dumps(result.manifest).encode()
    for name in ("..", "other"):
        bucket(here).put(
            f"embeddings/digits/{name}/manifest.json", manifest.replace(result.key.encode(), name.encode())
        )
    assert [each.key for each in here.results("embeddings", "digits")] == [result.key]
