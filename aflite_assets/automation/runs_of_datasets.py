"""The last run of a dataset in a Dagster instance, and what it means for the next refresh."""

import dagster as dg

from aflite_assets.assets.dagster_internals import SerializableErrorInfo
from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.dead_runs import describe, is_dead
from aflite_assets.refresh.due import LastRun

RETRY_SECONDS = 120.0
"""Most seconds between a failure and the request of the announced retry; the daemon looks every five seconds."""

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
PARTITION_TAG, WILL_RETRY, RETRY = "dagster/partition", "dagster/will_retry", "dagster/auto_retry_run_id"
INPUTS_TAG = "aflite/inputs"
"""Tag of a run with a hash of the dataset's file, sources and code versions at the time of the request."""
INTERRUPTED_TAG = "aflite/interrupted"
"""Tag of a run whose command was ended with Ctrl-C."""
COMMAND = "aflite refresh"
"""Value of the tag `REFRESH_TAG` of runs that this command started."""
_READ = {dg.DagsterEventType.STEP_START, dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}


def started_elsewhere(run: dg.DagsterRun) -> bool:
    """Return whether Dagster started a process for the run; only such runs are retried, not runs of `dg launch`."""
    return run.remote_job_origin is not None


def under_way(instance: dg.DagsterInstance) -> dict[str, LastRun]:
    """Return an active run for each dataset with an active run."""
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
    active = [run for run in runs if PARTITION_TAG in run.tags and not is_dead(run)]
    return {run.tags[PARTITION_TAG]: LastRun("active", f"run {run.run_id}") for run in active}


def last_run(instance: dg.DagsterInstance, dataset: str, inputs: str | None, *, now: float) -> LastRun | None:
    """Return the newest run of a dataset, or None if it succeeded or had other inputs than `inputs`.

    `inputs`: hash of the present inputs, or None if it is unknown. A run without a hash gets this hash: a person
    started the run, and its inputs are first seen now. While a hash is unknown, the inputs count as unchanged.
    """
    record = next(iter(instance.get_run_records(dg.RunsFilter(tags={PARTITION_TAG: dataset}), limit=1)), None)
    if record is None or record.dagster_run.status == dg.DagsterRunStatus.SUCCESS:
        return None
    run = record.dagster_run
    if inputs is not None and INPUTS_TAG not in run.tags:
        instance.add_run_tags(run.run_id, {INPUTS_TAG: inputs})
    if is_dead(run):
        return LastRun("failed", describe(run))
    if run.status in UNDER_WAY:
        return LastRun("active", f"run {run.run_id}")
    if _awaits_retry(record, now):
        return LastRun("active", f"the retry of run {run.run_id}, which Dagster announced")
    if inputs is not None and run.tags.get(INPUTS_TAG, inputs) != inputs:
        return None
    if run.status == dg.DagsterRunStatus.FAILURE:
        return LastRun("failed", how_it_failed(instance, run))
    if INTERRUPTED_TAG in run.tags and run.tags.get(REFRESH_TAG) == COMMAND:
        return LastRun("interrupted", f"run {run.run_id[:8]} was interrupted")
    return LastRun("cancelled", f"run {run.run_id[:8]} was cancelled")


def how_it_failed(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return in words at which stage a run failed, and why."""
    entries = instance.all_logs(run.run_id, of_type=_READ)
    events = [entry.dagster_event for entry in entries if entry.dagster_event is not None]
    failed = f"run {run.run_id[:8]} failed"
    for event in events:
        if event.is_step_failure:
            return f"{failed}: {event.step_key}: {reason_of_step(event)}"
    if not events or any(event.is_step_start for event in events):
        return failed
    data = events[-1].event_specific_data
    why = None if data is None else reason_of(events[-1].job_failure_data.error)
    return f"{failed} before its first stage: {why or events[-1].message or ''}"


def reason_of_step(event: dg.DagsterEvent) -> str:
    """Return a failed step's description of its failure, or the first line of the original error."""
    data = event.step_failure_data
    if data.user_failure_data is not None and data.user_failure_data.description:
        return str(data.user_failure_data.description)
    return reason_of(data.error) or "the step ended without an error message"


def reason_of(error: SerializableErrorInfo | None) -> str:
    """Return the first line of the error that Dagster's errors wrap; "" if there is none."""
    while error is not None and error.cause is not None:
        error = error.cause
    return "" if error is None else error.message.strip().partition("\n")[0]


def _awaits_retry(record: dg.RunRecord, now: float) -> bool:
    """Return whether Dagster announced a retry for a failed run and has not requested it yet.

    Dagster's tag `will_retry` is no proof: no retry comes for a run of `dg launch`, or if the daemon fails.
    """
    run, tags = record.dagster_run, record.dagster_run.tags
    if tags.get(WILL_RETRY) != "true" or RETRY in tags or not started_elsewhere(run):
        return False
    ended = record.end_time or record.update_timestamp.timestamp()
    return now - ended < RETRY_SECONDS
