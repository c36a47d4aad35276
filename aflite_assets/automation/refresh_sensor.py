"""The sensor `refresh`: looks at every dataset, reports what changed, and starts a run of each that has stages due.

What is due is computed by `refresh.plan` and `refresh.due`, and not by Dagster's automation conditions. These depend on
the check of whichever partition was evaluated last, so that one dataset's failure blocks another; they count no tries,
start what was never made, and miss what changed while they were off. The plan compares with the store instead, so that
it does not matter when a change happened.

A run has the stages that are due and those after them. These could wait for the next tick, but a chain of eleven stages
would take as many ticks; in the run, a stage whose inputs are unchanged is found in milliseconds and not made again.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import dagster as dg

from aflite_assets.addresses import dagster_page
from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.jobs import benchmark_job
from aflite_assets.automation.runs_of_datasets import RunsOfDatasets
from aflite_assets.automation.up_to_date import evaluation, stale_stages
from aflite_assets.automation.watched_versions import event_of, watch
from aflite_assets.errors import NotificationError
from aflite_assets.notifying import Alert, Notifier
from aflite_assets.refresh.due import Due, what_is_due
from aflite_assets.refresh.plan import DatasetPlan, plan_datasets
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.locks import occupant
from aflite_assets.specs.registry import load_registry
from resources import NotifierResource, ResultStoreResource

TICK_SECONDS = 30
MOST_BYTES = 4 << 30
"""Bytes hashed per tick, which may take no longer than a minute; the next tick continues there."""
STILL_SECONDS = 15.0
"""Seconds between the two looks at which a changed file must be the same; less than the time between ticks."""
BECAUSE_TAG = "aflite/because"
_LONGEST_TAG = 300
_CHECK = "*"
"""Where the cursor has the mark of the check `up_to_date`; no dataset can have this name."""
_MOST_LINES = 30

Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


class Log(Protocol):
    """Where a tick reports."""

    def info(self, msg: str, /) -> Any: ...
    def warning(self, msg: str, /) -> Any: ...
    def error(self, msg: str, /) -> Any: ...


@dg.sensor(
    job=benchmark_job,
    minimum_interval_seconds=TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Looks at every dataset's file, sources and models, reports what changed, and starts a run of what is "
    "due. `aflite pause` stops it as its switch does; `aflite plan` says what it would do.",
)
def refresh(
    context: dg.SensorEvaluationContext, result_store: ResultStoreResource, notifier: NotifierResource
) -> dg.SensorResult:
    """One look at everything."""
    store = result_store.open()
    tick = Tick(context.instance, store, notifier.open(), context.log, datetime.now(UTC))
    return tick.look(context.cursor)


@dataclass
class Tick:
    """One look at all datasets at `now`, a time with a zone. `watch`: which files have stood still."""

    instance: dg.DagsterInstance
    store: ResultStore
    notifier: Notifier
    log: Log
    now: datetime
    watch: Watch = field(default_factory=lambda: Watch(apart=STILL_SECONDS))
    most_bytes: int | None = MOST_BYTES

    def look(self, cursor: str | None) -> dg.SensorResult:
        """Plan every dataset; returns the runs to start, the events to report and the next cursor.

        Raises:
            StoreError: the notes about refreshes cannot be kept, or the store is of a later version.
        """
        self.store.check_format()
        self._state = RefreshState.beside(self.store)
        self._runs = RunsOfDatasets(self.instance)
        seen = _cursor(cursor)
        marks: dict[str, str] = {}
        stale: dict[str, dict[str, str]] = {}
        requests: list[dg.RunRequest] = []
        events: list[Event] = []
        lines: list[str] = []
        registry = load_registry(made=self.store.datasets())
        hashes = FileHashes(most_bytes=self.most_bytes, watch=self.watch)
        for plan in plan_datasets(registry, self.store, hashes=hashes):
            name = plan.dataset
            stale[name] = stale_stages(plan)
            if plan.failure is not None:
                self.log.warning(plan.failure)
                lines.append(f"{name} is left out: {plan.failure.splitlines()[0]}")
                marks[name] = seen.get(name, "")
            else:
                spec = registry[name]
                self._state.note_look(name, now=self.now)
                self._note_cancelled(plan)
                watched = watch(spec, plan)
                marks[name] = watched.mark or seen.get(name, "")
                event = event_of(self.instance, watched, seen.get(name, ""))
                events += [] if event is None else [event]
                due = what_is_due(plan, spec.refresh, now=self.now, state=self._state)
                events += self._report_given_up(due)
                request = self._request(plan, due, lines)
                requests += [] if request is None else [request]
        check, mark = evaluation(stale, now=self.now)
        events += [] if seen.get(_CHECK) == mark else [check]
        marks[_CHECK] = mark
        return self._answer(requests, events, lines, json.dumps(marks))

    def _note_cancelled(self, plan: DatasetPlan) -> None:
        """Record which keys a cancelled run leaves; forget them once a person has started the dataset.

        A key that the run was not about is not left. Keys of stages that it did not reach are those of now.
        """
        name, run = plan.dataset, self._runs.cancelled(plan.dataset)
        if run is None:
            return
        latest = self._runs.latest(name)
        is_latest = latest is not None and latest.run_id == run.run_id
        if self._state.cancelled_run(name) != run.run_id:
            self._state.note_cancelled(name, self._keys_left(plan, run) if is_latest else {}, run=run.run_id)
        if latest is not None and not is_latest and REFRESH_TAG not in latest.tags:
            self._state.forget_cancelled(name)

    def _keys_left(self, plan: DatasetPlan, run: dg.DagsterRun) -> dict[str, str]:
        selected = run.asset_selection
        tried = self._state.keys_tried(plan.dataset, run=run.tags.get(REFRESH_TAG, ""))
        return {
            stage.stage: stage.key or ""
            for stage in plan.stale
            if (selected is None or dg.AssetKey(stage.stage) in selected)
            and tried.get(stage.stage, stage.key) == stage.key
        }

    def _report_given_up(self, due: Due) -> Iterator[Event]:
        """Report each stage that was given up, once."""
        for given_up in due.unreported:
            stage, key = given_up.stage.stage, given_up.stage.key or ""
            self.log.error(f"{due.dataset}: {given_up}")
            alert = Alert("left", due.dataset, stage, key, str(given_up), dagster_page("assets", stage))
            try:
                self.notifier.note([alert], log=self.log.warning)
            except NotificationError as error:
                self.log.warning(str(error))
            self._state.note_reported(due.dataset, stage, key)
            metadata: dict[str, Any] = {
                "dataset": due.dataset,
                "reason": str(given_up),
                "key": key,
                "tries": given_up.tries.count,
            }
            yield dg.AssetObservation(stage, partition=due.dataset, description=str(given_up), metadata=metadata)

    def _request(self, plan: DatasetPlan, due: Due, lines: list[str]) -> dg.RunRequest | None:
        """Return a run of what is due, unless the dataset is being run; else adds the reason to `lines`."""
        name = due.dataset
        # Also where nothing is due: a dataset that is run for the first time needs no advice on how to start it.
        runner = self._busy_with(name) if due.stages or due.why_not else None
        if runner is not None:
            lines.append(f"{name} waits for {runner}")
            return None
        if not due.stages:
            if due.retry_later or due.given_up or any(stage.made_before for stage in plan.stages):
                lines += [f"{name}: {why}" for why in due.why_not]
            return None
        run = _run_name(due, after=self._runs.latest_id(name))
        for stage in due.stages:
            # Counted here already: a run may fail each time before it begins the stage.
            self._state.note_try(name, stage.stage, stage.key or "", run=run, now=self.now)
        because = "; ".join(f"{stage.stage}: {reason}" for stage in due.stages for reason in stage.reasons)
        self.log.info(f"{name} is run: {because}")
        return dg.RunRequest(
            run_key=run,
            partition_key=name,
            asset_selection=[dg.AssetKey(asset) for asset in (*(stage.stage for stage in due.stages), *due.following)],
            tags={REFRESH_TAG: run, BECAUSE_TAG: because[:_LONGEST_TAG], "dagster/priority": "-1"},
        )

    def _busy_with(self, name: str) -> str | None:
        """Return what is working on a dataset now, in words; None if nothing is."""
        return self._runs.in_progress(name, now=self.now.timestamp()) or occupant(self.store.locks_folder, name)

    def _answer(
        self, requests: Sequence[dg.RunRequest], events: Sequence[Event], lines: Sequence[str], cursor: str
    ) -> dg.SensorResult:
        for line in lines:
            self.log.info(line)
        if requests:
            return dg.SensorResult(run_requests=requests, asset_events=events, cursor=cursor)
        shown = [*lines[:_MOST_LINES], *([f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else [])]
        return dg.SensorResult(skip_reason="\n".join(shown) or "nothing is due", asset_events=events, cursor=cursor)


def _run_name(due: Due, *, after: str | None) -> str:
    """Return the name of the run to request, the same for the same state, so that two ticks request one run.

    The same stages may be due again after a failed run; `after`, the id of the latest run, then makes another name.
    """
    identity = json.dumps([[[stage.stage, stage.key] for stage in due.stages], after])
    return f"{due.dataset}:{hashlib.sha256(identity.encode()).hexdigest()[:20]}"


def _cursor(cursor: str | None) -> dict[str, str]:
    """Return the marks of the previous tick, short ones by dataset; none where the cursor holds something else."""
    try:
        marks = json.loads(cursor or "{}")
    except ValueError:
        return {}
    return {name: str(mark) for name, mark in marks.items()} if isinstance(marks, dict) else {}


__all__ = ["Tick", "refresh"]
