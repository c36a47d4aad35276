"""The work of `aflite plan`, `refresh`, `pause`, `resume` and `status`: their printed lines and exit codes."""

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from filelock import FileLock, Timeout

from aflite_assets.command_line.leftovers import Leftovers, find_leftovers, leftover_lines
from aflite_assets.command_line.stage_bars import StageBars
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
from aflite_assets.data.loading import load_source
from aflite_assets.errors import AfliteError, DatasetBusyError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.paths import aflite_home
from aflite_assets.refresh.due import Due, how_to_start, what_is_due
from aflite_assets.refresh.launching import PLACEHOLDER, for_dataset
from aflite_assets.refresh.plan import STATES, DatasetPlan, plan_datasets
from aflite_assets.refresh.run import RefreshContext, Refreshed, refresh_dataset, settings_of
from aflite_assets.refresh.state import RefreshState
from aflite_assets.refresh.status import LETTERS, DatasetStatus, FailedRuns, dataset_status
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.locks import occupant
from aflite_assets.results.opening import open_store
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import Registry, load_registry
from aflite_assets.specs.sources import TableSource
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.stage import Progress
from aflite_assets.tracking import MlflowTracker, NullTracker

FAILED = 1
"""Exit code of a refresh in which something failed or is refused."""
PAUSED = 3
"""Exit code of a refresh that did nothing, because refreshes are paused or another refresh is active."""
WAITING = 4
"""Exit code of a refresh that a later refresh continues: a file is being written, or the dataset is being run."""
MOST_BYTES = 256 << 20
"""Size above which tables are not read to count new rows, so that a plan stays quick."""
_WHY = 110
_WHOLE = 10_000
_WORDS = {"made": "to make"}


def run_plan(options: argparse.Namespace) -> int:
    """Print the plan of each dataset, and what a refresh would do now."""
    store, now = open_store(), datetime.now(UTC)
    registry, state = load_registry(made=store.datasets()), RefreshState.beside(store)
    plans = list(plan_datasets(registry, store, options.names or None))
    due_by_dataset = {
        plan.dataset: what_is_due(
            plan, settings_of(registry[plan.dataset], begin=bool(options.names)), now=now, state=state, dry_run=True
        )
        for plan in plans
        if plan.failure is None
    }
    if options.json:
        facts = [_as_json(plan) | {"run_by": occupant(store.locks_folder, plan.dataset)} for plan in plans]
        _say([json.dumps(facts, indent=2)])
    else:
        failed = _failed_runs(plans, now)
        outlooks = {}
        for plan in plans:
            name, due = plan.dataset, due_by_dataset.get(plan.dataset)
            growth = row_growth(registry[name], plan, store) if due is not None and due.stages else None
            run = None if due is not None and due.given_up else failed.at_start.get(name)
            words = _outlook(plan, due, runner=occupant(store.locks_folder, name), retry=failed.retries.get(name))
            outlooks[name] = "; ".join(filter(None, (words, growth, run)))
        _say([*plan_lines(plans, due_by_dataset), "", *outlook_lines(outlooks)])
    is_left = any(due.failed for due in due_by_dataset.values())
    return FAILED if is_left or any(_refusals(plan) for plan in plans) else 0


def plan_lines(plans: Iterable[DatasetPlan], due_by_dataset: Mapping[str, Due]) -> list[str]:
    """Return a table of the stages that are not up to date, and a legend of the states.

    A dataset has a single line if all its stages are found, or if it was never made.
    """
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
            shown = [stage for stage in shown if stage.state in ("waiting", "refused") or stage.stage in left]
            rows += [] if shown else [(*whole, "never made", "", "")]
        for stage in shown:
            state, why = "left" if stage.stage in left else stage.state, "; ".join(map(str, stage.reasons))
            rows.append((plan.dataset, stage.stage, _WORDS.get(state, state), _took(stage.seconds), why))
            seen.add(state)
        notes += [f"{plan.dataset}: {note}" for note in plan.notes]
    states = [*STATES.items(), ("left", "it was refused, failed or was cancelled; a person has to act")]
    meanings = [f"{_WORDS.get(state, state)}: {meaning}" for state, meaning in states if state in seen]
    return [
        *table([(*row[:4], truncate_escaped(one_line(row[4]), _room())) for row in rows]),
        *(["", "; ".join(meanings)] if meanings else []),
        *(escaped(note) for note in notes),
    ]


def outlook_lines(outlooks: Mapping[str, str]) -> Iterator[str]:
    """Yield what a refresh would do now, with one line for all datasets that have the same outlook."""
    datasets: dict[str, list[str]] = {}
    for name, words in outlooks.items():
        if words:
            datasets.setdefault(words, []).append(name)
    yield "a refresh now would:" if datasets else "a refresh now would do nothing: all is found"
    for words, names in datasets.items():
        yield f"  {', '.join(names)}: {escaped(_of(names, words))}"


