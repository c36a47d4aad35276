"""`aflite plan`, `refresh`, `pause`, `resume` and `status`: arguments, what is printed, exit codes."""

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.terminal import duration, escaped, escaped_lines, shortened, size, table, write_lines
from aflite_assets.errors import DatasetBusyError
from aflite_assets.paths import aflite_home

if TYPE_CHECKING:
    from aflite_assets.refresh.plan import DatasetPlan
    from aflite_assets.refresh.run import Machine, Refreshed
    from aflite_assets.results import ResultStore
    from aflite_assets.results.file_hashes import Watch

FAILED = 1
"""Exit code of a refresh in which something failed or is refused."""
PAUSED = 3
"""Exit code of a refresh that did nothing: refreshes are paused, or another one is under way."""
WAITING = 4
"""Exit code of a refresh that left something for later: a file was still being written."""

_WHY = 110
_WHOLE = 10_000
_STATES = {"made": "to make"}

_PLAN = """\
Says of every stage of every dataset whether its result is found or would be made, why, and how long it took last time.
Nothing is made. Exits with 1 where a dataset's file or a stage is refused.
"""
_REFRESH = """\
Makes what the plan calls due: for system cron, where no Dagster daemon runs. A stage is due where something that it
reads has changed, and it was made before or the dataset's file says refresh: {start: true}; it is tried three times at
most for one state of its inputs. Where a result came out as it was, what follows is not made again. Exits with 0 where
all that was due is made or nothing was, 1 where something failed, was left or is refused, 3 where refreshes are paused
or another one is under way, 4 where a file was still being written or the dataset is being run.
"""
_PAUSE = "Stops all refreshes, those of Dagster's sensor too, until `aflite resume`. What is under way goes on."
_STATUS = "Lists the datasets: when each was last looked at and last made, how each stage stands, its size on the disk."


def add_commands(commands: Any) -> None:
    """Add the commands to the parser's."""
    plan = commands.add_parser("plan", help="what a refresh would make, and why", description=_PLAN)
    _add_names(plan)
    plan.add_argument("--json", action="store_true", help="as JSON")
    plan.set_defaults(command=_plan)
    refresh = commands.add_parser("refresh", help="make what changed", description=_REFRESH)
    _add_names(refresh)
    refresh.add_argument("--now", action="store_true", help="whatever the datasets' cron says")
    refresh.add_argument(
        "--settle",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="a changed file must stand still so long (default: 5)",
    )
    refresh.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where models run")
    refresh.add_argument("--no-tracking", action="store_true", help="keep nothing in MLflow")
    refresh.set_defaults(command=_refresh)
    pause = commands.add_parser("pause", help="stop all refreshes", description=_PAUSE)
    pause.add_argument("--reason", default="", help="shown wherever refreshes are")
    pause.set_defaults(command=_pause)
    resume = commands.add_parser("resume", help="let refreshes go on", description="Ends `aflite pause`.")
    resume.set_defaults(command=_resume)
    status = commands.add_parser("status", help="how every dataset stands", description=_STATUS)
    _add_names(status)
    status.set_defaults(command=_status)


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="datasets (default: all)")


def _plan(options: argparse.Namespace) -> int:
    plans = list(_plans(options.names, watch=None))
    if options.json:
        _say([json.dumps([_as_json(plan) for plan in plans], indent=2)])
    else:
        _say(plan_lines(plans))
    return FAILED if any(_refusals(plan) for plan in plans) else 0


