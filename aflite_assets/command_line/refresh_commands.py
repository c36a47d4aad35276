"""`aflite plan`, `refresh`, `pause`, `resume` and `status`: arguments, what is printed, exit codes."""

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.leftovers import Leftovers, find_leftovers, leftover_lines
from aflite_assets.command_line.row_growth import row_growth
from aflite_assets.command_line.terminal import (
    duration,
    escaped,
    escaped_lines,
    one_line,
    size,
    table,
    truncate_escaped,
    write_lines,
)
from aflite_assets.errors import DatasetBusyError
from aflite_assets.paths import aflite_home
from aflite_assets.wording import counted

if TYPE_CHECKING:
    from aflite_assets.refresh.due import Due
    from aflite_assets.refresh.plan import DatasetPlan
    from aflite_assets.refresh.run import RefreshContext, Refreshed
    from aflite_assets.refresh.state import RefreshState
    from aflite_assets.refresh.status import DatasetStatus
    from aflite_assets.results import PublishedResult, ResultStore
    from aflite_assets.results.file_hashes import Watch
    from aflite_assets.specs.registry import Registry

FAILED = 1
"""Exit code of a refresh in which something failed or is refused."""
PAUSED = 3
"""Exit code of a refresh that did nothing: refreshes are paused, or another one is under way."""
WAITING = 4
"""Exit code of a refresh that left something for later: a file is still being written, or the dataset is being run."""

_WHY = 110
_WHOLE = 10_000
_WORDS = {"made": "to make"}

_PLAN = """\
Says of every stage of every dataset whether its result is found or would be made, why, and how long it took last time;
below that, what a refresh would do about each dataset now. Nothing is made. Exits with 1 where a dataset's file or a
stage is refused, or a stage is left after its tries.
"""
_REFRESH = """\
Makes what the plan calls due: for system cron, where no Dagster daemon runs. A stage is due where something that it
reads has changed, and it was made before, or the dataset is named here, or its file says refresh: {start: true}. With
a name it is what runs that dataset in one process, without Dagster. A stage that fails is tried by three refreshes at
most for one state of its inputs; if its inputs are refused, once. If a result came out as it was, what follows is not
made again. Exits with 0 if all that was due is made or nothing was, 1 if something failed, was left or is refused, or
no dataset with results here has a file, 3 if refreshes are paused or another one is under way,
4 if a file was still being written or the dataset is being run.
"""
_PAUSE = "Stops all refreshes, those of Dagster's sensor too, until `aflite resume`. What is under way goes on."
_STATUS = """\
Lists the datasets: when each was last made, how each stage stands, its size on the disk; those that need you first, and
below the table why.
"""


def add_commands(commands: Any) -> None:
    """Add the commands to the parser's."""
    plan = commands.add_parser("plan", help="what a refresh would make, and why", description=_PLAN)
    _add_names(plan)
    plan.add_argument("--json", action="store_true", help="as JSON")
    plan.set_defaults(command=_plan)
    refresh = commands.add_parser("refresh", help="make what changed", description=_REFRESH)
    _add_names(refresh)
    refresh.add_argument(
        "--now", action="store_true", help="whatever a dataset's cron says, and also what failed or was cancelled"
    )
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
    status.add_argument("--json", action="store_true", help="as JSON")
    status.set_defaults(command=_status)


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="datasets (default: all)")


def _plan(options: argparse.Namespace) -> int:
    from aflite_assets.refresh.due import what_is_due
    from aflite_assets.refresh.run import settings_of
    from aflite_assets.refresh.state import RefreshState
    from aflite_assets.specs.registry import load_registry

    state, now, begin = RefreshState.beside(_store()), datetime.now(UTC), bool(options.names)
    registry = load_registry(made=_store().datasets())
    plans = list(_plans(options.names, registry, watch=None))
    due_by_dataset = {
        plan.dataset: what_is_due(
            plan, settings_of(registry[plan.dataset], begin=begin), now=now, state=state, dry_run=True
        )
        for plan in plans
        if plan.failure is None
    }
    if options.json:
        _say([json.dumps([_as_json(plan) | {"run_by": _runner(plan)} for plan in plans], indent=2)])
    else:
        _say([*plan_lines(plans, due_by_dataset), "", *outlook_lines(plans, due_by_dataset, registry)])
    is_left = any(due.failed for due in due_by_dataset.values())
    return FAILED if is_left or any(_refusals(plan) for plan in plans) else 0


