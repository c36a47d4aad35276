"""Assets of the group `warmup`: the rows used to train the encoders, and the trained encoders."""

from dataclasses import asdict
from typing import Any

import dagster as dg

from aflite_assets.analysis.inputs.learning_curve import curve_points
from aflite_assets.assets.common import found_checks, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from aflite_assets.reports.learning_curves import choice_text
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import read_learning_curves
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@asset_with_optional_checks(
    **stage_options(
        "warmup_split",
        group="warmup",
        kinds={"parquet"},
    )
)
def warmup_split(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Train rows that are used to train the encoders and are not used afterwards.

    The rows are drawn after all sizes and models are checked. With `warmup.size: auto`, encoders are trained on samples
    of growing size, and one sample is chosen by the learning curves.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    metadata = {
        "dagster/row_count": summary["rows"],
        "share_of_train": summary["share"],
        "rows_per_class": table({"class": name, "rows": rows} for name, rows in summary["rows_per_class"].items()),
        **({"why_no_rows": summary["reason"]} if summary["reason"] else {}),
        **_curve_metadata(obtained.result),
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata, found_checks(obtained, result_store))


def _curve_metadata(result: PublishedResult) -> dict[str, Any]:
    curves = read_learning_curves(result)
    if not curves:
        return {}
    points = curve_points(curves)
    return {
        "chosen": choice_text(points),
        **result_pictures(result),
        "learning_curve_points": table(map(asdict, points)),
    }


@asset_with_optional_checks(**stage_options("warmup_models", group="warmup", kinds={"pytorch"}))
def warmup_models(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """A trained encoder per representation. A representation that uses given features has no encoder."""
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    summary = obtained.result.summary
    metadata = {"encoders": table({"representation": name, **facts} for name, facts in summary.items())}
    return materialized(obtained, metadata, found_checks(obtained, result_store))
