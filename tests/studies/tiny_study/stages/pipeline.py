"""The stage `counted_rows` and its check."""

from collections.abc import Iterator
from dataclasses import dataclass

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings, StudyStage

from ..specs.settings import PART as SETTINGS

ASKS = {"rows_are_enough": "There are enough train rows."}


class Settings(StageSettings):
    enough_rows: int | None

    @classmethod
    def asks_nothing(cls, spec: DatasetSpec) -> bool:
        return SETTINGS.of(spec).enough_rows is None


@dataclass(frozen=True)
class Inputs(StageInputs):
    raw_dataset: PublishedResult


def run(settings: Settings, inputs: Inputs, draft: Draft, context: StageContext) -> dict[str, object]:
    rows = inputs.raw_dataset.summary["rows"]["train"]
    return {"nothing_asked": True} if settings.enough_rows is None else {"rows": rows, "enough": settings.enough_rows}


def check(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    if (rows := result.summary.get("rows")) is not None:
        (name, asks), passed = *ASKS.items(), rows >= result.summary["enough"]
        yield CheckOutcome("data", name, asks, passed, f"{rows} rows")


STAGE = Stage("counted_rows", "1", Settings, Inputs, run, checks=StageChecks(ASKS, check))
PART = (StudyStage(stage=STAGE, before="leaning_sets", role="measures"),)
