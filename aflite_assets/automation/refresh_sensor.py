"""The sensor `refresh`: plans every dataset, reports what changed, and starts a run of each dataset with due stages.

The modules `refresh.plan` and `refresh.due` compute the due stages, not Dagster's automation conditions. These
conditions start datasets that were never made, and miss changes while they are off. A plan compares the inputs with the
result store instead, so the time of a change does not matter.

A run contains the due stages and all stages after them, which might become due. With one run per stage, a chain of
eleven stages would take eleven ticks. In one run, a stage with unchanged inputs is found in milliseconds.
"""

import logging
import time
from datetime import UTC, datetime

import dagster as dg

from aflite_assets.automation.jobs import benchmark_job
from aflite_assets.automation.run_requests import BECAUSE_TAG, run_request
from aflite_assets.automation.runs_of_datasets import last_run
from aflite_assets.automation.up_to_date import MOST_BYTES, evaluation, stale_lines
from aflite_assets.automation.watched_versions import digest, event_of, inputs_of, watched_version
from aflite_assets.refresh.due import LastRun, outlooks
from aflite_assets.refresh.plan import DatasetPlan
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource

TICK_SECONDS = 30
STILL_SECONDS = 15.0
"""Least seconds between two ticks that must find a changed file unchanged; less than the time between ticks."""
_MOST_LINES = 30


@dg.sensor(
    job=benchmark_job,
    minimum_interval_seconds=TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Checks every dataset's file, sources and models, reports changes, and starts a run of the due stages. "
    "`aflite plan` prints what the sensor would do; `aflite pause` stops the sensor.",
)
def refresh(context: dg.SensorEvaluationContext, result_store: ResultStoreResource) -> dg.SensorResult:
    """Check all datasets once."""
    return check_all(context.instance, result_store.open(), context.log, datetime.now(UTC), context.cursor)


def check_all(
    instance: dg.DagsterInstance,
    store: ResultStore,
    log: logging.Logger,
    now: datetime,
    cursor: str | None,
    *,
    watch: Watch | None = None,
    most_bytes: int | None = MOST_BYTES,
) -> dg.SensorResult:
    """Plan every dataset; return the runs to start, the events to report and the next cursor.

    The cursor is a hash of the stale stages and of the hour, at which the check `up_to_date` was last evaluated.

    Raises:
        StoreError: the notes about refreshes cannot be kept, or the store is of another format.
    """
    store.check_format()
    planned = time.time()
    requests: list[dg.RunRequest] = []
    events: list[dg.AssetMaterialization | dg.AssetCheckEvaluation] = []
    lines: list[str] = []
    stale: list[str] = []
    registry = load_registry(made=store.datasets())
    hashes = FileHashes(most_bytes=most_bytes, watch=watch or Watch(apart=STILL_SECONDS))

    def last(plan: DatasetPlan) -> LastRun | None:
        inputs = inputs_of(registry[plan.dataset], plan)
        return last_run(instance, plan.dataset, inputs, now=now.timestamp(), planned=planned)

    for due in outlooks(registry, store, last=last, hashes=hashes, now=now, dry_run=False):
        name, plan = due.plan.dataset, due.plan
        stale += stale_lines(plan)
        if plan.failure is not None:
            log.warning(plan.failure)
            lines.append(f"{name} is left out: {plan.failure.splitlines()[0]}")
            continue
        events += event_of(instance, plan, watched_version(registry[name], plan))
        if due.waits is not None:
            lines.append(f"{name} waits for {due.waits}")
        elif due.stages:
            requests.append(run_request(instance, store, due, inputs_of(registry[name], plan)))
            log.info(f"{name} is run: {requests[-1].tags[BECAUSE_TAG]}")
        elif plan.begun or plan.in_state("left", "cancelled"):
            lines += [f"{name}: {why}" for why in due.why_not]
    mark = digest([f"{now:%Y-%m-%d %H}", *stale])
    events += [] if cursor == mark else [evaluation(stale, now=now)]
    for line in lines:
        log.info(line)
    lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    skip = None if requests else "\n".join(lines) or "nothing is due"
    return dg.SensorResult(run_requests=requests or None, skip_reason=skip, asset_events=events, cursor=mark)
