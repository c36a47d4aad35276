"""What a UI shows of a result and takes time to compute: small pictures and findings, made once and kept beside it.

The drawing is in `reports`, the checks are in `diagnostics`; the report's own figures are files of its result.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from aflite_assets.data.raw_table.decodable_images import UndecodableImages
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import PublishedResult
from aflite_assets.results.sidecar_files import kept_beside, sources_version
from aflite_assets.stages.shared import report_inputs, source_places
from aflite_assets.stages.shared.published import read_learning_curves, read_sample_curve
from aflite_assets.stages.shared.source_places import source_facts

if TYPE_CHECKING:
    from aflite_assets.diagnostics.data_checks.all_checks import CheckResult
    from aflite_assets.reports.figures.drawing import Picture

_PACKAGE = Path(__file__).parents[1]
_HERE = (Path(__file__), Path(report_inputs.__file__), Path(source_places.__file__))


def small_pictures(result: PublishedResult) -> "dict[str, Picture]":
    """The pictures of a result by name, PNGs under 50 kB: none for assets without any.

    Of `train_sample` "sample_curve" where a sample was asked for; of `warmup_split` "learning_curve" where encoders
    chose the warm-up rows; of `filtered_sets` "curve_<name>" and "scores_<name>" per representation; of `bias_evidence`
    "similarity_<name>_<class number>".
    """
    if result.asset not in _DRAWN:
        return {}
    from aflite_assets.reports.figures.drawing import Picture

    kept = kept_beside(
        result,
        "pictures",
        version=sources_version((*_HERE, _PACKAGE / "analysis", _PACKAGE / "reports")),
        make=lambda: {
            name: {"png": base64.b64encode(picture.png).decode(), "alt": picture.alt}
            for name, picture in _DRAWN[result.asset](result).items()
        },
    )
    return {name: Picture(base64.b64decode(picture["png"]), picture["alt"]) for name, picture in kept.items()}


def raw_findings(result: PublishedResult) -> "tuple[CheckResult, ...]":
    """What the checks of `diagnostics.data_checks.all_checks` say about a raw dataset."""
    from aflite_assets.diagnostics.data_checks.all_checks import CheckResult

    kept = kept_beside(
        result,
        "findings",
        version=sources_version((*_HERE, _PACKAGE / "diagnostics")),
        make=lambda: [asdict(finding) for finding in _findings(result)],
    )
    return tuple(CheckResult(**fields) for fields in kept)


def prepare_shown(result: PublishedResult) -> None:
    """Make all of this for a result now, where the libraries that it takes are loaded."""
    if result.asset == "raw_dataset":
        raw_findings(result)
    small_pictures(result)


def _findings(result: PublishedResult) -> "tuple[CheckResult, ...]":
    from aflite_assets.diagnostics.data_checks.all_checks import data_findings

    undecodable = result.summary["undecodable_images"]
    return data_findings(
        load_examples(result.path),
        unlabelled_rows=result.summary["unlabelled_rows"],
        undecodable_images={split: UndecodableImages(**images) for split, images in undecodable.items()},
        source=source_facts(result),
    )


def _of_warmup(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.analysis.inputs.learning_curve import curve_points
    from aflite_assets.reports.figures.all_figures import warmup_picture

    points = curve_points(read_learning_curves(result))
    return {"learning_curve": warmup_picture(points)} if points else {}


def _of_sample(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.analysis.inputs.learning_curve import sample_points
    from aflite_assets.reports.figures.all_figures import sample_picture

    points = sample_points(read_sample_curve(result))
    return {"sample_curve": sample_picture(points)} if points else {}


def _of_filter(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.analysis.filtering import filter_table, score_bins
    from aflite_assets.reports.figures.all_figures import scores_picture
    from aflite_assets.reports.figures.drawing import Picture
    from aflite_assets.reports.figures.filtering_figures import threshold_of
    from aflite_assets.reports.figures.representation_figures import filtering_curve

    pictures: dict[str, Picture] = {}
    for name, part in result.parts.items():
        filtered = report_inputs.filtered_set(name, part)
        pictures[f"curve_{name}"] = Picture(filtering_curve(filter_table(filtered)), f"filtering curve of {name}")
        if (counts := report_inputs.score_counts(part)) is not None:
            bins = tuple(score_bins(name, counts))
            pictures[f"scores_{name}"] = scores_picture(bins, threshold_of(filtered.settings))
    return pictures


def _of_evidence(result: PublishedResult) -> "dict[str, Picture]":
    from aflite_assets.reports.figures.all_figures import similarity_pictures

    return {
        f"similarity_{name}_{label}": picture
        for name, classes in report_inputs.read_similarities(result).items()
        for label, picture in similarity_pictures(classes, name)
    }


_DRAWN: Mapping[str, Callable[[PublishedResult], "dict[str, Picture]"]] = {
    "train_sample": _of_sample,
    "warmup_split": _of_warmup,
    "filtered_sets": _of_filter,
    "bias_evidence": _of_evidence,
}
