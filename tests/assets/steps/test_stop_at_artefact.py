"""A dataset that is not to be trained with an artefact: its step fails once, before it asks for a card or a process."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import data, warmup
from aflite_assets.assets.steps import attempts
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.studies.sample.assets.assets import train_sample
from tests.assets.made import materialize, register
from tests.planted_reviews import planted_reviews

BEFORE = [data.raw_dataset, train_sample]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stages that children were asked for; they are made here."""
    asked: list[str] = []

    def make(job: Any, **rest: Any) -> StoredResult:
        asked.append(job.name)
        return run_stage(job.name, job.spec, store=job.store)

    monkeypatch.setattr(attempts, "make_in_child", make)
    return asked


def run_of(folder: Path, monkeypatch: pytest.MonkeyPatch, *, share: float) -> dg.ExecuteInProcessResult:
    """A run of the first stages without the scan, under the name of a partition of the definitions."""
    content = planted_reviews(folder, share=share, scan={"stop": "artefact"}, name="circles_1")
    register(monkeypatch, content)
    return materialize([*BEFORE, warmup.warmup_split, warmup.warmup_models], tracked=False, raise_on_error=False)


def test_the_step_fails_once_and_nothing_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[str], home: Path
) -> None:
    result = run_of(tmp_path, monkeypatch, share=0.6)
    assert made == ["raw_dataset", "challenge_sets", "cue_scan"]
    assert ResultStore(home / "results").current("cue_scan", "circles_1").summary["verdict"] == "artefact"
    failure = result.failure_data_for_node("warmup_split")
    assert failure is not None
    assert failure.user_failure_data is not None
    said = str(failure.user_failure_data.description)
    assert said.startswith("the scan of 'circles_1' found an artefact. No model is trained")
    assert "mend it: aflite fix circles_1 --cue 1 --to NEW_FOLDER" in said
    events = [(event.event_type_value, event.step_key) for event in result.all_node_events]
    assert ("STEP_START", "warmup_models") not in events
    assert not [step for kind, step in events if kind == "STEP_UP_FOR_RETRY"]


def test_without_an_artefact_the_steps_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[str]) -> None:
    assert run_of(tmp_path, monkeypatch, share=0.0).success
    assert made == ["raw_dataset", "challenge_sets", "cue_scan", "warmup_split", "warmup_models"]
