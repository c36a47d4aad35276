"""All figures of one report by name, each drawn once, for the page, for files and for Dagster; no layout of a page."""

from collections.abc import Iterator, Sequence

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.learning_curve import LearningCurve, SampleCurve
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.inputs.score_counts import ScoreCounts
from aflite_assets.analysis.inputs.similarity import ClassSimilarity, means_text
from aflite_assets.analysis.rows.measured import DATA_MAPS
from aflite_assets.analysis.rows.table import row_tables
from aflite_assets.reports.figures import representation_figures as figures
from aflite_assets.reports.figures.data_map import data_map_pictures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.figures.example_rows import example_images, shown_examples
from aflite_assets.reports.figures.filtering_figures import (
    filtering_curves,
    learning_curve_picture,
    scores_by_iteration,
)
from aflite_assets.reports.figures.forgettable_figures import forgettable_pictures
from aflite_assets.reports.figures.headline_figures import headline_pictures
from aflite_assets.reports.figures.length_figure import length_pictures
from aflite_assets.reports.figures.representation_figures import similarity_map
from aflite_assets.reports.figures.scatters import scatter_pictures
from aflite_assets.text import listed, one_line
from aflite_assets.wording import truncate

_GRID_ROWS = 6
"""Images of either side in the grid; more would leave each too few colours."""


@cached_per_record
def report_pictures(data: BenchmarkData) -> dict[str, Picture]:
    """Every figure that applies, by names that fit files: a kind, and for most the representation after a dot.

    "filtering_curves"; "warmup_curve" of `warmup.size: auto`; "sample_curve" of `sample`; "overview", "falls", "curve",
    "predictability", "scores", "scatter_before", "scatter_after", "examples", "lengths" per representation;
    "similarity" per representation and class number; "data_map" per representation and evaluator; those of
    `forgettable_pictures`.

    Raises:
        DataError: rows do not fit the examples.
    """
    pictures = {**headline_pictures(data, False), "filtering_curves": curves_picture(data.filtered, data.label_names)}
    if data.warmup_curves:
        pictures["warmup_curve"] = warmup_picture(data.warmup_curves)
    if data.sample_curve is not None:
        pictures["sample_curve"] = sample_picture(data.sample_curve)
    for filtered in data.filtered:
        name = filtered.representation
        of = f"representation {name}"
        pictures[f"curve.{name}"] = Picture(
            figures.filtering_curve(filtered), f"Representation bias and pool rows left by iteration, {of}"
        )
        pictures[f"predictability.{name}"] = Picture(
            figures.predictability_histogram(filtered),
            f"Histogram of the predictability of kept and removed train rows, {of}",
        )
        if name in data.score_counts:
            pictures[f"scores.{name}"] = scores_picture(filtered, data.score_counts[name])
        for when, scatter in zip(("before", "after"), scatter_pictures(data, filtered), strict=False):
            pictures[f"scatter_{when}.{name}"] = scatter
        if data.examples.modality == "image":
            pictures[f"examples.{name}"] = _grid(data, filtered)
        shown = similarity_pictures(data.similarities.get(name, ()), name)
        pictures |= {f"similarity.{name}.{label}": picture for label, picture in shown}
    pictures |= dict(data_map_pictures(analyse(data).of(DATA_MAPS), row_tables(data).data_maps))
    pictures |= dict(length_pictures(data))
    pictures |= forgettable_pictures(data)
    return pictures


def curves_picture(filtered: tuple[FilteredSet, ...], label_names: tuple[str, ...]) -> Picture:
    """The comparison of all representations by iteration."""
    names = listed([one.representation for one in filtered])
    return Picture(
        filtering_curves(filtered, label_names),
        "Rows left, representation bias with the largest class, cut-off score and class shares by iteration, "
        f"representations {names or 'none'}",
    )


def warmup_picture(curves: Sequence[LearningCurve]) -> Picture:
    """The learning curves by which the warm-up rows were chosen."""
    names = listed([curve.representation for curve in curves])
    return Picture(
        learning_curve_picture(curves),
        f"Accuracy on held-back warm-up rows by the rows trained on, with the elbow chosen, representations {names}",
    )


def sample_picture(curve: SampleCurve) -> Picture:
    """The curve by which the sample of the train rows was chosen."""
    return Picture(
        learning_curve_picture([curve.means], chosen=curve.chosen),
        f"Accuracy on held-back train rows by the rows of the sample trained on, with the {curve.chosen:,} chosen",
    )


def scores_picture(filtered: FilteredSet, counts: ScoreCounts) -> Picture:
    """The distribution of predictability by iteration."""
    threshold = filtered.settings.get("threshold")
    return Picture(
        scores_by_iteration(counts, threshold=threshold if isinstance(threshold, int | float) else None),
        f"Histograms of predictability in up to eight iterations, with the rows that each removed, representation "
        f"{filtered.representation}",
    )


def similarity_pictures(classes: tuple[ClassSimilarity, ...], representation: str) -> Iterator[tuple[int, Picture]]:
    """The class number and the heat maps of each class compared."""
    for class_ in classes:
        alt = (
            f"Cosine similarity of kept, removed and random rows of class {truncate(one_line(class_.name), 60)}, "
            f"representation {representation}; mean {means_text(class_)}"
        )
        yield class_.label, Picture(similarity_map(class_, scale_with=classes), alt)


def _grid(data: BenchmarkData, filtered: FilteredSet) -> Picture:
    images: list[bytes] = []
    captions: list[str] = []
    for side, kept in (("kept", True), ("removed", False)):
        shown = shown_examples(data.examples, filtered, kept=kept, seed=0, rows=_GRID_ROWS)
        images += example_images(data.examples, shown)
        captions += [side if one.predictability is None else f"{side} {one.predictability:.2f}" for one in shown]
    return Picture(
        figures.image_grid(images, captions, columns=_GRID_ROWS),
        "Images kept and then images removed, drawn at random, each with its predictability, representation "
        f"{filtered.representation}",
    )