def _outlook(plan: DatasetPlan, due: Due | None, *, runner: str | None, retry: str | None) -> str | None:
    """Return what a refresh would do about one dataset, or None if all stages are found."""
    if runner is not None:
        return f"wait, because it is being run by {runner}"
    if retry is not None:
        return f"wait for {retry}, which Dagster announced"
    if due is None:
        return "skip it; correct its file, as the table says"
    if plan.up_to_date:
        return None
    if due.stages:
        following = f", then later stages (at most {len(due.following)})" if due.following else ""
        took = f"; it took {_took(plan.seconds)} last time" if plan.seconds is not None else ""
        return f"make {', '.join(stage.stage for stage in due.stages)}{following}{took}"
    if due.never_begun:
        return f"not start it, because it was never made; {how_to_start(PLACEHOLDER)}"
    return f"make nothing: {one_line('; '.join(due.why_not))}"


def row_growth(spec: DatasetSpec, plan: DatasetPlan, store: ResultStore) -> str | None:
    """Return the row counts of changed splits, or why a table cannot be read; None if no file of a table changed."""
    stage = plan["raw_dataset"]
    if stage.state != "made" or not any(reason.kind == "file" for reason in stage.reasons):
        return None
    files = () if plan.contents is None else plan.contents.files(["source"]).get("source", ())
    if not isinstance(spec.source, TableSource) or sum(file.mark.size for file in files) > MOST_BYTES:
        return None
    try:
        now = {split: table.num_rows for split, table in load_source(spec.source).items()}
        before = store.current("raw_dataset", spec.name).summary.get("source_rows", now)
    except AfliteError as error:
        return f"its new rows cannot be counted: {one_line(str(error))}"
    changed = [
        f"{split} has {now[split]:,} rows, {abs(growth):,} {'new' if growth > 0 else 'fewer'}"
        for split in now
        if (growth := now[split] - before.get(split, 0))
    ]
    return "; ".join(changed) or None


def run_refresh(options: argparse.Namespace) -> int:
    """Make the due stages, unless refreshes are paused or another refresh is active."""
    store, watch = open_store(), Watch()
    state = RefreshState.beside(store)
    paused = state.paused()
    if paused is not None:
        _say([escaped(str(paused))])
        return PAUSED
    state.make_folder()
    try:
        held = FileLock(state.lock).acquire(timeout=0)
    except Timeout:
        _say([f"another refresh is active (it holds {state.lock}); nothing was done; wait for its end"])
        return PAUSED
    with held, ExitStack() as stack:
        registry = load_registry(made=store.datasets())
        plans = list(plan_datasets(registry, store, options.names or None, hashes=FileHashes(watch=watch)))
        if any(stage.state == "waiting" for plan in plans for stage in plan.stages):
            time.sleep(max(1.0, options.settle))
        never: list[str] = []
        begin, context = bool(options.names), _context(options, store, stack)
        one = partial(refresh_dataset, context=context, state=state, at_once=options.now, begin=begin, watch=watch)
        codes = [_refresh_one(plan, registry, one, never) for plan in plans]
        if not options.names:
            state.note_check(now=datetime.now(UTC))
            codes.append(_without_files(store, registry))
    if never:
        _say([f"not started, because never made: {', '.join(never)}; {_of(never, how_to_start(PLACEHOLDER))}"])
    return next((code for code in (FAILED, WAITING) if code in codes), 0)


def _context(options: argparse.Namespace, store: ResultStore, stack: ExitStack) -> RefreshContext:
    """Return the resources of a refresh; on a terminal, progress bars are shown until `stack` closes."""
    lines = Progress(log=lambda line: _say([escaped(line)], error=True), on_iteration=lambda report: None)
    bars = stack.enter_context(StageBars(sys.stderr)) if sys.stderr.isatty() else None
    name = uuid.uuid4().hex[:12]
    uri = os.environ.get("MLFLOW_TRACKING_URI") or None
    return RefreshContext(
        store,
        run=f"refresh-{name}",
        tracker=NullTracker() if options.no_tracking else MlflowTracker(uri, aflite_home(), refresh=name),
        device=DeviceSettings(options.device),
        progress=(lambda stage: lines) if bars is None else bars.begin,
    )


def _refresh_one(
    plan: DatasetPlan, registry: Registry, refresh: Callable[[DatasetSpec], Refreshed], never: list[str]
) -> int:
    """Refresh one dataset, or add it to the datasets that were never made; return its exit code."""
    if plan.failure is not None:
        _say([escaped_lines(plan.failure)], error=True)
        return FAILED
    try:
        done = refresh(registry[plan.dataset])
    except DatasetBusyError as error:
        _say([escaped_lines(str(error))], error=True)
        return WAITING
    if done.due.never_begun:
        never.append(plan.dataset)
    else:
        _say(refreshed_lines(done))
    if done.failed or done.due.failed or _refusals(done.plan):
        return FAILED
    return WAITING if any(stage.state == "waiting" for stage in done.plan.stages) and not done.due.closed else 0


def _without_files(store: ResultStore, registry: Registry) -> int:
    """Print the datasets with results but without a file; return `FAILED` if no dataset with results has a file."""
    made = store.datasets()
    unknown = sorted(made - registry.specs.keys() - {path.stem for path in registry.failures})
    if unknown:
        line = (
            f"skipped: {', '.join(unknown)}; their results are in {escaped(store.place)}, but no dataset file "
            "has these names; put the files into a folder of AFLITE_DATASETS, or run `aflite prune`"
        )
        _say([line], error=True)
    return FAILED if unknown and not made & registry.specs.keys() else 0


