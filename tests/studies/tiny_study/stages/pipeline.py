"""The stage `counted_rows` and its check."""

from collections.abc import Iterator

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings, StudyStage

from ..specs.settings import PART as SETTINGS

ASKS = {"rows_are_enough": "There are enough train rows."}


def run(settings: SETTINGS, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    rows = inputs.raw_dataset.summary["rows"]["train"]
    return {"nothing_asked": True} if settings.enough_rows is None else {"rows": rows, "enough": settings.enough_rows}


def check(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    if (rows := result.summary.get("rows")) is not None:
        (name, asks), passed = *ASKS.items(), rows >= result.summary["enough"]
        yield CheckOutcome("data", name, asks, passed, f"{rows} rows")


READ = StageSettings("enough_rows", is_disabled=lambda spec: SETTINGS.of(spec).enough_rows is None)
STAGE = Stage("counted_rows", "1", READ, "raw_dataset", run, checks=StageChecks(ASKS, check))
PART = (StudyStage(stage=STAGE, before="leaning_sets", role="measures"),)