def plan_lines(plans: Iterable["DatasetPlan"], due_by_dataset: Mapping[str, "Due"]) -> list[str]:
    """Return a table of every stage that is not found and current, and a legend of the states.

    A dataset whose stages are all found, or that was never made, has one line.
    """
    from aflite_assets.refresh.plan import STATES

    rows = [("dataset", "stage", "state", "last time", "why")]
    notes: list[str] = []
    seen: set[str] = set()
    for plan in plans:
        due = due_by_dataset.get(plan.dataset)
        left = set() if due is None else {given_up.stage.stage for given_up in due.given_up}
        whole = (plan.dataset, f"all {len(plan.stages)}")
        shown = [stage for stage in plan.stages if not stage.current]
        if plan.failure is not None:
            rows.append((plan.dataset, "", "refused", "", plan.failure))
            seen.add("refused")
        elif plan.up_to_date:
            rows.append((*whole, "found", "", ""))
            seen.add("found")
        elif not plan.begun:
            shown = [stage for stage in shown if stage.state in ("waiting", "refused")]
            rows += [] if shown else [(*whole, "never made", "", "")]
        for stage in shown:
            state, why = "left" if stage.stage in left else stage.state, "; ".join(map(str, stage.reasons))
            rows.append((plan.dataset, stage.stage, _WORDS.get(state, state), _took(stage.seconds), why))
            seen.add(state)
        notes += [f"{plan.dataset}: {note}" for note in plan.notes]
    room = _WHY if sys.stdout.isatty() else _WHOLE
    states = [*STATES.items(), ("left", "it was refused, failed or was cancelled; a person has to act")]
    meanings = [f"{_WORDS.get(state, state)}: {meaning}" for state, meaning in states if state in seen]
    return [
        *table([(*row[:4], truncate_escaped(one_line(row[4]), room)) for row in rows]),
        *(["", "; ".join(meanings)] if meanings else []),
        *(escaped(note) for note in notes),
    ]


def _runner(plan: "DatasetPlan") -> str | None:
    """Who is running a dataset now."""
    from aflite_assets.results.locks import occupant

    return occupant(_store().locks_folder, plan.dataset)


def outlook_lines(
    plans: Iterable["DatasetPlan"], due_by_dataset: Mapping[str, "Due"], registry: "Registry"
) -> Iterator[str]:
    """Yield what a refresh would do now, with datasets that share an answer in one line."""
    datasets: dict[str, list[str]] = {}
    for plan in plans:
        due = due_by_dataset.get(plan.dataset)
        words = _outlook(plan, due)
        if due is not None and due.stages and (growth := row_growth(registry[plan.dataset], plan, _store())):
            words = f"{words}; {growth}"
        if (runner := _runner(plan)) is not None:
            words = f"wait, since it is being run by {runner}"
        if words is not None:
            datasets.setdefault(words, []).append(plan.dataset)
    yield "a refresh now would:" if datasets else "a refresh now would do nothing: all is found"
    for words, names in datasets.items():
        yield f"  {', '.join(names)}: {escaped(_of(names, words))}"


def _outlook(plan: "DatasetPlan", due: "Due | None") -> str | None:
    """Return what a refresh would do about one dataset, None where all is found; the same words for the same answer."""
    from aflite_assets.refresh.due import how_to_start
    from aflite_assets.refresh.launching import PLACEHOLDER

    if plan.failure is not None or due is None:
        return "leave it out until its file is mended"
    if plan.up_to_date:
        return None
    if due.stages:
        following = f", then what follows (at most {counted(len(due.following), 'stage')})" if due.following else ""
        took = f"; it took {_took(plan.seconds)} last time" if plan.seconds is not None else ""
        return f"make {', '.join(stage.stage for stage in due.stages)}{following}{took}"
    if due.why_not == ("refresh: never",):
        return "leave it alone (`refresh: never`)"
    if due.never_begun:
        return f"not begin it, since it was never made; {how_to_start(PLACEHOLDER)}"
    return f"make nothing: {one_line('; '.join(due.why_not))}"


def _refresh(options: argparse.Namespace) -> int:
    from filelock import FileLock, Timeout

    from aflite_assets.refresh.due import how_to_start
    from aflite_assets.refresh.launching import PLACEHOLDER
    from aflite_assets.refresh.state import RefreshState
    from aflite_assets.results.file_hashes import Watch
    from aflite_assets.specs.registry import load_registry

    store, watch = _store(), Watch()
    state = RefreshState.beside(store)
    paused = state.paused()
    if paused is not None:
        _say([f"{escaped(str(paused))}; `aflite resume` lets them go on"])
        return PAUSED
    state.make_folder()
    try:
        held = FileLock(state.lock).acquire(timeout=0)
    except Timeout:
        _say([f"another refresh is under way (it holds {state.lock}); nothing was done"])
        return PAUSED
    with held, ExitStack() as stack:
        registry = load_registry(made=store.datasets())
        plans = list(_plans(options.names, registry, watch=watch))
        if any(stage.state == "waiting" for plan in plans for stage in plan.stages):
            time.sleep(max(1.0, options.settle))
        context = _context(options, store, stack)
        never: list[str] = []
        codes = [_refresh_one(plan, registry, context, state, watch, options, never) for plan in plans]
        if not options.names:
            state.note_check(now=datetime.now(UTC))
            codes.append(_without_files(store, registry))
    if never:
        _say([f"never made, and not begun: {', '.join(never)}; {_of(never, how_to_start(PLACEHOLDER))}"])
    return next((code for code in (FAILED, WAITING) if code in codes), 0)


