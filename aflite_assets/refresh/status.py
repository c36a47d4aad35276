"""The status of datasets: a letter per stage, times, sizes, and problems that need a person."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from aflite_assets.errors import StoreError
from aflite_assets.refresh.due import given_up_before
from aflite_assets.refresh.launching import launch_command
from aflite_assets.refresh.plan import DatasetPlan, StagePlan, plan_datasets
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.doctor import Problem
from aflite_assets.results.locks import occupant
from aflite_assets.specs.registry import Registry
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
_NOT_RETRIED = "stage not retried"


@dataclass(frozen=True)
class FailedRuns:
    """The newest runs of datasets that failed, in words, by dataset.

    `at_start`: runs that failed before their first step; `retries`: retries that Dagster announced and has not started.
    """

    at_start: dict[str, str] = field(default_factory=dict)
    retries: dict[str, str] = field(default_factory=dict)


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


def dataset_status(
    plan: DatasetPlan, store: ResultStore, state: RefreshState, *, failed: FailedRuns | None = None
) -> DatasetStatus:
    """Return the status of a planned dataset. `failed`: the failed runs in Dagster, or None if they do not matter."""
    failed = failed or FailedRuns()
    run, retry = failed.at_start.get(plan.dataset), failed.retries.get(plan.dataset)
    made = [time for stage in STAGES if (time := _published(store, stage, plan.dataset)) is not None]
    left = {stage.stage for stage in plan.stale if given_up_before(stage, state) is not None}
    # The text of other problems contains the remedy.
    troubles = [
        f"{trouble.what}; {trouble.remedy}" if trouble.kind == _NOT_RETRIED else trouble.what
        for trouble in _troubles(plan, state)
    ]
    if run is not None and not left:
        troubles.append(f"{run}; start it again with `{launch_command(plan.dataset)}`")
    return DatasetStatus(
        plan.dataset,
        "".join("L" if stage.stage in left else _letter(stage) for stage in plan.stages),
        max(made, default=None),
        store.size(plan.dataset),
        troubles=tuple(troubles),
        waits=tuple(_waits(plan, store) if retry is None else [f"waits for {retry}"]),
    )


def examine_datasets(registry: Registry, store: ResultStore) -> Iterator[Problem]:
    """Yield invalid dataset files, and stages of known datasets that cannot run or are no longer tried."""
    for message in registry.failures.values():
        yield Problem("dataset file", _one_line(message), "until then refreshes skip this dataset")
    state = RefreshState.beside(store)
    try:
        noted = state.datasets()
    except StoreError as error:
        yield Problem("notes about refreshes", str(error), "until then nothing is refreshed")
        return
    begun = store.datasets() | noted
    for plan in plan_datasets(registry, store, [name for name in registry.specs if name in begun]):
        for trouble in _troubles(plan, state):
            yield replace(trouble, what=f"{plan.dataset}: {trouble.what}")


def _troubles(plan: DatasetPlan, state: RefreshState) -> Iterator[Problem]:
    """Yield the problems of a dataset that need a person."""
    if plan.failure is not None:
        yield Problem("dataset file", _one_line(plan.failure), "until then refreshes skip this dataset")
    for stage in plan.stages:
        if stage.state == "refused":
            yield Problem("stage refused", f"{stage.stage} cannot run: {_why(stage)}", "fix the named problem")
        elif stage.stale and (given_up := given_up_before(stage, state)) is not None:
            yield Problem(_NOT_RETRIED, _one_line(str(given_up)), given_up.remedy)


def _waits(plan: DatasetPlan, store: ResultStore) -> list[str]:
    if (runner := occupant(store.locks_folder, plan.dataset)) is not None:
        return [f"is being run by {runner}"]
    return [f"{stage.stage} waits: {_why(stage)}" for stage in plan.stages if stage.state == "waiting"]


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