def plan_lines(plans: Iterable["DatasetPlan"]) -> list[str]:
    """A table of every stage that is not found and current, a line for each dataset of which all is, and sums."""
    rows = [("dataset", "stage", "state", "last time", "why")]
    notes = []
    for plan in plans:
        if plan.failure is not None:
            rows.append((plan.dataset, "", "refused", "", plan.failure))
        elif plan.up_to_date:
            rows.append((plan.dataset, f"all {len(plan.stages)}", "found", "", ""))
        rows += [
            (
                plan.dataset,
                stage.stage,
                _STATES.get(stage.state, stage.state),
                _took(stage.seconds),
                "; ".join(map(str, stage.reasons)),
            )
            for stage in plan.stages
            if not stage.current
        ]
        notes += [f"{plan.dataset}: {note}" for note in plan.notes]
    room = _WHY if sys.stdout.isatty() else _WHOLE
    return [*table([(*row[:4], shortened(row[4], room)) for row in rows]), *(escaped(note) for note in notes)]


def _refresh(options: argparse.Namespace) -> int:
    from filelock import FileLock, Timeout

    from aflite_assets.refresh.state import RefreshState
    from aflite_assets.results.file_hashes import Watch

    store = _store()
    state = RefreshState.beside(store)
    paused = state.paused()
    if paused is not None:
        _say([f"refreshes are paused since {_when(paused.since)}: {escaped(paused.reason) or 'no reason was given'}"])
        return PAUSED
    state.make_folder()
    lock = FileLock(state.lock)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _say([f"another refresh is under way (it holds {state.lock}); nothing was done"])
        return PAUSED
    with lock:
        return _refresh_all(options, store, state, Watch())


def _refresh_all(options: argparse.Namespace, store: "ResultStore", state: Any, watch: "Watch") -> int:
    from aflite_assets.refresh.run import refresh_dataset
    from aflite_assets.specs.registry import load_registry

    plans = list(_plans(options.names, watch=watch))
    if any(stage.state == "waiting" for plan in plans for stage in plan.stages):
        time.sleep(max(1.0, options.settle))
    specs = load_registry().specs
    machine = _machine(options, store)
    codes = [FAILED for plan in plans if plan.failure is not None]
    never: list[str] = []
    for plan in plans:
        if plan.failure is not None:
            _say([escaped_lines(plan.failure)], error=True)
            continue
        try:
            done = refresh_dataset(
                specs[plan.dataset], machine, state=state, at_once=options.now, watch=watch, settle=None
            )
        except DatasetBusyError as error:
            _say([escaped_lines(str(error))], error=True)
            codes.append(WAITING)
            continue
        if not options.names and _never_begun(done):
            never.append(plan.dataset)
        else:
            _say(refreshed_lines(done))
        codes.append(_code(done))
        for one in done.due.untold:
            state.note_reported(plan.dataset, one.stage.stage, one.stage.key or "")
    if never:
        _say([f"{len(never)} datasets were never made; make them once, or set refresh: {{start: true}} in their files"])
    return next((code for code in (FAILED, WAITING) if code in codes), 0)


def refreshed_lines(done: "Refreshed") -> Iterator[str]:
    """What was done about one dataset, and what was not and why; a stage that is left is named once."""
    name = done.dataset
    for stage, obtained in done.made:
        seconds = obtained.result.manifest["provenance"].get("seconds")
        how = "found" if obtained.reused else f"made in {duration(seconds)}" if seconds else "made"
        yield f"{name}: {stage.stage} {how} ({shortened('; '.join(map(str, stage.reasons)), _WHY)})"
    for failed, reason in done.failed.items():
        yield f"{name}: {failed} failed: {escaped(reason)}"
    told = {str(one) for one in done.due.given_up if one.tries.reported}
    left = [why for why in done.due.why_not if why not in told]
    yield from (f"{name}: {escaped(why)}" for why in left)
    for one in done.due.given_up:
        if one.tries.reported:
            tries = f"{one.tries.count} tries failed"
            yield f"{name}: {one.stage.stage} is still left, {tries}; mend its input or materialise it by hand"
    if told:
        return
    if not done.made and not done.failed and not left:
        yield f"{name}: nothing is due"


def _never_begun(done: "Refreshed") -> bool:
    """Whether the dataset has no result and nothing was to be done about it."""
    stages = done.plan.stages
    return not (done.made or done.failed or done.due.given_up) and not any(one.made_before for one in stages)


