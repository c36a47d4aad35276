"""What a refresh does about a plan at a given time, with made-up plans and clocks."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aflite_assets.refresh.due import RETRIED_BY_COMMAND, Due, LastRun, what_is_due
from aflite_assets.refresh.plan import DatasetPlan, StagePlan, State
from aflite_assets.refresh.state import RefreshState
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.stages.pipeline import STAGES

WHY = ("filter.threshold: 0.75 -> 0.8",)
MONDAYS = RefreshSpec(cron="0 3 * * 1", timezone="Europe/Berlin")


@pytest.fixture
def state(tmp_path: Path) -> RefreshState:
    return RefreshState(tmp_path / "refresh")


def _at(day: int, hour: int = 12) -> datetime:
    """A time in November 2026; the 16th, 23rd and 30th are Mondays."""
    return datetime(2026, 11, day, hour, tzinfo=UTC)


def _plan(*, made: str | None = None, before: bool = True, state: State = "made", key: str = "abc") -> DatasetPlan:
    """All found, but `made`, and what reads what follows from it is after that."""
    stages: list[StagePlan] = []
    open_: set[str] = set()
    for name, stage in STAGES.items():
        if name == made:
            stages.append(StagePlan("digits", name, state, WHY, key=key, made_before=before))
            open_.add(name)
        elif open_ & set(stage.input_names):
            stages.append(StagePlan("digits", name, "after", made_before=before))
            open_.add(name)
        else:
            stages.append(StagePlan("digits", name, "found", key="f", current=True, made_before=True))
    return DatasetPlan("digits", tuple(stages))


def _names(due: Due) -> list[str]:
    return [stage.stage for stage in due.stages]


def test_nothing_changed(state: RefreshState) -> None:
    assert what_is_due(_plan(), RefreshSpec(), now=_at(20), state=state) == Due(_plan())
    assert not state.folder.exists()


def test_what_would_be_made_is_due_and_what_follows_is_named(state: RefreshState) -> None:
    due = what_is_due(_plan(made="bias_evidence"), RefreshSpec(), now=_at(20), state=state)
    assert (_names(due), due.following, due.why_not) == (["bias_evidence"], ("analysis", "benchmark_report"), ())


def test_a_pause_stops_all(state: RefreshState) -> None:
    state.pause(reason="disks", now=_at(1))
    paused = "refreshes are paused since 2026-11-01 12:00 UTC: disks"
    due = what_is_due(_plan(made="raw_dataset"), RefreshSpec(start=True), now=_at(20), state=state, at_once=True)
    assert due == Due(_plan(made="raw_dataset"), why_not=(f"{paused}; `aflite resume` continues them",))
    state.resume()
    assert _names(what_is_due(_plan(made="raw_dataset"), RefreshSpec(), now=_at(20), state=state)) == ["raw_dataset"]


def test_never_is_never(state: RefreshState) -> None:
    due = what_is_due(_plan(made="raw_dataset"), "never", now=_at(20), state=state, at_once=True)
    remedy = "remove this setting, or start it by hand: `dg launch -m definitions --job benchmark --partition digits`"
    assert due == Due(_plan(made="raw_dataset"), why_not=(f"its file has `refresh: never`; {remedy}",))


def test_what_has_no_result_is_begun_where_the_file_says_so(state: RefreshState) -> None:
    plan = _plan(made="raw_dataset", before=False)
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state)
    assert due.stages == ()
    assert due.why_not == (
        "raw_dataset was never made; start it with `aflite refresh NAME`, or write `refresh: {start: true}` into "
        "its file",
    )
    due = what_is_due(plan, RefreshSpec(start=True), now=_at(20), state=state)
    assert _names(due) == ["raw_dataset"]
    assert due.following == tuple(STAGES)[1:]


def test_only_the_stages_made_before_follow(state: RefreshState) -> None:
    full = _plan(made="filtered_sets")
    never = ("evaluator_models", "bias_evidence", "analysis", "benchmark_report")
    stages = tuple(
        StagePlan("digits", stage.stage, stage.state, made_before=False) if stage.stage in never else stage
        for stage in full.stages
    )
    due = what_is_due(DatasetPlan("digits", stages), RefreshSpec(), now=_at(20), state=state)
    assert (_names(due), due.following) == (["filtered_sets"], ("control_sets", "published_dataset"))


@pytest.mark.parametrize("state_of_other", ["refused", "waiting"])
def test_what_reads_a_stage_that_does_not_run_does_not_follow(state: RefreshState, state_of_other: State) -> None:
    """With a refused `train_sample`, the filter and the report would be made from its old result and the new data."""
    stages = [StagePlan("digits", name, "after", WHY, made_before=True) for name in STAGES]
    stages[0] = StagePlan("digits", "raw_dataset", "found", key="raw", current=True, made_before=True)
    for place, name in enumerate(STAGES):
        if STAGES[name].input_names == ("raw_dataset",) or name == "cue_scan":
            said = state_of_other if name == "train_sample" else "made"
            stages[place] = StagePlan("digits", name, said, WHY, key=name, made_before=True)
    due = what_is_due(DatasetPlan("digits", tuple(stages)), RefreshSpec(), now=_at(20), state=state)
    assert (_names(due), due.following) == (["challenge_sets", "cue_scan"], ())
    assert due.why_not == (f"train_sample: {WHY[0]}",)


def test_a_failed_run_is_not_repeated_unless_its_end_is_retried(state: RefreshState) -> None:
    plan, failed = _plan(made="raw_dataset"), LastRun("failed", "run 12345678 failed: raw_dataset: no room")
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=failed)
    assert (due.stages, due.failed) == ((), True)
    assert due.why_not == (
        "raw_dataset: it is not retried by itself until its inputs change: run 12345678 failed: raw_dataset: "
        "no room; start it with `aflite refresh digits`",
    )
    command = RETRIED_BY_COMMAND
    assert _names(what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=failed, retried=command)) == [
        "raw_dataset"
    ]
    assert _names(what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=failed, at_once=True)) == [
        "raw_dataset"
    ]
    assert not state.folder.exists()


def test_a_refusal_is_final_for_its_key(state: RefreshState) -> None:
    plan = _plan(made="raw_dataset")
    state.note_refusal("digits", "raw_dataset", "abc", "no column x9")
    due = what_is_due(plan, RefreshSpec(), now=_at(30), state=state, retried=("failed", "interrupted", "cancelled"))
    assert (due.stages, due.failed) == ((), True)
    why = (
        "raw_dataset: it is not retried by itself until its inputs change: no column x9; "
        "correct its inputs, or start it with `aflite refresh --now digits`"
    )
    assert due.why_not == (why,)
    assert _names(what_is_due(plan, RefreshSpec(), now=_at(30), state=state, at_once=True)) == ["raw_dataset"]
    mended = what_is_due(_plan(made="raw_dataset", key="def"), RefreshSpec(), now=_at(20), state=state)
    assert _names(mended) == ["raw_dataset"]
    state.note_made("digits", "raw_dataset")
    assert _names(what_is_due(plan, RefreshSpec(), now=_at(20), state=state)) == ["raw_dataset"]


def test_what_a_cancelled_run_left_is_no_failure(state: RefreshState) -> None:
    plan, cancelled = _plan(made="raw_dataset"), LastRun("cancelled", "run 12345678 was cancelled")
    command = RETRIED_BY_COMMAND
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=cancelled, retried=command)
    assert (due.stages, due.failed) == ((), False)
    assert due.why_not == (
        "raw_dataset: it is not retried by itself until its inputs change: run 12345678 was cancelled; start it with "
        "`aflite refresh --now digits`",
    )
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=cancelled, at_once=True)
    assert _names(due) == ["raw_dataset"]


def test_an_interrupted_command_is_continued_by_the_command_alone(state: RefreshState) -> None:
    plan, interrupted = _plan(made="raw_dataset"), LastRun("interrupted", "run 12345678 was interrupted")
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=interrupted)
    assert (due.stages, due.failed, due.plan["raw_dataset"].state) == ((), False, "cancelled")
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=interrupted, retried=RETRIED_BY_COMMAND)
    assert _names(due) == ["raw_dataset"]


def test_an_active_run_is_waited_for(state: RefreshState) -> None:
    state.pause(reason="disks", now=_at(1))
    for at_once in (False, True):
        due = what_is_due(
            _plan(made="raw_dataset"),
            RefreshSpec(),
            now=_at(20),
            state=state,
            last=LastRun("active", "run 7"),
            at_once=at_once,
        )
        assert due == Due(_plan(made="raw_dataset"), waits="run 7")


def test_a_first_run_that_failed_is_named_though_the_file_does_not_start_it(state: RefreshState) -> None:
    plan, failed = _plan(made="raw_dataset", before=False), LastRun("failed", "run 12345678 failed")
    due = what_is_due(plan, RefreshSpec(), now=_at(20), state=state, last=failed)
    assert (due.stages, due.plan["raw_dataset"].state) == ((), "left")
    assert due.why_not[0].endswith("run 12345678 failed; start it with `aflite refresh digits`")


def test_a_dry_run_writes_nothing(state: RefreshState) -> None:
    for plan in (_plan(), _plan(made="raw_dataset")):
        what_is_due(plan, MONDAYS, now=_at(20), state=state, dry_run=True)
    assert not state.folder.exists()


def test_cron_is_when_changes_are_acted_on(state: RefreshState) -> None:
    plan = _plan(made="raw_dataset")
    # Switched on late: what went by is not made up for.
    due = what_is_due(plan, MONDAYS, now=_at(20), state=state)
    wait = (
        "changes wait for 2026-11-23 02:00 UTC (cron '0 3 * * 1'); `aflite refresh --now digits` acts on them at once"
    )
    assert due == Due(plan, why_not=(wait,))
    assert what_is_due(plan, MONDAYS, now=_at(23, 1), state=state).stages == ()
    assert _names(what_is_due(plan, MONDAYS, now=_at(23, 2), state=state)) == ["raw_dataset"]
    # Open until nothing is due, however long that takes, and then closed to the next Monday.
    assert _names(what_is_due(plan, MONDAYS, now=_at(24), state=state)) == ["raw_dataset"]
    assert what_is_due(_plan(), MONDAYS, now=_at(24) + timedelta(hours=1), state=state) == Due(_plan())
    assert what_is_due(plan, MONDAYS, now=_at(25), state=state).stages == ()
    assert _names(what_is_due(plan, MONDAYS, now=_at(30, 3), state=state)) == ["raw_dataset"]
    assert _names(what_is_due(plan, MONDAYS, now=_at(25), state=state, at_once=True)) == ["raw_dataset"]


def test_what_is_given_up_or_refused_closes_the_time_and_what_waits_does_not(state: RefreshState) -> None:
    what_is_due(_plan(), MONDAYS, now=_at(20), state=state)
    waiting = what_is_due(_plan(made="raw_dataset", state="waiting"), MONDAYS, now=_at(23), state=state)
    assert waiting == Due(
        _plan(made="raw_dataset", state="waiting"), why_not=("raw_dataset: filter.threshold: 0.75 -> 0.8",)
    )
    assert _names(what_is_due(_plan(made="raw_dataset"), MONDAYS, now=_at(23), state=state)) == ["raw_dataset"]
    what_is_due(_plan(made="raw_dataset", state="refused"), MONDAYS, now=_at(23), state=state)
    assert what_is_due(_plan(made="raw_dataset"), MONDAYS, now=_at(23, 13), state=state).stages == ()


def test_a_result_that_is_found_but_not_current_is_due(state: RefreshState) -> None:
    stages = tuple(
        StagePlan("digits", stage.stage, "found", key="f", made_before=True, current=stage.stage != "control_sets")
        for stage in _plan().stages
    )
    due = what_is_due(DatasetPlan("digits", stages), RefreshSpec(), now=_at(20), state=state, at_once=True)
    assert _names(due) == ["control_sets"]


def test_a_file_that_was_not_understood_is_nobodys_run(state: RefreshState) -> None:
    due = what_is_due(DatasetPlan("digits", (), failure="no"), RefreshSpec(start=True), now=_at(20), state=state)
    assert due == Due(DatasetPlan("digits", (), failure="no"))
