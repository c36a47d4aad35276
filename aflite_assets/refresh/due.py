"""Which stages of a plan a refresh runs now, and why not the others: a pause, the file's `refresh`, cron, tries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from aflite_assets.refresh.launching import launch_command
from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.refresh.state import RefreshState, Tries
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.stage import Stage

MOST_TRIES = 3
"""Tries of one stage for one key; then the stage is left alone until its key changes."""
WAITS = (timedelta(minutes=10), timedelta(hours=1))
"""Between the first and the second try of a stage for one key, and between the second and the third."""


@dataclass(frozen=True)
class GivenUp:
    """A stage that was refused, that a person cancelled, or whose tries are used up, for the key that it has now."""

    stage: StagePlan
    tries: Tries

    @property
    def remedy(self) -> str:
        """Return what a person does about it."""
        launch = f"make it by hand: `{launch_command(self.stage.dataset)}`"
        if self.tries.cancelled:
            return launch
        by_hand = f", or {launch}"
        return f"mend what it reads{'' if self.tries.refused else by_hand}"

    def __str__(self) -> str:
        if self.tries.cancelled:
            run = f"run {self.tries.cancelled[:8]} was cancelled"
            return f"{self.stage.stage} is left because {run}, until what it reads changes or a person starts it"
        if self.tries.refused:
            return f"{self.stage.stage} is refused, and left until what it reads changes: {self.tries.error}"
        error = f"; the last failure: {self.tries.error}" if self.tries.error else ""
        return f"{self.stage.stage} is left after {self.tries.count} tries{error}"


@dataclass(frozen=True)
class RetryLater:
    """A stage whose last try for its present key failed; the next try is not before `until`, in UTC."""

    stage: StagePlan
    tries: Tries
    until: datetime

    def __str__(self) -> str:
        return (
            f"{self.stage.stage} is tried again from {self.until:%Y-%m-%d %H:%M} UTC on (try {self.tries.count + 1} of "
            f"{MOST_TRIES})"
        )


@dataclass(frozen=True)
class Due:
    """Record of what is to be done about one dataset now.

    `closed`: nothing is due, whatever changed, because refreshes are paused, or `never` or cron forbids it.
    `stages`: to be run now, in this order. `following`: stages after these, which may become due when they are made.
    `why_not`: why nothing is due though something is stale, one line per reason. `retry_later`: stages that failed and
    wait for their next try. `given_up`: stages that were refused or cancelled or whose tries are used up; `failed` are
    those that nobody cancelled, and `unreported` those of them of which nobody was told yet: tell, then call
    `RefreshState.note_reported`. `never_begun`: the dataset has no result,
    and its file does not say that a refresh may make the first one.
    """

    dataset: str
    stages: tuple[StagePlan, ...] = ()
    following: tuple[str, ...] = ()
    why_not: tuple[str, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    closed: bool = False
    retry_later: tuple[RetryLater, ...] = ()
    never_begun: bool = False

    @property
    def failed(self) -> tuple[GivenUp, ...]:
        """The stages given up without a person's decision."""
        return tuple(given_up for given_up in self.given_up if not given_up.tries.cancelled)

    @property
    def unreported(self) -> tuple[GivenUp, ...]:
        """The stages given up, other than cancelled ones, that were not reported yet."""
        return tuple(given_up for given_up in self.failed if not given_up.tries.reported)


def what_is_due(
    plan: DatasetPlan,
    refresh: RefreshSpec | Literal["never"],
    *,
    now: datetime,
    state: RefreshState,
    at_once: bool = False,
    dry_run: bool = False,
    stages: Mapping[str, Stage] = STAGES,
) -> Due:
    """Return what a refresh does about a dataset at `now`, a time with a zone.

    `at_once`: whatever its cron says, without waiting after a try that failed, and also what a person cancelled.
    Changes are acted on from the first time of `cron` after the dataset was first looked at, until nothing of it is
    due; then they wait for the next time. Only the cron times that were acted on are written to the state; with
    `dry_run` nothing is. A stage is made for the first time only with `refresh: {start: true}`, or where a stage after
    it has a result. One that failed is due again after `WAITS`.

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
    retry_later: list[RetryLater] = []
    given_up: list[GivenUp] = []
    why_not: list[str] = []
    for stage in plan.stale:
        if stage.state == "made" and not refresh.start and not _made_before(stage, plan, stages):
            why_not.append(f"{stage.stage} was never made; {how_to_start(name)}")
            continue
        held_back = after_tries(stage, state)
        if isinstance(held_back, GivenUp) and not (at_once and held_back.tries.cancelled):
            given_up.append(held_back)
        elif isinstance(held_back, RetryLater) and now < held_back.until and not at_once:
            retry_later.append(held_back)
        else:
            due.append(stage)
    why_not += [str(decision) for decision in (*retry_later, *given_up)]
    why_not += [f"{stage.stage}: {stage.reasons[0]}" for stage in plan.stages if stage.state in ("waiting", "refused")]
    waiting = any(stage.state == "waiting" for stage in plan.stages)
    if refresh.cron is not None and not (due or waiting or retry_later or dry_run):
        state.note_acted(name, until=now)
    following = _following(plan, {stage.stage for stage in due}, stages, start=refresh.start)
    return Due(
        name,
        tuple(due),
        following,
        why_not=() if due else tuple(why_not),
        given_up=tuple(given_up),
        retry_later=tuple(retry_later),
        never_begun=never_begun,
    )


def _closed(
    plan: DatasetPlan,
    refresh: RefreshSpec | Literal["never"],
    now: datetime,
    state: RefreshState,
    *,
    at_once: bool,
    dry_run: bool,
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


def after_tries(stage: StagePlan, state: RefreshState) -> GivenUp | RetryLater | None:
    """Whether a stage's earlier tries for its present key rule out or delay the next; None where there were none.

    Raises:
        StoreError: the state cannot be used.
    """
    tries = state.tries(stage.dataset, stage.stage, stage.key or "")
    if tries.cancelled or tries.refused or tries.count >= MOST_TRIES:
        return GivenUp(stage, tries)
    return None if tries.last is None else RetryLater(stage, tries, tries.last + WAITS[tries.count - 1])


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


def _made_before(stage: StagePlan, plan: DatasetPlan, stages: Mapping[str, Stage]) -> bool:
    """Whether the stage, or any stage downstream of it, has a result."""
    names = {stage.stage}
    for name, candidate in stages.items():
        if names & set(candidate.input_names):
            names.add(name)
    return any(planned.made_before for planned in plan.stages if planned.stage in names)


def _following(plan: DatasetPlan, due: set[str], stages: Mapping[str, Stage], *, start: bool) -> tuple[str, ...]:
    reached = set(due)
    following = []
    for stage in plan.stages:
        if stage.stage not in due and reached & set(stages[stage.stage].input_names):
            reached.add(stage.stage)
            if stage.state == "after" and (start or _made_before(stage, plan, stages)):
                following.append(stage.stage)
    return tuple(following)
