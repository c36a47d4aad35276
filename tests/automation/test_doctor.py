"""Dagster's part of `aflite doctor`: runs without a process, slots of the pool gpu, databases of another version."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.automation.dead_runs import PROCESS_TAG, find_dead_runs
from aflite_assets.automation.doctor import examine_instance

KILLED = """
import os, signal
import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from aflite_assets.automation.one_process import one_process_executor

@dg.op(pool="gpu")
def dies():
    os.kill(os.getpid(), signal.SIGKILL)

@dg.job(executor_def=one_process_executor)
def deadly():
    dies()

with dg.DagsterInstance.get() as instance:
    run = instance.create_run_for_job(deadly, tags={"dagster/partition": "digits"})
    execute_run(InMemoryJob(deadly), run, instance)
"""
SETTINGS = """
telemetry: {enabled: false}
concurrency: {pools: {granularity: op, default_limit: 1}}
"""


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    folder = tmp_path / "dagster"
    folder.mkdir()
    (folder / "dagster.yaml").write_text(SETTINGS)
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    with dg.DagsterInstance.get() as opened:
        yield opened


def test_a_run_whose_process_was_killed_is_ended_and_its_slot_freed(instance: dg.DagsterInstance) -> None:
    assert examine_instance(devices=1, fix=True) == []
    assert subprocess.run([sys.executable, "-c", KILLED], check=False, capture_output=True).returncode == -9
    (dead,) = find_dead_runs(instance)
    assert (dead.tags["dagster/partition"], instance.get_runs()[0].status) == ("digits", dg.DagsterRunStatus.STARTED)
    process = json.loads(dead.tags[PROCESS_TAG])["pid"]
    slots = instance.event_log_storage.get_concurrency_info("gpu")
    assert slots.active_slot_count == 1

    (told,) = examine_instance(devices=1, fix=False)
    assert (told.kind, told.mended) == ("dead run", False)
    assert told.what == (
        f"run {dead.run_id} (deadly of digits): its process {process} is gone, yet Dagster shows it as running"
    )
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.STARTED

    (mended,) = examine_instance(devices=1, fix=True)
    assert mended.mended
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.FAILURE
    assert instance.event_log_storage.get_concurrency_info("gpu").active_slot_count == 0
    assert examine_instance(devices=1, fix=False) == []


def test_a_run_that_goes_on_is_left_alone(instance: dg.DagsterInstance) -> None:
    @dg.asset
    def looks() -> None:
        assert find_dead_runs(instance) == []
        assert instance.get_runs()[0].status == dg.DagsterRunStatus.STARTED

    assert dg.materialize([looks], instance=instance).success


def test_more_slots_than_devices_are_named(instance: dg.DagsterInstance) -> None:
    instance.event_log_storage.set_concurrency_slots("gpu", 3)
    (told,) = examine_instance(devices=2, fix=True)
    assert told.what == "the pool 'gpu' has 3 slots, and this machine 2 GPUs"
    assert told.remedy == "run `dagster instance concurrency set gpu 2`"
    assert not told.mended


def test_a_database_of_another_version_is_named(instance: dg.DagsterInstance) -> None:
    database = Path(os.environ["DAGSTER_HOME"]) / "history" / "runs.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0f1bd1e1a3ac'")
    connection.close()
    told = examine_instance(devices=1, fix=True)
    assert [one.kind for one in told] == ["Dagster's database"]
    assert told[0].what.startswith("its runs have schema 0f1bd1e1a3ac, Dagster reads ")
    assert told[0].remedy.endswith("then run `dagster instance migrate`")
