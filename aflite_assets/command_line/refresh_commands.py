"""The work of `aflite plan`, `refresh`, `pause`, `resume` and `status`: their printed lines and exit codes."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from filelock import FileLock, Timeout

from aflite_assets.command_line.prune import find_leftovers, leftover_lines
from aflite_assets.command_line.terminal import duration, escaped, escaped_lines, size, table, write_lines
from aflite_assets.data.loading import load_source
from aflite_assets.errors import AfliteError
from aflite_assets.paths import dagster_home
from aflite_assets.refresh.due import RETRIED_BY_COMMAND, Due, outlooks
from aflite_assets.refresh.plan import DatasetPlan
from aflite_assets.refresh.state import RefreshState
from aflite_assets.refresh.status import dataset_status
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.opening import open_store
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import Registry, load_registry
from aflite_assets.specs.sources import TableSource
from aflite_assets.text import one_line

FAILED = 1
"""Exit code of a refresh in which something failed or is refused."""
PAUSED = 3
"""Exit code of a refresh that did nothing, because refreshes are paused or another refresh is active."""
WAITING = 4
"""Exit code of a refresh that a later refresh continues: a file is being written, or the dataset is being run."""
MOST_BYTES = 256 << 20
"""Size above which tables are not read to count new rows, so that a plan stays quick."""


def run_plan(options: argparse.Namespace) -> int:
    """Print the plan of each dataset, and what a refresh would do now."""
    store = open_store()
    registry = load_registry(made=store.datasets())
    planned = list(look(registry, store, options.names))
    if options.json:
        whole = [
            {
                "dataset": due.plan.dataset,
                "failure": due.plan.failure,
                "notes": due.plan.notes,
                "stages": [asdict(stage) for stage in due.plan.stages],
                "run_by": due.waits,
            }
            for due in planned
        ]
        _say([json.dumps(whole, indent=2)])
    else:
        _say([*plan_lines([due.plan for due in planned]), "", *_outlook_lines(planned, registry, store)])
    return FAILED if any(due.failed for due in planned) else 0


def look(registry: Registry, store: ResultStore, names: Sequence[str] = (), **options: Any) -> Iterator[Due]:
    """Return what `outlooks` yields, with Dagster's history if `DAGSTER_HOME` is set."""
    if dagster_home():
        # Imported here: Dagster takes seconds.
        from aflite_assets.automation.run_requests import last_run_at_home

        options["last"] = partial(last_run_at_home, registry)
    return outlooks(registry, store, names, **options)


def plan_lines(plans: Iterable[DatasetPlan]) -> list[str]:
    """Return a table of the stages that are not up to date, and the notes of the plans.

    A dataset has a single line if all its stages are found, or if it was never made.
    """
    rows = [("dataset", "stage", "state", "last time", "why")]
    notes: list[str] = []
    for plan in plans:
        shown = [stage for stage in plan.stages if not stage.current]
        if plan.failure is not None:
            rows.append((plan.dataset, "", "refused", "", plan.failure))
        elif plan.up_to_date:
            rows.append((plan.dataset, f"all {len(plan.stages)}", "found", "", ""))
        elif not plan.begun:
            shown = list(plan.in_state("waiting", "refused", "left", "cancelled"))
            rows += [] if shown else [(plan.dataset, f"all {len(plan.stages)}", "never made", "", "")]
        for stage in shown:
            took = "" if stage.seconds is None else duration(max(stage.seconds, 0.001))
            rows.append((plan.dataset, stage.stage, stage.state_words, took, "; ".join(stage.reasons)))
        notes += [escaped(f"{plan.dataset}: {note}") for note in plan.notes]
    return [*table([(escaped(row[0]), *row[1:4], escaped(one_line(row[4]))) for row in rows]), *notes]


def _outlook_lines(planned: Iterable[Due], registry: Registry, store: ResultStore) -> Iterator[str]:
    """Yield what a refresh would do now, with one line for all datasets that have the same outlook."""
    datasets: dict[str, list[str]] = {}
    for due in planned:
        if words := _outlook(due, registry, store):
            datasets.setdefault(words, []).append(due.plan.dataset)
    yield "a refresh now would:" if datasets else "a refresh now would do nothing: all is found"
    for words, names in datasets.items():
        yield f"  {escaped(', '.join(names))}: {escaped(words)}"


