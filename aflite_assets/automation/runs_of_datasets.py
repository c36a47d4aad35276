"""The last run of a dataset in a Dagster instance, and what it means for the next refresh."""

import dagster as dg

from aflite_assets.assets.dagster_internals import SerializableErrorInfo
from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.dead_runs import describe, is_dead
from aflite_assets.refresh.due import LastRun

_LATEST = 20
"""Number of newest runs of a dataset among which active runs are looked for."""
RETRY_SECONDS = 120.0
"""Most seconds between a failure and the request of the announced retry; the daemon looks every five seconds."""
PARTITION_TAG, WILL_RETRY, RETRY = "dagster/partition", "dagster/will_retry", "dagster/auto_retry_run_id"
INPUTS_TAG = "aflite/inputs"
"""Tag of a run with a hash of the dataset's file, sources and code versions at the time of the request."""
INTERRUPTED_TAG = "aflite/interrupted"
"""Tag of a run whose command was ended with Ctrl-C."""
COMMAND = "aflite refresh"
"""Value of the tag `REFRESH_TAG` of runs that this command started."""
_READ = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}


def started_elsewhere(run: dg.DagsterRun) -> bool:
    """Return whether Dagster started a process for the run; only such runs are retried, not runs of `dg launch`."""
    return run.remote_job_origin is not None


def last_run(
    instance: dg.DagsterInstance, dataset: str, inputs: str | None, *, now: float, planned: float
) -> LastRun | None:
    """Return an active run of a dataset, or its newest run unless this run succeeded or had other inputs.

    `inputs`: hash of the present inputs, or None if it is unknown. A run without a hash gets this hash: a person
    started the run, and its inputs are first seen now. While a hash is unknown, the inputs count as unchanged.
    `planned`: when planning began; a run that ended later counts as active, because the plan may lack its results.
    """
    records = instance.get_run_records(dg.RunsFilter(tags={PARTITION_TAG: dataset}), limit=_LATEST)
    if not records:
        return None
    newest, run = records[0], records[0].dagster_run
    succeeded = run.status == dg.DagsterRunStatus.SUCCESS
    if inputs is not None and INPUTS_TAG not in run.tags and not succeeded:
        instance.add_run_tags(run.run_id, {INPUTS_TAG: inputs})
    for one in records:
        is_active = not one.dagster_run.is_finished and not is_dead(one.dagster_run)
        if is_active or (one.end_time or 0.0) > planned:
            return LastRun("active", f"run {one.dagster_run.run_id}")
    if succeeded:
        return None
    if is_dead(run):
        return LastRun("failed", describe(run))
    if _awaits_retry(newest, now):
        return LastRun("active", f"the retry of run {run.run_id}, which Dagster announced")
    if inputs is not None and run.tags.get(INPUTS_TAG, inputs) != inputs:
        return None
    if run.status == dg.DagsterRunStatus.FAILURE:
        return LastRun("failed", how_it_failed(instance, run))
    if INTERRUPTED_TAG in run.tags and run.tags.get(REFRESH_TAG) == COMMAND:
        return LastRun("interrupted", f"run {run.run_id[:8]} was interrupted")
    return LastRun("cancelled", f"run {run.run_id[:8]} was cancelled")


def how_it_failed(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return in words at which stage a run failed, and why, or why it ended without a failed stage."""
    entries = instance.all_logs(run.run_id, of_type=_READ)
    events = [entry.dagster_event for entry in entries if entry.dagster_event is not None]
    failed = f"run {run.run_id[:8]} failed"
    for event in events:
        if event.is_step_failure:
            return f"{failed}: {event.step_key}: {reason_of_step(event)}"
    why = "" if not events or events[-1].event_specific_data is None else reason_of(events[-1].job_failure_data.error)
    return f"{failed}: {why or (events[-1].message if events else None) or 'no reason was recorded'}"


def reason_of_step(event: dg.DagsterEvent) -> str:
    """Return a failed step's description of its failure, or the first line of the original error."""
    data = event.step_failure_data
    if data.user_failure_data is not None and data.user_failure_data.description:
        return str(data.user_failure_data.description)
    return reason_of(data.error) or "the step ended without an error message"


def reason_of(error: SerializableErrorInfo | None) -> str:
    """Return the first line of the error that Dagster's errors wrap, with the line after a colon; "" if none."""
    while error is not None and error.cause is not None:
        error = error.cause
    lines = [""] if error is None else error.message.strip().split("\n")
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def _awaits_retry(record: dg.RunRecord, now: float) -> bool:
    """Return whether Dagster announced a retry for a failed run and has not requested it yet.

    Dagster's tag `will_retry` is no proof: no retry comes for a run of `dg launch`, or if the daemon fails.
    """
    run, tags = record.dagster_run, record.dagster_run.tags
    if tags.get(WILL_RETRY) != "true" or RETRY in tags or not started_elsewhere(run):
        return False
    ended = record.end_time or record.update_timestamp.timestamp()
    return now - ended < RETRY_SECONDS
