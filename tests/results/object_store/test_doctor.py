"""What the doctor finds in a bucket and in this machine's copies, and what it mends."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import LostObjectsError
from aflite_assets.results import PublishedResult, ResultKey, ResultStore, doctor
from aflite_assets.results.damage import Damage
from aflite_assets.results.doctor import Problem, examine_store
from aflite_assets.results.object_store.bucket import Bucket, StoredObject
from aflite_assets.results.object_store.results import discard
from aflite_assets.results.opening import open_store
from tests.object_stores import backend, bucket, listening, put_with_other_checksum
from tests.results.small_results import kinds, publish

Names = Callable[[], list[str]]


def objects_of(result: PublishedResult, names: Names) -> list[str]:
    place = "/".join(result.folder.parts[result.folder.parts.index("filtered_sets") :])
    return [name for name in names() if name.startswith(place)]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nothing names is old enough to be given up."""
    monkeypatch.setattr(doctor, "LEFT_AFTER", timedelta(seconds=-1))


def test_a_sound_store_has_nothing_wrong(here: ResultStore, at_once: None) -> None:
    assert list(examine_store(here)) == []
    publish(here)
    with here.dataset_lock("digits", what="test"):
        assert list(examine_store(here, deep=True, fix=True)) == []


def test_a_lost_file_withdraws_its_result(here: ResultStore, names: Names) -> None:
    whole, damaged = publish(here, 1), publish(here, 2)
    (rows,) = (name for name in objects_of(damaged, names) if name.endswith("rows.txt"))
    bucket(here).delete([rows])
    found = Problem(
        "damaged result",
        f"{here.place}/filtered_sets/digits/{damaged.key}: rows.txt is missing",
        "run `aflite doctor --fix`, then materialise filtered_sets of digits again",
    )
    assert list(examine_store(here)) == [found]
    assert kinds(examine_store(here, fix=True)) == [("damaged result", True), ("lost result", False)]
    assert not damaged.folder.exists()
    assert publish(here, 2).data_version == whole.data_version
    assert list(examine_store(here, deep=True)) == []


def test_other_content_of_a_part_is_found_by_a_deep_look(here: ResultStore, names: Names) -> None:
    result = publish(here)
    part = result.part("given")
    (rows,) = (name for name in objects_of(part, names) if name.endswith("rows.txt"))
    bucket(here).put(rows, b"012345678!")
    assert list(examine_store(here)) == []
    told = list(examine_store(here, deep=True, fix=True))
    assert kinds(told) == [("damaged result", True), ("lost result", False)]
    assert told[0].what.endswith(f"/{result.key}: part given: the content of rows.txt has changed")
    assert not here.has("filtered_sets", "digits/parts", part.key)
    publish(here)
    assert list(examine_store(here, deep=True)) == []


def test_a_short_file_and_a_manifest_that_cannot_be_used(here: ResultStore, names: Names) -> None:
    short, broken = publish(here, 1), publish(here, 2)
    (rows,) = (name for name in objects_of(short, names) if name.endswith("rows.txt"))
    bucket(here).put(rows, b"0123")
    bucket(here).put(f"filtered_sets/digits/{broken.key}/manifest.json", b"[]")
    said = {one.what.rpartition("/")[2] for one in examine_store(here, fix=True)}
    assert {f"{short.key}: rows.txt has 4 bytes instead of 10", f"{broken.key}: manifest.json cannot be used"} <= said
    assert publish(here, 2).data_version == publish(here, 1).data_version


def test_what_contradicts_the_servers_checksums_is_damaged(here: ResultStore, names: Names) -> None:
    rows, manifest = publish(here, 1), publish(here, 2)
    (name,) = (name for name in objects_of(rows, names) if name.endswith("rows.txt"))
    put_with_other_checksum(here, name, b"0123456789")
    stored = f"filtered_sets/digits/{manifest.key}/manifest.json"
    content = bucket(here).get(stored)
    assert content is not None
    put_with_other_checksum(here, stored, content.body)
    discard(rows)
    with pytest.raises(LostObjectsError, match="its content has changed since publication"):
        rows.file("rows.txt")
    said = {one.what.rpartition("/")[2]: one.mended for one in examine_store(here, deep=True, fix=True)}
    assert said[f"{rows.key}: the content of rows.txt has changed"]
    assert said[f"{manifest.key}: manifest.json cannot be used"]
    assert publish(here, 1).data_version == publish(here, 2).data_version == rows.data_version
    assert list(examine_store(here, deep=True)) == []


