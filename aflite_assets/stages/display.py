"""Pictures and checks of a result that take time to compute; they are computed once and stored with the result.

`reports` draws the pictures, and each stage defines its checks. The figures of the report are not listed here; they are
files in the report's result.
"""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.results.sidecar_files import kept_beside, sources_version
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.checks import stage_checks
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared import report_inputs
from aflite_assets.stages.shared.published import read_learning_curves
from aflite_assets.stages.stage import study_stages

if TYPE_CHECKING:
    from aflite_assets.reports.figures.drawing import Picture

_PACKAGE = Path(__file__).parents[1]
_HERE = (Path(__file__), Path(report_inputs.__file__))


def small_pictures(result: PublishedResult) -> "dict[str, Picture]":
    """Return the small pictures of a result by name, as PNGs under 50 kB.

    Assets without pictures return an empty dict. Studies draw the pictures of their own results.
    `warmup_split` has "learning_curve" for `warmup.size: auto`. `filtered_sets` has "curve_<name>" and "scores_<name>"
    per representation, and `bias_evidence` has "similarity_<name>_<class number>".
    """
    if result.asset not in _DRAWN:
        return {}
    from aflite_assets.reports.figures.drawing import Picture

    kept = kept_beside(
        result,
        "pictures",
        version=sources_version((*_HERE, _PACKAGE / "analysis", _PACKAGE / "reports", _PACKAGE / "studies")),
        make=lambda: {
            name: {"png": base64.b64encode(picture.png).decode(), "alt": picture.alt}
            for name, picture in _DRAWN[result.asset](result).items()
        },
    )
    return {name: Picture(base64.b64decode(picture["png"]), picture["alt"]) for name, picture in kept.items()}


def result_checks(result: PublishedResult, spec: DatasetSpec, store: ResultStore) -> tuple[CheckOutcome, ...]:
    """Return the outcomes of the checks of a dataset's result, which must be a current result in `store`.

    Raises:
        StoreError: a result that the checks read is missing.
        DataError: the result does not match the dataset's results of other stages.
    """
    stage = STAGES[result.asset]
    results = {name: store.current(name, spec.name) for name in stage.checks.inputs}
    return stage_checks(stage, result, spec, results)


def prepare_shown(result: PublishedResult, spec: DatasetSpec, store: ResultStore) -> None:
    """Compute all pictures and checks of a result now, while the libraries that they need are loaded."""
    result_checks(result, spec, store)
    small_pictures(result)


def _of_warmup(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.analysis.inputs.learning_curve import curve_points
    from aflite_assets.reports.figures.filtering_figures import warmup_picture

    points = curve_points(read_learning_curves(result))
    return {"learning_curve": warmup_picture(points)} if points else {}


def _of_filter(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.analysis.filtering import filter_table
    from aflite_assets.reports.figures.filtering_figures import filtering_curve, scores_by_iteration

    pictures = {}
    for name, part in result.parts.items():
        filtered = report_inputs.filtered_set(name, part)
        pictures[f"curve_{name}"] = filtering_curve(filter_table(filtered), f"filtering curve of {name}")
        if bins := tuple(report_inputs.score_bins(name, part)):
            pictures[f"scores_{name}"] = scores_by_iteration(bins, filtered.settings)
    return pictures


def _of_evidence(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.reports.figures.representation_figures import similarity_pictures

    return {
        f"similarity_{name}_{label}": picture
        for name, classes in report_inputs.read_similarities(result).items()
        for label, picture in similarity_pictures(classes).items()
    }


_DRAWN: Mapping[str, Callable[[PublishedResult], "dict[str, Picture]"]] = {
    "warmup_split": _of_warmup,
    "filtered_sets": _of_filter,
    "bias_evidence": _of_evidence,
    **{one.stage.name: one.pictures for one in study_stages() if one.pictures is not None},
}
