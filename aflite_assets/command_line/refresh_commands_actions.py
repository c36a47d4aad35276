"""The work of `aflite plan`, `refresh`, `pause`, `resume` and `status`: their printed lines and exit codes."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from filelock import FileLock, Timeout

from aflite_assets.command_line.leftovers import Leftovers, find_leftovers, leftover_lines
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
from aflite_assets.errors import AfliteError
from aflite_assets.notifying import Alert, sentence
from aflite_assets.refresh.due import HOW_TO_START, RETRIED_BY_COMMAND, Due, LastRun, outlooks
from aflite_assets.refresh.plan import STATES, DatasetPlan, State
from aflite_assets.refresh.state import RefreshState
from aflite_assets.refresh.status import LETTERS, DatasetStatus, dataset_status
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.opening import open_store
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import Registry, load_registry
from aflite_assets.specs.sources import TableSource
from aflite_assets.stages.pipeline import STAGES

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
_WORDS: Mapping[State, str] = {"made": "to make"}


def run_plan(options: argparse.Namespace) -> int:
    """Print the plan of each dataset, and what a refresh would do now."""
    store = open_store()
    registry = load_registry(made=store.datasets())
    planned = list(look(registry, store, options.names))
    if options.json:
        _say([json.dumps([_as_json(due.plan) | {"run_by": due.waits} for due in planned], indent=2)])
    else:
        words = {due.plan.dataset: _outlook(due) for due in planned}
        for due in planned:
            growth = row_growth(registry[due.plan.dataset], due.plan, store) if due.stages or due.waits else None
            words[due.plan.dataset] += f"; {growth}" if growth else ""
        _say([*plan_lines([due.plan for due in planned]), "", *outlook_lines(words)])
    return FAILED if any(due.failed for due in planned) else 0


def look(registry: Registry, store: ResultStore, names: Sequence[str] = (), **options: Any) -> Iterator[Due]:
    """Yield what `outlooks` yields, with Dagster's history if `DAGSTER_HOME` is set."""

    def last_run(plan: DatasetPlan) -> LastRun | None:
        if plan.up_to_date or not os.environ.get("DAGSTER_HOME"):
            return None
        # Imported here: Dagster takes seconds.
        from aflite_assets.automation.run_requests import last_run_at_home

        return last_run_at_home(registry[plan.dataset], plan)

    return outlooks(registry, store, names, last=last_run, **options)


def plan_lines(plans: Iterable[DatasetPlan]) -> list[str]:
    """Return a table of the stages that are not up to date, and a legend of the states.

    A dataset has a single line if all its stages are found, or if it was never made.
    """
    rows = [("dataset", "stage", "state", "last time", "why")]
    notes: list[str] = []
    seen: set[State] = set()
    for plan in plans:
        whole = (plan.dataset, f"all {len(plan.stages)}")
        shown = [stage for stage in plan.stages if not stage.current]
        if plan.failure is not None:
            rows.append((plan.dataset, "", "refused", "", plan.failure))
            seen.add("refused")
        elif plan.up_to_date:
            rows.append((*whole, "found", "", ""))
            seen.add("found")
        elif not plan.begun:
            shown = list(plan.in_state("waiting", "refused", "left", "cancelled"))
            rows += [] if shown else [(*whole, "never made", "", "")]
        for stage in shown:
            why = "; ".join(map(str, stage.reasons))
            rows.append((plan.dataset, stage.stage, _WORDS.get(stage.state, stage.state), _took(stage.seconds), why))
            seen.add(stage.state)
        notes += [f"{plan.dataset}: {note}" for note in plan.notes]
    meanings = [f"{_WORDS.get(state, state)}: {meaning}" for state, meaning in STATES.items() if state in seen]
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
        yield f"  {', '.join(names)}: {escaped(words)}"


