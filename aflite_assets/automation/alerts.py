"""The sensor `alerts`: turns what runs left in Dagster's event log into messages to people."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from aflite_assets.addresses import dagster_page
from aflite_assets.errors import AfliteError
from aflite_assets.notifying import Alert
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages.pipeline import STAGES, stage_key
from resources import NotifierResource, ResultStoreResource

WATCHED = (dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_SUCCESS)
RUNS_PER_TICK = 50
WILL_RETRY = "dagster/will_retry"
# The daemon writes whether a failed run is tried again just after it writes the failure.
UNDECIDED_SECONDS = 120.0
_READ = {
    dg.DagsterEventType.STEP_FAILURE,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
}


@dg.sensor(
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Tells of failed runs, failed checks and finished refreshes, once for each changed input: in the log, "
    "and at the webhook whose address AFLITE_ALERT_WEBHOOK holds.",
)
def alerts(
    context: dg.SensorEvaluationContext, notifier: NotifierResource, result_store: ResultStoreResource
) -> dg.SensorResult | dg.SkipReason:
    """Read the runs that ended since the last tick, queue new alerts, send those that wait."""
    sender = notifier.open()
    seen: dict[str, int] = json.loads(context.cursor) if context.cursor else {}
    first = not seen
    new_alerts: list[Alert] = []
    for event_type in WATCHED:
        if event_type.value not in seen:
            # Runs that ended before the sensor was switched on are not reported.
            seen[event_type.value] = _latest(context.instance, event_type)
            continue
        for ended in _ended_since(context.instance, event_type, seen[event_type.value]):
            if ended.undecided:
                break
            if _is_own(ended.run, context):
                new_alerts += alerts_of_run(context.instance, ended, result_store.open())
            seen[event_type.value] = ended.number
    new = sender.note(new_alerts, log=context.log.warning)
    delivery = sender.deliver(log=context.log.warning)
    # If this cursor is lost, runs are read again, but the notifier sends no alert twice.
    context.update_cursor(json.dumps(seen))
    if first:
        return dg.SkipReason("watching from now on")
    waiting = f", {delivery.waiting} waiting: {delivery.trouble}" if delivery.trouble else ""
    return dg.SkipReason(f"{len(new)} new alerts, {delivery.sent} posted{waiting}")


@dataclass(frozen=True)
class EndedRun:
    """A run that ended: its place in the event log, when that was (seconds since 1970), whether it succeeded."""

    number: int
    run: dg.DagsterRun
    ended: float
    succeeded: bool
    retries: bool

    @property
    def undecided(self) -> bool:
        """Whether it is not known yet if Dagster will retry the run."""
        if self.succeeded or not self.retries or WILL_RETRY in self.run.tags:
            return False
        return time.time() - self.ended < UNDECIDED_SECONDS

    @property
    def tried_again(self) -> bool:
        """Whether another run takes the failed one's place."""
        return self.run.tags.get(WILL_RETRY) == "true"

    @property
    def dataset(self) -> str:
        """The partition that the run was for."""
        return self.run.tags.get("dagster/partition", "all datasets")

    @property
    def link(self) -> str:
        """The run's page, at the address that `AFLITE_DAGSTER_URL` holds."""
        return dagster_page("runs", self.run.run_id)


def alerts_of_run(instance: dg.DagsterInstance, ended: EndedRun, store: ResultStore) -> list[Alert]:
    """Return the alerts of one run: stages that failed, checks that failed, results that were made."""
    events = [
        entry.dagster_event
        for entry in instance.all_logs(ended.run.run_id, of_type=_READ)
        if entry.dagster_event is not None
    ]
    made = {
        event.materialization.asset_key.path[-1]: event.materialization
        for event in events
        if event.is_step_materialization and event.materialization.asset_key.path[-1] in STAGES
    }
    checks = list(_failed_checks(ended, events, made))
    if ended.succeeded:
        return [*checks, *_refreshed(ended, made)]
    if ended.tried_again:
        return checks
    reported = {alert.stage for alert in checks if alert.reason.startswith("blocked by")}
    return [*checks, *_failures(instance, ended, events, store, reported)]


def _failures(
    instance: dg.DagsterInstance,
    ended: EndedRun,
    events: Sequence[dg.DagsterEvent],
    store: ResultStore,
    reported: set[str],
) -> Iterator[Alert]:
    failed = [event for event in events if event.is_step_failure]
    for event in failed:
        stage = str(event.step_key)
        if stage not in reported:
            reason = _reason(event)
            yield Alert(
                "failed",
                ended.dataset,
                stage,
                input_of(stage, ended.dataset, store) or _hash(reason),
                reason,
                ended.link,
            )
    if not failed:
        reason = ended.run.tags.get("dagster/failure_reason") or "the run ended without a failed step"
        root = ended.run.root_run_id or ended.run.run_id
        yield Alert("failed", ended.dataset, f"the run of {ended.run.job_name}", root, reason, ended.link)


