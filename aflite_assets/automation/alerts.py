"""The sensors `failure_alerts` and `refresh_alerts`, which send messages about runs that ended."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from aflite_assets.addresses import dagster_page
from aflite_assets.automation.runs_of_datasets import RETRY, WILL_RETRY, reason_of_step, started_elsewhere
from aflite_assets.notifying import Alert, chat_text, log_line, post_message
from aflite_assets.stages.pipeline import STAGES

ROW_COUNT = "dagster/row_count"
_LEAST_KEPT = 0.95
"""Largest share of a dataset's former rows at which an alert is sent."""
_READ = {
    dg.DagsterEventType.STEP_FAILURE,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.ASSET_MATERIALIZATION,
}
_TICK_SECONDS = 60
_RETRY_SECONDS = 20.0
"""Longest wait for an announced retry; the daemon looks every five seconds, and a tick takes a minute at most."""
_TO = "in the log and at the webhook in AFLITE_ALERT_WEBHOOK."


@dg.run_failure_sensor(
    minimum_interval_seconds=_TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description=f"Reports runs that failed after their last try, {_TO}",
)
def failure_alerts(context: dg.RunFailureSensorContext) -> None:
    """Send the alerts of one failed run, unless Dagster retries the run; an announced retry must come soon."""
    run = context.dagster_run
    if context.instance.run_retries_enabled and WILL_RETRY not in run.tags:
        time.sleep(1)  # Dagster adds the tag shortly after the failure
        run = context.instance.get_run_by_id(run.run_id) or run
    late = time.monotonic() + _RETRY_SECONDS
    while run.tags.get(WILL_RETRY) == "true" and _lacks_retry(run) and time.monotonic() < late:
        time.sleep(1)
        run = context.instance.get_run_by_id(run.run_id) or run
    if run.tags.get(WILL_RETRY) != "true" or _lacks_retry(run):
        send(context, alerts_of_run(context.instance, run))


def _lacks_retry(run: dg.DagsterRun) -> bool:
    """Return True if the daemon has not started a retry of the run. Only the daemon retries, and only runs that it can
    start again.
    """
    return started_elsewhere(run) and RETRY not in run.tags


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    minimum_interval_seconds=_TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description=f"Reports the new results of runs, and failed checks of these results, {_TO}",
)
def refresh_alerts(context: dg.RunStatusSensorContext) -> None:
    """Send the alerts of one successful run."""
    send(context, alerts_of_run(context.instance, context.dagster_run))


def send(context: dg.RunStatusSensorContext, alerts: Sequence[Alert]) -> None:
    """Log alerts, and post them in one message if `AFLITE_ALERT_WEBHOOK` contains an address.

    Raises:
        NotificationError: the message cannot be posted; the alerts are in the log.
    """
    for alert in alerts:
        context.log.warning(log_line(alert))
    webhook = os.environ.get("AFLITE_ALERT_WEBHOOK", "").strip()
    if webhook and alerts:
        post_message(webhook, chat_text(alerts))


def alerts_of_run(instance: dg.DagsterInstance, run: dg.DagsterRun) -> list[Alert]:
    """Return the alerts of one run: failed stages, new results, and failed checks of these results."""
    entries = instance.all_logs(run.run_id, of_type=_READ)
    events = [entry.dagster_event for entry in entries if entry.dagster_event is not None]
    results = [event.materialization for event in events if event.is_step_materialization]
    obtained = {result.asset_key.path[-1]: result for result in results if result.asset_key.path[-1] in STAGES}
    made = {stage: result for stage, result in obtained.items() if _text(result.metadata.get("reused")) == "False"}
    found = len(obtained) - len(made)
    dataset, link = run.tags.get("dagster/partition", "all datasets"), dagster_page("runs", run.run_id)
    failed = {str(event.step_key): reason_of_step(event) for event in events if event.is_step_failure}
    told = _failed_checks(events, {*made, *failed})
    alerts = [Alert("checks", dataset, stage, reason, link) for stage, reason in told.items()]
    if "raw_dataset" in made and (fewer := _fewer_rows(instance, made["raw_dataset"], dataset)):
        alerts.insert(0, Alert("rows", dataset, "raw_dataset", fewer, link))
    if run.status != dg.DagsterRunStatus.SUCCESS:
        why = run.tags.get("dagster/failure_reason") or "the run ended without a failed step"
        stopped = failed or {f"the run of {run.job_name}": why}
        alerts += [
            Alert("failed", dataset, stage, reason, link)
            for stage, reason in stopped.items()
            if not told.get(stage, "").startswith("blocked by")
        ]
    elif made:
        reason = f"made {', '.join(made)}" + (f"; found {found} more" if found else "")
        report = made.get("benchmark_report")
        if verdicts := _text(report.metadata.get("verdicts")) if report is not None else "":
            reason += f"; {verdicts.splitlines()[0]}"
        alerts.append(Alert("refreshed", dataset, list(made)[-1], reason, link))
    return alerts


def _fewer_rows(instance: dg.DagsterInstance, made: dg.AssetMaterialization, dataset: str) -> str:
    """Return how many rows a dataset lost since `raw_dataset` was last made, or "" if it lost less than 5 %."""
    wanted = dg.AssetRecordsFilter(asset_key=made.asset_key, asset_partitions=[dataset])
    records = instance.fetch_materializations(wanted, limit=2).records
    counts = [one.asset_materialization.metadata.get(ROW_COUNT) for one in records if one.asset_materialization]
    if len(counts) < 2 or None in counts:
        return ""
    now, before = (int(_text(count)) for count in counts)
    if now > _LEAST_KEPT * before:
        return ""
    return (
        f"{now:,} instead of {before:,}; see whether its files are complete; the setting `least_rows` in the dataset's "
        "file refuses incomplete files"
    )


def _failed_checks(events: Sequence[dg.DagsterEvent], stages: set[str]) -> Mapping[str, str]:
    """Return the failed checks of these stages in words, by stage."""
    of_checks = (event for event in events if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    failed: dict[str, list[dg.AssetCheckEvaluation]] = {}
    for evaluation in (event.asset_check_evaluation_data for event in of_checks):
        if not evaluation.passed and evaluation.asset_key.path[-1] in stages:
            failed.setdefault(evaluation.asset_key.path[-1], []).append(evaluation)
    return {stage: "".join(_check_words(evaluations)) for stage, evaluations in failed.items()}


def _check_words(evaluations: Sequence[dg.AssetCheckEvaluation]) -> Iterator[str]:
    errors = [one for one in evaluations if one.severity == dg.AssetCheckSeverity.ERROR]
    yield "blocked by " if any(one.blocking for one in errors) else ""
    for number, one in enumerate(evaluations):
        advice = _text(one.metadata.get("what_to_do"))
        yield f"{'; ' if number else ''}{one.check_name}{'' if one in errors else ' (warning)'}"
        yield f": {advice}" if advice and advice != "none" else ""


def _text(value: dg.MetadataValue[Any] | None) -> str:
    return "" if value is None or value.value is None else str(value.value)
