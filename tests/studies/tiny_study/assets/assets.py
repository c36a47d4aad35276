"""The asset `counted_rows`."""

import dagster as dg

from aflite_assets.assets.common import found_checks, materialized, run_asset, stage_options
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@asset_with_optional_checks(**stage_options("counted_rows", group="evaluation", kinds={"parquet"}))
def counted_rows(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """The number of train rows."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    return materialized(obtained, dict(obtained.result.summary), found_checks(obtained, result_store))


PART = counted_rows
