"""Assets of the group `warmup`: the rows spent on the encoders, and the encoders."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import dagster as dg

from aflite_assets.analysis.inputs.learning_curve import curve_points
from aflite_assets.assets.common import check, materialized, run_asset, stage_options, table
from aflite_assets.assets.display.columns import column_metadata
from aflite_assets.assets.display.pictures import result_pictures
from aflite_assets.assets.steps.attempts import GPU_POOL
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks
from aflite_assets.diagnostics.data_checks.context import NOT_APPLICABLE
from aflite_assets.reports.learning_curves import choice_text
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import read_learning_curves
from aflite_assets.stages.warmup.findings import FITS_ASKED, EncoderFits, cut_texts, encoder_fits
from resources import ComputeDevice, ExperimentTracker, ResultStoreResource


@asset_with_optional_checks(
    **stage_options(
        "warmup_split",
        group="warmup",
        kinds={"parquet"},
        pool=GPU_POOL,  # warmup.size auto trains encoders
        checks=[
            ("texts_fit_encoders", "At most 1 % of the rows have more tokens than a text model reads.", False),
            (
                "learning_curves_flatten",
                "With warmup.size auto every encoder's learning curve rises, then flattens.",
                False,
            ),
        ],
    )
)
def warmup_split(
    context: dg.AssetExecutionContext,
    result_store: ResultStoreResource,
    experiment_tracker: ExperimentTracker,
    compute_device: ComputeDevice,
) -> dg.MaterializeResult:
    """Train rows spent on the encoders and never used again; first, all sizes and models are checked.

    With `warmup.size: auto`, encoders are trained on samples of growing size, and their learning curves choose one.
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
    checks = [_texts_fit(summary["text_lengths"]), _curves_flatten(summary.get("learning_curve"))]
    return materialized(obtained, metadata, checks)


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


def _curves_flatten(facts: Mapping[str, Any] | None) -> dg.AssetCheckResult:
    if facts is None:
        return check("learning_curves_flatten", True, warn=True, result=f"{NOT_APPLICABLE}: warmup.size is not auto")
    cautions = "\n".join(facts["cautions"]) or "none"
    return check("learning_curves_flatten", not facts["cautions"], warn=True, cautions=cautions)


def _texts_fit(lengths: Mapping[str, Mapping[str, Any]]) -> dg.AssetCheckResult:
    if not lengths:
        return check("texts_fit_encoders", True, warn=True, result=f"{NOT_APPLICABLE}: text models only")
    advice = cut_texts(lengths)
    shown = {name: _length_line(length) for name, length in lengths.items()}
    return check("texts_fit_encoders", not advice, warn=True, **shown, what_to_do="\n".join(advice) or "none")


def _length_line(facts: Mapping[str, Any]) -> str:
    if "not_measured" in facts:
        return f"not measured: {facts['not_measured']}"
    looked_at = (
        f"{facts['rows']}"
        if facts["rows"] == facts["of_rows"]
        else f"a sample of {facts['rows']} of {facts['of_rows']}"
    )
    return (
        f"{facts['over']} of {looked_at} rows ({facts['share']:.2%}) have more than {facts['max_length']} tokens and "
        f"are cut; 99 % have at most {facts['fits_99']}, the longest has {facts['longest']}"
    )


@asset_with_optional_checks(
    **stage_options(
        "warmup_models",
        group="warmup",
        kinds={"pytorch"},
        pool=GPU_POOL,
        checks=[("better_than_largest_class", FITS_ASKED, False)],
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
    fits = encoder_fits(summary, rows)
    metadata = {"encoders": table({"representation": name, **facts} for name, facts in summary.items())}
    return materialized(obtained, metadata, [_better_than_largest_class(fits)])


def _better_than_largest_class(fits: EncoderFits) -> dg.AssetCheckResult:
    name = "better_than_largest_class"
    if not fits.encoders:
        return check(name, True, warn=True, result=f"{NOT_APPLICABLE}: trained encoders only")
    shown = {
        name: f"{fit.accuracy:.1%} of {fit.rows} rows, 95 % interval {fit.interval.low:.1%} to {fit.interval.high:.1%}"
        for name, fit in fits.encoders.items()
    }
    not_surely_better = ", ".join(fits.no_better) or "none"
    return check(
        name,
        not fits.no_better,
        warn=True,
        largest_class=fits.largest_class,
        train_accuracy=shown,
        not_surely_better=not_surely_better,
    )
