"""The asset `forgettable_sets`."""

import dagster as dg

from aflite_assets.assets.common import found_checks, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@asset_with_optional_checks(**stage_options("forgettable_sets", group="evaluation", kinds={"pytorch", "parquet"}))
def forgettable_sets(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Train rows that weak models forget or never learn, and other train rows for comparison, if `forgettables` is set.

    Evaluators of kind `fine_tuned` can be trained on the forgettable rows after `full`, if one of their stages sets
    `forgettables`.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    if summary.get("nothing_asked"):
        return materialized(obtained, {"why_empty": "the dataset's YAML file does not set `forgettables`"})
    metadata = {
        "weak_models": table(
            {"weak_model": name, **{field: value for field, value in facts.items() if not isinstance(value, dict)}}
            for name, facts in summary["models"].items()
        ),
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata, found_checks(obtained, result_store))


PART = forgettable_sets
