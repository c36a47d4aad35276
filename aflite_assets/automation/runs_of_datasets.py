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
_EVENTS = ("STEP_START", "STEP_SUCCESS", "STEP_FAILURE", "ENGINE_EVENT", "RUN_FAILURE")
_READ = {dg.DagsterEventType[name] for name in _EVENTS}
_ENDED_OUTSIDE = "marked as failed from outside"
"""Part of Dagster's message if a run's process ended without a word; the engine event before it has the reason."""


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
            queued = "the queued " if one.dagster_run.status == dg.DagsterRunStatus.QUEUED else ""
            return LastRun("active", f"{queued}run {one.dagster_run.run_id}")
    if succeeded:
        return None
    if is_dead(run):
        return LastRun("failed", describe(run))
    ended = newest.end_time or newest.update_timestamp.timestamp()
    is_announced = _retry_is_announced(run)
    if is_announced and now - ended < RETRY_SECONDS:
        return LastRun("active", f"the retry of run {run.run_id}, which Dagster announced")
    if inputs is not None and run.tags.get(INPUTS_TAG, inputs) != inputs:
        return None
    if run.status == dg.DagsterRunStatus.FAILURE:
        return LastRun("failed", how_it_failed(instance, run), is_announced=is_announced)
    if INTERRUPTED_TAG in run.tags and run.tags.get(REFRESH_TAG) == COMMAND:
        return LastRun("interrupted", f"run {run.run_id[:8]} was interrupted")
    return LastRun("cancelled", f"run {run.run_id[:8]} was cancelled")


def how_it_failed(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return in words why a run failed, and at which stage, or which stages were running when its process ended."""
    running: dict[str, None] = {}
    why, cause = "no reason was recorded", ""
    for entry in instance.all_logs(run.run_id, of_type=_READ):
        event = entry.get_dagster_event()
        step, message = str(event.step_key), event.message or ""
        if event.is_step_start:
            running[step] = None
        elif event.is_step_success:
            running.pop(step, None)
        elif event.is_engine_event:
            cause = ". ".join(message.replace(f" for {run.run_id}", "").rstrip(".").split(". ")[:2])
        elif event.is_step_failure:
            data, running = event.step_failure_data, {step: None}
            described = data.user_failure_data and data.user_failure_data.description
            why = described or _reason_of(data.error) or "the step ended without an error message"
            break
        else:
            error = None if event.event_specific_data is None else event.job_failure_data.error
            why = _reason_of(error) or (cause if _ENDED_OUTSIDE in message else "") or message or why
            break
    return ": ".join([f"run {run.run_id[:8]} failed", *filter(None, [", ".join(running)]), why])


def _reason_of(error: SerializableErrorInfo | None) -> str:
    """Return the first line of the error that Dagster's errors wrap, with the line after a colon; "" if none."""
    while error is not None and error.cause is not None:
        error = error.cause
    if error is not None and error.cls_name == dg.DagsterExecutionInterruptedError.__name__:
        return "its process was interrupted, for example because Dagster was stopped"
    lines = [""] if error is None else error.message.strip().removeprefix("dagster._core.errors.").split("\n")
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def _retry_is_announced(run: dg.DagsterRun) -> bool:
    """Return whether Dagster announced a retry for a failed run and has not requested it yet.

    Dagster's tag `will_retry` is no proof: no retry comes for a run of `dg launch`, or while no daemon runs.
    """
    return run.tags.get(WILL_RETRY) == "true" and RETRY not in run.tags and started_elsewhere(run)
