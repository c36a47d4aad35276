"""Sets of train rows that studies draw, as `evaluator_models` uses them; the studies define the functions."""

from collections.abc import Callable
from dataclasses import dataclass

from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.settings import DrawnRows
from aflite_assets.stages.shared.train_sets import TrainSet
from aflite_assets.stages.stage import StudyResults
from aflite_assets.studies import parts


@dataclass(frozen=True)
class RowSets:
    """Functions of a study for the sets of train rows that its stage `stage` draws.

    `train_sets`: returns the sets on which every evaluator is trained with a seed, called with the settings of
    `evaluator_models`, the stage's result and the seed. `why_missing`: returns the reason why the result lacks a set.
    """

    stage: str
    train_sets: Callable[[DatasetSpec, PublishedResult, int], list[TrainSet]]
    why_missing: Callable[[PublishedResult, DrawnRows], str]


def row_sets() -> dict[str, RowSets]:
    """Return the functions by stage; they are the `PART` of the studies' modules `stages.evaluation`."""
    return {one.stage: one for one in parts("stages.evaluation", RowSets)}


def study_train_sets(settings: DatasetSpec, drawn: StudyResults, seed: int) -> list[TrainSet]:
    """Return the sets on which every evaluator is trained with a seed because a study asks for it."""
    known = row_sets()
    return [one for name, result in drawn.items() for one in known[name].train_sets(settings, result, seed)]
