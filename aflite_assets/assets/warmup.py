"""Assets of the group `warmup`: the rows used to train the encoders, and the trained encoders."""

from dataclasses import asdict
from typing import Any

from aflite_assets.analysis.inputs.learning_curve import curve_points
from aflite_assets.assets.common import AssetRun, stage_asset, table
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.reports.learning_curves import choice_text
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import read_learning_curves


@stage_asset(group="warmup", kinds={"parquet"})
def warmup_split(run: AssetRun) -> dict[str, Any]:
    """Train rows that are used to train the encoders and are not used afterwards.

    The rows are drawn after all sizes and models are checked. With `warmup.size: auto`, encoders are trained on samples
    of growing size, and one sample is chosen by the learning curves.
    """
    return {
        "dagster/row_count": run.summary["rows"],
        "share_of_train": run.summary["share"],
        "rows_per_class": table({"class": name, "rows": rows} for name, rows in run.summary["rows_per_class"].items()),
        **({"why_no_rows": run.summary["reason"]} if run.summary["reason"] else {}),
        **_curve_metadata(run.result),
    }


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


@stage_asset(group="warmup", kinds={"pytorch"})
def warmup_models(run: AssetRun) -> dict[str, Any]:
    """A trained encoder per representation. A representation that uses given features has no encoder."""
    return {"encoders": table({"representation": name, **facts} for name, facts in run.summary.items())}
