"""Notes between refreshes: stages that are left alone, cron times, the last check, the switch."""

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
from aflite_assets.refresh.state import Left, Notes, Paused, RefreshState, is_refusal
from aflite_assets.results import ResultStore

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
PLACE = ("digits", "raw_dataset", "abc")


@pytest.fixture
def state(home: Path) -> RefreshState:
    return RefreshState.beside(ResultStore(home / "results"))


def test_reading_writes_nothing(state: RefreshState) -> None:
    assert state.left(*PLACE) is None
    assert state.notes("digits") == Notes()
    assert state.datasets() == set()
    assert state.last_check() is None
    assert state.paused() is None
    assert not state.resume()
    state.note_made(*PLACE[:2])
    assert not state.folder.exists()


def test_failures_are_counted_by_key(state: RefreshState) -> None:
    for number in (1, 2, 3):
        state.note_failure(*PLACE, "out of luck", is_refused=False)
        left = Left("abc", "failed", "out of luck", number)
        assert state.left(*PLACE) == left
        assert left.is_final is (number == 3)
    assert state.datasets() == {"digits"}
    assert state.left("digits", "raw_dataset", "other") is None
    state.note_failure("digits", "raw_dataset", "other", "no such column", is_refused=True)
    refused = RefreshState(state.folder).left("digits", "raw_dataset", "other")
    assert refused == Left("other", "refused", "no such column", 1)
    assert refused.is_final
    state.note_made(*PLACE[:2])
    assert state.left("digits", "raw_dataset", "other") is None
    assert state.datasets() == set()


def test_a_run_is_kept_with_the_stages_that_it_left(state: RefreshState) -> None:
    state.note_failure("digits", "analysis", "x", "no", is_refused=True)
    cancelled = Left("abc", "cancelled", "run 1 was cancelled")
    state.note_run("digits", "run 1", {"raw_dataset": cancelled})
    assert state.left(*PLACE) == cancelled
    assert state.notes("digits").run == "run 1"
    state.note_run("digits", "run 2", {})
    assert (state.notes("digits").run, state.left(*PLACE)) == ("run 2", cancelled)
    state.forget_run("digits")
    assert state.notes("digits") == Notes({"analysis": Left("x", "refused", "no", 1)})


def test_times_are_kept(state: RefreshState) -> None:
    state.note_check(now=NOW)
    state.note_acted("digits", until=NOW)
    again = RefreshState(state.folder)
    assert again.last_check() == NOW
    assert again.notes("digits").acted == NOW


def test_the_switch_is_a_file(state: RefreshState) -> None:
    state.pause(reason="moving disks", now=NOW)
    assert state.paused() == Paused(NOW, "moving disks")
    assert (
        str(state.paused())
        == "refreshes are paused since 2026-11-22 03:00 UTC: moving disks; `aflite resume` continues them"
    )
    assert str(Paused(NOW, "")) == "refreshes are paused since 2026-11-22 03:00 UTC; `aflite resume` continues them"
    assert (state.folder / "paused.json").is_file()
    assert state.resume()
    assert state.paused() is None
    (state.folder / "paused.json").write_text("")
    paused = state.paused()
    assert paused is not None
    assert "cannot be read; `aflite resume` " in str(paused)
    assert state.resume()


@pytest.mark.parametrize("content", ["{", "[]", '{"left": {"raw_dataset": {"key": 1, "other": 2}}}', "\xff"])
def test_a_damaged_file_is_named(state: RefreshState, content: str) -> None:
    state.make_folder()
    (state.folder / "datasets" / "digits.json").write_text(content, encoding="latin-1")
    with pytest.raises(
        StoreError, match=r"cannot be read from .*digits.json \(.*\); make the file readable, or delete it"
    ):
        state.left(*PLACE)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(state: RefreshState, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"cannot be kept in .* \(Permission denied\); make it writable"):
        state.note_failure(*PLACE, "no", is_refused=False)


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
