"""One run per dataset and refresh, with the runs of its stages below it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from aflite_assets.errors import TrackingError
from aflite_assets.tracking import MlflowTracker
from aflite_assets.tracking.mlflow_tracker import delete_runs_without_result
from tests.tracking.conftest import in_four_processes

RunsOf = Callable[[str], list[Run]]
SOON = timedelta(days=1)


def refreshing(home: Path, refresh: str) -> MlflowTracker:
    return MlflowTracker(None, home, tags={"dagster/run_id": refresh}, refresh=refresh)


def tree(runs: list[Run]) -> dict[str, set[tuple[str, str]]]:
    """Status and the first word of the name of every run below a run, by the name of that; "" has those at the top."""
    names = {run.info.run_id: " ".join(run.info.run_name.split()[:2]) for run in runs}
    below: dict[str, set[tuple[str, str]]] = {}
    for run in runs:
        parent = names[run.data.tags["mlflow.parentRunId"]] if "mlflow.parentRunId" in run.data.tags else ""
        below.setdefault(parent, set()).add((names[run.info.run_id], run.info.status))
    return below


def test_stages_of_a_refresh_hang_below_its_run(mlflow_home: Path, runs_of: RunsOf) -> None:
    for dataset in ("snli", "qnli"):
        for stage in ("raw_dataset", "warmup_models"):
            with refreshing(mlflow_home, "0123456789ab").run(stage, dataset, "k1") as run, run.child("bert"):
                during = tree(runs_of(f"aflite/{dataset}"))
                assert during[""] == {("refresh 01234567", "RUNNING")}
    for dataset in ("snli", "qnli"):
        assert tree(runs_of(f"aflite/{dataset}")) == {
            "": {("refresh 01234567", "FINISHED")},
            "refresh 01234567": {("raw_dataset k1", "FINISHED"), ("warmup_models k1", "FINISHED")},
            "raw_dataset k1": {("bert", "FINISHED")},
            "warmup_models k1": {("bert", "FINISHED")},
        }
        (top,) = [run for run in runs_of(f"aflite/{dataset}") if "aflite.refresh" in run.data.tags]
        tags = {name: value for name, value in top.data.tags.items() if not name.startswith("mlflow.")}
        assert tags.pop("aflite.identity")
        assert tags == {
            "aflite.refresh": "0123456789ab",
            "aflite.partition": dataset,
            "dagster/partition": dataset,
            "dagster/run_id": "0123456789ab",
        }


def test_a_refresh_that_makes_nothing_leaves_nothing(mlflow_home: Path, client: MlflowClient) -> None:
    tracker = refreshing(mlflow_home, "r1")
    tracker.published("embeddings", "snli", "k1", data_version="d0", parts={})
    experiment = client.get_experiment_by_name("aflite/snli")
    assert experiment is not None
    assert list(client.search_runs([experiment.experiment_id])) == []


@pytest.mark.parametrize(("error", "status"), [(ValueError("no rows"), "FAILED"), (KeyboardInterrupt(), "KILLED")])
def test_a_stage_that_fails_fails_its_refresh_and_a_retry_mends_it(
    mlflow_home: Path, runs_of: RunsOf, error: BaseException, status: str
) -> None:
    with pytest.raises(type(error)), refreshing(mlflow_home, "r1").run("embeddings", "snli", "k1"):
        raise error
    with refreshing(mlflow_home, "r1").run("cue_scan", "snli", "k1"):
        pass
    assert tree(runs_of("aflite/snli"))[""] == {("refresh r1", status)}
    with refreshing(mlflow_home, "r1").run("embeddings", "snli", "k1"):
        pass
    assert tree(runs_of("aflite/snli")) == {
        "": {("refresh r1", "FINISHED")},
        "refresh r1": {("embeddings k1", "FINISHED"), ("cue_scan k1", "FINISHED")},
    }


def test_a_stage_that_a_later_refresh_makes_moves_there_and_an_empty_refresh_goes(
    mlflow_home: Path, runs_of: RunsOf
) -> None:
    with pytest.raises(ValueError, match="no rows"), refreshing(mlflow_home, "r1").run("embeddings", "snli", "k1"):
        raise ValueError("no rows")
    with refreshing(mlflow_home, "r2").run("embeddings", "snli", "k1"):
        pass
    assert tree(runs_of("aflite/snli")) == {
        "": {("refresh r2", "FINISHED")},
        "refresh r2": {("embeddings k1", "FINISHED")},
    }


def test_a_refresh_killed_while_a_stage_ran_ends_when_a_later_one_makes_that_stage(
    mlflow_home: Path, client: MlflowClient, runs_of: RunsOf
) -> None:
    with refreshing(mlflow_home, "r1").run("raw_dataset", "snli", "k1"):
        pass
    with refreshing(mlflow_home, "r1").run("embeddings", "snli", "k1") as killed:
        pass
    for run in runs_of("aflite/snli"):  # as a process that is killed leaves them
        if run.info.run_id == killed.run_id or "aflite.refresh" in run.data.tags:
            client.update_run(run.info.run_id, status="RUNNING")
    with refreshing(mlflow_home, "r2").run("embeddings", "snli", "k1"):
        pass
    assert tree(runs_of("aflite/snli")) == {
        "": {("refresh r1", "FINISHED"), ("refresh r2", "FINISHED")},
        "refresh r1": {("raw_dataset k1", "FINISHED")},
        "refresh r2": {("embeddings k1", "FINISHED")},
    }


def test_a_stages_own_error_is_shown_if_the_refresh_cannot_be_ended(mlflow_home: Path, client: MlflowClient) -> None:
    def fail_without_an_experiment() -> None:
        with refreshing(mlflow_home, "r1").run("embeddings", "snli", "k1") as run:
            client.delete_run(run.run_id)
            raise ValueError("the real error")

    with pytest.raises(ValueError, match="the real error") as caught:
        fail_without_an_experiment()
    assert not isinstance(caught.value, TrackingError)
    experiment = client.get_experiment_by_name("aflite/snli")
    assert experiment is not None
    assert list(client.search_runs([experiment.experiment_id])) == []  # and no empty refresh stays


def _make(home: Path, number: int) -> None:
    with refreshing(home, "r1").run(f"stage_{number}", "snli", "k1"):
        time.sleep(0.1)


def test_stages_of_four_processes_have_one_refresh(mlflow_home: Path, runs_of: RunsOf) -> None:
    in_four_processes(_make, mlflow_home)
    assert tree(runs_of("aflite/snli")) == {
        "": {("refresh r1", "FINISHED")},
        "refresh r1": {(f"stage_{number} k1", "FINISHED") for number in range(4)},
    }


def test_a_refresh_is_deleted_with_the_last_of_its_stages(mlflow_home: Path, runs_of: RunsOf) -> None:
    tracker = refreshing(mlflow_home, "r1")
    for stage in ("raw_dataset", "embeddings"):
        with tracker.run(stage, "snli", "k1") as run, run.child("seed 0"):
            pass
    kept = {"raw_dataset"}

    def forget(*, before: datetime) -> int:
        return delete_runs_without_result(tracker, lambda stage, partition, key: stage in kept, before=before)

    assert forget(before=datetime.now(UTC) - SOON) == 0
    assert forget(before=datetime.now(UTC) + SOON) == 2
    assert tree(runs_of("aflite/snli")) == {
        "": {("refresh r1", "FINISHED")},
        "refresh r1": {("raw_dataset k1", "FINISHED")},
        "raw_dataset k1": {("seed 0", "FINISHED")},
    }
    kept.clear()
    assert forget(before=datetime.now(UTC) + SOON) == 3
    assert runs_of("aflite/snli") == []


def test_a_young_refresh_without_stages_stays(mlflow_home: Path, client: MlflowClient, runs_of: RunsOf) -> None:
    tracker = refreshing(mlflow_home, "r1")
    with tracker.run("embeddings", "snli", "k1") as run:
        pass
    client.delete_run(run.run_id)  # as another process that has begun the refresh, and no stage yet
    assert delete_runs_without_result(tracker, lambda *named: True, before=datetime.now(UTC) - SOON) == 0
    assert len(runs_of("aflite/snli")) == 1
    assert delete_runs_without_result(tracker, lambda *named: True, before=datetime.now(UTC) + SOON) == 1
    assert runs_of("aflite/snli") == []
