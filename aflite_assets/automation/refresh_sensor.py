"""The sensor `refresh`: looks at every dataset, reports what changed, and starts a run of each that has stages due.

What is due is computed by `refresh.plan` and `refresh.due`, and not by Dagster's automation conditions. These start
what was never made, and miss what changed while they were off. The plan compares with the store instead, so that it
does not matter when a change happened.

A run has the stages that are due and those after them. These could wait for the next tick, but a chain of eleven stages
would take as many ticks; in the run, a stage whose inputs are unchanged is found in milliseconds and not made again.
"""

import hashlib
import json
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.jobs import benchmark_job
from aflite_assets.automation.runs_of_datasets import UNDER_WAY, is_retried, latest_run, under_way
from aflite_assets.automation.up_to_date import evaluation, stale_lines
from aflite_assets.automation.watched_versions import event_of, watched_version
from aflite_assets.refresh.due import what_is_due
from aflite_assets.refresh.plan import DatasetPlan, plan_datasets
from aflite_assets.refresh.state import Left, RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.locks import occupant
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

TICK_SECONDS = 30
MOST_BYTES = 4 << 30
"""Bytes hashed per tick, which may take no longer than a minute; the next tick continues there."""
STILL_SECONDS = 15.0
"""Seconds between the two looks at which a changed file must be the same; less than the time between ticks."""
BECAUSE_TAG = "aflite/because"
INPUTS_TAG = "aflite/inputs"
"""Tag of a run with a hash of the dataset's file and of what it reads, as they were when the run was requested."""
_LONGEST_TAG = 300
_CHECK = "*"
"""Where the cursor has the mark of the check `up_to_date`; no dataset can have this name."""
_MOST_LINES, _MARK = 30, 6


@dg.sensor(
    job=benchmark_job,
    minimum_interval_seconds=TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Looks at every dataset's file, sources and models, reports what changed, and starts a run of what is "
    "due. `aflite pause` stops it as its switch does; `aflite plan` says what it would do.",
)
def refresh(context: dg.SensorEvaluationContext, result_store: ResultStoreResource) -> dg.SensorResult:
    """One look at everything."""
    return Tick(context.instance, result_store.open(), context.log, datetime.now(UTC)).look(context.cursor)


