"""The due stages of a plan, and why a refresh leaves out other stages: a pause, settings, cron or failures."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from aflite_assets.refresh.launching import launch_command
from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.refresh.state import Left, RefreshState
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.stages.pipeline import STAGES

Settings = RefreshSpec | Literal["never"]


@dataclass(frozen=True)
class GivenUp:
    """A stage that refreshes leave out: with its current key it was refused or failed, or its run was cancelled."""

    stage: StagePlan
    left: Left

    @property
    def remedy(self) -> str:
        """Advice for a person who wants the stage to run."""
        launch = _by_hand(self.stage.dataset)
        remedies = {"refused": "correct its inputs", "failed": f"correct its inputs, or {launch}", "cancelled": launch}
        return remedies[self.left.kind]

    def __str__(self) -> str:
        words = {
            "refused": "refused its inputs, and is not retried until they change",
            "failed": "failed, and is not retried until its inputs change or a person starts it",
            "cancelled": "is not retried until its inputs change or a person starts it",
        }
        return f"{self.stage.stage} {words[self.left.kind]}: {self.left.why}"


@dataclass(frozen=True)
class Due:
    """The stages of one dataset that a refresh runs now.

    `stages`: stages to run, in order. `following`: later stages, which may become due. `why_not`: a line with the
    remedy for each stage that does not run. `given_up`: stages that were refused, failed or were cancelled. `closed`: a
    pause, `refresh: never` or cron forbids all stages. `never_begun`: the dataset has no result, its file does not set
    `refresh.start`, and no run of it failed.
    """

    dataset: str
    stages: tuple[StagePlan, ...] = ()
    following: tuple[str, ...] = ()
    why_not: tuple[str, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    closed: bool = False
    never_begun: bool = False

    @property
    def failed(self) -> tuple[GivenUp, ...]:
        """The stages that are no longer tried, except stages of a cancelled run."""
        return tuple(given_up for given_up in self.given_up if given_up.left.kind != "cancelled")


def what_is_due(
    plan: DatasetPlan,
    refresh: Settings,
    *,
    now: datetime,
    state: RefreshState,
    at_once: bool = False,
    dry_run: bool = False,
) -> Due:
    """Return the stages that a refresh runs at the time `now`, which has a time zone.

    `at_once`: ignore cron, and include stages that failed or were cancelled. With `cron`, a change waits for the next
    time of `cron`; from then on, stages run until nothing is due. The state records the cron times that were acted on,
    except with `dry_run`. A stage that was never made runs only if the file sets `refresh: {start: true}`, or if a
    later stage has a result.

    Raises:
        StoreError: the notes in `state` cannot be read or written.
    """
    name = plan.dataset
    never_begun = not plan.begun and bool(plan.stale) and refresh != "never" and not refresh.start
    closed = _closed(plan, refresh, now, state, at_once=at_once, dry_run=dry_run)
    if closed is not None:
        return Due(name, why_not=() if plan.up_to_date else (closed,), closed=True, never_begun=never_begun)
    assert refresh != "never"
    due: list[StagePlan] = []
    given_up: list[GivenUp] = []
    why_not = [f"{stage.stage}: {stage.reasons[0]}" for stage in plan.stages if stage.state in ("waiting", "refused")]
    for stage in plan.stale:
        held_back = given_up_before(stage, state)
        if held_back is not None and not (at_once and held_back.left.kind != "refused"):
            given_up.append(held_back)
            why_not.append(f"{held_back}; {held_back.remedy}")
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


def _closed(
    plan: DatasetPlan, refresh: Settings, now: datetime, state: RefreshState, *, at_once: bool, dry_run: bool
) -> str | None:
    """Return why changes are not acted on now, or None if they are."""
    paused = state.paused()
    if paused is not None:
        return str(paused)
    if refresh == "never":
        return f"its file has `refresh: never`; remove this setting, or {_by_hand(plan.dataset)}"
    last = None if at_once else refresh.last_time(now)
    if last is None:
        return None
    acted = state.notes(plan.dataset).acted
    if acted is None and not dry_run:
        state.note_acted(plan.dataset, until=now)
    if last > (acted or now):  # cron times before the first plan are not made up for
        return None
    wait = f"changes wait for {refresh.next_time(now):%Y-%m-%d %H:%M} UTC (cron {refresh.cron!r})"
    return f"{wait}; `aflite refresh --now {plan.dataset}` acts on them at once"


def given_up_before(stage: StagePlan, state: RefreshState) -> GivenUp | None:
    """Return why no refresh makes a stage with its present key, or None if a refresh may make it."""
    left = state.left(stage.dataset, stage.stage, stage.key or "")
    return None if left is None or not left.is_final else GivenUp(stage, left)


def how_to_start(dataset: str) -> str:
    """Return how a person starts a dataset that was never made."""
    return f"start it once with `{launch_command(dataset)}`, or write `refresh: {{start: true}}` into its file"


def _by_hand(dataset: str) -> str:
    return f"start it by hand: `{launch_command(dataset)}`"


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
