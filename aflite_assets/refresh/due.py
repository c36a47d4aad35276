"""What a refresh does about a plan now, and if nothing, why not: the switch, the YAML file's `refresh`, cron, tries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.refresh.state import RefreshState, Tries
from aflite_assets.specs.refresh import RefreshSpec
from aflite_assets.stages.pipeline import STAGES, Stage

MOST_TRIES = 3
"""Of one stage for one key; then it is left alone until its key is another one."""


@dataclass(frozen=True)
class GivenUp:
    """A stage whose tries are used up for the key that it has now."""

    stage: StagePlan
    tries: Tries

    def __str__(self) -> str:
        error = f"; the last failure: {self.tries.error}" if self.tries.error else ""
        return f"{self.stage.stage} is left after {self.tries.count} tries{error}"


@dataclass(frozen=True)
class Due:
    """What is to be done about one dataset now.

    `closed`: nothing is due whatever happens to the files, because of the switch, `never` or cron.
    `stages`: to be run now, in this order. `following`: stages after these, which may become due when they are made.
    `why_not`: why nothing is due though something is stale, one line per reason. `given_up`: stages whose tries are
    used up; `untold` are those of which nobody was told yet: tell, then call `RefreshState.note_reported`.
    """

    dataset: str
    stages: tuple[StagePlan, ...] = ()
    following: tuple[str, ...] = ()
    why_not: tuple[str, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    closed: bool = False

    @property
    def untold(self) -> tuple[GivenUp, ...]:
        """The stages given up of which nobody was told yet."""
        return tuple(one for one in self.given_up if not one.tries.reported)


def what_is_due(
    plan: DatasetPlan,
    refresh: RefreshSpec | Literal["never"],
    *,
    now: datetime,
    state: RefreshState,
    at_once: bool = False,
    stages: Mapping[str, Stage] = STAGES,
) -> Due:
    """What a refresh does about a dataset at `now`, a time with a zone; `at_once`: whatever its cron says.

    Changes are acted on from the first time of `cron` after the dataset was first looked at, until nothing of it is
    due; then they wait for the next time. The state notes which times were acted on, and nothing else is written.
    A stage that was never made, and nothing after it either, is begun with `refresh: {start: true}` only.

    Raises:
        StoreError: the state cannot be used.
    """
    name = plan.dataset
    paused = state.paused()
    if paused is not None:
        return Due(name, why_not=(f"refreshes are paused: {paused.reason or 'no reason was given'}",), closed=True)
    if plan.failure is not None:
        return Due(name, why_not=("its file was not understood",), closed=True)
    if refresh == "never":
        return Due(name, why_not=("refresh: never",) if not plan.up_to_date else (), closed=True)
    if not at_once:
        closed = _until(refresh, name, now, state)
        if closed is not None:
            return Due(name, why_not=(closed,) if not plan.up_to_date else (), closed=True)
    due, given_up, why_not = [], [], []
    for stage in plan.stale:
        if stage.state == "made" and not refresh.start and not _made_before(stage, plan, stages):
            why_not.append(f"{stage.stage} was never made; make it once, or set refresh: {{start: true}}")
            continue
        tries = state.tries(name, stage.stage, stage.key or "")
        if tries.count >= MOST_TRIES:
            given_up.append(GivenUp(stage, tries))
        else:
            due.append(stage)
    why_not += [str(one) for one in given_up]
    why_not += [f"{one.stage}: {one.reasons[0]}" for one in plan.stages if one.state in ("waiting", "refused")]
    waiting = any(stage.state == "waiting" for stage in plan.stages)
    if refresh.cron is not None and not due and not waiting:
        state.note_acted(name, until=now)
    following = _following(plan, {stage.stage for stage in due}, stages, start=refresh.start)
    return Due(name, tuple(due), following, () if due else tuple(why_not), tuple(given_up))


def why_closed(
    refresh: RefreshSpec | Literal["never"], dataset: str, *, now: datetime, state: RefreshState
) -> str | None:
    """Why nothing may be done about a dataset now, whatever changed; None where it may.

    Raises:
        StoreError: the state cannot be used.
    """
    paused = state.paused()
    if paused is not None:
        return f"refreshes are paused: {paused.reason or 'no reason was given'}"
    if refresh == "never":
        return "refresh: never"
    return _until(refresh, dataset, now, state)


def _until(refresh: RefreshSpec, dataset: str, now: datetime, state: RefreshState) -> str | None:
    """Why the dataset's cron does not allow anything now, or None where it does."""
    last = refresh.last_time(now)
    if last is None:
        return None
    acted = state.acted_until(dataset)
    if acted is None:
        # Switched on late, a refresh waits for the next time rather than make up for those that went by.
        acted = now
        state.note_acted(dataset, until=now)
    if last > acted:
        return None
    next_time = refresh.next_time(now)
    assert next_time is not None
    return f"changes wait for {next_time:%Y-%m-%d %H:%M} UTC (cron {refresh.cron!r})"


def _made_before(stage: StagePlan, plan: DatasetPlan, stages: Mapping[str, Stage]) -> bool:
    """Whether the stage or one that reads what follows from it has a result."""
    names = {stage.stage}
    for name, one in stages.items():
        if names & set(one.inputs):
            names.add(name)
    return any(one.made_before for one in plan.stages if one.stage in names)


def _following(plan: DatasetPlan, due: set[str], stages: Mapping[str, Stage], *, start: bool) -> tuple[str, ...]:
    reached = set(due)
    following = []
    for one in plan.stages:
        if one.stage not in due and reached & set(stages[one.stage].inputs):
            reached.add(one.stage)
            if one.state == "after" and (start or _made_before(one, plan, stages)):
                following.append(one.stage)
    return tuple(following)
