"""A refresh of one dataset without Dagster: plan, run a due stage, and plan again, until nothing is due."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from aflite_assets.data.hub.datasets import asked_anew
from aflite_assets.errors import AfliteError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.refresh.due import Due, Settings, what_is_due
from aflite_assets.refresh.plan import HUB_SECONDS, DatasetPlan, StagePlan, plan_dataset
from aflite_assets.refresh.state import INCOMPLETE, RefreshState, is_refusal
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import record_if_whole, run_stage
from aflite_assets.stages.shared.content_hashes import FieldContents
from aflite_assets.stages.stage import Progress, no_progress
from aflite_assets.tracking import Tracker

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refreshed:
    """The outcome of a refresh of one dataset.

    `made`: the stages that were run, with their results. `failed`: why other stages failed, by stage. `plan` and `due`:
    the state of the dataset afterwards.
    """

    made: tuple[tuple[StagePlan, StoredResult], ...]
    failed: dict[str, str]
    plan: DatasetPlan
    due: Due


@dataclass(frozen=True)
class RefreshContext:
    """The store and the resources of a refresh. `run`: name of the refresh for other processes that wait for it.

    `progress` receives the name of each stage before the stage runs, and returns the functions for its progress.
    """

    store: ResultStore
    run: str
    tracker: Tracker | None = None
    device: DeviceSettings | None = None
    progress: Callable[[str], Progress] = lambda stage: no_progress


def refresh_dataset(
    spec: DatasetSpec,
    context: RefreshContext,
    *,
    state: RefreshState,
    at_once: bool = False,
    begin: bool = False,
    watch: Watch | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Refreshed:
    """Run the due stages of a dataset until no stage is due. A stage runs once per key; the state records failures.

    `at_once`: ignore cron, and include stages that failed or were cancelled. `begin`: also make stages that were never
    made, as with `refresh: {start: true}` in the dataset's file.

    Raises:
        DatasetBusyError: another run of the dataset is active.
        StoreError: the notes in `state` cannot be read or written.
    """
    what = f"aflite refresh {context.run}"
    settings, watch = settings_of(spec, begin=begin), watch or Watch()
    made: list[tuple[StagePlan, StoredResult]] = []
    failed: dict[str, str] = {}
    begun: set[tuple[str, str | None]] = set()
    with context.store.dataset_lock(spec.name, what=what, wait=0):
        while True:
            with asked_anew(seconds=HUB_SECONDS):
                contents = FieldContents(spec, hashes=FileHashes(watch=watch))
                plan = plan_dataset(spec, context.store, contents=contents)
            due = what_is_due(plan, settings, now=clock(), state=state, at_once=at_once)
            todo = [each for each in due.stages if each.stage not in failed and (each.stage, each.key) not in begun]
            if not todo:
                break
            begun.add((todo[0].stage, todo[0].key))
            outcome = _run(todo[0], spec, context, state)
            if isinstance(outcome, str):
                failed[todo[0].stage] = outcome
            else:
                made.append((todo[0], outcome))
        if made:
            new = [stage.stage for stage, obtained in made if not obtained.cached]
            record_if_whole(context.store, spec.name, made=new, what=what)
    return Refreshed(tuple(made), failed, plan, due)


def settings_of(spec: DatasetSpec, *, begin: bool) -> Settings:
    """Return the refresh settings of a dataset's file; with `begin`, `start` is True."""
    if begin and spec.refresh != "never":
        return spec.refresh.model_copy(update={"start": True})
    return spec.refresh


def _run(stage: StagePlan, spec: DatasetSpec, context: RefreshContext, state: RefreshState) -> StoredResult | str:
    """Return the stage's result, or why it failed. A failure does not end the refresh; an interruption does."""
    is_refused, progress = False, context.progress(stage.stage)
    tracker, device = context.tracker, context.device
    try:
        obtained = run_stage(stage.stage, spec, store=context.store, tracker=tracker, device=device, progress=progress)
    except AfliteError as error:
        problem, is_refused = str(error), is_refusal(error)
    except Exception as error:  # a model, a reader or a user's data may raise anything
        _log.exception("%s of %s failed", stage.stage, spec.name)
        problem = f"{type(error).__name__}: {error}"
    else:
        if not obtained.result.summary.get("incomplete"):
            state.note_made(spec.name, stage.stage)
            return obtained
        problem = INCOMPLETE
    state.note_failure(spec.name, stage.stage, stage.key or "", problem, is_refused=is_refused)
    return problem