def _outlook(due: Due, registry: Registry, store: ResultStore) -> str:
    """Return what a refresh would do about one dataset; "" if all stages are found."""
    if due.plan.failure is not None:
        return "skip it; correct its file, as the table says"
    if due.waits is None and not due.stages:
        return f"make nothing: {one_line('; '.join(due.why_not))}" if due.why_not else ""
    following = f", then later stages (at most {len(due.following)})" if due.following else ""
    made = f"make {', '.join(stage.stage for stage in due.stages)}{following}"
    growth = row_growth(registry[due.plan.dataset], due.plan, store)
    return "; ".join(filter(None, (f"wait for {due.waits}" if due.waits else made, growth)))


def row_growth(spec: DatasetSpec, plan: DatasetPlan, store: ResultStore) -> str | None:
    """Return the row counts of changed splits, or why a table cannot be read; None if no count changed."""
    stage = plan["raw_dataset"]
    if stage.state != "made" or not stage.made_before:
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
        codes = [_refresh_one(due, registry, store, options, again) for due in planned]
        if not options.names:
            codes.append(_without_files(store, registry))
    return next((code for code in (FAILED, WAITING) if code in codes), 0)


def _refresh_one(
    due: Due, registry: Registry, store: ResultStore, options: argparse.Namespace, again: Callable[..., Iterator[Due]]
) -> int:
    """Run the due stages of one dataset, print what was made and what was not, and return the exit code."""
    name, wanted, failure = due.plan.dataset, {*(stage.stage for stage in due.stages), *due.following}, None
    if due.plan.failure is not None:
        _say([escaped_lines(due.plan.failure)], error=True)
        return FAILED
    if due.waits is not None:
        _say([f"{name} waits for {escaped(due.waits)}"], error=True)
        return WAITING
    if due.stages:
        # Imported here: Dagster takes seconds, which a refresh without due stages need not wait for.
        from aflite_assets.automation.run_requests import run_here

        resources = {"compute_device": {"device": options.device}, "experiment_tracker": {"enabled": options.tracking}}
        run_config = {"resources": {resource: {"config": config} for resource, config in resources.items()}}
        failure = run_here(store, registry[name], due, run_config=run_config, by_hand=options.now)
        (due,) = again([name])
    current = [stage.stage for stage in due.plan.stages if stage.current and stage.stage in wanted]
    lines = [f"up to date now: {', '.join(current)}"] if current else []
    if "benchmark_report" in current:
        report = store.current("benchmark_report", name)
        lines += [*report.summary["verdicts"][:1], f"the report is {report.file('report.html')}"]
    lines += [failure] if failure is not None and not due.failed else []
    _say(escaped(f"{name}: {one_line(line)}") for line in (*lines, *due.why_not) or ["nothing is due"])
    if due.failed or failure is not None:
        return FAILED
    return WAITING if due.plan.in_state("waiting") else 0


def _without_files(store: ResultStore, registry: Registry) -> int:
    """Print the datasets with results but without a file; return `FAILED` if no dataset with results has a file."""
    made = store.datasets()
    unknown = sorted(made - registry.specs.keys() - {path.stem for path in registry.failures})
    if unknown:
        remedy = "put their files into a folder of AFLITE_DATASETS, or run `aflite prune`"
        _say([f"skipped, because no dataset file has these names: {', '.join(unknown)}; {remedy}"], error=True)
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
    paused = RefreshState.beside(store).paused()
    left = {} if options.names else find_leftovers(store)
    if options.json:
        whole = {"paused": paused, "datasets": [asdict(status) for status in standing], "deleted": left}
        _say([json.dumps(whole, indent=2, default=str)])
        return
    rows = [("dataset", "last made", "stages", "size")]
    for status in standing:
        made = "never" if status.made is None else f"{status.made.astimezone():%Y-%m-%d %H:%M}"
        rows.append((escaped(status.dataset), made, status.counts, size(status.size)))
    _say(table(rows, numbers=(3,)))
    # The remedy is at the end of a trouble, so troubles are not truncated.
    needs = [escaped(f"  {status.dataset}: {line}") for status in standing for line in status.troubles]
    waits = [escaped(f"  {status.dataset}: {line}") for status in standing for line in status.waits]
    below = (["needs you:", *needs], ["continues later by itself:", *waits])
    for lines in (*(part for part in below if part[1:]), [escaped(paused or "")], list(leftover_lines(left))):
        _say(["", *lines] if any(lines) else [])


def _say(lines: Iterable[str], *, error: bool = False) -> None:
    write_lines(sys.stderr if error else sys.stdout, list(lines))
