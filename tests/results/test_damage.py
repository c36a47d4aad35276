"""Damaged results: found by size or content, set aside, made again; manifests of before sizes were kept."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results import damage as damage_module
from aflite_assets.results.damage import find_damage
from aflite_assets.results.files import file_sha256
from aflite_assets.results.manifests import sealed


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def key(**fields: Any) -> ResultKey:
    return ResultKey("1", fields, {})


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("0123456789")
    (draft.path / "inner").mkdir()
    (draft.path / "inner" / "more.txt").write_text("more")
    return {}


def made(store: ResultStore) -> PublishedResult:
    return store.get_or_create("raw_dataset", "digits", key(a=1), write).result


def with_part(draft: Draft) -> Mapping[str, Any]:
    draft.part("one", key(part=1), write)
    draft.part("two", key(part=2), write)
    (draft.path / "list.txt").write_text("one two")
    return {}


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 3)


def flip(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    os.utime(path, ns=(0, 0))  # the clock of files ticks coarsely


def count_hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are hashed from now on."""
    hashed: list[str] = []

    def counting(path: Path) -> str:
        hashed.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(damage_module, "file_sha256", counting)
    return hashed


@pytest.mark.parametrize(
    "forge",
    [
        lambda parts: {**parts, "one": {**parts["one"], "key": "../../../../../victim"}},
        lambda parts: {**parts, "one": {"data_version": parts["one"]["data_version"]}},
    ],
)
def test_a_part_whose_key_leads_out_of_the_store_is_left_where_it_is(store: ResultStore, forge: Any) -> None:
    """A store may have been copied from elsewhere."""
    victim = store.root.parent / "victim"
    victim.mkdir()
    (victim / "precious.txt").write_text("precious")
    result = store.get_or_create("raw_dataset", "digits", key(), with_part).result
    manifest = {**result.manifest, "parts": forge(result.manifest["parts"])}
    (result.path / "manifest.json").write_text(json.dumps(sealed(manifest)))
    damage = store.damage("raw_dataset", "digits", key())
    assert damage is not None
    assert (damage.reasons, damage.parts) == (("manifest.json contradicts itself",), ())
    assert not store.get_or_create("raw_dataset", "digits", key(), with_part).cached
    assert (victim / "precious.txt").read_text() == "precious"


def test_sizes_stand_in_the_manifest_and_move_no_data_version(store: ResultStore) -> None:
    result = made(store)
    assert result.manifest["sizes"] == {"inner/more.txt": 4, "rows.txt": 10}
    files = result.manifest["files"]
    assert result.data_version == ResultKey("", {"files": files}, {}).digest