def _refresh_one(
    plan: "DatasetPlan",
    registry: "Registry",
    context: "RefreshContext",
    state: "RefreshState",
    watch: "Watch",
    options: argparse.Namespace,
    never: list[str],
) -> int:
    """Refresh one dataset, or add it to those that were never made; returns the exit code that it stands for."""
    from aflite_assets.refresh.run import refresh_dataset

    if plan.failure is not None:
        _say([escaped_lines(plan.failure)], error=True)
        return FAILED
    spec, begin = registry[plan.dataset], bool(options.names)
    try:
        done = refresh_dataset(spec, context, state=state, at_once=options.now, begin=begin, watch=watch)
    except DatasetBusyError as error:
        _say([escaped_lines(str(error))], error=True)
        return WAITING
    if done.due.never_begun:
        never.append(plan.dataset)
    else:
        covers = bool(done.made) and done.plan["benchmark_report"].current
        report = context.store.current("benchmark_report", done.dataset) if covers else None
        _say(refreshed_lines(done, report=report))
    if done.failed or done.due.failed or _refusals(done.plan):
        return FAILED
    return WAITING if any(stage.state == "waiting" for stage in done.plan.stages) and not done.due.closed else 0


def _without_files(store: "ResultStore", registry: "Registry") -> int:
    """Report datasets with results but without a file; `FAILED` where none has a file, as without `AFLITE_DATASETS`."""
    made = store.datasets()
    unknown = sorted(made - registry.specs.keys() - {path.stem for path in registry.failures})
    if unknown:
        line = (
            f"not looked at: {', '.join(unknown)}; their results lie in {escaped(store.place)}, but no dataset file "
            "has these names (AFLITE_DATASETS names the folders of files)"
        )
        _say([line], error=True)
    return FAILED if unknown and not made & registry.specs.keys() else 0


def refreshed_lines(done: "Refreshed", *, report: "PublishedResult | None" = None) -> Iterator[str]:
    """Yield what was done about one dataset, what was not and why, the verdicts of the `report`, and where it is."""
    name, left = done.dataset, {given_up.stage.stage: given_up for given_up in done.due.given_up}
    for stage, obtained in done.made:
        seconds = obtained.result.manifest["provenance"].get("seconds")
        how = "found" if obtained.cached else f"made in {duration(seconds)}" if seconds else "made"
        yield f"{name}: {stage.stage} {how} ({truncate_escaped('; '.join(map(str, stage.reasons)), _WHY)})"
    for failed, reason in done.failed.items():
        if failed not in left:
            yield f"{name}: {failed} failed: {escaped(one_line(reason))}"
    for given_up in left.values():
        yield f"{name}: {escaped(one_line(str(given_up)))}; {given_up.remedy}"
    why_not = [why for why in done.due.why_not if why not in map(str, left.values())]
    yield from (f"{name}: {escaped(one_line(why))}" for why in why_not)
    if report is not None:
        yield from (f"{name}: {escaped(one_line(verdict))}" for verdict in report.summary["verdicts"])
        yield f"{name}: the report is {escaped(str(report.file('report.html')))}"
    if not (done.made or done.failed or why_not or left):
        yield f"{name}: nothing is due"


