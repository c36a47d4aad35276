"""Resources give the plain objects, below `AFLITE_HOME` or where they are told."""

from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.errors import ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.tracking import MlflowTracker, NullTracker
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


def test_result_store_is_below_home(home: Path, tmp_path: Path) -> None:
    assert ResultStoreResource().open().root == home / "results"
    assert ResultStoreResource(home=str(tmp_path / "x")).open().root == tmp_path / "x" / "results"


def test_compute_device() -> None:
    assert ComputeDevice(device="cpu").settings() == DeviceSettings(device="cpu", precision="float32")


def test_a_gpu_that_is_not_there_is_named() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ModelError, match="cuda"):
        ComputeDevice(device="cuda").settings().resolve()


def test_experiment_tracker() -> None:
    assert isinstance(ExperimentTracker().open(), MlflowTracker)
    assert isinstance(ExperimentTracker(enabled=False).open(), NullTracker)


@pytest.mark.parametrize("root", [None, "first"])
def test_a_retry_is_tracked_below_the_run_that_it_retries(root: str | None) -> None:
    run = dg.DagsterRun("job", run_id="second", root_run_id=root, parent_run_id=root)
    tracker = ExperimentTracker()
    tracker.setup_for_execution(dg.InitResourceContext({}, None, None, {}, dagster_run=run))  # type: ignore[arg-type]
    opened = tracker.open()
    assert isinstance(opened, MlflowTracker)
    assert (opened.refresh, opened.tags["dagster/run_id"]) == (root or "second", "second")


def test_mlflow_names_its_server_by_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    of_environment = ExperimentTracker().open()
    given = ExperimentTracker(tracking_uri="http://127.0.0.1:6000").open()
    assert isinstance(of_environment, MlflowTracker)
    assert isinstance(given, MlflowTracker)
    assert (of_environment.uri, given.uri) == ("http://127.0.0.1:5000", "http://127.0.0.1:6000")
