"""Dead runs: each run records its process, and a run is reported as failed if its process no longer exists.

No daemon watches a run of `dg launch`. If a code location restarts, no process reports the end of its runs. Without
this module, such runs would stay "started" and keep their slot of the pool `gpu`.
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
    # Dagster copies tags to a retry, so the mark contains the run's id.
    mark = {"run": run_id, **this_process().as_json()}
    instance.add_run_tags(run_id, {PROCESS_TAG: json.dumps(mark)})


def find_dead_runs(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return the "started" and "canceling" runs of this machine without a process, the oldest first.

    Runs without the tag of `mark_run` are left out: another program started them, or they ended too early.
    """
    return [run for run in instance.get_runs(RunsFilter(statuses=_UNFINISHED), ascending=True) if is_dead(run)]


def describe(run: dg.DagsterRun) -> str:
    """Return a dead run in words."""
    of = f" of {run.tags['dagster/partition']}" if "dagster/partition" in run.tags else ""
    return f"run {run.run_id} ({run.job_name}{of}): its process {json.loads(run.tags[PROCESS_TAG])['pid']} is gone"


def end_dead_runs(
    instance: dg.DagsterInstance, *, log: Callable[[str], None] = lambda line: None
) -> list[dg.DagsterRun]:
    """Report dead runs as failed or cancelled, free their slots in pools, and return these runs."""
    ended = []
    for dead in find_dead_runs(instance):
        run = instance.get_run_by_id(dead.run_id)
        if run is None or run.status not in _UNFINISHED:
            continue  # another process reported its end meanwhile
        is_canceling = run.status == DagsterRunStatus.CANCELING
        report = instance.report_run_canceled if is_canceling else instance.report_run_failed
        report(run, f"{describe(dead)}: killed, or its machine restarted.")
        if instance.event_log_storage.supports_global_concurrency_limits:
            instance.event_log_storage.free_concurrency_slots_for_run(dead.run_id)
        log(f"{describe(dead)}; reported as ended, its slots are free")
        ended.append(dead)
    return ended


def is_dead(run: dg.DagsterRun) -> bool:
    """Return whether a run that has not ended has no process on this machine any more."""
    fields = json.loads(run.tags.get(PROCESS_TAG, "{}"))
    if fields.pop("run", None) != run.run_id:
        return False
    mark = ProcessMark(**fields)
    return run.status in _UNFINISHED and mark.is_here() and not mark.is_alive()
