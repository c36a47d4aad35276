"""Reading the results of studies for the report; the records are the inputs of the studies' numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.data.examples import Examples
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.studies import parts


@dataclass(frozen=True)
class StudyContext:
    """Inputs of a study besides its own result: the settings of `analysis`, and records of the core.

    `models`: the result of `evaluator_models`. `cells`: all cells of the grid. `phases`: evaluators with a second
    phase. `tested`: all test sets by row.
    """

    settings: DatasetSpec
    models: PublishedResult
    cells: Sequence[Cell]
    phases: Mapping[str, SecondPhase]
    tested: Sequence[TestSet]
    raw: Examples


@dataclass(frozen=True)
class StudyReader:
    """The function by which a study reads the result of its stage `stage` into a record for the report."""

    stage: str
    read: Callable[[PublishedResult, StudyContext], object]


def study_readers() -> dict[str, Callable[[PublishedResult, StudyContext], object]]:
    """Return the functions by stage; they are the `PART` of the studies' modules `stages.analysis`."""
    return {one.stage: one.read for one in parts("stages.analysis", StudyReader)}
