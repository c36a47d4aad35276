"""The shipped `dagster.yaml`, and first contact with a fresh instance by several processes at once."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.assets.dagster_internals import InstanceRef
from aflite_assets.automation.instance import (
    AfliteInstance,
    LockedSqliteStorage,
    creation_lock,
    prepare_instance,
)

REPOSITORY = Path(__file__).parents[2]
OPENERS = """
import os, sys, time, traceback
import dagster as dg
import aflite_assets.automation.instance

def open_it():
    os.read(begin, 1)  # ends for all at once, when the pipe is closed
    with dg.DagsterInstance.get() as instance:
        assert instance.get_runs_count() == 0

begin, closed = os.pipe()
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        os.close(closed)
        try:
            open_it()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(closed)
sys.exit(sum(bool(os.waitpid(child, 0)[1]) for child in children))
"""
"""Forked once Dagster is imported: they meet the instance at the same moment, and import once."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A fresh DAGSTER_HOME with the shipped settings."""
    made = tmp_path / "dagster"
    made.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", made)
    return made


def test_the_shipped_file_loads_and_says_this(folder: Path) -> None:
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert isinstance(instance, AfliteInstance)
        with dg.DagsterInstance.from_ref(instance.get_ref()) as again:
            assert isinstance(again, AfliteInstance)
        assert isinstance(instance.get_ref().storage, LockedSqliteStorage)
        assert instance.run_monitoring_enabled
        poll = instance.run_monitoring_poll_interval_seconds
        assert poll + poll + instance.run_monitoring_settings["free_slots_after_run_end_seconds"] <= 60
        assert instance.run_retries_enabled
        assert instance.run_retries_max_retries == 1
        assert instance.run_retries_retry_on_asset_or_op_failure is False
        queue = instance.get_concurrency_config().run_queue_config
        assert queue is not None
        assert queue.max_concurrent_runs == 4
        assert queue.tag_concurrency_limits == [
            {"key": "dagster/partition", "value": {"applyLimitPerUniqueValue": True}, "limit": 1}
        ]
        pools = instance.get_concurrency_config().pool_config
        assert pools.default_pool_limit == 1
        assert not instance.telemetry_enabled


def test_it_serves_a_temporary_home_too(tmp_path: Path) -> None:
    """As `dg launch` makes one where DAGSTER_HOME is not set: settings from here, databases elsewhere."""
    ref = InstanceRef.from_dir(str(tmp_path), config_dir=str(REPOSITORY))
    with dg.DagsterInstance.from_ref(ref) as instance:
        assert isinstance(instance, AfliteInstance)
    assert (tmp_path / "history" / "runs.db").is_file()


def test_another_storage_of_the_file_is_taken(folder: Path, tmp_path: Path) -> None:
    with (folder / "dagster.yaml").open("a") as file:
        file.write(f"storage: {{sqlite: {{base_dir: {tmp_path / 'elsewhere'}}}}}\n")
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert not isinstance(instance.get_ref().storage, LockedSqliteStorage)
    assert (tmp_path / "elsewhere" / "history" / "runs.db").is_file()


def test_who_opens_it_waits_for_who_makes_it(folder: Path) -> None:
    opened = threading.Event()

    def open_it() -> None:
        with dg.DagsterInstance.from_config(str(folder)):
            opened.set()

    thread = threading.Thread(target=open_it)
    with creation_lock(folder):
        thread.start()
        assert not opened.wait(1.5)
        assert not (folder / "history").exists()
    thread.join(60)
    assert opened.is_set()


def test_four_processes_meet_a_fresh_instance_at_once(folder: Path) -> None:
    environment = os.environ | {"DAGSTER_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", OPENERS], env=environment, text=True, stderr=subprocess.PIPE, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert instance.get_runs_count() == 0


@pytest.mark.slow
def test_four_launches_on_fresh_homes_all_succeed(tmp_path: Path) -> None:
    """Dagster's and MLflow's databases are made by whoever comes first, the way the README's commands do it."""
    datasets = ("circles_1", "circles_2", "circles_3", "circles_4")
    for trial in range(3):
        root = tmp_path / str(trial)
        (root / "dagster").mkdir(parents=True)
        shutil.copy(REPOSITORY / "dagster.yaml", root / "dagster")
        environment = os.environ | {"DAGSTER_HOME": str(root / "dagster"), "AFLITE_HOME": str(root / "home")}
        started = [
            subprocess.Popen(
                [Path(sys.executable).with_name("dg"), "launch", "--assets", "raw_dataset", "--partition", dataset],
                env=environment, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for dataset in datasets
        ]  # fmt: skip
        said = [process.communicate(timeout=600)[1] for process in started]
        assert [process.returncode for process in started] == [0, 0, 0, 0], said
        with dg.DagsterInstance.from_config(str(root / "dagster")) as instance:
            runs = instance.get_runs()
            assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}
            assert {run.tags["dagster/partition"] for run in runs} == set(datasets)
        assert _experiments(root / "home") == {f"aflite/{dataset}" for dataset in datasets}


def _experiments(home: Path) -> set[str]:
    with sqlite3.connect(home / "mlflow" / "mlflow.db") as connection:
        return {name for (name,) in connection.execute("SELECT name FROM experiments")} - {"Default"}


def test_a_fresh_folder_gets_our_settings_and_its_databases(tmp_path: Path) -> None:
    home = tmp_path / "new" / "dagster"
    assert prepare_instance(home) == ["dagster.yaml copied", "databases opened"]
    assert (home / "dagster.yaml").read_bytes() == (REPOSITORY / "dagster.yaml").read_bytes()
    assert not (home / "dagster.yaml").is_symlink()
    assert (home / "schedules" / "schedules.db").is_file()
    assert prepare_instance(home) == ["databases opened"]


def test_settings_that_are_there_stay(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert prepare_instance(tmp_path) == ["databases opened"]
    assert (tmp_path / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"
