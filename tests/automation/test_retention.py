"""Old runs go, and what the UI shows of a dataset stays."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import definitions
from aflite_assets.assets import common
from aflite_assets.automation import prune as retention
from aflite_assets.automation.prune import forget_dagster_runs, forget_old_runs
from aflite_assets.results import Draft, ResultKey
from resources import ExperimentTracker, ResultStoreResource

pytestmark = pytest.mark.usefixtures("tracking_home")
SOON = timedelta(days=1)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


def run(instance: dg.DagsterInstance, dataset: str, *, fails: bool = False) -> str:
    @dg.asset(name="raw_dataset", partitions_def=common.DATASETS)
    def raw_dataset() -> None:
        if fails:
            raise dg.Failure(description="no rows", allow_retries=False)

    return dg.materialize([raw_dataset], partition_key=dataset, instance=instance, raise_on_error=False).run_id


def test_the_latest_run_of_each_dataset_stays(instance: dg.DagsterInstance) -> None:
    first, second = run(instance, "digits"), run(instance, "digits")
    other = run(instance, "circles_1")
    failed = run(instance, "digits", fails=True)
    assert forget_dagster_runs(instance, before=datetime.now(UTC) - SOON) == 0
    assert {one.run_id for one in instance.get_runs()} == {first, second, other, failed}

    assert forget_dagster_runs(instance, before=datetime.now(UTC) + SOON) == 2
    assert {one.run_id for one in instance.get_runs()} == {second, other}
    assert instance.get_latest_materialization_event(dg.AssetKey("raw_dataset")) is not None
    assert instance.get_materialized_partitions(dg.AssetKey("raw_dataset")) == {"digits", "circles_1"}


def test_the_last_run_of_a_listed_dataset_stays_though_it_failed(instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions(str(common.DATASETS.name), ["digits"])
    made, earlier, last = (
        run(instance, "digits"),
        run(instance, "digits", fails=True),
        run(instance, "digits", fails=True),
    )
    assert forget_dagster_runs(instance, before=datetime.now(UTC) + SOON) == 1
    assert instance.get_run_by_id(earlier) is None
    assert {one.run_id for one in instance.get_runs()} == {made, last}


def test_a_run_that_goes_on_stays(instance: dg.DagsterInstance) -> None:
    made = instance.create_run_for_job(forget_old_runs, status=dg.DagsterRunStatus.STARTED)
    assert forget_dagster_runs(instance, before=datetime.now(UTC) + SOON) == 0
    assert instance.get_run_by_id(made.run_id) is not None


def test_runs_without_a_result_go_from_mlflow(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    store, tracker = ResultStoreResource().open(), ExperimentTracker().open()

    def write(draft: Draft) -> dict[str, Any]:
        return {}

    kept = store.get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), write).result
    with tracker.run("raw_dataset", "digits", kept.key):
        pass
    with tracker.run("raw_dataset", "digits", "pruned") as parent, parent.child("seed 0"):
        pass
    monkeypatch.setattr(retention, "timedelta", lambda days: -timedelta(days=days))
    resources = {"result_store": ResultStoreResource(), "experiment_tracker": ExperimentTracker()}
    assert forget_old_runs.execute_in_process(instance=instance, resources=resources).success

    client = tracker.session.client  # type: ignore[attr-defined]
    experiment = client.get_experiment_by_name("aflite/digits")
    left = client.search_runs([experiment.experiment_id])
    assert [one.data.tags["aflite.key"] for one in left] == [kept.key]
    again = forget_old_runs.execute_in_process(instance=instance, resources=resources)
    assert again.success
    assert len(client.search_runs([experiment.experiment_id])) == 1


def test_young_runs_stay_in_mlflow(instance: dg.DagsterInstance) -> None:
    tracker = ExperimentTracker().open()
    with tracker.run("raw_dataset", "digits", "pruned"):
        pass
    resources = {"result_store": ResultStoreResource(), "experiment_tracker": ExperimentTracker()}
    assert forget_old_runs.execute_in_process(instance=instance, resources=resources).success
    client = tracker.session.client  # type: ignore[attr-defined]
    experiment = client.get_experiment_by_name("aflite/digits")
    assert len(client.search_runs([experiment.experiment_id])) == 1


def test_less_than_a_day_is_refused(instance: dg.DagsterInstance) -> None:
    resources = {"result_store": ResultStoreResource(), "experiment_tracker": ExperimentTracker(enabled=False)}
    config = dg.RunConfig(ops={"forget_runs": {"config": {"older_than_days": 0}}})
    done = forget_old_runs.execute_in_process(
        instance=instance, resources=resources, run_config=config, raise_on_error=False
    )
    assert not done.success


def test_the_schedule_is_there_and_off() -> None:
    schedule = definitions.defs.get_repository_def().get_schedule_def("forget_old_runs_monthly")
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
