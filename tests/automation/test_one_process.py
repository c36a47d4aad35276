"""The executor of all runs: pools are honoured between runs, waiting costs nothing and ends with the run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from sqlalchemy import Engine, event

from aflite_assets.assets.steps.card_slots import PatientSlots
from aflite_assets.automation import one_process
from aflite_assets.automation.one_process import one_process_executor


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """With its history in SQLite files, as of a folder that DAGSTER_HOME names, and one slot per pool."""
    (tmp_path / "dagster.yaml").write_text(
        "telemetry: {enabled: false}\nconcurrency: {pools: {granularity: op, default_limit: 1}}\n"
    )
    with dg.DagsterInstance.from_config(str(tmp_path)) as made:
        yield made


def job_of(work: object) -> dg.JobDefinition:
    @dg.op(pool="gpu")
    def on_the_card() -> None:
        work()  # type: ignore[operator]

    @dg.job(executor_def=one_process_executor)
    def one_step() -> None:
        on_the_card()

    return one_step


def execute(job: dg.JobDefinition, instance: dg.DagsterInstance) -> dg.DagsterRunStatus:
    run = instance.create_run_for_job(job)
    execute_run(InMemoryJob(job), run, instance)
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    return found.status


def test_the_definitions_use_it() -> None:
    import definitions  # what the processes below need not load

    assert definitions.defs.executor is one_process_executor
    repository = definitions.defs.get_repository_def()
    assert repository.get_job("benchmark").executor_def.name == "one_process"
    assert repository.get_job("__ASSET_JOB").executor_def.name == "one_process"


TWO_RUNS = """
import os, sys, time, traceback
from pathlib import Path
import dagster as dg
from tests.automation.test_one_process import execute, job_of

def run(name):
    def work():
        began = time.time()
        time.sleep(1.5)
        Path(sys.argv[1], name).write_text(f"{began} {time.time()}")

    with dg.DagsterInstance.from_config(sys.argv[1]) as instance:
        assert execute(job_of(work), instance) == dg.DagsterRunStatus.SUCCESS

children = []
for name in ("one", "two"):
    child = os.fork()
    if not child:
        try:
            run(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
sys.exit(sum(bool(os.waitpid(child, 0)[1]) for child in children))
"""
"""Two processes, forked once Dagster is imported."""


def test_two_runs_share_the_slots_of_a_pool(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO_RUNS, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    spans = sorted([float(time) for time in (tmp_path / name).read_text().split()] for name in ("one", "two"))
    assert spans[0][1] <= spans[1][0]
    assert instance.event_log_storage.get_concurrency_info("gpu").active_slot_count == 0


def test_two_claims_at_once_do_not_take_the_same_slot(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    def claim(_: int) -> bool:
        with dg.DagsterInstance.from_config(str(tmp_path)) as own:
            return PatientSlots(own, own.create_run_for_job(job_of(None))).claim("gpu", "step")

    def slow_to_take(_: Engine, cursor: object, statement: str, *rest: object) -> None:
        if statement.startswith(("INSERT INTO pending_steps", "UPDATE concurrency_slots SET run_id")):
            time.sleep(0.5)  # the slot was read as free, and is not taken yet

    event.listen(Engine, "before_cursor_execute", slow_to_take)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(claim, range(2))) == [False, True]
    finally:
        event.remove(Engine, "before_cursor_execute", slow_to_take)
    assert instance.event_log_storage.get_concurrency_info("gpu").active_slot_count == 1


def test_waiting_for_a_slot_keeps_no_core_busy_and_is_over_when_it_is_free(instance: dg.DagsterInstance) -> None:
    taken = instance.event_log_storage
    taken.initialize_concurrency_limit_to_default("gpu")
    assert taken.claim_concurrency_slot("gpu", "another run", "its step").is_claimed
    began: list[float] = []
    release = Timer(4, lambda: taken.free_concurrency_slots_for_run("another run"))
    release.start()
    start, cpu = time.monotonic(), time.process_time()
    assert execute(job_of(lambda: began.append(time.monotonic())), instance) == dg.DagsterRunStatus.SUCCESS
    assert 4 <= began[0] - start < 12
    assert time.process_time() - cpu < 2.5
    release.join()


def test_a_run_that_waits_can_be_cancelled(instance: dg.DagsterInstance) -> None:
    taken = instance.event_log_storage
    taken.initialize_concurrency_limit_to_default("gpu")
    assert taken.claim_concurrency_slot("gpu", "another run", "its step").is_claimed
    interrupt = Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT))
    interrupt.start()
    start = time.monotonic()
    assert execute(job_of(lambda: pytest.fail("it never had the slot")), instance) == dg.DagsterRunStatus.CANCELED
    assert time.monotonic() - start < 15
    assert instance.event_log_storage.get_concurrency_info("gpu").pending_step_count == 0
    interrupt.join()


def interrupted(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool) -> dg.DagsterRun:
    """A run whose process is interrupted in the middle of a step, as by Ctrl-C or by the end of its code location."""
    monkeypatch.setattr(one_process, "started_elsewhere", lambda run: elsewhere)
    interrupt = Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))

    def interrupted_step() -> None:
        interrupt.start()
        time.sleep(30)

    execute(job_of(interrupted_step), instance)
    interrupt.join()
    (run,) = instance.get_runs()
    return run


def test_ctrl_c_of_a_launch_cancels_its_run(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    run = interrupted(instance, monkeypatch, elsewhere=False)
    assert run.status == dg.DagsterRunStatus.CANCELED
    assert "dagster/will_retry" not in run.tags
    assert instance.event_log_storage.get_concurrency_info("gpu").active_slot_count == 0


def test_the_retry_of_a_run_that_was_being_cancelled_does_not_start(instance: dg.DagsterInstance) -> None:
    job = job_of(lambda: pytest.fail("a person cancelled it"))
    lost = instance.create_run_for_job(job)
    instance.report_run_canceling(lost)
    instance.report_run_failed(lost)  # as a code server does if the process of a run is lost
    tags = {"dagster/retry_number": "1"}
    again = instance.create_run_for_job(job, tags=tags, parent_run_id=lost.run_id, root_run_id=lost.run_id)
    execute_run(InMemoryJob(job), again, instance)
    run = instance.get_run_by_id(again.run_id)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.CANCELED
    by_hand = instance.create_run_for_job(job_of(lambda: None), parent_run_id=lost.run_id, root_run_id=lost.run_id)
    execute_run(InMemoryJob(job_of(lambda: None)), by_hand, instance)
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.SUCCESS


def test_the_end_of_a_code_location_fails_its_runs(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted(instance, monkeypatch, elsewhere=True)
    assert run.status == dg.DagsterRunStatus.FAILURE
    assert run.tags["dagster/failure_reason"] == "UNEXPECTED_TERMINATION"
