"""The due stages of a plan, and why a refresh leaves out other stages: a pause, settings, cron, or the last run."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.refresh.state import RefreshState
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.stages.pipeline import STAGES

PLACEHOLDER = "NAME"
"""Placeholder for the name of a dataset in a command for several datasets."""
End = Literal["failed", "interrupted", "cancelled"]
Settings = RefreshSpec | Literal["never"]


@dataclass(frozen=True)
class LastRun:
    """The last run of a dataset in Dagster's history, if it matters for a refresh.

    `kind`: "active" if the run or its retry has not ended; otherwise, how a run with the present inputs ended. A run is
    "interrupted" by Ctrl-C of `aflite refresh`. `words`: name of an active run, or what happened to an ended run.
    """

    kind: Literal["active"] | End
    words: str


@dataclass(frozen=True)
class GivenUp:
    """A stage that refreshes leave out, because it refused its current inputs or the last run of the dataset ended."""

    stage: StagePlan
    kind: Literal["refused"] | End
    why: str

    @property
    def remedy(self) -> str:
        """Advice for a person who wants the stage to run."""
        start = f"start it with `aflite refresh --now {self.stage.dataset}`"
        return start if self.kind in ("cancelled", "interrupted") else f"correct its inputs, or {start}"

    def __str__(self) -> str:
        return f"{self.stage.stage} is not retried until its inputs change: {self.why}"


@dataclass(frozen=True)
class Due:
    """The stages of one dataset that a refresh runs now.

    `stages`: stages to run, in order. `following`: later stages, which may become due. `why_not`: a line with the
    remedy for each stage that does not run. `given_up`: stages that are left out until their inputs change. `waits`:
    the active run that a refresh waits for. `closed`: a pause, `refresh: never` or cron forbids all stages.
    `never_begun`: the dataset has no result, its file does not set `refresh.start`, and no run of it failed.
    """

    dataset: str
    stages: tuple[StagePlan, ...] = ()
    following: tuple[str, ...] = ()
    why_not: tuple[str, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    waits: str | None = None
    closed: bool = False
    never_begun: bool = False

    @property
    def failed(self) -> bool:
        """Whether a stage was refused or failed, and a person has to act."""
        return any(given_up.kind in ("refused", "failed") for given_up in self.given_up)


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
    if last is not None and last.kind == "active":
        return Due(name, waits=last.words)
    never_begun = not plan.begun and bool(plan.stale) and refresh != "never" and not refresh.start
    closed = _closed(plan, refresh, now, state, at_once=at_once, dry_run=dry_run)
    if closed is not None:
        return Due(name, why_not=() if plan.up_to_date else (closed,), closed=True, never_begun=never_begun)
    assert refresh != "never"
    ended = None if last is None or last.kind in retried else last
    due: list[StagePlan] = []
    given_up: list[GivenUp] = []
    why_not = [f"{stage.stage}: {stage.reasons[0]}" for stage in plan.stages if stage.state in ("waiting", "refused")]
    for stage in plan.stale:
        left_out = None if at_once else _given_up(stage, state, ended)
        if left_out is not None:
            given_up.append(left_out)
            why_not.append(f"{left_out}; {left_out.remedy}")
        elif stage.state == "made" and not refresh.start and not _made_before(stage.stage, plan):
            why_not.append(f"{stage.stage} was never made; {how_to_start(name)}")
        else:
            due.append(stage)
    waiting = any(stage.state == "waiting" for stage in plan.stages)
    if refresh.cron is not None and not (due or waiting or dry_run):
        state.note_acted(name, until=now)
    later = _with_later({stage.stage for stage in due})
    following = (stage.stage for stage in plan.stages if stage.state == "after" and stage.stage in later)
    return Due(
        name,
        tuple(due),
        tuple(stage for stage in following if refresh.start or _made_before(stage, plan)),
        why_not=tuple(why_not),
        given_up=tuple(given_up),
        never_begun=never_begun and not given_up,
    )


def how_to_start(dataset: str) -> str:
    """Return how a person starts a dataset that was never made."""
    return f"start it with `aflite refresh {dataset}`, or write `refresh: {{start: true}}` into its file"


def _closed(
    plan: DatasetPlan, refresh: Settings, now: datetime, state: RefreshState, *, at_once: bool, dry_run: bool
) -> str | None:
    """Return why changes are not acted on now, or None if they are."""
    paused = state.paused()
    if paused is not None:
        return str(paused)
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


def _given_up(stage: StagePlan, state: RefreshState, ended: LastRun | None) -> GivenUp | None:
    """Return why no refresh makes a stage with its present key, or None if a refresh may make it."""
    refusal = state.refusal(stage.dataset, stage.stage, stage.key or "")
    if refusal is not None:
        return GivenUp(stage, "refused", refusal)
    return GivenUp(stage, ended.kind, ended.words) if ended is not None and ended.kind != "active" else None


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
