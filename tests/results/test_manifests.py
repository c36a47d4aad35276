"""The hash that a manifest carries of itself: no honest manifest is refused, and no changed one is taken."""

import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.errors import DamagedManifestError, StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results.damage import find_damage
from aflite_assets.results.doctor import examine_store
from aflite_assets.results.files import write_json
from aflite_assets.results.manifests import load_manifest, manifest_hash, manifest_problem, sealed

KEY = ResultKey("1", {"seed": 1}, {})
CHANGED = "manifest.json was changed after it was published"


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("0123456789")
    draft.provenance["seconds"] = 1.5
    return {"unlabelled_rows": 12, "rows": {"train": 100, "test": 50}}


def with_parts(draft: Draft) -> Mapping[str, Any]:
    for number in (1, 2):
        draft.part(f"cell.{number}", ResultKey("1", {"part": number}, {}), write)
    return write(draft)


def publish(store: ResultStore, asset: str = "raw_dataset", partition: str = "digits") -> PublishedResult:
    return store.get_or_create(asset, partition, KEY, with_parts).result


def edit(result: PublishedResult, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest by hand."""
    path = result.path / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def fresh(result: PublishedResult) -> PublishedResult:
    return PublishedResult(result.asset, result.partition, result.key, result.path)


def reasons(result: PublishedResult) -> tuple[str, ...]:
    damage = find_damage(fresh(result))
    return () if damage is None else damage.reasons


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a count of the summary": lambda manifest: manifest["summary"].update(unlabelled_rows=0),
    "a nested count": lambda manifest: manifest["summary"]["rows"].update(train=101),
    "another type": lambda manifest: manifest["summary"].update(unlabelled_rows=12.0),
    "the order of splits": lambda manifest: manifest["summary"].update(
        rows=dict(reversed(manifest["summary"]["rows"].items()))
    ),
    "an added number": lambda manifest: manifest["summary"].update(nothing_asked=True),
    "provenance": lambda manifest: manifest["provenance"].update(seconds=0.1),
    "environment": lambda manifest: manifest["environment"].update(numpy="1.0"),
    "time": lambda manifest: manifest.update(published="2020-01-01T00:00:00+00:00"),
    "inputs": lambda manifest: manifest["made_from"]["inputs"].update(other="0" * 20),
    "sizes": lambda manifest: manifest["sizes"].update({"rows.txt": 11}),
    "a part's key": lambda manifest: manifest["parts"]["cell.1"].update(key="0" * 20),
    "the order of parts": lambda manifest: manifest.update(parts=dict(reversed(manifest["parts"].items()))),
    "the hash": lambda manifest: manifest.update(manifest_sha256="0" * 64),
    "no hash": lambda manifest: manifest.update(manifest_sha256=None),
    "an infinite number": lambda manifest: manifest["summary"].update(unlabelled_rows=10**400),
    "an added field": lambda manifest: manifest.update(note="fine"),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_an_edited_manifest_is_damage_and_is_not_read(
    store: ResultStore, change: Callable[[dict[str, Any]], object]
) -> None:
    result = publish(store)
    edit(result, change)
    assert store.find("raw_dataset", "digits", KEY) is None
    assert reasons(result) == (CHANGED,)
    with pytest.raises(
        DamagedManifestError,
        match=r"raw_dataset of 'digits' is damaged: /.*manifest\.json was changed after it was published; materialise "
        "raw_dataset again, or the whole dataset",
    ):
        _ = store.current("raw_dataset", "digits").summary
    for deep in (False, True):
        (problem,) = examine_store(store, deep=deep)
        assert (problem.kind, problem.what) == ("damaged result", f"{result.path}: {CHANGED}")
    again = store.get_or_create("raw_dataset", "digits", KEY, with_parts)
    assert not again.cached
    assert again.result.data_version == result.data_version
    assert reasons(again.result) == ()


def test_an_edited_manifest_of_an_input_stops_what_reads_it(store: ResultStore) -> None:
    result = publish(store)
    edit(result, EDITS["a count of the summary"])
    with pytest.raises(
        StoreError,
        match=r"benchmark_report was not computed: its input raw_dataset of 'digits' is damaged "
        r"\(manifest\.json was changed after it was published\) and was set aside",
    ):
        store.check_inputs([fresh(result)], reader="benchmark_report")


def test_an_edited_manifest_of_a_part_makes_that_part_again(store: ResultStore) -> None:
    result = publish(store)
    edit(result.part("cell.2"), EDITS["a count of the summary"])
    assert reasons(result) == (f"part cell.2: {CHANGED}",)
    made: list[str] = []

    def counting(draft: Draft) -> Mapping[str, Any]:
        for number in (1, 2):
            if not draft.part(f"cell.{number}", ResultKey("1", {"part": number}, {}), write).cached:
                made.append(f"cell.{number}")
        return write(draft)

    assert store.get_or_create("raw_dataset", "digits", KEY, counting).result.data_version == result.data_version
    assert made == ["cell.2"]


def test_a_deleted_hash_is_found(store: ResultStore) -> None:
    result = publish(store)
    edit(result, lambda manifest: manifest.pop("manifest_sha256"))
    assert reasons(result) == ("manifest.json has no hash",)


@pytest.mark.parametrize(
    ("asset", "partition"), [("filtered_sets", "digits"), ("raw_dataset", "letters"), ("filtered_sets", "letters")]
)
def test_a_manifest_of_another_result_is_found(store: ResultStore, asset: str, partition: str) -> None:
    """The key is the same: two datasets may have the same settings."""
    result, other = publish(store), publish(store, asset, partition)
    assert (result.key, result.data_version) == (other.key, other.data_version)
    for mine, theirs in ((result, other), (result.part("cell.1"), other.part("cell.1"))):
        shutil.copy(theirs.path / "manifest.json", mine.path / "manifest.json")
        expected = f"manifest.json belongs to another result ({asset!r} of {partition!r}, {mine.key!r})"
        assert reasons(mine) == (expected,)


def test_a_manifest_of_another_key_is_found(store: ResultStore) -> None:
    result = publish(store)
    other = store.get_or_create("raw_dataset", "digits", ResultKey("1", {"seed": 2}, {}), with_parts).result
    shutil.copy(other.path / "manifest.json", result.path / "manifest.json")
    expected = f"manifest.json belongs to another result ('raw_dataset' of 'digits', {other.key!r})"
    assert reasons(result) == (expected,)


def test_what_a_result_was_made_from_contradicts_another_key(store: ResultStore) -> None:
    """A right hash of a manifest does not make up for a key of other fields."""
    result = publish(store)

    def another_seed(manifest: dict[str, Any]) -> None:
        manifest["made_from"]["fields"]["seed"] = 2
        manifest["manifest_sha256"] = manifest_hash(manifest)

    edit(result, another_seed)
    shutil.rmtree(result.path.parent / ".seen")
    assert reasons(result) == ("manifest.json contradicts itself",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            lambda text: text.replace("{", '{"summary": {"unlabelled_rows": 0},', 1),
            "'summary' occurs twice in one JSON object",
        ),
        (lambda text: text.replace("12", "NaN", 1), "NaN is not a JSON number"),
        (lambda text: text.replace("12", "-Infinity", 1), "-Infinity is not a JSON number"),
        (lambda text: "[" * 100_000, "the JSON is nested too deeply"),
        (lambda text: " " * (64 << 20) + text, "the largest allowed size is 67,108,864"),
    ],
)
def test_a_manifest_that_is_no_plain_json_is_named(store: ResultStore, text: Callable[[str], str], reason: str) -> None:
    result = publish(store)
    path = result.path / "manifest.json"
    path.write_text(text(path.read_text()))
    (said,) = reasons(result)
    assert said.startswith("manifest.json cannot be read (")
    assert reason in said
    assert not store.get_or_create("raw_dataset", "digits", KEY, with_parts).cached


def test_a_manifest_that_is_not_utf8_is_named(store: ResultStore) -> None:
    result = publish(store)
    (result.path / "manifest.json").write_bytes(b"\xff\xfe{}")
    assert reasons(result) == ("manifest.json cannot be read (the text is not UTF-8)",)


@pytest.mark.parametrize("content", ["[]", "null", "3", '"text"'])
def test_a_manifest_that_is_no_object_contradicts_itself(store: ResultStore, content: str) -> None:
    result = publish(store)
    (result.path / "manifest.json").write_text(content)
    assert reasons(result) == ("manifest.json contradicts itself",)


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(summary=st.dictionaries(st.text(), values), provenance=st.dictionaries(st.text(), values))
def test_no_honest_manifest_is_refused(
    tmp_path_factory: pytest.TempPathFactory, summary: dict[str, Any], provenance: dict[str, Any]
) -> None:
    """Whatever a stage reports survives writing, reading, another order of writing and an upload's further field."""
    fields = {
        "asset": "raw_dataset", "partition": "digits", "key": KEY.digest, "made_from": KEY.as_json(),
        "data_version": ResultKey("", {"files": {}}, {}).digest, "files": {}, "sizes": {}, "parts": {},
        "summary": summary, "provenance": provenance, "published": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "manifest.json"
    write_json(path, sealed(fields))
    manifest = load_manifest(path, "raw_dataset", "digits", KEY.digest)
    assert manifest_problem(manifest, "raw_dataset", "digits", KEY.digest) is None
    compact = json.dumps(sealed({**manifest, "attempt": "0" * 12}), ensure_ascii=True, separators=(",", ":"))
    assert manifest_problem(json.loads(compact), "raw_dataset", "digits", KEY.digest) is None


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_json_cannot_hold_are_null_in_a_summary(store: ResultStore, number: float) -> None:
    def odd(draft: Draft) -> Mapping[Any, Any]:
        return {"bias": number, 3: [number, -0.0, 0.1]}

    result = store.get_or_create("raw_dataset", "digits", KEY, odd).result
    assert reasons(result) == ()
    assert fresh(result).summary == {"bias": None, "3": [None, -0.0, 0.1]}


def test_a_summary_that_is_too_large_to_be_read_again_is_refused_when_it_is_written() -> None:
    with pytest.raises(ValueError, match=r"a manifest of \d\d,\d{3},\d{3} bytes is too large; put tables into files"):
        sealed({"summary": {"text": "x" * (64 << 20)}})
    with pytest.raises(ValueError, match=r"bytes is too large"):
        sealed({"summary": {"a": {"b": {"c": {"d": [1] * 5_000_000}}}}})  # 15 MB before the lines are indented
