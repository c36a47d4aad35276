"""An empty database for each test, and what looks into it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from aflite_assets.tracking import MlflowTracker


@pytest.fixture
def mlflow_home(tmp_path: Path, template_database: Path) -> Path:
    """A folder whose name needs quoting in addresses, with an empty database in it."""
    mlflow_home = tmp_path / "a home"
    (mlflow_home / "mlflow").mkdir(parents=True)
    shutil.copy(template_database, mlflow_home / "mlflow" / "mlflow.db")
    return mlflow_home


@pytest.fixture
def client(mlflow_home: Path) -> MlflowClient:
    return MlflowClient(tracking_uri=f"sqlite:///{mlflow_home}/mlflow/mlflow.db")


@pytest.fixture
def tracker(mlflow_home: Path) -> MlflowTracker:
    return MlflowTracker(None, mlflow_home)


@pytest.fixture
def runs_of(client: MlflowClient) -> Callable[[str], list[Run]]:
    """All runs of one experiment, children too."""

    def runs(experiment: str) -> list[Run]:
        found = client.get_experiment_by_name(experiment)
        assert found is not None
        return list(client.search_runs([found.experiment_id]))

    return runs
