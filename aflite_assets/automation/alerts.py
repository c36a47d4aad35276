"""The sensor `failure_alerts`, which reports runs that failed, in the log and at a webhook."""

import os
import time
from html import escape

import dagster as dg

from aflite_assets.addresses import dagster_page
from aflite_assets.automation.runs_of_datasets import PARTITION_TAG, WILL_RETRY, how_it_failed, started_elsewhere
from aflite_assets.automation.webhook import post_message
from aflite_assets.wording import truncate

LONGEST = 400


@dg.run_failure_sensor(
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
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
    subject = run.tags.get(PARTITION_TAG, run.job_name)
    text = f"{inert(f'{subject}: {how_it_failed(context.instance, run)}')} {dagster_page('runs', run.run_id)}"
    context.log.warning(text)
    webhook = os.environ.get("AFLITE_ALERT_WEBHOOK", "").strip()
    if webhook:
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
