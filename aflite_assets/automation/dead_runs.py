"""Runs whose process was killed: each run records its process, and one whose process is gone is reported as failed.

No daemon watches a run that `dg launch` started, and a run whose code location was restarted has lost the process that
would report its end. Both stay "started" for ever and keep their slot of the pool `gpu`.
"""

import json
from collections.abc import Callable

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from aflite_assets.processes import ProcessMark, this_process

PROCESS_TAG = "aflite/process"
_UNFINISHED = [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]


def mark_run(instance: dg.DagsterInstance, run_id: str) -> None:
    """Record, as a tag, that this process executes the run."""
    # Dagster copies tags to a retry; the run's id says whose process it is.
    mark = {"run": run_id, **this_process().as_json()}
    instance.add_run_tags(run_id, {PROCESS_TAG: json.dumps(mark)})


def find_dead_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return runs that are "started" or "canceling" and whose process on this machine is gone, the oldest first.

    Runs without a mark (started by other code, or ended before it was written) and runs of other machines are left out.
    """
    return [run for run in instance.get_runs(RunsFilter(statuses=_UNFINISHED), ascending=True) if _is_dead(run)]


def describe(run: dg.DagsterRun) -> str:
    """Return a dead run in words."""
    partition = run.tags.get("dagster/partition")
    of = f" of {partition}" if partition else ""
    return f"run {run.run_id} ({run.job_name}{of}): its process {json.loads(run.tags[PROCESS_TAG])['pid']} is gone"


def end_dead_runs(
    instance: dg.DagsterInstance, *, log: Callable[[str], None] = lambda line: None
) -> list[dg.DagsterRun]:
    """Report dead runs as failed, those being cancelled as cancelled, and free their slots in pools; returns them."""
    ended = []
    for dead in find_dead_runs(instance):
        run = instance.get_run_by_id(dead.run_id)
        if run is None or run.status not in _UNFINISHED:
            continue  # another process has ended it meanwhile
        is_canceling = run.status == DagsterRunStatus.CANCELING
        report = instance.report_run_canceled if is_canceling else instance.report_run_failed
        report(run, f"{describe(dead)}: killed, or its machine restarted.")
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(dead.run_id)
        log(f"{describe(dead)}; reported as ended, its slots are free")
        ended.append(dead)
    return ended


def _is_dead(run: dg.DagsterRun) -> bool:
    fields = json.loads(run.tags.get(PROCESS_TAG, "{}"))
    if fields.pop("run", None) != run.run_id:
        return False
    mark = ProcessMark(**fields)
    return mark.is_here() and not mark.is_alive()
