"""An empty database for each test, and what looks into it."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from aflite_assets.tracking import MlflowTracker
from tests.forked import forking_context


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


def in_four_processes(work: Callable[[Path, int], None], home: Path) -> None:
    """Call `work` in four processes, which all have arrived before any begins."""
    workers = [forking_context().Process(target=_arrived, args=(work, home, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    while not all((home / f"ready{number}").exists() for number in range(4)):
        assert all(worker.is_alive() for worker in workers)
        time.sleep(0.01)
    (home / "go").touch()
    for worker in workers:
        worker.join(timeout=120)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]


def _arrived(work: Callable[[Path, int], None], home: Path, number: int) -> None:
    (home / f"ready{number}").touch()
    while not (home / "go").exists():
        time.sleep(0.01)
    work(home, number)
