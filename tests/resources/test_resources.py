"""Resources give the plain objects, below `AFLITE_HOME` or where they are told."""

from pathlib import Path

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
