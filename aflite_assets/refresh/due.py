"""Which stages of a plan a refresh runs now, and why not the others: a pause, the file's `refresh`, cron, failures."""

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
    """A stage that was refused, failed, or was left by a cancelled run, for the key that it has now."""

    stage: StagePlan
    left: Left

    @property
    def remedy(self) -> str:
        """Return what a person does about it."""
        launch = f"make it by hand: `{launch_command(self.stage.dataset)}`"
        return {"refused": "mend what it reads", "failed": f"mend what it reads, or {launch}"}.get(
            self.left.kind, launch
        )

    def __str__(self) -> str:
        until = "left until what it reads changes"
        return {
            "refused": f"{self.stage.stage} is refused, and {until}: {self.left.why}",
            "failed": f"{self.stage.stage} failed, and is {until} or a person starts it: {self.left.why}",
            "cancelled": f"{self.stage.stage} is {until} or a person starts it: {self.left.why}",
        }[self.left.kind]


@dataclass(frozen=True)
class Due:
    """Record of what is to be done about one dataset now.

    `closed`: nothing is due, whatever changed, because refreshes are paused, or `never` or cron forbids it.
    `stages`: to be run now, in this order. `following`: stages after these, which may become due when they are made.
    `why_not`: why nothing is due though something is stale, one line per reason. `given_up`: stages that were refused,
    failed or were cancelled. `never_begun`: the dataset has no result, and its file does not say that a refresh may
    make the first one.
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
        """The stages given up without a person's decision."""
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
    """Return what a refresh does about a dataset at `now`, a time with a zone.

    `at_once`: whatever its cron says, and also what failed or was cancelled. Changes are acted on from the first time
    of `cron` after the dataset was first planned, until nothing of it is due; then they wait for the next time. Only
    the cron times that were acted on are written to the state; with `dry_run` nothing is. A stage is made for the first
    time only with `refresh: {start: true}`, or if a stage after it has a result.

    Raises:
        StoreError: the state cannot be used.
    """
    name = plan.dataset
    never_begun = not plan.begun and bool(plan.stale) and refresh != "never" and not refresh.start
    closed = _closed(plan, refresh, now, state, at_once=at_once, dry_run=dry_run)
    if closed is not None:
        return Due(name, why_not=closed, closed=True, never_begun=never_begun and plan.failure is None)
    assert refresh != "never"
    due: list[StagePlan] = []
    given_up: list[GivenUp] = []
    why_not: list[str] = []
    for stage in plan.stale:
        held_back = given_up_before(stage, state)
        if stage.state == "made" and not refresh.start and not _made_before(stage, plan):
            why_not.append(f"{stage.stage} was never made; {how_to_start(name)}")
        elif held_back is not None and not (at_once and held_back.left.kind != "refused"):
            given_up.append(held_back)
        else:
            due.append(stage)
    why_not += map(str, given_up)
    why_not += [f"{stage.stage}: {stage.reasons[0]}" for stage in plan.stages if stage.state in ("waiting", "refused")]
    waiting = any(stage.state == "waiting" for stage in plan.stages)
    if refresh.cron is not None and not (due or waiting or dry_run):
        state.note_acted(name, until=now)
    following = _following(plan, {stage.stage for stage in due}, start=refresh.start)
    reasons = () if due else tuple(why_not)
    return Due(name, tuple(due), following, reasons, given_up=tuple(given_up), never_begun=never_begun)


def _closed(
    plan: DatasetPlan, refresh: Settings, now: datetime, state: RefreshState, *, at_once: bool, dry_run: bool
) -> tuple[str, ...] | None:
    """Why changes are not acted on now, empty where there are none; None where they are acted on."""
    paused = state.paused()
    if paused is not None:
        return (str(paused),)
    if plan.failure is not None:
        return ("its file was not understood",)
    why = "refresh: never" if refresh == "never" else None
    if refresh != "never" and not at_once:
        why = _until(refresh, plan.dataset, now, state, dry_run=dry_run)
    return None if why is None else () if plan.up_to_date else (why,)


def given_up_before(stage: StagePlan, state: RefreshState) -> GivenUp | None:
    """Why no refresh makes a stage for its present key; None if one may.

    Raises:
        StoreError: the state cannot be used.
    """
    left = state.left(stage.dataset, stage.stage, stage.key or "")
    return None if left is None or not left.is_final else GivenUp(stage, left)


def how_to_start(dataset: str) -> str:
    """Return what a person does about a dataset that no refresh makes for the first time."""
    return f"start it once with `{launch_command(dataset)}`, or write `refresh: {{start: true}}` into its file"


def _until(
    refresh: RefreshSpec, dataset: str, now: datetime, state: RefreshState, *, dry_run: bool = False
) -> str | None:
    """Why the dataset's cron does not allow anything now, or None where it does."""
    last = refresh.last_time(now)
    if last is None:
        return None
    acted = state.acted_until(dataset)
    if acted is None:
        # Refreshes that are switched on late wait for the next time; missed times are not made up for.
        acted = now
        if not dry_run:
            state.note_acted(dataset, until=now)
    if last > acted:
        return None
    next_time = refresh.next_time(now)
    assert next_time is not None
    return f"changes wait for {next_time:%Y-%m-%d %H:%M} UTC (cron {refresh.cron!r})"


def _made_before(stage: StagePlan, plan: DatasetPlan) -> bool:
    """Whether the stage, or any stage downstream of it, has a result."""
    names = {stage.stage}
    for name, candidate in STAGES.items():
        if names & set(candidate.input_names):
            names.add(name)
    return any(planned.made_before for planned in plan.stages if planned.stage in names)


def _following(plan: DatasetPlan, due: set[str], *, start: bool) -> tuple[str, ...]:
    reached = set(due)
    following = []
    for stage in plan.stages:
        if stage.stage not in due and reached & set(STAGES[stage.stage].input_names):
            reached.add(stage.stage)
            if stage.state == "after" and (start or _made_before(stage, plan)):
                following.append(stage.stage)
    return tuple(following)
