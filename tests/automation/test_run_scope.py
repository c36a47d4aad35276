"""A run holds its dataset's lock from before its first step to its end, waits for another, and keeps what it used."""

import threading
import time
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import DagsterEvent

import definitions
from aflite_assets.assets import common
from aflite_assets.results import ResultStore
from aflite_assets.results.refreshes import read_refreshes
from aflite_assets.sources.registry import load_registry
from aflite_assets.stages.pipeline import STAGES
from resources import ComputeDevice, ExperimentTracker
from tests.automation.conftest import Deployment


def benchmark() -> dg.JobDefinition:
    """The job with the executor that all runs have; a function, so that it can be made anew by its name."""
    built = definitions.build_definitions(
        compute_device=ComputeDevice(device="cpu"), experiment_tracker=ExperimentTracker(enabled=False)
    )
    return built.resolve_job_def("benchmark")


@pytest.fixture(autouse=True)
def _same_files(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definitions know the datasets as the test's files have them."""
    monkeypatch.setattr(common, "REGISTRY", load_registry())


def run(deployment: Deployment, dataset: str) -> tuple[dg.DagsterRun, list[DagsterEvent]]:
    with dg.execute_job(
        dg.reconstructable(benchmark), instance=deployment.instance, tags={"dagster/partition": dataset}
    ) as done:
        assert done.success
        return done.dagster_run, list(done.all_events)


def test_a_run_keeps_what_it_used(deployment: Deployment) -> None:
    before = len(read_refreshes(deployment.store, "digits"))
    made, _ = run(deployment, "digits")
    kept = read_refreshes(deployment.store, "digits")
    assert len(kept) == before + 1
    assert kept[0].what == f"Dagster run {made.run_id}"
    assert set(kept[0].keys) == set(STAGES)
    assert kept[0].made == ()


def test_a_run_waits_for_another_of_its_dataset(deployment: Deployment, home: Path) -> None:
    release = threading.Event()
    held = threading.Event()

    def hold() -> None:
        with ResultStore(home / "results").dataset_lock("digits", what="aflite refresh"):
            held.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    threading.Timer(2.0, release.set).start()
    began = time.monotonic()
    _, events = run(deployment, "digits")
    holder.join()
    assert time.monotonic() - began >= 1.5
    waits = [event for event in events if (event.message or "").startswith("Waiting: 'digits' is being run")]
    assert len(waits) == 1
    assert "aflite refresh, process " in str(waits[0].message)
    steps = [event for event in events if event.is_step_start]
    assert events.index(waits[0]) < events.index(steps[0])
