"""Killed with SIGKILL at any moment, a run goes on and ends with the same files."""

from pathlib import Path

import pytest

from aflite_assets.stages.pipeline import STAGES
from tests.faults.kills import kill_and_resume


def test_a_killed_run_ends_with_the_same_files(tmp_path: Path) -> None:
    (outcome,) = kill_and_resume(tmp_path, moments=1, seed=1)
    assert outcome.equal, outcome
    assert outcome.stage in STAGES


@pytest.mark.slow
def test_fifty_killed_runs_end_with_the_same_files(tmp_path: Path) -> None:
    outcomes = list(kill_and_resume(tmp_path, moments=50, seed=0))
    assert [one for one in outcomes if not one.equal] == []
    assert len({one.stage for one in outcomes if one.stage in STAGES}) >= 5
