"""All figures of one report by name, for the report page, for files and for Dagster."""

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import ITERATIONS, PREDICTABILITY, PREDICTABILITY_BY_ITERATION
from aflite_assets.analysis.inputs.learning_curve import WARMUP_CURVE
from aflite_assets.analysis.rows.measured import DATA_MAPS, LENGTHS
from aflite_assets.reports.figures import filtering_figures, representation_figures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.figures.model_figures import headline_pictures
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.studies import functions


def report_pictures(analysis: Analysis, inputs: ReportInputs) -> dict[str, Picture]:
    """Return every figure that applies to the report, by name.

    The name of a figure is a valid file name. Most names consist of the kind of figure, a dot and the representation.
    The figures without a representation are "filtering_curves", "warmup_curve" (for `warmup.size: auto`) and those of
    studies. Each representation has the figures "overview", "falls", "curve", "predictability", "scores",
    "scatter_before", "scatter_after", "examples" and "lengths". Each representation also has one figure "similarity"
    per class and one figure "data_map" per evaluator. Raises DataError if `inputs.examples` does not contain a row that
    a figure shows.
    """
    pictures = headline_pictures(analysis, narrow=False)
    pictures["filtering_curves"] = filtering_figures.filtering_curves(analysis)
    if points := analysis.of(WARMUP_CURVE):
        pictures["warmup_curve"] = filtering_figures.warmup_picture(points)
    for filtering in analysis.facts.filterings:
        name = filtering.representation
        alt = f"Representation bias and pool rows left by iteration, representation {name}"
        pictures[f"curve.{name}"] = filtering_figures.filtering_curve(analysis.of(ITERATIONS, name), alt)
        bins = analysis.of(PREDICTABILITY, name)
        pictures[f"predictability.{name}"] = filtering_figures.predictability_histogram(bins)
        if scores := analysis.of(PREDICTABILITY_BY_ITERATION, name):
            pictures[f"scores.{name}"] = filtering_figures.scores_by_iteration(scores, filtering.settings)
        pictures |= _pictures_of_rows(analysis, inputs, name)
    means = analysis.of(DATA_MAPS)
    for kept, removed in zip(means[::2], means[1::2], strict=True):
        points = inputs.rows.data_maps[kept.representation, kept.evaluator]
        name = f"data_map.{kept.representation}.{kept.evaluator}"
        pictures[name] = representation_figures.data_map(kept, removed, points)
    for of_study in functions("reports.figures"):
        pictures |= of_study(analysis)
    return pictures


def _pictures_of_rows(analysis: Analysis, inputs: ReportInputs, representation: str) -> dict[str, Picture]:
    rows = inputs.rows_of(representation)
    compared = representation_figures.compared_accuracies(analysis, representation)
    scatters = representation_figures.scatter_pictures(inputs, rows, compared)
    pictures = {f"scatter_{when}.{representation}": picture for when, picture in scatters.items()}
    if inputs.examples.modality == "image":
        pictures[f"examples.{representation}"] = representation_figures.examples_picture(inputs, rows, representation)
    if shares := analysis.of(LENGTHS, representation):
        pictures[f"lengths.{representation}"] = representation_figures.lengths_picture(shares)
    maps = representation_figures.similarity_pictures(inputs.similarities.get(representation, ()))
    return pictures | {f"similarity.{representation}.{label}": picture for label, picture in maps.items()}