@pytest.mark.parametrize(
    ("name", "harm", "reason"),
    [
        ("rows.txt", truncate, "rows.txt has 7 bytes instead of 10"),
        ("inner/more.txt", Path.unlink, "inner/more.txt is missing"),
        ("manifest.json", Path.unlink, "manifest.json is missing"),
        ("manifest.json", truncate, "manifest.json cannot be read (Expecting ',' delimiter: line"),
        ("manifest.json", lambda path: path.write_text("{}"), "manifest.json has no hash"),
    ],
)
def test_a_damaged_result_is_set_aside_and_made_again(
    store: ResultStore, name: str, harm: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = made(store)
    version, said = whole.data_version, list[str]()
    harm(whole.path / name)
    assert store.find("raw_dataset", "digits", key(a=1)) is None
    damage = store.damage("raw_dataset", "digits", key(a=1))
    assert damage is not None
    assert damage.files.startswith(reason)

    again = store.get_or_create("raw_dataset", "digits", key(a=1), write, log=said.append)
    assert not again.cached
    assert again.result.data_version == version
    assert find_damage(again.result, ignore_cache=True) is None
    (aside,) = (whole.path.parent / ".damaged").iterdir()
    assert aside.name.startswith(f"{whole.key}-20")
    assert said == [
        f"{whole.path} is damaged ({damage.files}): set aside as {aside}; "
        "raw_dataset of 'digits' will be computed again"
    ]
    assert said[0] in caplog.text
    assert store.get_or_create("raw_dataset", "digits", key(a=1), write).cached


def test_a_manifest_that_names_other_hashes_contradicts_itself(store: ResultStore) -> None:
    result = made(store)
    manifest = json.loads((result.path / "manifest.json").read_text())
    manifest["files"]["rows.txt"] = "0" * 64
    (result.path / "manifest.json").write_text(json.dumps(sealed(manifest)))
    damage = store.damage("raw_dataset", "digits", key(a=1))
    assert damage is not None
    assert damage.reasons == ("manifest.json contradicts itself",)


def test_other_content_of_the_same_size_is_found_before_it_is_used(store: ResultStore) -> None:
    """A file's time differs from the one noted, so the file is hashed."""
    result = made(store)
    flip(result.path / "rows.txt")
    assert store.find("raw_dataset", "digits", key(a=1)) is None
    damage = store.damage("raw_dataset", "digits", key(a=1))
    assert damage is not None
    assert damage.reasons == ("the content of rows.txt has changed",)
    said: list[str] = []
    assert not store.get_or_create("raw_dataset", "digits", key(a=1), write, log=said.append).cached
    assert len(said) == 1
    assert f"{result.path} is damaged (the content of rows.txt has changed): set aside as " in said[0]


def test_a_damaged_input_is_named_and_set_aside(store: ResultStore) -> None:
    result = made(store)
    flip(result.path / "rows.txt")
    with pytest.raises(
        StoreError,
        match=r"embeddings of 'digits' was not computed: its input raw_dataset of 'digits' is damaged "
        r"\(the content of rows\.txt has changed\) and was set aside; materialise raw_dataset again",
    ):
        store.check_inputs([result], reader="embeddings of 'digits'")
    assert not store.get_or_create("raw_dataset", "digits", key(a=1), write).cached


def test_whole_files_are_hashed_once_until_something_touches_them(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = count_hashes(monkeypatch)
    result = made(store)
    store.check_inputs([result], reader="x")
    assert hashed == []  # they were hashed when published
    os.utime(result.path / "rows.txt")
    store.check_inputs([result], reader="x")
    store.check_inputs([result], reader="x")
    assert hashed == ["rows.txt"]
    assert find_damage(result, ignore_cache=True) is None
    assert sorted(hashed[1:]) == ["more.txt", "rows.txt"]


def test_looks_for_a_result_hash_only_what_looks_changed(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    result = made(store)
    hashed = count_hashes(monkeypatch)
    for _ in range(2):
        assert store.find("raw_dataset", "digits", key(a=1)) is not None
    assert hashed == []
    os.utime(result.path / "rows.txt", ns=(1, 1))
    for _ in range(3):
        assert store.find("raw_dataset", "digits", key(a=1)) is not None
    assert hashed == ["rows.txt"]


def test_a_copied_store_is_hashed_once(store: ResultStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`rsync -a` keeps times and `.seen/`, not inodes; a restored backup has no `.seen/`."""
    made(store)
    copy = ResultStore(tmp_path / "copy")
    shutil.copytree(store.root, copy.root)
    bare = ResultStore(tmp_path / "bare")
    shutil.copytree(store.root, bare.root, ignore=shutil.ignore_patterns(".*"))
    hashed = count_hashes(monkeypatch)
    for each in (copy, bare):
        assert each.get_or_create("raw_dataset", "digits", key(a=1), write).cached
        assert sorted(hashed) == ["more.txt", "rows.txt"]
        assert each.find("raw_dataset", "digits", key(a=1)) is not None
        assert sorted(hashed) == ["more.txt", "rows.txt"]
        hashed.clear()


def test_a_store_that_may_only_be_read_is_hashed_once_a_process(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made(store)
    shutil.rmtree(result.path.parent / ".seen")

    def refuse(path: Path, value: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(damage_module, "write_json", refuse)
    hashed = count_hashes(monkeypatch)
    for _ in range(3):
        assert store.find("raw_dataset", "digits", key(a=1)) is not None
    assert sorted(hashed) == ["more.txt", "rows.txt"]
    flip(result.path / "rows.txt")
    assert store.find("raw_dataset", "digits", key(a=1)) is None


def test_what_scratch_shares_with_a_published_file_is_not_hashed_again(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removing a hard link changes the time of the file."""

    def linked(draft: Draft) -> Mapping[str, Any]:
        (draft.scratch / "features.npy").write_text("0123456789")
        os.link(draft.scratch / "features.npy", draft.path / "features.npy")
        return {}

    def holder(draft: Draft) -> Mapping[str, Any]:
        draft.part("one", key(part=1), linked)
        return linked(draft)

    store.get_or_create("embeddings", "digits", key(a=1), holder)
    hashed = count_hashes(monkeypatch)
    assert store.find("embeddings", "digits", key(a=1)) is not None
    assert hashed == []


@pytest.mark.parametrize(
    "note",
    [b"", b"[]", b"null", b"[" * 100_000, b"\xff", b'{"rows.txt": 7, "manifest.json": 7}', b'{"rows.txt": [1, "x"]}'],
)
def test_a_note_of_nonsense_counts_as_none(store: ResultStore, note: bytes) -> None:
    result = made(store)
    (result.path.parent / ".seen" / f"{result.key}.json").write_bytes(note)
    assert store.find("raw_dataset", "digits", key(a=1)) is not None
    (result.path.parent / ".seen" / f"{result.key}.json").write_bytes(note)
    flip(result.path / "rows.txt")
    assert store.find("raw_dataset", "digits", key(a=1)) is None


def test_a_damaged_file_is_hashed_once_and_its_note_does_not_cost_that_of_sound_files(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made(store)
    flip(result.path / "rows.txt")
    hashed = count_hashes(monkeypatch)
    for _ in range(2):
        assert store.find("raw_dataset", "digits", key(a=1)) is None
    assert hashed == ["rows.txt"]
    damage = store.damage("raw_dataset", "digits", key(a=1))
    assert damage is not None
    assert damage.reasons == ("the content of rows.txt has changed",)
    assert hashed == ["rows.txt"]


@pytest.mark.parametrize("name", ["rows-00001.parquet", "inner/sets.parquet", "scores/000.json", "new/features.npy"])
def test_a_file_of_a_kind_that_stages_read_is_damage_if_it_was_not_published(store: ResultStore, name: str) -> None:
    """Readers take all shards of a table that they find, and ask of some files whether they are there."""
    result = made(store)
    (result.path / name).parent.mkdir(exist_ok=True)
    (result.path / name).write_text("added")
    damage = store.damage("raw_dataset", "digits", key(a=1))
    assert damage is not None
    assert damage.reasons == (f"{name} was not published",)
    assert not store.get_or_create("raw_dataset", "digits", key(a=1), write).cached


@pytest.mark.parametrize("name", ["notes.md", ".DS_Store", "._rows.parquet", "other/rows.txt", "README"])
def test_other_files_in_a_result_are_left_alone(store: ResultStore, name: str) -> None:
    result = made(store)
    (result.path / name).parent.mkdir(exist_ok=True)
    (result.path / name).write_text("added")
    assert store.find("raw_dataset", "digits", key(a=1)) is not None


@pytest.mark.parametrize("kind", ["folder", "dangling link", "circle", "pipe"])
def test_what_is_no_file_in_place_of_one_is_a_missing_file(store: ResultStore, kind: str) -> None:
    path = made(store).path / "rows.txt"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("elsewhere" if kind == "dangling link" else "rows.txt")
    damage = store.damage("raw_dataset", "digits", key(a=1))
    assert damage is not None
    assert damage.reasons[0].startswith(("rows.txt is missing", "rows.txt cannot be read"))
    assert not store.get_or_create("raw_dataset", "digits", key(a=1), write).cached


def test_a_file_behind_a_link_is_compared_as_others(store: ResultStore, tmp_path: Path) -> None:
    path = made(store).path / "rows.txt"
    path.rename(tmp_path / "moved.txt")
    path.symlink_to(tmp_path / "moved.txt")
    assert store.find("raw_dataset", "digits", key(a=1)) is not None
    flip(tmp_path / "moved.txt")
    assert store.find("raw_dataset", "digits", key(a=1)) is None


@pytest.mark.parametrize("harm", [truncate, flip])
def test_a_damaged_part_is_made_again_and_its_neighbour_found(store: ResultStore, harm: Any) -> None:
    whole = store.get_or_create("filtered_sets", "digits", key(a=1), with_part).result
    harm(whole.part("one").path / "rows.txt")
    counted: list[str] = []

    def counting(draft: Draft) -> Mapping[str, Any]:
        for name, number in (("one", 1), ("two", 2)):
            if not draft.part(name, key(part=number), write).cached:
                counted.append(name)
        (draft.path / "list.txt").write_text("one two")
        return {}

    # By size the whole result is due again; by content it is when something new is made of the part.
    name = 1 if harm is truncate else 2
    again = store.get_or_create("filtered_sets", "digits", key(a=name), counting)
    assert not again.cached
    assert counted == ["one"]
    assert again.result.data_version == whole.data_version
    assert find_damage(again.result, ignore_cache=True) is None


def test_a_part_made_again_with_other_content_makes_older_results_due(store: ResultStore) -> None:
    old = store.get_or_create("filtered_sets", "digits", key(a=1), with_part).result
    truncate(old.part("one").path / "rows.txt")

    def other(part: Draft) -> Mapping[str, Any]:
        (part.path / "rows.txt").write_text("other")
        return {}

    def otherwise(draft: Draft) -> Mapping[str, Any]:
        draft.part("one", key(part=1), other)
        return {}

    store.get_or_create("filtered_sets", "digits", key(a=2), otherwise)
    damage = store.damage("filtered_sets", "digits", key(a=1))
    assert damage is not None
    assert damage.reasons == ("part one was computed again with other content",)


def test_scratch_of_a_damaged_result_is_not_published_again(store: ResultStore) -> None:
    """A writer killed after the rename leaves scratch files that are the published ones by another name."""

    def linked(draft: Draft) -> Mapping[str, Any]:
        kept = draft.scratch / "rows.txt"
        if not kept.exists():
            kept.write_text("0123456789")
        os.link(kept, draft.path / "rows.txt")
        return {}

    result = store.get_or_create("raw_dataset", "digits", key(a=1), linked).result
    scratch = result.path.parent / ".work" / result.key / "scratch"
    scratch.mkdir(parents=True)
    os.link(result.path / "rows.txt", scratch / "rows.txt")
    truncate(result.path / "rows.txt")
    again = store.get_or_create("raw_dataset", "digits", key(a=1), linked).result
    assert again.file("rows.txt").read_text() == "0123456789"
