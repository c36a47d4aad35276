"""Notes between refreshes: refused inputs, cron times, the switch."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aflite_assets.errors import (
    AfliteError,
    DataError,
    MissingDataError,
    ModelError,
    SpecError,
    StoreError,
    UnsettledDataError,
    WorkerLostError,
)
from aflite_assets.refresh.state import RefreshState, is_refusal
from aflite_assets.results import ResultStore

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
PLACE = ("digits", "raw_dataset", "abc")


@pytest.fixture
def state(home: Path) -> RefreshState:
    return RefreshState.beside(ResultStore(home / "results"))


def test_reading_writes_nothing(state: RefreshState) -> None:
    assert state.refusal(*PLACE) is None
    assert state.acted("digits") is None
    assert state.paused() is None
    assert not state.resume()
    state.note_made(*PLACE[:2])
    assert not state.folder.exists()


def test_refusals_are_kept_by_key(state: RefreshState) -> None:
    state.note_refusal(*PLACE, "no such column")
    assert RefreshState(state.folder).refusal(*PLACE) == "no such column"
    assert state.refusal("digits", "raw_dataset", "other") is None
    state.note_refusal("digits", "raw_dataset", "other", "no such split")
    assert (state.refusal(*PLACE), state.refusal("digits", "raw_dataset", "other")) == (None, "no such split")
    state.note_made(*PLACE[:2])
    assert state.refusal("digits", "raw_dataset", "other") is None


def test_times_are_kept(state: RefreshState) -> None:
    state.note_acted("digits", until=NOW)
    assert RefreshState(state.folder).acted("digits") == NOW


def test_the_switch_is_a_file(state: RefreshState) -> None:
    state.pause(reason="moving disks", now=NOW)
    words = "refreshes are paused since 2026-11-22 03:00 UTC: moving disks; `aflite resume` continues them"
    assert RefreshState(state.folder).paused() == words
    state.pause(reason="", now=NOW)
    assert state.paused() == "refreshes are paused since 2026-11-22 03:00 UTC; `aflite resume` continues them"
    assert (state.folder / "paused").is_file()
    state.pause(reason="caf\udce9", now=NOW)  # as Python reads an argument in another encoding
    assert state.paused() == (
        "refreshes are paused since 2026-11-22 03:00 UTC: caf\\udce9; `aflite resume` continues them"
    )
    assert state.resume()
    assert state.paused() is None


@pytest.mark.parametrize("content", ["", "ab", "abc", "abc\n", "\xff"])
def test_a_damaged_note_is_ignored_and_replaced(state: RefreshState, content: str) -> None:
    state.note_refusal(*PLACE, "no")
    (state.folder / "refused" / "digits" / "raw_dataset").write_text(content, encoding="latin-1")
    assert state.refusal(*PLACE) is None
    state.note_refusal(*PLACE, "again")
    assert state.refusal(*PLACE) == "again"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(state: RefreshState, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"cannot be kept in .* \(Permission denied\); make it writable"):
        state.note_refusal(*PLACE, "no")


@pytest.mark.parametrize("error", [DataError("a"), SpecError("b")])
def test_what_would_be_refused_each_time_is_a_refusal(error: AfliteError) -> None:
    assert is_refusal(error)
    error.may_pass = True
    assert not is_refusal(error)


@pytest.mark.parametrize(
    "kind", [MissingDataError, UnsettledDataError, StoreError, ModelError, WorkerLostError, OSError]
)
def test_what_may_be_another_thing_tomorrow_is_none(kind: type[Exception]) -> None:
    assert not is_refusal(kind("x"))