def _outlook(due: Due) -> str:
    """Return what a refresh would do about one dataset; "" if all stages are found."""
    if due.waits is not None:
        return f"wait for {due.waits}"
    if due.plan.failure is not None:
        return "skip it; correct its file, as the table says"
    if due.stages:
        following = f", then later stages (at most {len(due.following)})" if due.following else ""
        return f"make {', '.join(stage.stage for stage in due.stages)}{following}"
    if due.never_begun:
        return f"not start it, because it was never made; {HOW_TO_START}"
    return f"make nothing: {one_line('; '.join(due.why_not))}" if due.why_not else ""


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
    store = open_store()
    state = RefreshState.beside(store)
    paused = state.paused()
    if paused is not None:
        _say([escaped(paused)])
        return PAUSED
    state.make_folder()
    try:
        held = FileLock(state.lock).acquire(timeout=0)
    except Timeout:
        _say([f"another refresh is active (it holds {state.lock}); nothing was done; wait for its end"])
        return PAUSED
    with held:
        registry, hashes = load_registry(made=store.datasets()), FileHashes(watch=Watch())
        again = partial(
            look, registry, store, hashes=hashes, retried=RETRIED_BY_COMMAND, at_once=options.now, dry_run=False
        )
        planned = list(again(options.names))
        if any(due.plan.in_state("waiting") for due in planned):
            time.sleep(max(1.0, options.settle))
            planned = list(again(options.names))
        never = [due.plan.dataset for due in planned if due.never_begun]
        codes = [_refresh_one(due, registry, store, options, again) for due in planned if not due.never_begun]
        if not options.names:
            state.note_check(now=datetime.now(UTC))
            codes.append(_without_files(store, registry))
    if never:
        _say([f"not started, because never made: {', '.join(never)}; {HOW_TO_START}"])
    return next((code for code in (FAILED, WAITING) if code in codes), 0)


def _refresh_one(
    due: Due, registry: Registry, store: ResultStore, options: argparse.Namespace, again: Callable[..., Iterator[Due]]
) -> int:
    """Run the due stages of one dataset, print what was made and what was not, and return the exit code."""
    name, alerts = due.plan.dataset, list[Alert]()
    if due.plan.failure is not None:
        _say([escaped_lines(due.plan.failure)], error=True)
        return FAILED
    if due.waits is not None:
        _say([f"{name} waits for {escaped(due.waits)}"], error=True)
        return WAITING
    if due.stages:
        # Imported here: Dagster takes seconds, which a refresh without due stages need not wait for.
        from aflite_assets.automation.run_requests import run_here

        alerts = run_here(store, registry[name], due, run_config=_run_config(options), by_hand=options.now)
        (due,) = again([name])
    left = [stage.stage for stage in due.plan.in_state("left")]
    lines = [sentence(alert) for alert in alerts if alert.stage not in left]
    lines += [f"{name}: {one_line(line)}" for line in due.why_not]
    if any(alert.kind == "refreshed" and alert.stage == "benchmark_report" for alert in alerts):
        lines.append(f"{name}: the report is {store.current('benchmark_report', name).file('report.html')}")
    _say(map(escaped, lines or [f"{name}: nothing is due"]))
    if due.failed or any(alert.kind == "failed" for alert in alerts):
        return FAILED
    return WAITING if due.plan.in_state("waiting") and not due.closed else 0


def _run_config(options: argparse.Namespace) -> dict[str, Any]:
    settings = {
        "compute_device": {"device": options.device},
        "experiment_tracker": {"enabled": not options.no_tracking},
    }
    return {"resources": {name: {"config": config} for name, config in settings.items()}}


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
    registry = load_registry(made=store.datasets())
    standing = [dataset_status(due, store) for due in look(registry, store, options.names)]
    standing.sort(key=lambda status: (not status.troubles, status.made is None))
    state = RefreshState.beside(store)
    paused, checked = state.paused(), state.last_check()
    left = Leftovers({}, None) if options.names else find_leftovers(store)
    if options.json:
        facts = [{**asdict(status), "stages": status.stages} for status in standing]
        whole = {"paused": paused, "checked": checked, "datasets": facts, "deleted": dict(left.words)}
        _say([json.dumps(whole, indent=2, default=str)])
        return
    _say(
        [
            *status_lines(standing),
            *(["", f"all datasets were last checked {_when(checked)}"] if checked else []),
            *(["", escaped(paused)] if paused else []),
            *(["", *leftover_lines(left)] if left.words else []),
        ]
    )


def status_lines(standing: Iterable[DatasetStatus]) -> Iterator[str]:
    """Yield a line for each dataset, the legend of letters, and what needs a person."""
    rows = [("dataset", "last made", "stages", "size")]
    needs: list[str] = []
    waits: list[str] = []
    for status in standing:
        made = "never" if status.made is None else _when(status.made)
        letters = "file refused" if status.failure is not None else status.letters
        rows.append((status.dataset, made, letters, size(status.size)))
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
    stages = [{**asdict(stage), "reasons": [str(reason) for reason in stage.reasons]} for stage in plan.stages]
    return {"dataset": plan.dataset, "failure": plan.failure, "notes": list(plan.notes), "stages": stages}


def _room() -> int:
    return _WHY if sys.stdout.isatty() else _WHOLE


def _took(seconds: float | None) -> str:
    return "" if seconds is None else duration(max(seconds, 0.001))


def _when(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def _say(lines: Iterable[str], *, error: bool = False) -> None:
    write_lines(sys.stderr if error else sys.stdout, list(lines))
