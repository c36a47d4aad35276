"""The job `forget_old_runs`: old event logs in Dagster and old runs in MLflow that nothing current needs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
from pydantic import Field

from aflite_assets.stages.pipeline import STAGES
from aflite_assets.tracking import MlflowTracker
from resources import ExperimentTracker, ResultStoreResource

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_AT_ONCE = 500


class Retention(dg.Config):
    """How old a run must be to be deleted."""

    older_than_days: float = Field(default=90, ge=1, description="runs that were started later stay")


@dg.op
def forget_runs(
    context: dg.OpExecutionContext,
    config: Retention,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
) -> None:
    """Delete old runs from Dagster's history, and MLflow's runs whose result was pruned."""
    before = datetime.now(UTC) - timedelta(days=config.older_than_days)
    deleted = forget_dagster_runs(context.instance, before=before)
    context.log.info(f"{deleted} runs were deleted from Dagster's history, started before {before:%Y-%m-%d}")
    tracker, store = experiment_tracker.open(), result_store.open()
    if isinstance(tracker, MlflowTracker):
        from aflite_assets.tracking.mlflow_tracker import delete_runs_without_result

        tracked = delete_runs_without_result(tracker, store.has, before=before)
        context.log.info(f"{tracked} runs without a result were deleted from MLflow; `mlflow gc` frees their room")


def forget_dagster_runs(instance: dg.DagsterInstance, *, before: datetime) -> int:
    """Delete runs that ended and were started before a time, but none that made a dataset's latest materialisation.

    Such a run is what the UI shows of the dataset: without it the stage would look as if it was never made.
    """
    needed = set(_latest_runs(instance))
    unneeded = [run_id for run_id in _ended_runs(instance, before) if run_id not in needed]
    for run_id in unneeded:
        instance.delete_run(run_id)
    return len(unneeded)


def _ended_runs(instance: dg.DagsterInstance, before: datetime) -> Iterator[str]:
    old, cursor = dg.RunsFilter(statuses=_ENDED, created_before=before), None
    while runs := instance.get_runs(old, cursor=cursor, limit=_AT_ONCE):
        yield from (run.run_id for run in runs)
        cursor = runs[-1].run_id


def _latest_runs(instance: dg.DagsterInstance) -> Iterator[str]:
    wanted = [
        dg.AssetRecordsFilter(dg.AssetKey(stage), asset_partitions=[dataset])
        for stage in STAGES
        for dataset in instance.get_materialized_partitions(dg.AssetKey(stage))
    ]
    for each in [*wanted, dg.AssetRecordsFilter(dg.AssetKey("dataset_registry"))]:
        for record in instance.fetch_materializations(each, limit=1).records:
            yield record.run_id


@dg.job(description="Deletes runs over 90 days old that hold no dataset's latest materialisation, here and in MLflow.")
def forget_old_runs() -> None:
    """One step: see `forget_runs`."""
    forget_runs()


forget_old_runs_monthly = dg.ScheduleDefinition(
    name="forget_old_runs_monthly",
    job=forget_old_runs,
    cron_schedule="0 4 1 * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
)
