"""Runs that Dagster believes to be going on though their process is gone, as a killed command line leaves them."""

from dataclasses import dataclass

import dagster as dg
import psutil
from dagster._core.events import DagsterEventType

_GOING_ON = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_SLACK_SECONDS = 5.0
"""A process that began so much later than the run it is named in is another one under the same number."""


@dataclass(frozen=True)
class DeadRun:
    """A run without a process: its id, dataset, when it began and the ids of the processes it named."""

    run: dg.DagsterRun
    partition: str
    pids: tuple[int, ...]


def find_dead_runs(instance: dg.DagsterInstance) -> list[DeadRun]:
    """Runs that are going on by the instance's word, of which no process is alive on this machine.

    For an instance that this machine alone uses: of another machine's processes nothing is known here. A run that has
    not said which process it is cannot be told dead.
    """
    found = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=_GOING_ON)):
        run = record.dagster_run
        began = record.start_time or record.create_timestamp.timestamp()
        pids = _pids(instance, run.run_id)
        if pids and not any(_lives(pid, began) for pid in pids):
            found.append(DeadRun(run, run.tags.get("dagster/partition", "no partition"), tuple(sorted(pids))))
    return found


def end_dead_run(instance: dg.DagsterInstance, dead: DeadRun) -> None:
    """Mark the run as failed and free the slots of pools that its steps held."""
    instance.report_run_failed(
        dead.run, f"Its process {', '.join(map(str, dead.pids))} is gone; ended by `aflite doctor --fix`."
    )
    instance.event_log_storage.free_concurrency_slots_for_run(dead.run.run_id)


def _pids(instance: dg.DagsterInstance, run_id: str) -> set[int]:
    """Of the process that runs the steps, or is them: steps' own processes may outlive it without ending the run."""
    pids = set()
    for entry in instance.all_logs(run_id, of_type=DagsterEventType.ENGINE_EVENT):
        event = entry.dagster_event
        if event is not None and event.step_key is None and "pid" in event.engine_event_data.metadata:
            value = event.engine_event_data.metadata["pid"].value
            pids.add(int(str(value)))
    return pids


def _lives(pid: int, began: float) -> bool:
    try:
        process = psutil.Process(pid)
        return process.create_time() <= began + _SLACK_SECONDS and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
