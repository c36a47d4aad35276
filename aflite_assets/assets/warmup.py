"""Assets of the group `warmup`: the rows spent on the encoders, and the encoders."""

import dagster as dg

from aflite_assets.assets.common import check, materialized, run_asset, stage_options, table
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@dg.asset(**stage_options("warmup_split", group="warmup", kinds={"parquet"}))
def warmup_split(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Train rows spent on the encoders and never used again; first, all sizes and models are checked."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    metadata = {
        "dagster/row_count": summary["rows"],
        "share_of_train": summary["share"],
        "rows_per_class": table({"class": name, "rows": rows} for name, rows in summary["rows_per_class"].items()),
        **({"why_no_rows": summary["reason"]} if summary["reason"] else {}),
    }
    return materialized(obtained, metadata)


@dg.asset(
    **stage_options(
        "warmup_models",
        group="warmup",
        kinds={"pytorch"},
        pool="gpu",
        checks=[("better_than_chance", "Each encoder fits its warm-up rows better than the largest class.", False)],
    )
)
def warmup_models(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """A trained encoder per representation; a representation of given features has none, and says so."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    rows = result_store.open().current("warmup_split", context.partition_key).summary["rows_per_class"]
    chance = max(rows.values()) / max(sum(rows.values()), 1)
    accuracies = {name: one["train_accuracy"] for name, one in summary.items() if one["trained"]}
    metadata = {"encoders": table({"representation": name, **one} for name, one in summary.items())}
    passed = all(accuracy > chance for accuracy in accuracies.values())
    return materialized(
        obtained, metadata, [check("better_than_chance", passed, warn=True, chance=chance, train_accuracy=accuracies)]
    )
