"""Files of a store that anyone may have written: its format, what is current, and what is in the way."""

import json
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def key(**fields: Any) -> ResultKey:
    return ResultKey("1", fields, {})


def write(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "rows.txt").write_text("0123456789")
    return {}


def with_part(draft: Draft) -> Mapping[str, Any]:
    draft.part("one", key(part=1), write)
    return write(draft)


def made(store: ResultStore) -> PublishedResult:
    return store.get_or_create("raw_dataset", "digits", key(a=1), write).result


def test_a_broken_current_mark_is_named_and_mended(store: ResultStore) -> None:
    result = made(store)
    (result.path.parent / "current.json").write_text("{")
    with pytest.raises(StoreError, match=r"current\.json cannot be read .* materialise raw_dataset of 'digits' again"):
        store.current("raw_dataset", "digits")
    assert store.get_or_create("raw_dataset", "digits", key(a=1), write).cached
    assert store.current("raw_dataset", "digits") == result


def test_a_store_of_a_later_format_is_refused(store: ResultStore, caplog: pytest.LogCaptureFixture) -> None:
    made(store)
    assert json.loads((store.root / "format.json").read_text()) == {"format": 2}
    (store.root / "format.json").write_text('{"format": 3}')
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(
            StoreError,
            match="store format 3, which a later version wrote: update this one, or set AFLITE_HOME to another folder",
        ),
    ):
        store.find("raw_dataset", "digits", key(a=1))
    with pytest.raises(StoreError, match="store format 3"):
        made(store)
    assert caplog.text == ""


def test_a_store_of_the_format_before_is_refused_with_what_to_do(store: ResultStore) -> None:
    made(store)
    (store.root / "format.json").write_text('{"format": 1}', encoding="utf-8")
    message = r"of store format 1, which a version before 0\.2\.0 wrote: set AFLITE_HOME to another folder"
    for use in (lambda: store.find("raw_dataset", "digits", key(a=1)), lambda: made(store), store.check_format):
        with pytest.raises(StoreError, match=message):
            use()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"format": "1"}', r'holds \{"format": "1"\}, which is not a format of a store'),
        ('{"format": [1]}', r'holds \{"format": \[1\]\}, which'),
        ('{"format": true}', r'holds \{"format": true\}, which'),
        ('{"format": 0}', r'holds \{"format": 0\}, which'),
        ('{"format": 1.0}', r'holds \{"format": 1.0\}, which'),
        ("{}", r"holds \{\}, which"),
        ("null", r"holds null, which"),
        ("[1]", r"holds \[1\], which"),
        ('"' + "x" * 1000 + '"', r'holds "x{99} \.\.\., which'),
        ('{"format": 1, "format": 2}', r"cannot be read \(the name 'format' occurs twice in one JSON object\)"),
        ("\udcff", r"cannot be read \(the text is not UTF-8\)"),
        ("[" * 100_000, r"cannot be read \(the JSON is nested too deeply\)"),
        ("", r"cannot be read \(Expecting value"),
    ],
)
def test_a_format_that_is_none_is_named_with_its_value(store: ResultStore, content: str, said: str) -> None:
    made(store)
    (store.root / "format.json").write_bytes(content.encode(errors="surrogateescape"))
    for use in (lambda: store.find("raw_dataset", "digits", key(a=1)), lambda: made(store), store.check_format):
        with pytest.raises(StoreError, match=rf'/results/format\.json {said}.*; write {{"format": 2}} into it if this'):
            use()


def test_a_format_that_is_a_folder_is_named(store: ResultStore) -> None:
    (store.root / "format.json").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"format\.json cannot be read \(the path is not a regular file\)"):
        made(store)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"key": "', "Unterminated string"),
        (b"[]", "the content is not a JSON object"),
        (b"{}", "None is not a key"),
        (b'{"key": ["x"]}', r"\['x'\] is not a key"),
        (b"\xff", "the text is not UTF-8"),
        (b"[" * 100_000, "the JSON is nested too deeply"),
        (b'{"key": "' + b"x" * 10_000 + b'"}', "'x{99} is not a key"),
    ],
)
def test_a_damaged_current_mark_is_named(store: ResultStore, content: bytes, said: str) -> None:
    mark = made(store).path.parent / "current.json"
    mark.write_bytes(content)
    with pytest.raises(StoreError, match=rf"current\.json cannot be read \({said}.*\); materialise raw_dataset of"):
        store.current_key("raw_dataset", "digits")
    mark.unlink()
    mark.mkdir()
    with pytest.raises(StoreError, match=r"current\.json cannot be read \(the path is not a regular file\)"):
        store.current_key("raw_dataset", "digits")


@pytest.mark.parametrize("place", ["current.json", ".damaged", ".work", "parts", "its result's folder"])
def test_what_is_in_the_way_of_the_store_is_named(store: ResultStore, place: str) -> None:
    result = store.get_or_create("raw_dataset", "digits", key(a=1), with_part).result
    home = result.path.parent
    os.truncate(result.path / "rows.txt", 3)
    obstacle = result.path if place.startswith("its") else home / place
    if obstacle.is_dir():
        shutil.rmtree(obstacle)
    elif obstacle.exists():
        obstacle.unlink()
    if place == "current.json":
        obstacle.mkdir()
    else:
        obstacle.write_text("in the way")
    with pytest.raises(
        StoreError,
        match=rf"raw_dataset of 'digits' cannot be stored, because .* has the path {obstacle}.* \(.*\); move it away",
    ):
        store.get_or_create("raw_dataset", "digits", key(a=1), with_part)


def test_a_current_mark_that_names_a_key_of_another_dataset_names_a_lost_result(store: ResultStore) -> None:
    other = store.get_or_create("raw_dataset", "letters", key(a=2), write).result
    home = made(store).path.parent
    shutil.copy(other.path.parent / "current.json", home / "current.json")
    with pytest.raises(
        StoreError,
        match=r"raw_dataset of 'digits' no longer has a current result: "
        r"/.*/digits/[0-9a-f]{20};",
    ):
        store.current("raw_dataset", "digits")