def refreshed_lines(done: Refreshed) -> Iterator[str]:
    """Yield what was made of one dataset, what was not and why, and the verdicts and the path of a new report."""
    left = {given_up.stage.stage for given_up in done.due.given_up}
    said = []
    for stage, obtained in done.made:
        seconds = obtained.result.manifest["provenance"].get("seconds")
        how = "found" if obtained.cached else f"made in {duration(seconds)}" if seconds else "made"
        why = truncate_escaped("; ".join(map(str, stage.reasons)), _WHY)
        said.append(f"{stage.stage} {how} ({why})")
    said += [f"{stage} failed: {reason}" for stage, reason in done.failed.items() if stage not in left]
    said += done.due.why_not
    is_new = bool(done.made) and done.plan["benchmark_report"].current
    report = open_store().current("benchmark_report", done.plan.dataset) if is_new else None
    verdicts = [] if report is None else report.summary["verdicts"]
    yield from (f"{done.plan.dataset}: {escaped(one_line(line))}" for line in [*said, *verdicts] or ["nothing is due"])
    if report is not None:
        yield f"{done.plan.dataset}: the report is {escaped(str(report.file('report.html')))}"


def run_pause(options: argparse.Namespace) -> None:
    """Pause all refreshes."""
    RefreshState.beside(open_store()).pause(reason=options.reason, now=datetime.now(UTC))
    _say(["refreshes are paused; `aflite resume` continues them"])


def run_resume(_: argparse.Namespace) -> None:
    """End the pause of all refreshes."""
    was = RefreshState.beside(open_store()).resume()
    _say(["refreshes continue" if was else "refreshes were not paused"])


def run_status(options: argparse.Namespace) -> None:
    """Print the status of each dataset."""
    store = open_store()
    state = RefreshState.beside(store)
    plans = list(plan_datasets(load_registry(made=store.datasets()), store, options.names or None))
    failed = _failed_runs(plans, datetime.now(UTC))
    standing = [(plan, dataset_status(plan, store, state, failed=failed)) for plan in plans]
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
            *(["", escaped(str(paused))] if paused else []),
            *(["", *leftover_lines(left)] if left.words else []),
        ]
    )


def _failed_runs(plans: Iterable[DatasetPlan], now: datetime) -> FailedRuns:
    """Return the failed runs of datasets that are not up to date. Dagster is imported only if it has an instance."""
    names = [plan.dataset for plan in plans if not plan.up_to_date]
    if not names or not os.environ.get("DAGSTER_HOME"):
        return FailedRuns()
    from aflite_assets.automation.runs_of_datasets import failed_runs

    return failed_runs(names, now=now.timestamp())


def status_lines(standing: Iterable[tuple[DatasetStatus, bool]]) -> Iterator[str]:
    """Yield a line for each dataset, the legend of letters, and what needs a person.

    `standing`: the status of each dataset, and whether its file is refused.
    """
    rows = [("dataset", "last made", "stages", "size")]
    needs: list[str] = []
    waits: list[str] = []
    for status, is_refused in standing:
        made = "never" if status.made is None else _when(status.made)
        rows.append((status.dataset, made, "file refused" if is_refused else status.letters, size(status.size)))
        # The remedy is at the end of a trouble, so troubles are not truncated.
        needs += [f"  {status.dataset}: {escaped(trouble)}" for trouble in status.troubles]
        waits += [f"  {status.dataset}: {truncate_escaped(wait, _room())}" for wait in status.waits]
    yield from table(rows, numbers=(3,))
    yield ""
    yield f"stages: {', '.join(STAGES)}"
    yield "; ".join(f"{letter} {meaning}" for letter, meaning in LETTERS.items())
    for head, lines in (("needs you:", needs), ("continues later by itself:", waits)):
        yield from ["", head, *lines] if lines else []


def _as_json(plan: DatasetPlan) -> dict[str, Any]:
    named = ("stage", "state", "current", "seconds", "key")
    stages = [
        {**{name: getattr(stage, name) for name in named}, "reasons": [str(reason) for reason in stage.reasons]}
        for stage in plan.stages
    ]
    return {"dataset": plan.dataset, "failure": plan.failure, "notes": list(plan.notes), "stages": stages}


def _refusals(plan: DatasetPlan) -> bool:
    return plan.failure is not None or any(stage.state == "refused" for stage in plan.stages)


def _of(names: list[str], words: str) -> str:
    """Return the words; if there is one dataset, its name replaces the placeholder in the command."""
    return for_dataset(words, names[0]) if len(names) == 1 else words


def _room() -> int:
    return _WHY if sys.stdout.isatty() else _WHOLE


def _took(seconds: float | None) -> str:
    return "" if seconds is None else duration(max(seconds, 0.001))


def _when(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def _say(lines: Iterable[str], *, error: bool = False) -> None:
    write_lines(sys.stderr if error else sys.stdout, list(lines))