def test_a_result_that_is_published_while_the_listing_goes_on_is_sound(
    here: ResultStore, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    """Its files are listed before its manifest arrives, and belong to a result by the time they are judged."""
    result = publish(here)
    name = f"filtered_sets/digits/{result.key}/manifest.json"
    manifest = bucket(here).get(name)
    assert manifest is not None
    bucket(here).delete([name, "filtered_sets/digits/current.json"])
    objects = Bucket.objects

    def early_pages(of: Bucket, prefix: str = "") -> Iterator[StoredObject]:
        early = list(objects(of, prefix))
        if prefix == "filtered_sets/digits/":
            of.put(name, manifest.body)
        return iter(early)

    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "objects", early_pages)
        assert list(examine_store(here, fix=True)) == []
    assert list(examine_store(here, deep=True, fix=True)) == []
    assert publish(here).data_version == result.data_version


def test_a_result_that_is_published_again_before_it_is_mended_stays(here: ResultStore, names: Names) -> None:
    damaged = publish(here)
    (rows,) = (name for name in objects_of(damaged, names) if name.endswith("rows.txt"))
    bucket(here).delete([rows])
    newer = json.dumps(damaged.manifest).encode()
    manifest = f"filtered_sets/digits/{damaged.key}/manifest.json"
    assert here.find("filtered_sets", "digits", ResultKey("1", {"n": 0}, {})) == damaged  # its files are not looked at

    def meanwhile(params: Any, **_: Any) -> None:
        bucket(here).put(manifest, newer)

    with listening(here, "before-call.s3.DeleteObject", meanwhile):
        assert kinds(examine_store(here, fix=True)) == [("damaged result", False)]
    content = bucket(here).get(manifest)
    assert content is not None
    assert content.body == newer
    assert damaged.folder.is_dir()
    assert not here.set_aside(Damage(damaged, ("a test",)))  # the other one was there before it was asked
    assert manifest in names()


def test_files_of_no_result_are_removed_when_nothing_was_added_for_a_day(
    here: ResultStore, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = publish(here)
    orphan = f"filtered_sets/digits/{result.key}/0123456789ab/rows.txt"
    bucket(here).put(orphan, b"half")
    assert list(examine_store(here, fix=True)) == []
    monkeypatch.setattr(doctor, "LEFT_AFTER", timedelta(seconds=-1))
    what = (
        f"{here.place}/filtered_sets/digits/{result.key}/0123456789ab (1 files, 4 bytes) belongs to no published result"
    )
    remedy = "nothing reads it, and it takes up space"
    assert list(examine_store(here)) == [Problem("orphan files", what, remedy)]
    assert list(examine_store(here, fix=True)) == [Problem("orphan files", what, remedy, mended=True)]
    assert orphan not in names()
    assert list(examine_store(here, deep=True)) == []


def test_unfinished_uploads_are_given_up_after_a_day(here: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    key = f"{backend(here).address.prefix}/filtered_sets/digits/x/y/rows.txt"
    bucket(here)._client.create_multipart_upload(Bucket=backend(here).address.bucket, Key=key)
    uploads = Bucket.unfinished_uploads
    begun = bucket(here).now() - timedelta(hours=23)
    # The server of the tests says of every upload that it was begun in 2010.
    monkeypatch.setattr(
        Bucket, "unfinished_uploads", lambda bucket: (replace(each, begun=begun) for each in uploads(bucket))
    )
    assert list(examine_store(here, fix=True)) == []
    assert len(list(uploads(bucket(here)))) == 1
    begun -= timedelta(hours=1)
    (told,) = examine_store(here)
    assert (told.kind, told.mended) == ("unfinished upload", False)
    place = f"{here.place}/filtered_sets/digits/x/y/rows.txt"
    assert told.what == f"{place}, begun {begun:%Y-%m-%d %H:%M} UTC, was left by a writer that ended early"
    assert kinds(examine_store(here, fix=True)) == [("unfinished upload", True)]
    assert list(uploads(bucket(here))) == []


def test_a_bucket_that_is_not_there_is_the_only_finding(s3_environment: str, tmp_path: Path) -> None:
    (told,) = examine_store(open_store(tmp_path, address="s3://nobody-made-this/x"))
    assert (told.kind, told.remedy) == ("object store", "until then no result can be read or published")
    assert "NoSuchBucket; create the bucket 'nobody-made-this'" in told.what


def test_damaged_copies_are_removed_and_what_dead_processes_left_here(here: ResultStore) -> None:
    result = publish(here)
    copy: Path = result.file("rows.txt")
    copy.write_text("short")
    home = result.folder.parent
    (home / ".work" / "key" / "draft").mkdir(parents=True)
    (home / ".fetching" / "0123-4567").mkdir()
    assert kinds(examine_store(here)) == [
        ("half-written folder", False),
        ("half-fetched folder", False),
        ("damaged copy", False),
    ]
    assert all(one.mended for one in examine_store(here, fix=True))
    assert list(examine_store(here)) == []
    assert publish(here).file("rows.txt").read_text() == "0123456789"