def input_of(stage: str, dataset: str, store: ResultStore) -> str | None:
    """Return the key of the result that a stage would make now; None where that is unknown."""
    if stage not in STAGES:
        return None
    try:
        inputs = {name: store.current(name, dataset) for name in STAGES[stage].input_names}
        return stage_key(STAGES[stage], load_registry()[dataset], inputs).digest
    except (AfliteError, OSError):
        return None  # its file or source was deleted, or an earlier stage was never made; the alert's reason says which


def _failed_checks(
    ended: EndedRun, events: Sequence[dg.DagsterEvent], made: Mapping[str, dg.AssetMaterialization]
) -> Iterator[Alert]:
    failed: dict[str, list[dg.AssetCheckEvaluation]] = {}
    for event in events:
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            evaluation = event.asset_check_evaluation_data
            if not evaluation.passed:
                failed.setdefault(evaluation.asset_key.path[-1], []).append(evaluation)
    for stage, evaluations in failed.items():
        names = [evaluation.check_name for evaluation in evaluations]
        key = _text(made[stage].metadata.get("key")) if stage in made else ""
        blocked = any(
            evaluation.blocking and evaluation.severity == dg.AssetCheckSeverity.ERROR for evaluation in evaluations
        )
        reason = f"{'blocked by ' if blocked else ''}{'; '.join(map(_check_text, evaluations))}"
        yield Alert("checks", ended.dataset, stage, _hash(key or ended.run.run_id, *names), reason, ended.link)


def _check_text(evaluation: dg.AssetCheckEvaluation) -> str:
    advice = _text(evaluation.metadata.get("what_to_do"))
    level = "" if evaluation.severity == dg.AssetCheckSeverity.ERROR else " (warning)"
    return f"{evaluation.check_name}{level}" + (f": {advice}" if advice and advice != "none" else "")


def _refreshed(ended: EndedRun, made: Mapping[str, dg.AssetMaterialization]) -> Iterator[Alert]:
    new = {stage: event for stage, event in made.items() if _text(event.metadata.get("reused")) == "False"}
    if not new:
        return
    reused = [stage for stage in made if stage not in new]
    reason = f"made {', '.join(new)}" + (f"; found {len(reused)} more" if reused else "")
    if verdicts := _text(made["benchmark_report"].metadata.get("verdicts")) if "benchmark_report" in new else "":
        reason += f"; {verdicts.splitlines()[0]}"
    keys = _hash(*(_text(event.metadata.get("key")) for event in new.values()))
    yield Alert("refreshed", ended.dataset, list(new)[-1], keys, reason, ended.link)


def _reason(event: dg.DagsterEvent) -> str:
    """Return the step's own description of its failure, or the first line of the error that Dagster's errors wrap."""
    data = event.step_failure_data
    if data.user_failure_data is not None and data.user_failure_data.description:
        return str(data.user_failure_data.description)
    error = data.error
    while error is not None and error.cause is not None:
        error = error.cause
    lines = error.message.strip().splitlines() if error is not None else []
    return lines[0] if lines else "the step ended without saying why"


def _text(value: dg.MetadataValue[Any] | None) -> str:
    return "" if value is None or value.value is None else str(value.value)


def _hash(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def _latest(instance: dg.DagsterInstance, event_type: dg.DagsterEventType) -> int:
    records = instance.fetch_run_status_changes(event_type, limit=1).records
    return records[0].storage_id if records else 0


def _ended_since(instance: dg.DagsterInstance, event_type: dg.DagsterEventType, number: int) -> Iterable[EndedRun]:
    wanted = dg.RunStatusChangeRecordsFilter(event_type, after_storage_id=number)  # type: ignore[arg-type]
    for record in instance.fetch_run_status_changes(wanted, limit=RUNS_PER_TICK, ascending=True).records:
        run = instance.get_run_by_id(record.run_id)
        if run is not None:
            succeeded = event_type == dg.DagsterEventType.RUN_SUCCESS
            yield EndedRun(record.storage_id, run, record.timestamp, succeeded, instance.run_retries_enabled)


def _is_own(run: dg.DagsterRun, context: dg.SensorEvaluationContext) -> bool:
    """Whether the run belongs to this code location; runs started on a command line name none."""
    if run.remote_job_origin is None or context.code_location_origin is None:
        return True
    origin = run.remote_job_origin.repository_origin.code_location_origin
    return origin.location_name == context.code_location_origin.location_name
