"""The record of one alert, and its text for a log and for a chat."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

LONGEST_REASON = 400
Kind = Literal["failed", "checks", "rows", "refreshed"]
_WORDS: dict[Kind, str] = {
    "failed": "failed",
    "checks": "has failed checks",
    "rows": "has fewer rows",
    "refreshed": "was refreshed",
}


@dataclass(frozen=True)
class Alert:
    """An event of one stage of a dataset, with its reason and a link to the run.

    `reason` may contain text of a dataset, which is escaped before it is shown.
    """

    kind: Kind
    dataset: str
    stage: str
    reason: str
    link: str


def sentence(alert: Alert) -> str:
    """Return the alert on one line, without its link."""
    subject = f"{one_line(alert.dataset)}, {one_line(alert.stage)}"
    return f"{subject} {_WORDS[alert.kind]}: {one_line(alert.reason)}"


def log_line(alert: Alert) -> str:
    """Return the alert on one line of a log."""
    return f"{sentence(alert)} ({one_line(alert.link)})"


def chat_text(alerts: Sequence[Alert]) -> str:
    """Return the alerts as one message in Slack's markup, which Mattermost accepts too, with a line per alert."""
    return "\n".join(_chat_line(alert) for alert in alerts)


def one_line(text: str) -> str:
    """Return the text on one line of at most `LONGEST_REASON` printable characters.

    Line ends become spaces. Control characters, direction overrides and invisible characters become replacement marks.
    """
    joined = " ".join(text[: 4 * LONGEST_REASON].split())
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in joined)
    return shown if len(shown) <= LONGEST_REASON else f"{shown[: LONGEST_REASON - 1]}…"


def _chat_line(alert: Alert) -> str:
    subject = f"*{_inert(alert.dataset)}*, {_inert(alert.stage)}"
    # In Slack, a link ends at ">", and its text follows "|".
    link = escape(one_line(alert.link), quote=False).replace("|", "%7C")
    return f"{subject} {_WORDS[alert.kind]}: `{_inert(alert.reason)}` <{link}|open>"


def _inert(text: str) -> str:
    """Return text that a chat shows literally, without markup, links and mentions of people.

    Slack requires entities for its three signs of markup (docs.slack.dev, "Formatting message text"). Other chats
    mention people by "@all" without markup, and all chats turn addresses into links; an invisible space prevents both.
    """
    return escape(one_line(text), quote=False).replace("`", "'").replace("@", "@\u200b").replace("://", ":\u200b//")
