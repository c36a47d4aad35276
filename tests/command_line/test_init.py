"""`aflite init` makes the home and the instance, says so, and may be run by several processes at once."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.automation.instance import AfliteInstance
from aflite_assets.command_line.main import main


def test_home_and_instance_are_made_and_named(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "dagster"
    assert main(["init", "--dagster-home", str(folder)]) == 0
    database = home / "mlflow" / "mlflow.db"
    assert capsys.readouterr().out.splitlines() == [
        f"home: {home}",
        f"MLflow's database: {database} (made)",
        f"Dagster: {folder} (dagster.yaml copied, databases opened)",
    ]
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert isinstance(instance, AfliteInstance)
    assert main(["init"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"MLflow's database: {database}",
        "Dagster: DAGSTER_HOME is not set, so Dagster's history of each command is temporary; results are kept",
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", "--dagster-home", str(tmp_path / "file" / "dagster")]) == 1
    assert "cannot be created (Not a directory); make its parent folder writable, or set `DAGSTER_HOME`" in (
        capsys.readouterr().err
    )


@pytest.mark.slow
def test_four_at_once_on_fresh_homes(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aflite_assets.command_line.main", "init"]
    environment = os.environ | {"DAGSTER_HOME": str(tmp_path / "dagster")}
    started = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0], said
    for database in (home / "mlflow" / "mlflow.db", tmp_path / "dagster" / "history" / "runs.db"):
        with sqlite3.connect(database) as connection:
            assert len(connection.execute("SELECT version_num FROM alembic_version").fetchall()) == 1
        connection.close()
