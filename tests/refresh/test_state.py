"""Notes between refreshes: tries that count runs, told once, looks, cron times, the switch."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.refresh.state import Paused, RefreshState, Tries
from aflite_assets.results import ResultStore

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
PLACE = ("digits", "raw_dataset", "abc")


@pytest.fixture
def state(home: Path) -> RefreshState:
    return RefreshState.beside(ResultStore(home / "results"))


def test_reading_writes_nothing(state: RefreshState) -> None:
    assert state.tries(*PLACE) == Tries(0, None, False)
    assert state.tried() == set()
    assert state.keys_tried("digits", run="one") == {}
    assert state.cancelled_run("digits") is None
    assert state.last_look("digits") is None
    assert state.acted_until("digits") is None
    assert state.paused() is None
    assert not state.resume()
    assert not state.folder.exists()


def test_tries_count_runs_by_key(state: RefreshState) -> None:
    for run in ("one", "one", "two"):
        state.note_try(*PLACE, run=run, now=NOW)
    later = NOW + timedelta(hours=2)
    state.note_error(*PLACE, run="two", error="out of luck", now=later)
    assert state.tries(*PLACE) == Tries(2, "out of luck", last=later)
    assert state.tried() == {"digits"}
    assert state.tries("digits", "raw_dataset", "other") == Tries()
    state.forget_try(*PLACE, run="one")
    assert state.tries(*PLACE).count == 1
    state.note_error(*PLACE, run="two", error="no such column", now=later, refused=True)
    assert state.tries(*PLACE) == Tries(1, "no such column", refused=True, last=later)
    state.forget_tries("digits", "raw_dataset")
    assert state.tries(*PLACE) == Tries()
    assert state.tried() == set()


def test_a_cancelled_run_is_kept_with_the_keys_that_it_left(state: RefreshState) -> None:
    state.note_try(*PLACE, run="one", now=NOW)
    assert state.keys_tried("digits", run="one") == {"raw_dataset": "abc"}
    state.note_cancelled("digits", {"raw_dataset": "abc", "cue_scan": "def"}, run="run 1")
    assert state.tries(*PLACE) == Tries(1, last=NOW, cancelled="run 1")
    assert state.tries("digits", "cue_scan", "other").cancelled is None
    state.note_cancelled("digits", {}, run="run 2")
    assert state.cancelled_run("digits") == "run 2"
    assert state.tries("digits", "cue_scan", "def").cancelled == "run 1"
    state.forget_tries(*PLACE[:2])
    assert state.tries(*PLACE) == Tries()
    state.forget_cancelled("digits")
    assert state.tries("digits", "cue_scan", "def") == Tries()
    assert state.cancelled_run("digits") == "run 2"


def test_what_is_left_is_told_once(state: RefreshState) -> None:
    assert state.note_reported(*PLACE)
    assert not state.note_reported(*PLACE)
    assert state.tries(*PLACE).reported
    state.forget_tries(*PLACE[:2])
    assert state.note_reported(*PLACE)


def test_looks_and_times_are_kept(state: RefreshState) -> None:
    state.note_look("digits", now=NOW)
    state.note_acted("digits", until=NOW)
    again = RefreshState(state.folder)
    assert again.last_look("digits") == NOW
    assert again.acted_until("digits") == NOW
    assert again.last_look("other") is None


def test_the_switch_is_a_file(state: RefreshState) -> None:
    state.pause(reason="moving disks", now=NOW)
    assert state.paused() == Paused(NOW, "moving disks")
    assert str(state.paused()) == "refreshes are paused since 2026-11-22 03:00 UTC: moving disks"
    assert str(Paused(NOW, "")) == "refreshes are paused since 2026-11-22 03:00 UTC"
    assert (state.folder / "paused.json").is_file()
    assert state.resume()
    assert state.paused() is None
    (state.folder / "paused.json").write_text("")
    paused = state.paused()
    assert paused is not None
    assert "cannot be read; `aflite resume` removes it" in paused.reason
    assert state.resume()


def test_a_damaged_database_is_named(state: RefreshState) -> None:
    state.make_folder()
    (state.folder / "state.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=r"state.sqlite \(file is not a database\); make it writable, or delete it"):
        state.tries(*PLACE)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(state: RefreshState, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"cannot be kept in .* \(Permission denied\); make it writable"):
        state.note_try(*PLACE, run="one", now=NOW)
