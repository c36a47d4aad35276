"""The status of datasets: the states of stages, times, sizes, and problems that need a person."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from aflite_assets.errors import StoreError
from aflite_assets.refresh.due import Due
from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.results import ResultStore
from aflite_assets.results.doctor import Problem
from aflite_assets.stages.pipeline import STAGES


@dataclass(frozen=True)
class DatasetStatus:
    """The status of one dataset.

    `failure`: why its file is invalid, or None. `stages`: the state of each stage in words, in order. `made`: time of
    the newest result in UTC, or None. `size`: bytes. `troubles`: a line per problem that needs a person, with the
    remedy. `waits`: a line per stage that continues later by itself.
    """

    dataset: str
    failure: str | None
    stages: Mapping[str, str]
    made: datetime | None
    size: int
    troubles: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    @property
    def counts(self) -> str:
        """The number of stages in each state."""
        counts = Counter(self.stages.values())
        return ", ".join(f"{count} {state}" for state, count in counts.items()) or "file refused"


def dataset_status(due: Due, store: ResultStore) -> DatasetStatus:
    """Return the status of a dataset, about which a refresh would do what `due` says."""
    plan = due.plan
    made = [time for stage in STAGES if (time := _published(store, stage, plan.dataset)) is not None]
    waits = [f"{stage.stage} waits: {_why(stage)}" for stage in plan.in_state("waiting")]
    return DatasetStatus(
        plan.dataset,
        plan.failure,
        {stage.stage: stage.state_words for stage in plan.stages},
        max(made, default=None),
        store.size(plan.dataset),
        troubles=tuple(problem.what for problem in problems(plan)),
        waits=tuple(waits if due.waits is None else [f"waits for {due.waits}"]),
    )


def problems(plan: DatasetPlan) -> Iterator[Problem]:
    """Yield the problems of a dataset that need a person; the descriptions contain the remedies."""
    if plan.failure is not None:
        yield Problem("dataset file", " ".join(plan.failure.split()), "until then refreshes skip this dataset")
    for stage in plan.in_state("refused"):
        yield Problem("stage refused", f"{stage.stage} cannot run: {_why(stage)}", "fix the named problem")
    for stage in plan.in_state("left", "cancelled"):
        yield Problem("stage not retried", f"{stage.stage}: {_why(stage)}", "until then refreshes skip this stage")


def _why(stage: StagePlan) -> str:
    return " ".join("; ".join(stage.reasons).split())


def _published(store: ResultStore, stage: str, dataset: str) -> datetime | None:
    try:
        return datetime.fromisoformat(store.current(stage, dataset).manifest["published"])
    except (StoreError, FileNotFoundError):
        return None
