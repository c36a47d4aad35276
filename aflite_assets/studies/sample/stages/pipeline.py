"""Place of `train_sample` in the pipeline."""

from typing import TYPE_CHECKING

from aflite_assets.results import PublishedResult
from aflite_assets.stages.stage import StudyStage
from aflite_assets.studies.sample.stages.train_sample import TRAIN_SAMPLE, read_sample_curve, refuse_chosen_sample

if TYPE_CHECKING:
    from aflite_assets.reports.figures.drawing import Picture


def pictures(result: PublishedResult) -> "dict[str, Picture]":
    """Return "sample_curve" if a sample was requested."""
    from aflite_assets.studies.sample.analysis.curve import sample_points
    from aflite_assets.studies.sample.reports.figures import sample_picture

    points = sample_points(read_sample_curve(result))
    return {"sample_curve": sample_picture(points)} if points else {}


PART = (
    StudyStage(
        stage=TRAIN_SAMPLE,
        before="warmup_split",
        role="selects",
        on_cards=True,
        refuse={"warmup_split": refuse_chosen_sample},
        pictures=pictures,
    ),
)
