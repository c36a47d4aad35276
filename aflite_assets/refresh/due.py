"""The due stages of a plan, and why a refresh leaves out other stages: a pause, settings, cron, or the last run."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from aflite_assets.refresh.plan import DatasetPlan, StagePlan, plan_datasets
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.results.locks import occupant
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.specs.registry import Registry
from aflite_assets.stages.pipeline import STAGES

HOW_TO_START = "start it with `aflite refresh NAME`, or write `refresh: {start: true}` into its file"
"""How a person starts a dataset that was never made."""
End = Literal["failed", "interrupted", "cancelled"]
RETRIED_BY_COMMAND: tuple[End, ...] = ("failed", "interrupted")
"""Ends of a run after which another call of `aflite refresh` runs the stages again; the sensor does not."""
Settings = RefreshSpec | Literal["never"]


@dataclass(frozen=True)
class LastRun:
    """The last run of a dataset in Dagster's history, if it matters for a refresh.

    `kind`: "active" if the run or its retry has not ended; otherwise, how a run with the present inputs ended. A run is
    "interrupted" by Ctrl-C of `aflite refresh`. `words`: name of an active run, or what happened to an ended run.
    `is_announced`: Dagster will retry a failed run as soon as its daemon runs.
    """

    kind: Literal["active"] | End
    words: str
    is_announced: bool = False


@dataclass(frozen=True)
class Due:
    """Work of a refresh on one dataset now, and the reasons why there is no more.

    `plan`: the plan, in which stages that are left out until their inputs change are "left" or "cancelled". `stages`:
    stages to run, in order. `following`: later stages, which may become due. `why_not`: a line with the remedy for each
    stage that does not run. `waits`: the active run that a refresh waits for.
    """

    plan: DatasetPlan
    stages: tuple[StagePlan, ...] = ()
    following: tuple[str, ...] = ()
    why_not: tuple[str, ...] = ()
    waits: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the file or a stage was refused, or a stage failed, and a person has to act."""
        return self.plan.failure is not None or bool(self.plan.in_state("refused", "left"))


def outlooks(
    registry: Registry,
    store: ResultStore,
    names: Sequence[str] = (),
    *,
    last: Callable[[DatasetPlan], LastRun | None] = lambda plan: None,
    hashes: FileHashes | None = None,
    now: datetime | None = None,
    dry_run: bool = True,
    **options: Any,
) -> Iterator[Due]:
    """Yield what a refresh would do about each dataset, by default about all.

    A dataset that is named is begun, as with `refresh: {start: true}` in its file. `last`: returns the last run of a
    planned dataset. `options`: further options of `what_is_due`.
    """
    now, state = now or datetime.now(UTC), RefreshState.beside(store)
    for plan in plan_datasets(registry, store, names or None, hashes=hashes):
        if plan.failure is not None:
            yield Due(plan)
            continue
        refresh = registry[plan.dataset].refresh
        if names and refresh != "never":
            refresh = refresh.model_copy(update={"start": True})
        holder = occupant(store.locks_folder, plan.dataset)
        run = last(plan) if holder is None else LastRun("active", holder)
        yield what_is_due(plan, refresh, now=now, state=state, last=run, dry_run=dry_run, **options)


