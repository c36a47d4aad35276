"""The jobs `prune` and `forget_old_runs`, which delete unneeded results, and old runs of Dagster and MLflow."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
from pydantic import Field

from aflite_assets.assets.partitions import DATASETS
from aflite_assets.automation.runs_of_datasets import PARTITION_TAG
from aflite_assets.paths import old_kernels
from aflite_assets.results.prune import KEEP, prune
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.tracking import MlflowTracker
from resources import ExperimentTracker, ResultStoreResource

_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


class PruneConfig(dg.Config):
    """Settings of the job `prune`; results that current results need are always kept."""

    keep: int = Field(default=KEEP, ge=0, description="newest refreshes of each dataset to keep")
    older_than_days: float | None = Field(default=None, ge=0, description="remove only older results")
    dry_run: bool = Field(default=False, description="only list what would be removed")


class Retention(dg.Config):
    """Settings of the job `forget_old_runs`."""

    older_than_days: float = Field(default=90, ge=1, description="keep runs that started later")


@dg.op(description="Removes unneeded results, and reports their number and size.")
def remove_unneeded(context: dg.OpExecutionContext, config: PruneConfig, result_store: ResultStoreResource) -> None:
    """Remove results as `aflite prune` does, and report numbers and sizes as output metadata."""
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
    """Delete old runs from Dagster's history, and old MLflow runs of deleted results."""
    before = datetime.now(UTC) - timedelta(days=config.older_than_days)
    deleted = forget_dagster_runs(context.instance, before=before)
    context.log.info(f"{deleted} runs were deleted from Dagster's history, started before {before:%Y-%m-%d}")
    tracker, store = experiment_tracker.open(), result_store.open()
    if isinstance(tracker, MlflowTracker):
        from aflite_assets.tracking.mlflow_tracker import delete_runs_without_result

        tracked = delete_runs_without_result(tracker, store.has, before=before)
        context.log.info(f"{tracked} runs without a result were deleted from MLflow; `mlflow gc` frees their room")


def forget_dagster_runs(instance: dg.DagsterInstance, *, before: datetime) -> int:
    """Delete the ended runs that started before a time, except runs with the latest materialisation of a stage.

    Without the latest materialisation, the UI would show the stage as never made. The last run of a dataset stays too.
    """
    old = dg.RunsFilter(statuses=_ENDED, created_before=before)
    unneeded = set(instance.get_run_ids(old)) - set(_latest_runs(instance))
    for run_id in unneeded:
        instance.delete_run(run_id)
    return len(unneeded)


def _latest_runs(instance: dg.DagsterInstance) -> Iterator[str]:
    for name in instance.get_dynamic_partitions(str(DATASETS.name)):
        # A refresh must still see that the last run was cancelled.
        yield from instance.get_run_ids(dg.RunsFilter(tags={PARTITION_TAG: name}), limit=1)
    wanted = [dg.AssetRecordsFilter(dg.AssetKey("dataset_registry"))]
    for stage in map(dg.AssetKey, STAGES):
        wanted += [dg.AssetRecordsFilter(stage, [name]) for name in instance.get_materialized_partitions(stage)]
    for each in wanted:
        yield from (record.run_id for record in instance.fetch_materializations(each, limit=1).records)


@dg.job(name="prune", description="Removes unneeded results, as `aflite prune` does.")
def prune_job() -> None:
    """Run the op `remove_unneeded`."""
    remove_unneeded()


@dg.job(description="Deletes runs over 90 days old, here and in MLflow, except the latest materialisations.")
def forget_old_runs() -> None:
    """Run the op `forget_runs`."""
    forget_runs()


forget_old_runs_monthly = dg.ScheduleDefinition(
    job=forget_old_runs, name="forget_old_runs_monthly", cron_schedule="0 4 1 * *", execution_timezone="UTC"
)