def _of(names: list[str], words: str) -> str:
    """Return the words about any dataset, about the one that there is if there is only one."""
    from aflite_assets.refresh.launching import for_dataset

    return for_dataset(words, names[0]) if len(names) == 1 else words


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
    from aflite_assets.refresh.status import dataset_status
    from aflite_assets.specs.registry import load_registry

    store = _store()
    state = RefreshState.beside(store)
    plans = list(_plans(options.names, load_registry(made=store.datasets()), watch=None))
    failed = _failed_at_start(plan.dataset for plan in plans if not plan.up_to_date)
    standing = [(plan, dataset_status(plan, store, state, failed_run=failed.get(plan.dataset))) for plan in plans]
    standing.sort(key=lambda pair: (not pair[1].troubles, not pair[0].begun))
    paused, checked = state.paused(), state.last_check()
    left = Leftovers({}, None) if options.names else find_leftovers(store)
    if options.json:
        facts = [{**asdict(status), "failure": plan.failure, "stages": status.stages} for plan, status in standing]
        whole = {"paused": paused and str(paused), "checked": checked, "datasets": facts, "deleted": dict(left.words)}
        _say([json.dumps(whole, indent=2, default=str)])
        return
    _say(
        [
            *status_lines([(status, plan.failure is not None) for plan, status in standing]),
            *(["", f"all datasets were last checked {_when(checked)}"] if checked else []),
            *([] if paused is None else ["", f"{escaped(str(paused))}; `aflite resume` lets them go on"]),
            *(["", *leftover_lines(left)] if left.words else []),
        ]
    )


def _failed_at_start(names: Iterable[str]) -> Mapping[str, str]:
    """Return the newest run of each dataset, if it failed before its first stage; empty without `DAGSTER_HOME`."""
    if not os.environ.get("DAGSTER_HOME"):
        return {}
    from aflite_assets.automation.runs_of_datasets import failed_at_start

    return failed_at_start(names)


def status_lines(standing: Iterable[tuple["DatasetStatus", bool]]) -> Iterator[str]:
    """Yield a line for each dataset, whether its file is refused, the legend of letters, what needs attention."""
    from aflite_assets.refresh.status import LETTERS
    from aflite_assets.stages.pipeline import STAGES

    rows = [("dataset", "last made", "stages", "size")]
    needs: list[str] = []
    waits: list[str] = []
    room = _WHY if sys.stdout.isatty() else _WHOLE
    for status, is_refused in standing:
        made = "never" if status.made is None else _when(status.made)
        rows.append((status.dataset, made, "file refused" if is_refused else status.letters, size(status.size)))
        for lines, said in ((needs, status.troubles), (waits, status.waits)):
            lines += [f"  {status.dataset}: {truncate_escaped('; '.join(said), room)}"] if said else []
    yield from table(rows, numbers=(3,))
    yield ""
    yield f"stages: {', '.join(STAGES)}"
    yield "; ".join(f"{letter} {meaning}" for letter, meaning in LETTERS.items())
    for head, lines in (("needs you:", needs), ("goes on by itself:", waits)):
        yield from ["", head, *lines] if lines else []


def _plans(names: list[str], registry: "Registry", *, watch: "Watch | None") -> Iterator["DatasetPlan"]:
    from aflite_assets.refresh.plan import plan_datasets
    from aflite_assets.results.file_hashes import FileHashes

    return plan_datasets(registry, _store(), names or None, hashes=FileHashes(watch=watch))


def _context(options: argparse.Namespace, store: "ResultStore", stack: ExitStack) -> "RefreshContext":
    """Return what stages are run with; on a terminal their bars, which `stack` ends."""
    from aflite_assets.models.devices import DeviceSettings
    from aflite_assets.refresh.run import RefreshContext
    from aflite_assets.stages.stage import Progress
    from aflite_assets.tracking import MlflowTracker, NullTracker

    if sys.stderr.isatty():
        from aflite_assets.command_line.stage_bars import StageBars

        progress = stack.enter_context(StageBars(sys.stderr)).begin
    else:
        lines = Progress(log=lambda line: _say([escaped(line)], error=True), on_iteration=lambda report: None)

        def progress(stage: str) -> Progress:
            return lines

    refresh = uuid.uuid4().hex[:12]
    return RefreshContext(
        store,
        run=f"refresh-{refresh}",
        tracker=NullTracker()
        if options.no_tracking
        else MlflowTracker(os.environ.get("MLFLOW_TRACKING_URI") or None, aflite_home(), refresh=refresh),
        device=DeviceSettings(options.device),
        progress=progress,
    )


def _store() -> "ResultStore":
    from aflite_assets.results.opening import open_store

    return open_store()


def _as_json(plan: "DatasetPlan") -> dict[str, Any]:
    named = ("stage", "state", "current", "seconds", "key")
    stages = [
        {**{name: getattr(stage, name) for name in named}, "reasons": [str(reason) for reason in stage.reasons]}
        for stage in plan.stages
    ]
    return {"dataset": plan.dataset, "failure": plan.failure, "notes": list(plan.notes), "stages": stages}


def _took(seconds: float | None) -> str:
    return "" if seconds is None else duration(max(seconds, 0.001))


def _when(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def _say(lines: Iterable[str], *, error: bool = False) -> None:
    write_lines(sys.stderr if error else sys.stdout, list(lines))
