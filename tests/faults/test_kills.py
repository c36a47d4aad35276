"""Killed at any moment, a run goes on and ends with the same files."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.results import ResultStore
from aflite_assets.results.refresh_records import read_refreshes
from aflite_assets.stages.pipeline import STAGES
from tests.faults.kills import attempt, kill_and_resume


def test_a_killed_run_ends_with_the_same_files(tmp_path: Path) -> None:
    (outcome,) = kill_and_resume(tmp_path, moments=1, seed=1, quick=True)
    assert outcome.equal, outcome
    assert outcome.stage in STAGES


def test_two_runs_at_once_make_everything_once(tmp_path: Path, feature_content: dict[str, Any]) -> None:
    with ThreadPoolExecutor(2) as threads:
        ended = [threads.submit(attempt, tmp_path, feature_content) for _ in range(2)]
    assert [one.result() for one in ended] == ["", ""]
    first, second = sorted(read_refreshes(ResultStore(tmp_path), "vectors"), key=lambda one: one.ended)
    assert (list(first.made), list(second.made)) == (list(STAGES), [])
    assert first.keys == second.keys


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_fifty_killed_runs_end_with_the_same_files(tmp_path: Path, seed: int) -> None:
    outcomes = list(kill_and_resume(tmp_path, moments=10, seed=seed))
    assert [one for one in outcomes if not one.equal] == []
    assert len({one.stage for one in outcomes if one.stage in STAGES}) >= 3
