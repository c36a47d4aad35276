"""The sensor `refresh`: plans every dataset, reports what changed, and starts a run of each dataset with due stages.

The modules `refresh.plan` and `refresh.due` compute the due stages, not Dagster's automation conditions. These
conditions start datasets that were never made, and miss changes while they are off. A plan compares the inputs with the
result store instead, so the time of a change does not matter.

A run contains the due stages and all stages after them, which might become due. With one run per stage, a chain of
eleven stages would take eleven ticks. In one run, a stage with unchanged inputs is found in milliseconds.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg

from aflite_assets.automation.jobs import benchmark_job
from aflite_assets.automation.run_requests import BECAUSE_TAG, run_request
from aflite_assets.automation.runs_of_datasets import last_run, under_way
from aflite_assets.automation.up_to_date import MOST_BYTES, evaluation, stale_lines
from aflite_assets.automation.watched_versions import event_of, inputs_of, watched_version
from aflite_assets.refresh.due import LastRun, what_is_due
from aflite_assets.refresh.plan import DatasetPlan, plan_datasets
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.locks import occupant
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

TICK_SECONDS = 30
STILL_SECONDS = 15.0
"""Least seconds between two ticks that must find a changed file unchanged; less than the time between ticks."""
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
        self._active = under_way(self.instance)
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
        name, inputs = plan.dataset, inputs_of(spec, version)
        # A run that ended during this tick counts as active, because the plan may lack its results.
        last = self._active.get(name) or last_run(self.instance, name, inputs, now=self.now.timestamp())
        holder = occupant(self.store.locks_folder, name)
        last = LastRun("active", holder) if last is None and holder is not None else last
        due = what_is_due(plan, spec.refresh, now=self.now, state=self._state, last=last)
        if due.waits is not None:
            lines.append(f"{name} waits for {due.waits}")
        elif due.stages:
            request = run_request(self.instance, self.store, due, inputs)
            self.log.info(f"{name} is run: {request.tags[BECAUSE_TAG]}")
            yield request
        else:
            lines += [f"{name}: {why}" for why in due.why_not if due.failed or plan.begun]


def _cursor(cursor: str | None) -> dict[str, str]:
    """Return the marks of the previous tick by dataset, or no marks if the cursor contains something else."""
    try:
        return {name: str(mark) for name, mark in json.loads(cursor or "{}").items()}
    except (ValueError, AttributeError):
        return {}
