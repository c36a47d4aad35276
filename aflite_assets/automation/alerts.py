"""The sensors `failure_alerts` and `check_alerts`, which report runs in the log and at a webhook."""

import os
import time
from html import escape
from typing import Any

import dagster as dg

from aflite_assets.addresses import dagster_page
from aflite_assets.automation.runs_of_datasets import PARTITION_TAG, WILL_RETRY, how_it_failed, started_elsewhere
from aflite_assets.automation.webhook import post_message
from aflite_assets.wording import truncate

LONGEST = 400
_SENSOR: Any = {"minimum_interval_seconds": 60, "default_status": dg.DefaultSensorStatus.STOPPED}
_OF_RESULTS = {dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_CHECK_EVALUATION}


@dg.run_failure_sensor(
    **_SENSOR,
    description="Reports runs that failed after their last try, in the log and at the webhook in AFLITE_ALERT_WEBHOOK.",
)
def failure_alerts(context: dg.RunFailureSensorContext) -> None:
    """Log one failed run, and post it if `AFLITE_ALERT_WEBHOOK` has an address, unless Dagster retries the run.

    Raises:
        NotificationError: the message cannot be posted; it is in the log.
    """
    run = context.dagster_run
    if context.instance.run_retries_enabled and WILL_RETRY not in run.tags:
        time.sleep(1)  # Dagster adds the tag shortly after the failure
        run = context.instance.get_run_by_id(run.run_id) or run
    if run.tags.get(WILL_RETRY) == "true" and started_elsewhere(run):
        return
    _report(context, run, how_it_failed(context.instance, run))


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    **_SENSOR,
    description="Reports failed checks of new results, in the log and at the webhook in AFLITE_ALERT_WEBHOOK.",
)
def check_alerts(context: dg.RunStatusSensorContext) -> None:
    """Log the failed checks of the results that one successful run computed, and post them as `failure_alerts` does."""
    entries = context.instance.all_logs(context.dagster_run.run_id, of_type=_OF_RESULTS)
    events = [entry.dagster_event for entry in entries if entry.dagster_event is not None]
    results = [event.materialization for event in events if event.is_step_materialization]
    reused = {result.asset_key for result in results if (flag := result.metadata.get("reused")) and flag.value}
    if context.dagster_run.parent_run_id:  # a retry reuses what the killed run computed, whose checks were not reported
        reused = set()
    checks = [event.asset_check_evaluation_data for event in events if not event.is_step_materialization]
    failed = [_in_words(check) for check in checks if not check.passed and check.asset_key not in reused]
    if failed:
        _report(context, context.dagster_run, f"failed checks: {'; '.join(failed)}")


def _in_words(check: dg.AssetCheckEvaluation) -> str:
    """Return a failed check's stage and name, and what to do or, if the check has no remedy, what it found."""
    shown = [check.metadata[name].value for name in ("what_to_do", "found", "result") if name in check.metadata]
    return ": ".join([check.asset_key.path[-1], check.check_name, *map(str, shown[:1])])


def _report(context: dg.RunStatusSensorContext, run: dg.DagsterRun, words: str) -> None:
    text = f"{inert(f'{run.tags.get(PARTITION_TAG, run.job_name)}: {words}')} {dagster_page('runs', run.run_id)}"
    context.log.warning(text)
    if webhook := os.environ.get("AFLITE_ALERT_WEBHOOK", "").strip():
        post_message(webhook, text)


def inert(text: str) -> str:
    """Return text on one line, which a chat shows literally: without markup, links and mentions of people.

    Slack requires entities for its three signs of markup (docs.slack.dev, "Formatting message text"). Other chats
    mention people by "@all" without markup, and all chats turn addresses into links; an invisible space prevents both.
    """
    line = truncate(" ".join(text[: 4 * LONGEST].split()), LONGEST)
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
    literal = escape(shown, quote=False).replace("`", "'").replace("@", "@\u200b").replace("://", ":\u200b//")
    return f"`{literal}`"
