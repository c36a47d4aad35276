"""The sensor `refresh`: plans every dataset, reports what changed, and starts a run of each dataset with due stages.

The modules `refresh.plan` and `refresh.due` compute the due stages, not Dagster's automation conditions. These
conditions start datasets that were never made, and miss changes while they are off. A plan compares the inputs with the
result store instead, so the time of a change does not matter.

A run contains the due stages and all stages after them, which might become due. With one run per stage, a chain of
eleven stages would take eleven ticks. In one run, a stage with unchanged inputs is found in milliseconds.
"""

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from aflite_assets.assets.steps.attempts import REFRESH_TAG
from aflite_assets.automation.jobs import benchmark_job
from aflite_assets.automation.runs_of_datasets import UNDER_WAY, awaited_retry, latest_run, start_failure, under_way
from aflite_assets.automation.up_to_date import MOST_BYTES, evaluation, stale_lines
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
STILL_SECONDS = 15.0
"""Least seconds between two ticks that must find a changed file unchanged; less than the time between ticks."""
BECAUSE_TAG = "aflite/because"
INPUTS_TAG = "aflite/inputs"
"""Tag of a run with a hash of the dataset's file and sources at the time of the request."""
_LONGEST_TAG = 300
_CHECK = "*"
"""Key of the mark of the check `up_to_date` in the cursor; a dataset cannot have this name."""
_MOST_LINES, _MARK = 30, 6


@dg.sensor(
    job=benchmark_job,
    minimum_interval_seconds=TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Checks every dataset's file, sources and models, reports changes, and starts a run of the due stages. "
    "`aflite plan` prints what the sensor would do; `aflite pause` stops the sensor.",
)
def refresh(context: dg.SensorEvaluationContext, result_store: ResultStoreResource) -> dg.SensorResult:
    """Check all datasets once."""
    return Tick(context.instance, result_store.open(), context.log, datetime.now(UTC)).look(context.cursor)


@dataclass
class Tick:
    """One check of all datasets at the time `now`. `watch` remembers files between ticks, to see which files change."""

    instance: dg.DagsterInstance
    store: ResultStore
    log: logging.Logger
    now: datetime
    watch: Watch = field(default_factory=lambda: Watch(apart=STILL_SECONDS))
    most_bytes: int | None = MOST_BYTES

    def look(self, cursor: str | None) -> dg.SensorResult:
        """Plan every dataset; return the runs to start, the events to report and the next cursor.

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
                events += event_of(self.instance, plan, version)
            requests += self._request(plan, registry[name], version, lines)
        check, marks[_CHECK] = evaluation(stale, now=self.now)
        events += [] if seen.get(_CHECK) == marks[_CHECK] else [check]
        self._state.note_check(now=self.now)
        for line in lines:
            self.log.info(line)
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        skip = None if requests else "\n".join(lines) or "nothing is due"
        return dg.SensorResult(
            run_requests=requests or None, skip_reason=skip, asset_events=events, cursor=json.dumps(marks)
        )

    def _request(
        self, plan: DatasetPlan, spec: DatasetSpec, version: str | None, lines: list[str]
    ) -> Iterator[dg.RunRequest]:
        """Yield a run of the due stages, or add to `lines` why there is none."""
        name, inputs = plan.dataset, _digest(spec.model_dump(mode="json"), version)
        latest = latest_run(self.instance, name)
        if latest is not None and latest.dagster_run.run_id != self._state.notes(name).run:
            if version is None and _ended_badly(latest) and latest.dagster_run.tags.get(INPUTS_TAG, inputs) != inputs:
                lines.append(f"{name} waits: a file changes, so it is unknown whether the last run had the same inputs")
                return
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
            # Dagster starts no second run with a key, so a failed run is not repeated; a success changes the key.
            keys = [[stage.stage, stage.key, self.store.current_key(stage.stage, name)] for stage in due.stages]
            run = f"{name}:{_digest(keys, success and success.dagster_run.run_id)}"
            because = "; ".join(f"{stage.stage}: {reason}" for stage in due.stages for reason in stage.reasons)
            self.log.info(f"{name} is run: {because}")
            assets = [dg.AssetKey(stage) for stage in (*(stage.stage for stage in due.stages), *due.following)]
            tags = {REFRESH_TAG: run, INPUTS_TAG: inputs, BECAUSE_TAG: because[:_LONGEST_TAG], "dagster/priority": "-1"}
            yield dg.RunRequest(run, partition_key=name, asset_selection=assets, tags=tags)

    def _note_end(self, plan: DatasetPlan, latest: dg.RunRecord, inputs: str) -> None:
        """Note the stages that the latest run left without a result, if it failed or was cancelled.

        The notes are removed after a person has started a run.
        """
        name, run = plan.dataset, latest.dagster_run
        if not _ended_badly(latest):
            if REFRESH_TAG not in run.tags and self._state.notes(name).run is not None:
                self._state.forget_run(name)
            return
        if awaited_retry(latest, now=self.now.timestamp()) is not None:
            return
        is_cancelled = run.status == dg.DagsterRunStatus.CANCELED
        ended = f"run {run.run_id[:8]} {'was cancelled' if is_cancelled else 'failed'}"
        ended = ended if is_cancelled else start_failure(self.instance, run) or ended
        left: dict[str, Left] = {}
        for stage in plan.stale if run.tags.get(INPUTS_TAG, inputs) == inputs else ():
            key = stage.key or ""
            before = self._state.left(name, stage.stage, key)
            is_selected = run.asset_selection is None or dg.AssetKey(stage.stage) in run.asset_selection
            if is_selected and (before is None or not before.is_final):
                why = ended if before is None or is_cancelled else before.why
                left[stage.stage] = Left(key, "cancelled" if is_cancelled else "failed", why)
        self._state.note_run(name, run.run_id, left)

    def _runner(self, name: str, latest: dg.RunRecord | None) -> str | None:
        """Return in words the run of a dataset that is active or was active when the tick began, or None.

        A run that ended during the tick counts as active, because the plan may lack its results.
        """
        now = latest_run(self.instance, name, statuses=UNDER_WAY)
        run_id = self._under_way.get(name) or (now and now.dagster_run.run_id)
        if run_id:
            return f"run {run_id}"
        retry = None if latest is None else awaited_retry(latest, now=self.now.timestamp())
        return retry or occupant(self.store.locks_folder, name)


def _ended_badly(record: dg.RunRecord) -> bool:
    return record.dagster_run.status in (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.FAILURE)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def _cursor(cursor: str | None) -> dict[str, str]:
    """Return the marks of the previous tick by dataset, or no marks if the cursor contains something else."""
    try:
        return {name: str(mark) for name, mark in json.loads(cursor or "{}").items()}
    except (ValueError, AttributeError):
        return {}
