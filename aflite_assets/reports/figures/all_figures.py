"""All figures of one report by name, for the page, for files and for Dagster; no layout of a page."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import (
    ITERATIONS,
    PREDICTABILITY,
    PREDICTABILITY_BY_ITERATION,
    ScoreBin,
)
from aflite_assets.analysis.inputs.learning_curve import SAMPLE_CURVE, WARMUP_CURVE, CurvePoint, SamplePoint
from aflite_assets.analysis.inputs.similarity import ClassSimilarity, mean_similarities
from aflite_assets.analysis.rows.measured import DATA_MAPS
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures import representation_figures as figures
from aflite_assets.reports.figures.data_map import data_map_pictures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.figures.example_rows import example_images, shown_examples
from aflite_assets.reports.figures.filtering_figures import (
    filtering_curves,
    learning_curve_picture,
    scores_by_iteration,
    threshold_of,
)
from aflite_assets.reports.figures.forgettable_figures import forgettable_pictures
from aflite_assets.reports.figures.headline_figures import headline_pictures
from aflite_assets.reports.figures.length_figure import length_pictures
from aflite_assets.reports.figures.representation_figures import means_text, similarity_map
from aflite_assets.reports.figures.scatters import scatter_pictures
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.text import listed, one_line
from aflite_assets.wording import truncate

_GRID_ROWS = 6
"""Images of either side in the grid; more would leave each too few colours."""


def report_pictures(analysis: Analysis, inputs: ReportInputs) -> dict[str, Picture]:
    """Every figure that applies, by names that fit files: a kind, and for most the representation after a dot.

    "filtering_curves"; "warmup_curve" of `warmup.size: auto`; "sample_curve" of `sample`; "overview", "falls", "curve",
    "predictability", "scores", "scatter_before", "scatter_after", "examples", "lengths" per representation;
    "similarity" per representation and class number; "data_map" per representation and evaluator; those of
    `forgettable_pictures`.

    Raises:
        DataError: rows do not fit the examples.
    """
    pictures = {**headline_pictures(analysis, narrow=False), "filtering_curves": _curves_picture(analysis)}
    if points := analysis.of(WARMUP_CURVE):
        pictures["warmup_curve"] = warmup_picture(points)
    if sizes := analysis.of(SAMPLE_CURVE):
        pictures["sample_curve"] = sample_picture(sizes)
    for filtering in analysis.facts.filterings:
        name = filtering.representation
        pictures[f"curve.{name}"] = Picture(
            figures.filtering_curve(analysis.of(ITERATIONS, name)),
            f"Representation bias and pool rows left by iteration, representation {name}",
        )
        pictures[f"predictability.{name}"] = Picture(
            figures.predictability_histogram(analysis.of(PREDICTABILITY, name)),
            f"Histogram of the predictability of kept and removed train rows, representation {name}",
        )
        if bins := analysis.of(PREDICTABILITY_BY_ITERATION, name):
            pictures[f"scores.{name}"] = scores_picture(bins, threshold_of(filtering.settings))
        pictures |= _pictures_of_rows(analysis, inputs, name)
        shown = similarity_pictures(inputs.similarities.get(name, ()), name)
        pictures |= {f"similarity.{name}.{label}": picture for label, picture in shown}
    pictures |= dict(data_map_pictures(analysis.of(DATA_MAPS), inputs.rows.data_maps))
    pictures |= dict(length_pictures(analysis))
    pictures |= forgettable_pictures(analysis)
    return pictures


def _pictures_of_rows(analysis: Analysis, inputs: ReportInputs, representation: str) -> Iterator[tuple[str, Picture]]:
    rows = inputs.rows_of(representation)
    if inputs.scatter_features is not None:
        scatters = scatter_pictures(
            inputs.examples,
            rows,
            inputs.scatter_features,
            inputs.source,
            [one for one in analysis.headlines if one.representation == representation],
        )
        for when, scatter in zip(("before", "after"), scatters, strict=True):
            yield f"scatter_{when}.{representation}", scatter
    if inputs.examples.modality == "image":
        yield f"examples.{representation}", _grid(inputs.examples, rows, representation)


def _curves_picture(analysis: Analysis) -> Picture:
    """The comparison of all representations by iteration."""
    return Picture(
        filtering_curves(analysis),
        "Rows left, representation bias with the largest class, cut-off score and class shares by iteration, "
        f"representations {listed(analysis.facts.representations) or 'none'}",
    )


def warmup_picture(points: Sequence[CurvePoint]) -> Picture:
    """The learning curves by which the warm-up rows were chosen."""
    names = list(dict.fromkeys(one.representation for one in points))
    curves = {name: [one for one in points if one.representation == name] for name in names}
    return Picture(
        learning_curve_picture(curves, doubling=True),
        "Accuracy on held-back warm-up rows by the rows trained on, with the elbow chosen, representations "
        f"{listed(names)}",
    )


def sample_picture(points: Sequence[SamplePoint]) -> Picture:
    """The curve by which the sample of the train rows was chosen."""
    chosen = next(one.rows for one in points if one.chosen)
    return Picture(
        learning_curve_picture({"sample": points}, doubling=False),
        f"Accuracy on held-back train rows by the rows of the sample trained on, with the {chosen:,} chosen",
    )


def scores_picture(bins: Sequence[ScoreBin], threshold: float | None) -> Picture:
    """The distribution of predictability by iteration of one filtering."""
    return Picture(
        scores_by_iteration(bins, threshold=threshold),
        f"Histograms of predictability in up to eight iterations, with the rows that each removed, representation "
        f"{bins[0].representation}",
    )


def similarity_pictures(classes: Sequence[ClassSimilarity], representation: str) -> Iterator[tuple[int, Picture]]:
    """The class number and the heat maps of each class compared."""
    for class_ in classes:
        alt = (
            f"Cosine similarity of kept, removed and random rows of class {truncate(one_line(class_.name), 60)}, "
            f"representation {representation}; mean {means_text(mean_similarities(representation, [class_]))}"
        )
        yield class_.label, Picture(similarity_map(class_, scale_with=classes), alt)


def _grid(examples: Examples, rows: pa.Table, representation: str) -> Picture:
    images: list[bytes] = []
    captions: list[str] = []
    for side, kept in (("kept", True), ("removed", False)):
        shown = shown_examples(examples, rows, kept=kept, seed=0, most=_GRID_ROWS)
        images += example_images(examples, shown)
        captions += [side if one.predictability is None else f"{side} {one.predictability:.2f}" for one in shown]
    return Picture(
        figures.image_grid(images, captions, columns=_GRID_ROWS),
        "Images kept and then images removed, drawn at random, each with its predictability, representation "
        f"{representation}",
    )
