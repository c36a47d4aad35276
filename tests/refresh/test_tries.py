"""Tries counted within refreshes: what is final, what is not, and what a person's run leaves alone."""

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
    TooManyTriesError,
    UnsettledDataError,
    WorkerLostError,
)
from aflite_assets.refresh.state import RefreshState, Tries
from aflite_assets.refresh.tries import CountedTry, is_refusal

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


@pytest.fixture
def state(tmp_path: Path) -> RefreshState:
    return RefreshState(tmp_path / "refresh")


def _try(state: RefreshState, run: str | None) -> CountedTry:
    return CountedTry(state, "digits", "raw_dataset", run, clock=lambda: NOW)


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


def test_a_refusal_ends_the_tries_of_other_refreshes_and_of_the_same_one_again(state: RefreshState) -> None:
    first = _try(state, "one")
    first.begin("abc")
    first.fail(DataError("label 'x' is unknown"))
    noted = Tries(1, "label 'x' is unknown", refused=True, last=NOW)
    assert state.tries("digits", "raw_dataset", "abc") == noted
    for run in ("one", "two"):
        with pytest.raises(
            TooManyTriesError, match="was refused and is left until what it reads changes: label 'x' is"
        ):
            _try(state, run).begin("abc")
    assert state.tries("digits", "raw_dataset", "abc") == noted
    _try(state, "two").begin("def")


def test_the_fourth_refresh_is_stopped(state: RefreshState) -> None:
    for run in ("one", "two", "three"):
        one = _try(state, run)
        one.begin("abc")
        one.fail(OSError("slow disk"))
    with pytest.raises(
        TooManyTriesError, match=r"was tried 3 times from these inputs and is left alone; .*: slow disk"
    ):
        _try(state, "four").begin("abc")
    assert state.tries("digits", "raw_dataset", "abc").count == 3


def test_a_person_may_try_as_often_as_they_like(state: RefreshState) -> None:
    by_hand = _try(state, None)
    by_hand.begin("abc")
    by_hand.fail(DataError("label 'x' is unknown"))
    assert not state.folder.exists()
