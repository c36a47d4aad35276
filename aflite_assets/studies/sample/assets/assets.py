"""The asset `train_sample`."""

from dataclasses import asdict
from typing import Any

from aflite_assets.assets.common import AssetRun, stage_asset, table
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.studies.sample.analysis.curve import sample_points
from aflite_assets.studies.sample.reports.sentences import sample_text
from aflite_assets.studies.sample.stages.train_sample import read_sample_curve


@stage_asset(group="data", kinds={"parquet"})
def train_sample(run: AssetRun) -> dict[str, Any]:
    """A random sample of the train rows that is just large enough to learn the task; by default, all train rows.

    If the dataset's YAML file sets `sample`, a model is trained on samples of growing size. The model's accuracy on
    held-back train rows determines the size.
    """
    curve, summary = read_sample_curve(run.result), run.summary
    if curve is None:
        return {"chosen": "all train rows"}
    points = sample_points(curve)
    return {
        "dagster/row_count": summary["rows"] + summary["held_back_rows"],
        "sample_rows": summary["rows"],
        "held_back_rows": summary["held_back_rows"],
        "train_rows": summary["train_rows"],
        "rows_per_class": table({"class": name, "rows": rows} for name, rows in summary["rows_per_class"].items()),
        "chosen": sample_text(points, curve.stop),
        **result_pictures(run.result),
        "sample_curve_points": table(map(asdict, points)),
    }


PART = train_sample