@dataclass
class Tick:
    """One look at all datasets at `now`, a time with a zone. `watch`: which files have stood still."""

    instance: dg.DagsterInstance
    store: ResultStore
    log: logging.Logger
    now: datetime
    watch: Watch = field(default_factory=lambda: Watch(apart=STILL_SECONDS))
    most_bytes: int | None = MOST_BYTES

    def look(self, cursor: str | None) -> dg.SensorResult:
        """Plan every dataset; returns the runs to start, the events to report and the next cursor.

        Raises:
            StoreError: the notes about refreshes cannot be kept, or the store is of another format.
        """
        self.store.check_format()
        self._state = RefreshState.beside(self.store)
        self._under_way = under_way(self.instance)
        seen = _cursor(cursor)
        marks: dict[str, str] = {}
        stale: list[str] = []
        requests: list[dg.RunRequest] = []
        events: list[dg.AssetMaterialization | dg.AssetCheckEvaluation] = []
        lines: list[str] = []
        registry = load_registry(made=self.store.datasets())
        hashes = FileHashes(most_bytes=self.most_bytes, watch=self.watch)
        for plan in plan_datasets(registry, self.store, hashes=hashes):
            name = plan.dataset
            stale += stale_lines(plan)
            marks[name] = seen.get(name, "")
            if plan.failure is not None:
                self.log.warning(plan.failure)
                lines.append(f"{name} is left out: {plan.failure.splitlines()[0]}")
                continue
            version = watched_version(registry[name], plan)
            if version is not None and marks[name] != version[:_MARK]:
                marks[name] = version[:_MARK]
                event = event_of(self.instance, plan, version)
                events += [] if event is None else [event]
            request = self._request(plan, registry[name], version, lines)
            requests += [] if request is None else [request]
        check, marks[_CHECK] = evaluation(stale, now=self.now)
        events += [] if seen.get(_CHECK) == marks[_CHECK] else [check]
        self._state.note_check(now=self.now)
        for line in lines:
            self.log.info(line)
        shown = [*lines[:_MOST_LINES], *([f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else [])]
        skip = None if requests else "\n".join(shown) or "nothing is due"
        return dg.SensorResult(
            run_requests=requests or None, skip_reason=skip, asset_events=events, cursor=json.dumps(marks)
        )

    def _request(
        self, plan: DatasetPlan, spec: DatasetSpec, version: str | None, lines: list[str]
    ) -> dg.RunRequest | None:
        """Return a run of what is due, unless the dataset is being run; else adds the reason to `lines`."""
        name, inputs = plan.dataset, _digest(spec.model_dump(mode="json"), version)
        latest = latest_run(self.instance, name)
        if latest is not None and latest.dagster_run.run_id != self._state.notes(name).run:
            if version is None and _ended_badly(latest) and latest.dagster_run.tags.get(INPUTS_TAG, inputs) != inputs:
                lines.append(
                    f"{name} waits: a file changes, so it is open whether the last run was about the same input"
                )
                return None
            self._note_end(plan, latest, inputs)
        due = what_is_due(plan, spec.refresh, now=self.now, state=self._state)
        # Also if nothing is due: a dataset that is run for the first time needs no advice on how to start it.
        runner = self._runner(name, latest) if due.stages or due.why_not else None
        if runner is not None:
            lines.append(f"{name} waits for {runner}")
        elif not due.stages:
            lines += [f"{name}: {why}" for why in due.why_not if due.given_up or plan.begun]
        else:
            success = latest_run(self.instance, name, statuses=[dg.DagsterRunStatus.SUCCESS])
            # Dagster starts no second run for a key, so a failed one is not repeated, and a success opens another key.
            keys = [[stage.stage, stage.key, self.store.current_key(stage.stage, name)] for stage in due.stages]
            run = f"{name}:{_digest(keys, success and success.dagster_run.run_id)}"
            because = "; ".join(f"{stage.stage}: {reason}" for stage in due.stages for reason in stage.reasons)
            self.log.info(f"{name} is run: {because}")
            assets = [*(stage.stage for stage in due.stages), *due.following]
            tags = {REFRESH_TAG: run, INPUTS_TAG: inputs, BECAUSE_TAG: because[:_LONGEST_TAG], "dagster/priority": "-1"}
            return dg.RunRequest(run, partition_key=name, asset_selection=list(map(dg.AssetKey, assets)), tags=tags)
        return None

    def _note_end(self, plan: DatasetPlan, latest: dg.RunRecord, inputs: str) -> None:
        """Leave what the latest run did not make if it was cancelled or failed; forget that once a person starts one.

        A run that was about other inputs than those of now leaves nothing.
        """
        name, run = plan.dataset, latest.dagster_run
        is_cancelled = run.status == dg.DagsterRunStatus.CANCELED
        if not _ended_badly(latest):
            if REFRESH_TAG not in run.tags and self._state.notes(name).run is not None:
                self._state.forget_run(name)
            return
        if is_retried(latest, now=self.now.timestamp()):
            return
        left: dict[str, Left] = {}
        for stage in plan.stale if run.tags.get(INPUTS_TAG, inputs) == inputs else ():
            before = self._state.left(name, stage.stage, stage.key or "")
            is_selected = run.asset_selection is None or dg.AssetKey(stage.stage) in run.asset_selection
            if is_selected and (before is None or not before.is_final):
                ended = f"run {run.run_id[:8]} {'was cancelled' if is_cancelled else 'failed'}"
                why = ended if before is None or is_cancelled else before.why
                left[stage.stage] = Left(stage.key or "", "cancelled" if is_cancelled else "failed", why)
        self._state.note_run(name, run.run_id, left)

    def _runner(self, name: str, latest: dg.RunRecord | None) -> str | None:
        """Return what is working on a dataset, or was when the look began, in words; None if nothing is.

        A run that ended since then counts too: a plan made meanwhile may be outdated by it.
        """
        now = latest_run(self.instance, name, statuses=UNDER_WAY)
        run_id = self._under_way.get(name) or (now and now.dagster_run.run_id)
        if run_id:
            return f"run {run_id}"
        if latest is not None and is_retried(latest, now=self.now.timestamp()):
            return f"the retry of run {latest.dagster_run.run_id}"
        return occupant(self.store.locks_folder, name)


def _ended_badly(record: dg.RunRecord) -> bool:
    return record.dagster_run.status in (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.FAILURE)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def _cursor(cursor: str | None) -> dict[str, str]:
    """Return the marks of the previous tick by dataset; none if the cursor holds something else."""
    try:
        return {name: str(mark) for name, mark in json.loads(cursor or "{}").items()}
    except (ValueError, AttributeError):
        return {}
