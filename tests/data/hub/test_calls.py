"""The hub asked anew for commits, within a deadline."""

import time
from typing import TYPE_CHECKING, Any

import pytest

from aflite_assets.data.hub.calls import in_time, shared_deadline

if TYPE_CHECKING:
    from tests.data.hub.conftest import Hub

ONE, TWO = "a" * 40, "b" * 40


def _source(id: str) -> dict[str, Any]:
    return {"format": "hub", "id": id, "revision": "main", "splits": {"train": "train.csv"}}


def test_models_are_asked_for_once_and_anew_when_wanted(hub: "Hub") -> None:
    hub.publish("me/model", {"config.json": "{}"}, kind="model")
    assert hub.worker.do("model_commit", id="me/model")["result"] == ONE
    hub.publish("me/model", {"config.json": "[]"}, commit=TWO, kind="model")
    assert hub.worker.do("model_commit", id="me/model")["result"] == ONE
    before = len(hub.requests("me/model"))
    looked = hub.worker.do("ask_anew", sources=[{"model": "me/model"}] * 3, seconds=20)["result"]
    assert looked == {"answers": [TWO] * 3, "unanswered": {}}
    assert len(hub.requests("me/model")) == before + 1
    assert hub.worker.do("model_commit", id="me/model")["result"] == TWO


def test_datasets_are_asked_for_once_in_a_look(hub: "Hub") -> None:
    hub.publish("me/asked", {"train.csv": "n\n1\n"})
    looked = hub.worker.do("ask_anew", sources=[_source("me/asked")] * 3, seconds=20)["result"]
    assert looked["answers"] == [ONE] * 3
    assert len(hub.requests("me/asked")) == 1
    hub.publish("me/asked", {"train.csv": "n\n2\n"}, commit=TWO)
    assert hub.worker.do("ask_anew", sources=[_source("me/asked")], seconds=20)["result"]["answers"] == [TWO]


def test_a_hub_that_is_late_costs_the_deadline_once_and_the_last_commit_is_taken(hub: "Hub") -> None:
    hub.publish("me/slow", {"train.csv": "n\n1\n"})
    hub.publish("me/fast", {"train.csv": "n\n1\n"})
    both = [_source("me/slow"), _source("me/fast")]
    assert hub.worker.do("ask_anew", sources=both, seconds=20)["result"]["answers"] == [ONE, ONE]
    hub.publish("me/slow", {"train.csv": "n\n2\n"}, commit=TWO, seconds=4)
    hub.publish("me/fast", {"train.csv": "n\n2\n"}, commit=TWO)
    before = len(hub.requests("me/fast"))
    outcome = hub.worker.do("ask_anew", sources=[*both, _source("me/unheard")], seconds=1)
    assert outcome["seconds"] < 3
    *answers, unknown = outcome["result"]["answers"]
    assert answers == [ONE, ONE]
    assert "MissingDataError: dataset 'me/unheard': the hub at http://127.0.0.1" in unknown
    unanswered = outcome["result"]["unanswered"]
    assert list(unanswered) == ["dataset 'me/slow'", "dataset 'me/fast'"]
    assert "cannot be reached (TimeoutError: the hub did not answer within 1 s)" in unanswered["dataset 'me/slow'"]
    assert "the hub did not answer within 1 s, so no further request was sent" in unanswered["dataset 'me/fast'"]
    assert len(hub.requests("me/fast")) == before


def test_what_a_call_raises_comes_back_and_other_questions_go_on() -> None:
    def refuse() -> None:
        raise ValueError("no such thing")

    with shared_deadline(5):
        with pytest.raises(ValueError, match="no such thing"):
            in_time(refuse)
        assert in_time(lambda: 3) == 3
    with shared_deadline(0.1):
        with pytest.raises(TimeoutError, match=r"the hub did not answer within 0\.1 s"):
            in_time(lambda: time.sleep(1))
        with pytest.raises(TimeoutError, match="no further request was sent"):
            in_time(lambda: 3)
    assert in_time(lambda: 4) == 4
