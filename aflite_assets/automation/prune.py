"""The job `prune`: `aflite prune` for those who schedule it or start it in the UI."""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from aflite_assets.paths import old_kernels
from aflite_assets.results.prune import KEEP, prune
from resources import ResultStoreResource


class PruneConfig(dg.Config):
    """Record of what is kept in addition to everything that current results need."""

    keep: int = Field(default=KEEP, ge=0, description="refreshes of every dataset to keep")
    older_than_days: float | None = Field(default=None, ge=0, description="remove only what is older")
    dry_run: bool = Field(default=False, description="say what would go, and remove nothing")


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


@dg.job(name="prune", description="Makes room: removes results that nothing needs, as `aflite prune` does.")
def prune_job() -> None:
    """One op."""
    remove_unneeded()
