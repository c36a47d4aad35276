"""A run holds its dataset's lock from before its first step to its end, waits for another, and keeps what it used."""

import threading
import time
from pathlib import Path

import dagster as dg
import pytest

import definitions
from aflite_assets.assets import common
from aflite_assets.results import ResultStore
from aflite_assets.results.refresh_records import read_refreshes
from aflite_assets.specs.registry import load_registry
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


STEP_START = dg.DagsterEventType.STEP_START


def run(deployment: Deployment, dataset: str) -> tuple[dg.DagsterRun, list[dg.DagsterEvent]]:
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
    held = threading.Event()

    def hold() -> None:
        """Until the run says that it waits."""
        with ResultStore(home / "results").dataset_lock("digits", what="aflite refresh"):
            held.set()
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not waits(deployment.instance):
                time.sleep(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    done, _ = run(deployment, "digits")
    holder.join()
    (said,) = waits(deployment.instance)
    assert "Waiting: 'digits' is being run (aflite refresh, process " in said
    log = deployment.instance.all_logs(done.run_id)
    first_step = next(number for number, entry in enumerate(log) if entry.dagster_event_type == STEP_START)
    assert [entry.user_message for entry in log].index(said) < first_step


def waits(instance: dg.DagsterInstance) -> list[str]:
    """What the runs said of waiting."""
    return [
        entry.user_message
        for one in instance.get_runs()
        for entry in instance.all_logs(one.run_id)
        if entry.user_message.startswith("Waiting: ")
    ]
