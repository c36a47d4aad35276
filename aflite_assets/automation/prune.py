"""The job `prune`, which makes room: `aflite prune`, and old runs of Dagster and MLflow that nothing current needs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
from pydantic import Field

from aflite_assets.paths import old_kernels
from aflite_assets.results.prune import KEEP, prune
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.tracking import MlflowTracker
from resources import ExperimentTracker, ResultStoreResource

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_AT_ONCE = 500


class PruneConfig(dg.Config):
    """Record of what is kept in addition to everything that current results need."""

    keep: int = Field(default=KEEP, ge=0, description="refreshes of every dataset to keep")
    older_than_days: float | None = Field(default=None, ge=0, description="remove only what is older")
    dry_run: bool = Field(default=False, description="say what would go, and remove nothing")


class Retention(dg.Config):
    """How old a run must be to be deleted."""

    older_than_days: float = Field(default=90, ge=1, description="runs that were started later stay")


@dg.op(description="Removes results that nothing needs any more; says what and how many bytes.")
def remove_unneeded(context: dg.OpExecutionContext, config: PruneConfig, result_store: ResultStoreResource) -> None:
    """As `aflite prune` does; the numbers are the run's output metadata."""
    age = None if config.older_than_days is None else timedelta(days=config.older_than_days)
    pruned = prune(result_store.open(), keep=config.keep, older_than=age, dry_run=config.dry_run, caches=old_kernels())
    for line in pruned.in_use:
        context.log.info(f"in use, left alone: {line}")
    metadata: dict[str, dg.MetadataValue] = {}
    for kind, (count, size) in pruned.by_kind().items():
        context.log.info(f"{'would remove' if config.dry_run else 'removed'} {count} {kind}, {size} bytes")
        name = kind.replace(" ", "_")
        metadata |= {name: dg.MetadataValue.int(count), f"{name}_bytes": dg.MetadataValue.int(size)}
    context.add_output_metadata(metadata)


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
    wanted = [dg.AssetRecordsFilter(dg.AssetKey("dataset_registry"))]
    for stage in map(dg.AssetKey, STAGES):
        made = instance.get_materialized_partitions(stage)
        wanted += [dg.AssetRecordsFilter(stage, asset_partitions=[dataset]) for dataset in made]
    for each in wanted:
        yield from (record.run_id for record in instance.fetch_materializations(each, limit=1).records)


@dg.job(name="prune", description="Makes room: removes results that nothing needs, as `aflite prune` does.")
def prune_job() -> None:
    """One op."""
    remove_unneeded()


@dg.job(description="Deletes runs over 90 days old that hold no dataset's latest materialisation, here and in MLflow.")
def forget_old_runs() -> None:
    """One op."""
    forget_runs()


forget_old_runs_monthly = dg.ScheduleDefinition(
    job=forget_old_runs, name="forget_old_runs_monthly", cron_schedule="0 4 1 * *", execution_timezone="UTC"
)