def _code(done: "Refreshed") -> int:
    if done.failed or done.due.given_up or _refusals(done.plan):
        return FAILED
    return WAITING if any(stage.state == "waiting" for stage in done.plan.stages) and not done.due.closed else 0


def _refusals(plan: "DatasetPlan") -> bool:
    return plan.failure is not None or any(stage.state == "refused" for stage in plan.stages)


def _pause(options: argparse.Namespace) -> None:
    from aflite_assets.refresh.state import RefreshState

    RefreshState.beside(_store()).pause(reason=options.reason, now=datetime.now(UTC))
    _say(["refreshes are paused; `aflite resume` lets them go on"])


def _resume(_: argparse.Namespace) -> None:
    from aflite_assets.refresh.state import RefreshState

    was = RefreshState.beside(_store()).resume()
    _say(["refreshes go on" if was else "refreshes were not paused"])


def _status(options: argparse.Namespace) -> None:
    from aflite_assets.refresh.state import RefreshState
    from aflite_assets.refresh.status import LETTERS, dataset_status
    from aflite_assets.stages.pipeline import STAGES

    store = _store()
    state = RefreshState.beside(store)
    rows = [("dataset", "last looked at", "last made", "stages", "size")]
    for plan in _plans(options.names, watch=None):
        one = dataset_status(plan, store, state)
        looked, made = ("never" if at is None else _when(at) for at in (one.looked, one.made))
        letters = "file refused" if plan.failure is not None else one.letters
        rows.append((plan.dataset, looked, made, letters, size(one.size)))
    paused = state.paused()
    _say(
        [
            *table(rows, numbers=(4,)),
            "",
            f"stages: {', '.join(STAGES)}",
            ", ".join(f"{letter} {meaning}" for letter, meaning in LETTERS.items()),
            *(
                []
                if paused is None
                else [f"refreshes are paused since {_when(paused.since)}: {escaped(paused.reason)}"]
            ),
        ]
    )


def _plans(names: list[str], *, watch: "Watch | None") -> Iterator["DatasetPlan"]:
    from aflite_assets.refresh.plan import plan_datasets
    from aflite_assets.results.file_hashes import FileHashes
    from aflite_assets.specs.registry import load_registry

    return plan_datasets(load_registry(), _store(), names or None, hashes=FileHashes(watch=watch))


def _machine(options: argparse.Namespace, store: "ResultStore") -> "Machine":
    from aflite_assets.models.devices import DeviceSettings
    from aflite_assets.refresh.run import Machine
    from aflite_assets.stages.shared.progress import Progress
    from aflite_assets.tracking import MlflowTracker, NullTracker

    uri = os.environ.get("MLFLOW_TRACKING_URI") or None
    return Machine(
        store,
        run=f"refresh-{uuid.uuid4().hex[:12]}",
        tracker=NullTracker() if options.no_tracking else MlflowTracker(uri, aflite_home()),
        device=DeviceSettings(options.device),
        progress=Progress(log=lambda line: _say([escaped(line)], error=True), on_iteration=lambda report: None),
    )


def _store() -> "ResultStore":
    from aflite_assets.results import ResultStore

    return ResultStore(aflite_home() / "results")


def _as_json(plan: "DatasetPlan") -> dict[str, Any]:
    stages = [
        {
            "stage": stage.stage,
            "state": stage.state,
            "current": stage.current,
            "seconds": stage.seconds,
            "key": stage.key,
            "reasons": [str(reason) for reason in stage.reasons],
        }
        for stage in plan.stages
    ]
    return {"dataset": plan.dataset, "failure": plan.failure, "notes": list(plan.notes), "stages": stages}


def _took(seconds: float | None) -> str:
    return "" if seconds is None else duration(max(seconds, 0.001))


def _when(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def _say(lines: Iterable[str], *, error: bool = False) -> None:
    write_lines(sys.stderr if error else sys.stdout, list(lines))
