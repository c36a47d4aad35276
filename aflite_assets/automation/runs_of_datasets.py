"""Which runs of a dataset are under way, and which was the latest, as Dagster's instance records them."""

import dagster as dg

RETRY_SECONDS = 300.0
"""Seconds after a failure within which Dagster may still start the retry that it announced."""

MOST_CANCELLED = 1_000
"""Cancelled runs, the newest ones, that are looked at."""

_UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_PARTITION = "dagster/partition"


def started_elsewhere(run: dg.DagsterRun) -> bool:
    """Whether a run is executed in a process that Dagster started for it, and not by `dg launch` itself.

    Only such a run can be retried.
    """
    return run.remote_job_origin is not None


class RunsOfDatasets:
    """The runs under way at construction, and looked up again for each dataset that is asked about."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self._at_first = {
            run.tags[_PARTITION]: run.run_id
            for run in instance.get_runs(dg.RunsFilter(statuses=_UNDER_WAY))
            if _PARTITION in run.tags
        }
        self._latest: dict[str, str | None] = {}
        self._cancelled: dict[str, dg.DagsterRun] = {}
        cancelled = dg.RunsFilter(statuses=[dg.DagsterRunStatus.CANCELED])
        for run in instance.get_runs(cancelled, limit=MOST_CANCELLED):  # the newest first
            if _PARTITION in run.tags:
                self._cancelled.setdefault(run.tags[_PARTITION], run)

    def in_progress(self, dataset: str, *, now: float) -> str | None:
        """Return the run that is under way, about to start, or was under way at construction, in words; None if there
        is none.

        A run that ended since construction counts too: a plan made meanwhile may be outdated by it.
        """
        if dataset in self._at_first:
            return f"run {self._at_first[dataset]}"
        ours = {_PARTITION: dataset}
        latest = self._latest_record(dataset)
        self._latest[dataset] = None if latest is None else latest.dagster_run.run_id
        under_way = self._instance.get_runs(dg.RunsFilter(tags=ours, statuses=_UNDER_WAY), limit=1)
        if under_way:
            return f"run {under_way[0].run_id}"
        if latest is None or latest.dagster_run.tags.get("dagster/will_retry") != "true":
            return None
        if not started_elsewhere(latest.dagster_run):
            return None  # Dagster announces a retry for it, but starts none
        ended = latest.end_time or now
        return f"the retry of run {latest.dagster_run.run_id}" if now - ended < RETRY_SECONDS else None

    def cancelled(self, dataset: str) -> dg.DagsterRun | None:
        """Return the newest run of the dataset that had been cancelled at construction, or None."""
        return self._cancelled.get(dataset)

    def latest(self, dataset: str) -> dg.DagsterRun | None:
        """Return the dataset's latest run as it is now, or None if there was none."""
        record = self._latest_record(dataset)
        return None if record is None else record.dagster_run

    def _latest_record(self, dataset: str) -> dg.RunRecord | None:
        ours = dg.RunsFilter(tags={_PARTITION: dataset})
        return next(iter(self._instance.get_run_records(ours, limit=1)), None)

    def latest_id(self, dataset: str) -> str | None:
        """Return the id of the dataset's latest run at the last call of `in_progress`; None where there was none."""
        return self._latest.get(dataset)


__all__ = ["RunsOfDatasets", "started_elsewhere"]
