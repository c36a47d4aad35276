"""Active and latest runs of a dataset in a Dagster instance."""

from collections.abc import Iterable

import dagster as dg

from aflite_assets.assets.dagster_internals import SerializableErrorInfo
from aflite_assets.refresh.status import FailedRuns

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
_STEP_START, _RUN_FAILURE = dg.DagsterEventType.STEP_START, dg.DagsterEventType.RUN_FAILURE


def started_elsewhere(run: dg.DagsterRun) -> bool:
    """Return whether Dagster started a process for the run; only such runs are retried, not runs of `dg launch`."""
    return run.remote_job_origin is not None


def under_way(instance: dg.DagsterInstance) -> dict[str, str]:
    """Return the id of an active run for each dataset with an active run."""
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
    return {run.tags[PARTITION_TAG]: run.run_id for run in runs if PARTITION_TAG in run.tags}


def latest_run(
    instance: dg.DagsterInstance, dataset: str, *, statuses: list[dg.DagsterRunStatus] | None = None
) -> dg.RunRecord | None:
    """Return the newest run of a dataset, or None. `statuses`: statuses to consider, by default all."""
    ours = dg.RunsFilter(tags={PARTITION_TAG: dataset}, statuses=statuses)
    return next(iter(instance.get_run_records(ours, limit=1)), None)


def failed_runs(datasets: Iterable[str], *, now: float) -> FailedRuns:
    """Return which newest runs of these datasets in `DAGSTER_HOME` failed at their start, or wait for a retry."""
    found = FailedRuns()
    with dg.DagsterInstance.get() as instance:
        for name in datasets:
            record = latest_run(instance, name)
            if record is None or record.dagster_run.status != dg.DagsterRunStatus.FAILURE:
                continue
            if (retry := awaited_retry(record, now=now)) is not None:
                found.retries[name] = retry
            elif (failure := start_failure(instance, record.dagster_run)) is not None:
                found.at_start[name] = failure
    return found


def start_failure(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str | None:
    """Return in words why a failed run failed before its first step, or None if a step was started."""
    entries = instance.all_logs(run.run_id, of_type={_STEP_START, _RUN_FAILURE})
    if not entries or any(entry.dagster_event_type == _STEP_START for entry in entries):
        return None
    event = entries[-1].get_dagster_event()
    error = None if event.event_specific_data is None else event.job_failure_data.error
    return f"run {run.run_id[:8]} failed before its first stage: {reason_of(error) or event.message or ''}"


def reason_of(error: SerializableErrorInfo | None) -> str:
    """Return the first line of the error that Dagster's errors wrap; "" if there is none."""
    while error is not None and error.cause is not None:
        error = error.cause
    return "" if error is None else error.message.strip().partition("\n")[0]


def awaited_retry(record: dg.RunRecord, *, now: float) -> str | None:
    """Return in words the retry that Dagster announced for a failed run and has not requested yet, or None.

    Dagster's tag `will_retry` is no proof: no retry comes for a run of `dg launch`, or if the daemon fails.
    """
    run, tags = record.dagster_run, record.dagster_run.tags
    if tags.get(WILL_RETRY) != "true" or RETRY in tags or not started_elsewhere(run):
        return None
    ended = record.end_time or record.update_timestamp.timestamp()
    return f"the retry of run {run.run_id}" if now - ended < RETRY_SECONDS else None
