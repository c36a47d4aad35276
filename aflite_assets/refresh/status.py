"""The status of datasets: a letter per stage, times, sizes, and problems that need a person."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from aflite_assets.errors import StoreError
from aflite_assets.refresh.due import Due
from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.results import ResultStore
from aflite_assets.results.doctor import Problem
from aflite_assets.stages.pipeline import STAGES

LETTERS: Mapping[str, str] = {
    "F": "found",
    "f": "found, not current",
    "M": "to be made",
    "a": "depends on an earlier stage",
    "w": "waits for a file",
    "R": "cannot run until the named problem is fixed",
    "L": "failed, refused its inputs or was cancelled; not retried",
    ".": "never made",
}
"""Letters for the states of a stage, with their meanings."""
NOT_RETRIED = "stage not retried"
"""Kind of the problem that a stage is left out until its inputs change."""


@dataclass(frozen=True)
class DatasetStatus:
    """The status of one dataset.

    `letters`: a letter per stage, in order. `made`: time of the newest result in UTC, or None. `size`: bytes.
    `troubles`: a line per problem that needs a person, with the remedy. `waits`: a line per stage that continues later
    by itself.
    """

    dataset: str
    letters: str
    made: datetime | None
    size: int
    troubles: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    @property
    def stages(self) -> dict[str, str]:
        """The meaning of each stage's letter; empty if the file is invalid."""
        return {stage: LETTERS[letter] for stage, letter in zip(STAGES, self.letters, strict=False)}


def dataset_status(plan: DatasetPlan, due: Due, store: ResultStore) -> DatasetStatus:
    """Return the status of a planned dataset, of which a refresh would run the stages `due`."""
    made = [time for stage in STAGES if (time := _published(store, stage, plan.dataset)) is not None]
    left = {given_up.stage.stage for given_up in due.given_up}
    waits = [f"{stage.stage} waits: {_why(stage)}" for stage in plan.stages if stage.state == "waiting"]
    return DatasetStatus(
        plan.dataset,
        "".join("L" if stage.stage in left else _letter(stage) for stage in plan.stages),
        max(made, default=None),
        store.size(plan.dataset),
        # A message about a refused file or stage contains the remedy.
        troubles=tuple(
            f"{each.what}; {each.remedy}" if each.kind == NOT_RETRIED else each.what for each in problems(plan, due)
        ),
        waits=tuple(waits if due.waits is None else [f"waits for {due.waits}"]),
    )


def problems(plan: DatasetPlan, due: Due) -> Iterator[Problem]:
    """Yield the problems of a dataset that need a person."""
    if plan.failure is not None:
        yield Problem("dataset file", _one_line(plan.failure), "until then refreshes skip this dataset")
    for stage in plan.stages:
        if stage.state == "refused":
            yield Problem("stage refused", f"{stage.stage} cannot run: {_why(stage)}", "fix the named problem")
    for given_up in due.given_up:
        yield Problem(NOT_RETRIED, _one_line(str(given_up)), given_up.remedy)


def _why(stage: StagePlan) -> str:
    return _one_line("; ".join(map(str, stage.reasons)))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _letter(stage: StagePlan) -> str:
    if stage.state == "found":
        return "F" if stage.current else "f"
    if not stage.made_before and stage.state != "refused":
        return "."
    return {"made": "M", "after": "a", "waiting": "w", "refused": "R"}[stage.state]


def _published(store: ResultStore, stage: str, dataset: str) -> datetime | None:
    try:
        return datetime.fromisoformat(store.current(stage, dataset).manifest["published"])
    except (StoreError, FileNotFoundError):
        return None