def what_is_due(
    plan: DatasetPlan,
    refresh: Settings,
    *,
    now: datetime,
    state: RefreshState,
    last: LastRun | None = None,
    retried: Collection[End] = (),
    at_once: bool = False,
    dry_run: bool = False,
) -> Due:
    """Return the stages that a refresh runs at the time `now`, which has a time zone.

    `last`: the last run of the dataset. `retried`: ends of that run after which its stages run again. `at_once`: ignore
    cron, refusals and the end of the last run. With `cron`, a change waits for the next time of `cron`; from then on,
    stages run until nothing is due. The state records the cron times that were acted on, except with `dry_run`. A stage
    that was never made runs only if the file sets `refresh: {start: true}`, or if a later stage has a result.

    Raises:
        StoreError: the notes in `state` cannot be read or written.
    """
    name = plan.dataset
    if not at_once:
        ended = None if last is None or last.kind in ("active", *retried) else last
        plan = replace(plan, stages=tuple(_left_out(stage, state, ended) for stage in plan.stages))
    if last is not None and last.kind == "active":
        return Due(plan, waits=last.words)
    closed = _closed(plan, refresh, now, state, at_once=at_once, dry_run=dry_run)
    if closed is not None:
        return Due(plan, why_not=() if plan.up_to_date else (closed,))
    assert refresh != "never"
    unready = plan.in_state("waiting", "refused", "left", "cancelled")
    why_not = [f"{stage.stage}: {stage.reasons[0]}" for stage in unready]
    startable = {stage.stage for stage in plan.stages if refresh.start or _made_before(stage.stage, plan)}
    due = [stage for stage in plan.stale if stage.state == "found" or stage.stage in startable]
    why_not += [f"{stage.stage} was never made; {HOW_TO_START}" for stage in plan.stale if stage not in due]
    if refresh.cron is not None and not (due or plan.in_state("waiting") or dry_run):
        state.note_acted(name, until=now)
    # Behind a stage that does not run, a stage would read that stage's old result.
    later = startable & _with_later({stage.stage for stage in due}) - _with_later({stage.stage for stage in unready})
    following = tuple(stage.stage for stage in plan.in_state("after") if stage.stage in later)
    return Due(plan, tuple(due), following, tuple(why_not))


def _left_out(stage: StagePlan, state: RefreshState, ended: LastRun | None) -> StagePlan:
    """Return the stage, in the state "left" or "cancelled" if no refresh makes it with its present key."""
    refusal = state.refusal(stage.dataset, stage.stage, stage.key or "")
    end = ended if refusal is None else LastRun("failed", refusal)
    if end is None or not stage.stale:
        return stage
    again = refusal is None and end.kind in RETRIED_BY_COMMAND
    start = f"start it with `aflite refresh {'' if again else '--now '}{stage.dataset}`"
    remedy = start if refusal is None else f"correct its inputs, or {start}"
    until = f"{'Dagster starts the announced retry or ' if end.is_announced else ''}its inputs change"
    reason = f"it is not retried by itself until {until}: {end.words}; {remedy}"
    return replace(stage, state="left" if end.kind == "failed" else "cancelled", reasons=(reason,))


def _closed(
    plan: DatasetPlan, refresh: Settings, now: datetime, state: RefreshState, *, at_once: bool, dry_run: bool
) -> str | None:
    """Return why changes are not acted on now, or None if they are."""
    paused = state.paused()
    if paused is not None:
        return paused
    if refresh == "never":
        launch = f"`dg launch -m definitions --job benchmark --partition {plan.dataset}`"
        return f"its file has `refresh: never`; remove this setting, or start it by hand: {launch}"
    last = None if at_once else refresh.last_time(now)
    if last is None:
        return None
    acted = state.acted(plan.dataset)
    if acted is None and not dry_run:
        state.note_acted(plan.dataset, until=now)
    if last > (acted or now):  # cron times before the first plan are not made up for
        return None
    wait = f"changes wait for {refresh.next_time(now):%Y-%m-%d %H:%M} UTC (cron {refresh.cron!r})"
    return f"{wait}; `aflite refresh --now {plan.dataset}` acts on them at once"


def _made_before(stage: str, plan: DatasetPlan) -> bool:
    """Return whether the stage, or any stage after it, has a result."""
    names = _with_later({stage})
    return any(planned.made_before for planned in plan.stages if planned.stage in names)


def _with_later(names: set[str]) -> set[str]:
    """Return the stages in `names` and all stages that depend on them."""
    for name, stage in STAGES.items():
        if names & set(stage.input_names):
            names = names | {name}
    return names
