"""A refresh of one dataset without Dagster: plan, run what is due, plan again, until nothing of it is due."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from aflite_assets.data.hub.datasets import asked_anew
from aflite_assets.errors import AfliteError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.refresh.due import Due, what_is_due
from aflite_assets.refresh.plan import DatasetPlan, StagePlan, plan_dataset
from aflite_assets.refresh.state import RefreshState
from aflite_assets.refresh.tries import is_refusal
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.stages.pipeline import STAGES, record_if_whole, run_stage
from aflite_assets.stages.shared.content_hashes import FieldContents
from aflite_assets.stages.stage import Progress, no_progress
from aflite_assets.tracking import Tracker

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refreshed:
    """Record of what a refresh of one dataset did.

    `made`: the stages that were run, with whether each was found after all; `failed`: why others failed, by stage.
    `plan` and `due`: those of the dataset afterwards.
    """

    dataset: str
    made: tuple[tuple[StagePlan, StoredResult], ...]
    failed: dict[str, str]
    plan: DatasetPlan
    due: Due


@dataclass(frozen=True)
class RefreshContext:
    """Record of what stages are run with. `run`: the name under which tries are counted, a new one for each refresh.

    `progress` is given the name of each stage that is run, and returns where it tells how far it is.
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
    settle: float | None = 5.0,
    hub_seconds: float = 15.0,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    sleep: Callable[[float], None] = time.sleep,
) -> Refreshed:
    """Run the stages of a dataset that are due, until none is: data versions are unchanged, or a stage failed.

    `at_once`: whatever the dataset's cron says, and without waiting after a try that failed. `begin`: also stages that
    were never made, as `refresh: {start: true}` in the dataset's file has it. A file that is new or
    changed is looked at again by `watch` once, after `settle` seconds; with None, not at all. A stage is tried once.
    The state records tries and when the dataset was looked at.

    Raises:
        DatasetBusyError: another run of the dataset is going on.
        StoreError: the state cannot be used.
    """
    what = f"aflite refresh {context.run}"
    with context.store.dataset_lock(spec.name, what=what, wait=0):
        refreshed = _refresh(
            spec,
            context,
            state,
            watch or Watch(),
            settle,
            at_once=at_once,
            begin=begin,
            hub_seconds=hub_seconds,
            clock=clock,
            sleep=sleep,
        )
        if refreshed.made:
            made = [stage.stage for stage, obtained in refreshed.made if not obtained.cached]
            record_if_whole(context.store, spec.name, made=made, what=what)
    return refreshed


def settings_of(spec: DatasetSpec, *, begin: bool) -> RefreshSpec | Literal["never"]:
    """Return a file's settings for refreshes; with `begin` as if they said that one may make the first results."""
    if begin and spec.refresh != "never":
        return spec.refresh.model_copy(update={"start": True})
    return spec.refresh


def _refresh(
    spec: DatasetSpec,
    context: RefreshContext,
    state: RefreshState,
    watch: Watch,
    settle: float | None,
    *,
    at_once: bool,
    begin: bool,
    hub_seconds: float,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
) -> Refreshed:
    settings = settings_of(spec, begin=begin)
    made: list[tuple[StagePlan, StoredResult]] = []
    failed: dict[str, str] = {}
    begun: set[tuple[str, str | None]] = set()
    settled = settle is None
    while True:
        with asked_anew(seconds=hub_seconds):
            plan = plan_dataset(
                spec, context.store, contents=FieldContents(spec, hashes=FileHashes(watch=watch)), stages=STAGES
            )
        due = what_is_due(plan, settings, now=clock(), state=state, at_once=at_once)
        todo = [stage for stage in due.stages if stage.stage not in failed and (stage.stage, stage.key) not in begun]
        if todo:
            begun.add((todo[0].stage, todo[0].key))
            outcome = _run(todo[0], spec, context, state, clock)
            if isinstance(outcome, str):
                failed[todo[0].stage] = outcome
            else:
                made.append((todo[0], outcome))
        elif not settled and any(stage.state == "waiting" for stage in plan.stages) and not due.closed:
            settled = True
            sleep(settle or 0)
        else:
            state.note_look(spec.name, now=clock())
            return Refreshed(spec.name, tuple(made), failed, plan, due)


def _run(
    stage: StagePlan, spec: DatasetSpec, context: RefreshContext, state: RefreshState, clock: Callable[[], datetime]
) -> StoredResult | str:
    """Return the stage's result, or why it failed. No failure ends the refresh."""
    key, refused = stage.key or "", False
    if stage.state == "made":
        state.note_try(spec.name, stage.stage, key, run=context.run, now=clock())
    try:
        obtained = run_stage(
            stage.stage,
            spec,
            store=context.store,
            tracker=context.tracker,
            device=context.device,
            progress=context.progress(stage.stage),
        )
    except AfliteError as error:
        problem, refused = str(error), is_refusal(error)
    except Exception as error:  # anything that a model, a reader or a user's data raises
        _log.exception("%s of %s failed", stage.stage, spec.name)
        problem = f"{type(error).__name__}: {error}"
    except BaseException:  # interrupted: not a failure of the stage
        state.forget_try(spec.name, stage.stage, key, run=context.run)
        raise
    else:
        if not obtained.result.summary.get("incomplete"):
            state.forget_tries(spec.name, stage.stage)
            return obtained
        problem = "its result lacks parts that failed"
    state.note_error(spec.name, stage.stage, key, run=context.run, error=problem, now=clock(), refused=refused)
    return problem
