"""Copies that are damaged, files that the bucket lost, manifests that cannot be used: named, withdrawn, made again."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.errors import LostObjectsError, StoreError
from aflite_assets.results import Draft, ResultStore
from aflite_assets.results.doctor import examine_store
from aflite_assets.results.object_store.results import ObjectResult
from tests.object_stores import bucket, key, make, with_part, withdraw, write_text

Names = Callable[[], list[str]]


def test_a_damaged_copy_is_fetched_again(here: ResultStore, there: ResultStore) -> None:
    make(here)
    copy = there.current("embeddings", "digits").file("rows.txt")
    copy.write_text("other length")
    assert there.current("embeddings", "digits").file("rows.txt").read_text() == "one"
    copy.write_text("eno")  # the same length, another time
    os.utime(copy, ns=(0, 0))
    assert there.current("embeddings", "digits").file("rows.txt").read_text() == "one"
    copy.write_text("eno")
    os.utime(copy, ns=(0, 0))
    result = there.current("embeddings", "digits")
    there.check_inputs([result], reader="filtered_sets of 'digits'")
    assert result.file("rows.txt").read_text() == "one"


def test_a_copy_of_what_was_withdrawn_and_made_again_is_replaced(here: ResultStore, there: ResultStore) -> None:
    old = make(here, "one")
    assert there.current("embeddings", "digits").file("rows.txt").read_text() == "one"
    assert isinstance(old, ObjectResult)
    assert not withdraw(here, replace(old, known=b"another one"))
    assert there.find("embeddings", "digits", key()) == there.current("embeddings", "digits")
    assert withdraw(here, old)
    assert there.find("embeddings", "digits", key()) is None
    with pytest.raises(
        StoreError, match=r"no longer has a current result: s3://.*/team/one/embeddings/digits/[0-9a-f]{20}; mat"
    ):
        there.current("embeddings", "digits")
    assert make(here, "two").data_version != old.data_version
    assert there.current("embeddings", "digits").file("rows.txt").read_text() == "two"


def test_files_that_the_bucket_lost_are_named_and_the_result_is_made_again(
    here: ResultStore, there: ResultStore, names: Names
) -> None:
    result = here.get_or_create("embeddings", "digits", key(), with_part("one")).result
    lost = next(name for name in names() if "/parts/" in name and name.endswith("rows.txt"))
    bucket(here).put(lost, b"part of eno")
    with pytest.raises(LostObjectsError, match=r"rows\.txt has changed since publication; run `aflite doctor"):
        there.current("embeddings", "digits").part("cell").file("rows.txt")
    with pytest.raises(
        StoreError,
        match=r"filtered_sets of 'digits' was not computed: its input embeddings of 'digits' is damaged "
        r"\(part cell: .*\) and was set aside; materialise embeddings again, or the whole dataset",
    ):
        there.check_inputs([there.current("embeddings", "digits")], reader="filtered_sets of 'digits'")
    assert not any(name.endswith("manifest.json") for name in names())
    again = there.get_or_create("embeddings", "digits", key(), with_part("one"))
    assert (again.cached, again.result.data_version) == (False, result.data_version)
    there.check_inputs([there.current("embeddings", "digits")], reader="filtered_sets of 'digits'")


@pytest.mark.parametrize(
    ("left", "lost"), [(None, "rows.txt is missing"), (b"p", "rows.txt has 1 bytes instead of 11")]
)
def test_a_part_whose_files_the_bucket_lost_is_made_again(
    here: ResultStore, there: ResultStore, names: Names, left: bytes | None, lost: str
) -> None:
    here.get_or_create("embeddings", "digits", key(a=1), with_part("one"))
    (rows,) = (name for name in names() if "/parts/" in name and name.endswith("rows.txt"))
    bucket(here).delete([rows])
    if left is not None:
        bucket(here).put(rows, left)
    lines: list[str] = []
    made = there.get_or_create("embeddings", "digits", key(a=2), with_part("two"), log=lines.append).result
    assert made.part("cell").file("rows.txt").read_text() == "part of two"
    part = rows.rsplit("/", 2)[0]
    assert lines == [
        f"{here.place}/{part} is damaged ({lost}): withdrawn; this part of embeddings of 'digits' "
        "will be computed again"
    ]


@pytest.mark.parametrize(("left", "lost"), [(None, "rows.txt is missing"), (b"o", "rows.txt has 1 bytes instead of 3")])
def test_a_result_whose_files_the_bucket_lost_is_made_again_by_its_stage(
    here: ResultStore, there: ResultStore, left: bytes | None, lost: str
) -> None:
    made = make(here, "one")
    rows = f"embeddings/digits/{made.key}/{made.manifest['attempt']}/rows.txt"
    bucket(here).delete([rows])
    if left is not None:
        bucket(here).put(rows, left)
    lines: list[str] = []
    again = there.get_or_create("embeddings", "digits", key(), write_text("one"), log=lines.append)
    assert (again.cached, again.result.data_version) == (False, made.data_version)
    place = f"{here.place}/embeddings/digits/{made.key}"
    assert lines == [f"{place} is damaged ({lost}): withdrawn; embeddings of 'digits' will be computed again"]
    assert there.get_or_create("embeddings", "digits", key(), write_text("two")).cached


def test_an_unusable_part_is_withdrawn_and_what_was_published_again_is_not(
    here: ResultStore, there: ResultStore, names: Names
) -> None:
    made = here.get_or_create("embeddings", "digits", key(), with_part("one")).result
    part = f"embeddings/digits/parts/{made.part('cell').key}"
    manifest = f"embeddings/digits/{made.key}/manifest.json"
    bucket(here).put(f"{part}/manifest.json", b"{}")
    lines: list[str] = []
    current = there.current("embeddings", "digits")
    bucket(here).put(manifest, json.dumps(made.manifest).encode())  # the same result, published anew
    with pytest.raises(
        StoreError, match=r"\(part cell: .*\) and was published again meanwhile; materialise embeddings"
    ):
        there.check_inputs([current], reader="filtered_sets of 'digits'", log=lines.append)
    assert f"{part}/manifest.json" not in names()
    assert manifest in names()
    assert len(lines) == 1
    assert lines[0].startswith(f"{here.place}/{part} is damaged (")


@pytest.mark.parametrize("place", ["", "parts/"])
def test_nothing_is_made_for_a_place_where_an_unusable_manifest_lies(here: ResultStore, place: str) -> None:
    begun: list[str] = []

    def part(draft: Draft) -> Mapping[str, Any]:
        begun.append("part")
        return write_text("cell")(draft)

    def whole(draft: Draft) -> Mapping[str, Any]:
        begun.append("whole")
        draft.part("cell", key(cell=1), part)
        return {}

    wanted = key(cell=1) if place else key()
    manifest = f"embeddings/digits/{place}{wanted.digest}/manifest.json"
    bucket(here).put(manifest, b"{}")
    for _ in range(2):
        with pytest.raises(
            LostObjectsError, match=rf"/{manifest} cannot be used; run `aflite doctor --fix`, which rem"
        ):
            here.get_or_create("embeddings", "digits", key(), whole)
    assert begun == (["whole", "whole"] if place else [])
    (told,) = examine_store(here, fix=True)
    assert (told.kind, told.mended) == ("damaged result", True)
    assert not here.get_or_create("embeddings", "digits", key(), whole).cached


def test_finished_work_stays_where_an_unusable_manifest_came_first(here: ResultStore) -> None:
    begun: list[int] = []
    manifest = f"embeddings/digits/{key().digest}/manifest.json"

    def write(draft: Draft) -> Mapping[str, Any]:
        begun.append(1)
        bucket(here).put(manifest, b"{}")
        return write_text("one")(draft)

    for _ in range(2):
        with pytest.raises(LostObjectsError, match="cannot be used"):
            here.get_or_create("embeddings", "digits", key(), write)
    bucket(here).delete([manifest])
    assert here.get_or_create("embeddings", "digits", key(), write).result.file("rows.txt").read_text() == "one"
    assert begun == [1]
