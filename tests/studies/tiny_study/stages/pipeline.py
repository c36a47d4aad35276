"""The stage `counted_rows` and its check."""

from collections.abc import Iterator

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings, StudyStage

from ..specs.settings import PART as SETTINGS

ASKS = {"rows_are_enough": "There are enough train rows."}


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    rows, enough = inputs.raw_dataset.summary["rows"]["train"], SETTINGS.of(settings).enough_rows
    return {"nothing_asked": True} if enough is None else {"rows": rows, "enough": enough}


def check(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    if (rows := result.summary.get("rows")) is not None:
        (name, asks), passed = *ASKS.items(), rows >= result.summary["enough"]
        yield CheckOutcome("data", name, asks, passed, f"{rows} rows")


READ = StageSettings("enough_rows", is_disabled=lambda spec: SETTINGS.of(spec).enough_rows is None)
STAGE = Stage("counted_rows", "1", READ, "raw_dataset", run, checks=StageChecks(ASKS, check))
PART = (StudyStage(stage=STAGE, before="leaning_sets", role="measures"),)
