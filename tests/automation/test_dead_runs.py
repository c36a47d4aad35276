"""Runs whose process is gone are found, ended and lose their slots; all others are left alone."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.automation.dead_runs import PROCESS_TAG, end_dead_runs, find_dead_runs, mark_run
from aflite_assets.processes import ProcessMark, mark_of, this_process
from tests.waiting import within

REPOSITORY = Path(__file__).parents[2]
JOB = """
import os, sys, time
from pathlib import Path
import dagster as dg
from aflite_assets.automation.one_process import one_process_executor

@dg.op(pool="gpu")
def compute() -> None:
    note = Path(os.environ["NOTE"])
    note.with_suffix(".new").write_text(str(os.getpid()))
    note.with_suffix(".new").rename(note)
    time.sleep(float(os.environ["SECONDS"]))

@dg.job(executor_def=one_process_executor)
def work() -> None:
    compute()

if __name__ == "__main__":
    with dg.DagsterInstance.get() as instance:
        result = dg.execute_job(dg.reconstructable(work), instance=instance)
        sys.exit(0 if result.success else 1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "dagster"
    made.mkdir()
    shutil.copy(REPOSITORY / "dagster.yaml", made)
    return made


@pytest.fixture
def instance(folder: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(folder)) as made:
        yield made


def _gone() -> ProcessMark:
    """The mark of a process that has ended."""
    with subprocess.Popen(["sleep", "120"]) as process:
        mark = mark_of(process.pid)
        process.kill()
    return mark


def _run(
    instance: dg.DagsterInstance,
    mark: ProcessMark | None,
    *,
    status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED,
    marked_for: str | None = None,
) -> str:
    run_id = str(uuid.uuid4())
    tags = {"dagster/partition": "digits"}
    if mark is not None:
        tags[PROCESS_TAG] = json.dumps({"run": marked_for or run_id, **mark.as_json()})
    instance.add_run(dg.DagsterRun(job_name="filter", run_id=run_id, status=status, tags=tags))
    return run_id


def test_a_dead_run_is_ended_and_its_slot_is_free(instance: dg.DagsterInstance) -> None:
    mark = _gone()
    run_id = _run(instance, mark)
    storage = instance.event_log_storage
    storage.set_concurrency_slots("gpu", 1)
    assert storage.claim_concurrency_slot("gpu", run_id, "embeddings").is_claimed
    lines: list[str] = []
    (ended,) = end_dead_runs(instance, log=lines.append)
    assert ended.run_id == run_id
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.FAILURE
    assert f"its process {mark.pid} is gone: killed, or its machine restarted" in str(
        instance.all_logs(run_id)[-1].message
    )
    assert storage.get_concurrency_info("gpu").active_slot_count == 0
    assert lines == [
        f"run {run_id} (filter of digits): its process {mark.pid} is gone; reported as ended, its slots are free"
    ]
    assert end_dead_runs(instance) == []


def test_a_run_being_cancelled_is_cancelled(instance: dg.DagsterInstance) -> None:
    run_id = _run(instance, _gone(), status=dg.DagsterRunStatus.CANCELING)
    assert [dead.run_id for dead in end_dead_runs(instance)] == [run_id]
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.CANCELED


def test_others_are_left_alone(instance: dg.DagsterInstance) -> None:
    gone = _gone()
    _run(instance, this_process())
    _run(instance, None)
    _run(instance, replace(gone, host="another-machine"))
    _run(instance, gone, status=dg.DagsterRunStatus.SUCCESS)
    _run(instance, gone, marked_for="the run before, whose tags this retry was given")
    assert find_dead_runs(instance) == []


def test_a_mark_is_this_process(instance: dg.DagsterInstance) -> None:
    run_id = _run(instance, None)
    mark_run(instance, run_id)
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert json.loads(run.tags[PROCESS_TAG]) == {"run": run_id, **this_process().as_json()}


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_killed_run_loses_its_slot_to_the_next_one(
    folder: Path, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    job, note = tmp_path / "job.py", tmp_path / "note"
    job.write_text(JOB)
    environment = os.environ | {"DAGSTER_HOME": str(folder), "NOTE": str(note), "SECONDS": "300"}
    with subprocess.Popen([sys.executable, str(job)], env=environment, stderr=subprocess.DEVNULL) as killed:
        assert within(120, note.exists)
        killed.kill()
    assert instance.event_log_storage.get_concurrency_info("gpu").active_slot_count == 1
    again = subprocess.run([sys.executable, str(job)], env=environment | {"SECONDS": "0"}, timeout=120, check=False)
    assert again.returncode == 0
    assert sorted(run.status.value for run in instance.get_runs()) == ["FAILURE", "SUCCESS"]
