"""Sending each alert once: which are known already, which still wait, and the sending."""

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from aflite_assets.errors import NotificationError
from aflite_assets.notifying.messages import Alert, chat_text, log_line
from aflite_assets.notifying.webhook import post_message
from aflite_assets.results.files import write_json

MOST_KNOWN = 20_000
MOST_WAITING = 1_000
ALERTS_PER_MESSAGE = 10
_FORMAT = 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Delivery:
    """The outcome of one attempt: alerts sent, alerts that still wait, and why."""

    sent: int
    waiting: int
    trouble: str | None = None


@dataclass(frozen=True)
class Notifier:
    """Keeps below `folder` which alerts were sent and which wait; posts to `webhook`, or only logs where that is None.

    Any number of processes of one machine may share the folder. A message that arrived, but whose answer was lost,
    is sent again.
    """

    folder: Path
    webhook: str | None = field(default=None, repr=False)

    def note(self, alerts: Sequence[Alert], *, log: Callable[[str], object] = _log.warning) -> list[Alert]:
        """Log the alerts that are new, queue them and return them.

        Raises:
            NotificationError: the file of known alerts cannot be read.
        """
        with self._state() as state:
            new = {alert.identity: alert for alert in alerts if alert.identity not in state["known"]}
            for identity, alert in new.items():
                log(log_line(alert))
                state["known"][identity] = datetime.now(UTC).isoformat(timespec="seconds")
                if self.webhook:
                    state["waiting"].append(asdict(alert))
            state["known"] = dict(list(state["known"].items())[-MOST_KNOWN:])
            excess = len(state["waiting"]) - MOST_WAITING
            if excess > 0:
                log(f"{excess} alerts are given up: over {MOST_WAITING} wait for a webhook that takes none")
                del state["waiting"][:excess]
        return list(new.values())

    def deliver(self, *, log: Callable[[str], object] = _log.warning) -> Delivery:
        """Post the waiting alerts, oldest first, several to a message; those that cannot be posted go on waiting.

        Raises:
            NotificationError: the file of known alerts cannot be read.
        """
        sent = 0
        with self._state() as state:
            while self.webhook and state["waiting"]:
                batch = [Alert(**alert) for alert in state["waiting"][:ALERTS_PER_MESSAGE]]
                try:
                    post_message(self.webhook, chat_text(batch))
                except NotificationError as error:
                    log(f"{error}; {len(state['waiting'])} alerts wait for the next time")
                    return Delivery(sent, len(state["waiting"]), str(error))
                del state["waiting"][: len(batch)]
                # Written at once: a process that is killed now sends nothing twice.
                write_json(self._file, state)
                sent += len(batch)
            return Delivery(sent, len(state["waiting"]))

    @property
    def _file(self) -> Path:
        return self.folder / "alerts.json"

    @contextmanager
    def _state(self) -> Iterator[dict[str, Any]]:
        """Yield the known and the waiting alerts, locked for this process until the block ends; then saved."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / ".lock"):
            state = self._read()
            before = json.dumps(state)
            yield state
            if json.dumps(state) != before:
                write_json(self._file, state)

    def _read(self) -> dict[str, Any]:
        try:
            state = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"format": _FORMAT, "known": {}, "waiting": []}
        except ValueError as error:
            raise NotificationError(f"{self._file} is damaged ({error}); move it away and try again") from error
        if not isinstance(state, dict) or state.get("format") != _FORMAT:
            raise NotificationError(
                f"{self._file} is of another version; move it away, or use the version that wrote it"
            )
        return state


def webhook_of_environment(variable: str) -> str | None:
    """Return the address that an environment variable holds; None where it is unset or empty."""
    return os.environ.get(variable, "").strip() or None
