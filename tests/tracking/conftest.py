"""A database made once and copied for each test: making one takes seconds, copying one milliseconds."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from aflite_assets.tracking import MlflowTracker


@pytest.fixture(scope="session")
def template_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template")
    assert MlflowTracker(None, home).session.client.search_experiments()
    return home / "mlflow" / "mlflow.db"


@pytest.fixture
def home(tmp_path: Path, template_database: Path) -> Path:
    """A folder whose name needs quoting in addresses, with an empty database in it."""
    home = tmp_path / "a home"
    (home / "mlflow").mkdir(parents=True)
    shutil.copy(template_database, home / "mlflow" / "mlflow.db")
    return home


@pytest.fixture
def client(home: Path) -> MlflowClient:
    return MlflowClient(tracking_uri=f"sqlite:///{home}/mlflow/mlflow.db")


@pytest.fixture
def tracker(home: Path) -> MlflowTracker:
    return MlflowTracker(None, home)


@pytest.fixture
def runs_of(client: MlflowClient) -> Callable[[str], list[Run]]:
    """All runs of one experiment, children too."""

    def runs(experiment: str) -> list[Run]:
        found = client.get_experiment_by_name(experiment)
        assert found is not None
        return list(client.search_runs([found.experiment_id]))

    return runs
