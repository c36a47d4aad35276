"""This machine's copies: put in place whole, kept where they were published, and not taken from readers."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import ResultStore
from aflite_assets.results.locks import reading
from aflite_assets.results.object_store import results as results_module
from aflite_assets.results.object_store.results import ObjectResult
from tests.object_stores import key, make, withdraw, write_text

Machine = Callable[[str], ResultStore]


def test_a_copy_that_is_being_read_is_not_replaced_by_another_version(here: ResultStore, there: ResultStore) -> None:
    make(here, "one")
    old = there.current("embeddings", "digits")
    with reading([old]):
        published = here.find("embeddings", "digits", key())
        assert published is not None
        assert withdraw(here, published)
        make(here, "two")
        with pytest.raises(
            StoreError,
            match=r"/\S+ has an earlier version of embeddings of 'digits', which a process on this machine is "
            r"reading; try again",
        ):
            there.current("embeddings", "digits").file("rows.txt")
        assert old.file("rows.txt").read_text() == "one"
    assert there.current("embeddings", "digits").file("rows.txt").read_text() == "two"
    assert list((there.root / "embeddings" / "digits").glob(".fetching/*-*")) == []


def test_a_damaged_copy_is_mended_though_it_is_being_read(here: ResultStore, there: ResultStore) -> None:
    """Both have the same content, so that nobody mixes anything."""
    make(here, "one")
    result = there.current("embeddings", "digits")
    with reading([result]):
        result.file("rows.txt").write_text("other length")
        assert there.current("embeddings", "digits").file("rows.txt").read_text() == "one"


@pytest.mark.parametrize("number", [28, 13])
def test_a_copy_that_cannot_be_kept_is_a_warning_once_the_result_is_published(
    here: ResultStore,
    there: ResultStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
) -> None:
    flush = results_module.flush_folder

    def refused(folder: Path) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(results_module, "flush_folder", refused)
    with caplog.at_level(logging.WARNING):
        result = make(here)
    assert caplog.messages == [
        f"{result.folder} was published, but no local copy was kept, so it is fetched at the next read ([Errno "
        f"{number}] refused)"
    ]
    assert list((here.root / "embeddings" / "digits").glob(".work/*")) == []
    assert not result.folder.exists()
    monkeypatch.setattr(results_module, "flush_folder", flush)
    assert result.file("rows.txt").read_text() == "one"
    assert there.current("embeddings", "digits").data_version == result.data_version


def test_a_copy_that_another_process_fetched_meanwhile_stays(
    here: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = ObjectResult.upload
    fetched: list[int] = []

    def upload_and_read(result: ObjectResult, folder: Path) -> ObjectResult | None:
        uploaded = upload(result, folder)
        other = here.find("embeddings", "digits", key())
        assert other is not None
        fetched.append(other.file("rows.txt").stat().st_ino)
        return uploaded

    monkeypatch.setattr(ObjectResult, "upload", upload_and_read)
    result = here.get_or_create("embeddings", "digits", key(), write_text("one")).result
    assert [result.file("rows.txt").stat().st_ino] == fetched
