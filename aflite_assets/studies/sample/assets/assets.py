"""The asset `train_sample`."""

from dataclasses import asdict

import dagster as dg

from aflite_assets.assets.common import found_checks, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from aflite_assets.studies.sample.analysis.curve import sample_points
from aflite_assets.studies.sample.reports.sentences import sample_text
from aflite_assets.studies.sample.stages.train_sample import read_sample_curve
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@asset_with_optional_checks(**stage_options("train_sample", group="data", kinds={"parquet"}))
def train_sample(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """A random sample of the train rows that is just large enough to learn the task; by default, all train rows.

    If the dataset's YAML file sets `sample`, a model is trained on samples of growing size. The model's accuracy on
    held-back train rows determines the size.
    """
    obtained = run_asset(context, result_store, experiment_tracker, compute_device)
    curve, summary = read_sample_curve(obtained.result), obtained.result.summary
    if curve is None:
        return materialized(obtained, {"chosen": "all train rows"})
    points = sample_points(curve)
    metadata = {
        "dagster/row_count": summary["rows"] + summary["held_back_rows"],
        "sample_rows": summary["rows"],
        "held_back_rows": summary["held_back_rows"],
        "train_rows": summary["train_rows"],
        "rows_per_class": table({"class": name, "rows": rows} for name, rows in summary["rows_per_class"].items()),
        "chosen": sample_text(points, curve.stop),
        **result_pictures(obtained.result),
        "sample_curve_points": table(map(asdict, points)),
        **column_metadata(obtained.result, result_store.open()),
    }
    return materialized(obtained, metadata, found_checks(obtained, result_store))


PART = train_sample
