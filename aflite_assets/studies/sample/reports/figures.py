"""The figure of the sample's learning curve."""

from collections.abc import Sequence

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.figures import filtering_figures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.studies.sample.analysis.curve import SAMPLE_CURVE, SamplePoint


def sample_picture(points: Sequence[SamplePoint]) -> Picture:
    """Draw the learning curve that was used to choose the sample of the train rows."""
    chosen = next(one.rows for one in points if one.chosen)
    alt = f"Accuracy on held-back train rows by the rows of the sample trained on, with the {chosen:,} chosen"
    return filtering_figures.learning_curves({"sample": points}, alt, logarithmic=False)


def sample_pictures(analysis: Analysis) -> dict[str, Picture]:
    """Return the figure "sample_curve", or nothing if all train rows are filtered."""
    points = analysis.of(SAMPLE_CURVE)
    return {"sample_curve": sample_picture(points)} if points else {}


PART = sample_pictures
