"""Each alert is told once, none is lost, and a webhook's address is shown nowhere."""

import json
import threading
from pathlib import Path

import pytest

from aflite_assets.errors import NotificationError
from aflite_assets.notifying import Alert, Delivery, Notifier, notifier
from aflite_assets.notifying.webhook import post_message
from tests.notifying.conftest import Webhook


def alerts(*inputs: str) -> list[Alert]:
    return [Alert("failed", "digits", "raw_dataset", each, f"reason {each}", "http://x/1") for each in inputs]


def test_an_alert_is_sent_once_for_each_input(tmp_path: Path, webhook: Webhook) -> None:
    desk = Notifier(tmp_path, webhook.address)
    assert desk.note(alerts("a", "b")) == alerts("a", "b")
    assert desk.deliver() == Delivery(sent=2, waiting=0)
    assert Notifier(tmp_path, webhook.address).note(alerts("b", "c", "c")) == alerts("c")
    assert desk.deliver() == Delivery(sent=1, waiting=0)
    assert desk.deliver() == Delivery(sent=0, waiting=0)
    assert [text.count("reason") for text in webhook.texts] == [2, 1]
    assert webhook.headers[0]["Content-Type"] == "application/json"


def test_without_a_webhook_alerts_are_logged(tmp_path: Path) -> None:
    said: list[str] = []
    desk = Notifier(tmp_path)
    desk.note(alerts("a"), log=said.append)
    desk.note(alerts("a"), log=said.append)
    assert desk.deliver(log=said.append) == Delivery(sent=0, waiting=0)
    assert said == ["digits, raw_dataset failed: reason a (http://x/1)"]


@pytest.mark.parametrize(
    ("answer", "trouble"), [(500, "answered 500"), (404, "answered 404"), (302, "answered 302"), (None, "refused")]
)
def test_what_cannot_be_sent_waits_and_is_sent_later_once(
    tmp_path: Path, webhook: Webhook, answer: int | None, trouble: str
) -> None:
    said: list[str] = []
    desk = Notifier(tmp_path, webhook.address)
    desk.note(alerts("a"))
    if answer is None:
        away = Notifier(tmp_path, "http://127.0.0.1:1/services/top-secret")
        outcome = away.deliver(log=said.append)
    else:
        webhook.answer = answer
        outcome = desk.deliver(log=said.append)
    assert (outcome.sent, outcome.waiting) == (0, 1)
    assert trouble in str(outcome.trouble)
    assert "1 alerts wait for the next time" in said[0]
    kept = (tmp_path / "alerts.json").read_text()
    assert not [text for text in (said[0], outcome.trouble, kept, repr(desk)) if "secret" in str(text)]

    webhook.answer = 200
    desk.note(alerts("a"))
    assert desk.deliver() == Delivery(sent=1, waiting=0)
    assert len(webhook.texts) == 1


def test_many_alerts_go_in_messages_of_ten(tmp_path: Path, webhook: Webhook) -> None:
    desk = Notifier(tmp_path, webhook.address)
    desk.note(alerts(*map(str, range(25))))
    assert desk.deliver() == Delivery(sent=25, waiting=0)
    assert [len(text.splitlines()) for text in webhook.texts] == [10, 10, 5]


def test_two_processes_at_once_send_once(tmp_path: Path, webhook: Webhook) -> None:
    def tick() -> None:
        desk = Notifier(tmp_path, webhook.address)
        desk.note(alerts("a", "b", "c"))
        desk.deliver()

    ticks = [threading.Thread(target=tick) for _ in range(4)]
    for each in ticks:
        each.start()
    for each in ticks:
        each.join()
    assert len(webhook.texts) == 1


def test_a_queue_that_nobody_takes_is_bounded(
    tmp_path: Path, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "MOST_WAITING", 3)
    monkeypatch.setattr(notifier, "MOST_KNOWN", 4)
    said: list[str] = []
    desk = Notifier(tmp_path, webhook.address)
    desk.note(alerts("1", "2", "3", "4", "5"), log=said.append)
    assert said[-1] == "2 alerts are given up: over 3 wait for a webhook that takes none"
    state = json.loads((tmp_path / "alerts.json").read_text())
    assert [one["input"] for one in state["waiting"]] == ["3", "4", "5"]
    assert list(state["known"]) == [one.identity for one in alerts("2", "3", "4", "5")]


@pytest.mark.parametrize(("content", "message"), [("{", "is damaged"), ('{"format": 2}', "is of another version")])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "alerts.json").write_text(content)
    with pytest.raises(NotificationError, match=f"alerts.json {message}.*move it away"):
        Notifier(tmp_path).note(alerts("a"))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("file:///etc/top-secret", "has no http or https address"),
        ("top-secret", "has no http or https address"),
        ("http://[top-secret", "has an invalid address"),
        ("http://127.0.0.1:port-top-secret/", "has an invalid address"),
        ("http://127.0.0.1:1/top secret", "has an invalid address"),
        ("http://user:top-secret@127.0.0.1:1/", "has a user in its address, which is not supported"),
    ],
)
def test_an_address_stands_in_no_error(address: str, message: str) -> None:
    with pytest.raises(NotificationError, match=message) as caught:
        post_message(address, "text")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
