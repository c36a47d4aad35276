"""Which runs of a dataset are under way, and which was the latest, as Dagster's instance records them."""

import dagster as dg

RETRY_SECONDS = 300.0
"""Seconds after a failure within which Dagster may still start the retry that it announced."""

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
PARTITION_TAG = "dagster/partition"


def started_elsewhere(run: dg.DagsterRun) -> bool:
    """Whether a run is executed in a process that Dagster started for it, and not by `dg launch` itself.

    Only such a run can be retried.
    """
    return run.remote_job_origin is not None


def under_way(instance: dg.DagsterInstance) -> dict[str, str]:
    """Return the id of a run that is under way, for each dataset that has one."""
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))
    return {run.tags[PARTITION_TAG]: run.run_id for run in runs if PARTITION_TAG in run.tags}


def latest_run(
    instance: dg.DagsterInstance, dataset: str, *, statuses: list[dg.DagsterRunStatus] | None = None
) -> dg.RunRecord | None:
    """Return the newest run of a dataset that has one of these statuses, by default any; None if there is none."""
    ours = dg.RunsFilter(tags={PARTITION_TAG: dataset}, statuses=statuses)
    return next(iter(instance.get_run_records(ours, limit=1)), None)


def is_retried(record: dg.RunRecord, *, now: float) -> bool:
    """Whether Dagster has announced a retry of a run that failed, and has not started it yet."""
    run = record.dagster_run
    if run.tags.get("dagster/will_retry") != "true" or not started_elsewhere(run):
        return False  # for a run of `dg launch` Dagster announces a retry, but starts none
    return now - (record.end_time or now) < RETRY_SECONDS


__all__ = ["is_retried", "latest_run", "started_elsewhere", "under_way"]
