"""Links between Dagster and MLflow, in both directions, where addresses are told, and what stands there otherwise."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from mlflow import MlflowClient

from aflite_assets.assets import data
from tests.assets.made import few_circles, materialize, register


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    content = few_circles(40, 20)
    content["filter"] = {"target_size": 10, "train_size": 10, "slice_size": 10}
    register(monkeypatch, content)


def raw_metadata(*, enabled: bool = True, raise_on_error: bool = True) -> tuple[dg.ExecuteInProcessResult, Any]:
    result = materialize([data.raw_dataset], tracked=enabled, raise_on_error=raise_on_error)
    made = result.get_asset_materialization_events()
    return result, made[0].materialization.metadata if made else {}


def tracked_run(home: Path) -> Any:
    client = MlflowClient(f"sqlite:///{home}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("aflite/circles_1").experiment_id
    (run,) = client.search_runs([experiment], "tags.`aflite.asset` = 'raw_dataset'")
    return run


@pytest.mark.usefixtures("made_here")
def test_without_addresses_the_command_stands_there(home: Path) -> None:
    result, metadata = raw_metadata()
    run = tracked_run(home)
    assert metadata["mlflow_run"] == dg.MetadataValue.text(run.info.run_id)
    assert metadata["mlflow_open"].value == (
        f"mlflow ui --backend-store-uri sqlite:///{home}/mlflow/mlflow.db\n"
        f"then http://127.0.0.1:5000/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
        "?workflowType=machine_learning"
    )
    assert run.data.tags["dagster/run_id"] == result.run_id
    assert "dagster/run_url" not in run.data.tags
    assert "mlflow.note.content" not in run.data.tags


def test_with_addresses_there_are_links_both_ways(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_DAGSTER_URL", "http://127.0.0.1:3000/")
    monkeypatch.setenv("AFLITE_MLFLOW_URL", "http://127.0.0.1:5000")
    result, metadata = raw_metadata()
    run = tracked_run(home)
    experiment = f"http://127.0.0.1:5000/#/experiments/{run.info.experiment_id}"
    page = f"{experiment}/runs/{run.info.run_id}?workflowType=machine_learning"
    assert metadata["mlflow_run"] == dg.MetadataValue.url(page)
    assert metadata["mlflow_experiment"] == dg.MetadataValue.url(f"{experiment}?workflowType=machine_learning")
    assert run.data.tags["dagster/run_url"] == f"http://127.0.0.1:3000/runs/{result.run_id}"
    assert run.data.tags["mlflow.note.content"] == (
        f"Made by [run {result.run_id[:8]} of Dagster](http://127.0.0.1:3000/runs/{result.run_id})."
    )


@pytest.mark.usefixtures("made_here")
def test_nothing_tracked_is_said() -> None:
    _, metadata = raw_metadata(enabled=False)
    assert metadata["mlflow_run"].value == "not tracked"


def test_a_wrong_address_stops_a_run_before_its_work(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_RESULTS_URL", "127.0.0.1:3333")
    result, metadata = raw_metadata(raise_on_error=False)
    assert not result.success
    assert metadata == {}
    assert not (home / "results").exists()
