"""When a refresh may act: what a dataset's file may say, and which times a cron expression means where."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from aflite_assets.errors import SpecError
from aflite_assets.specs.refresh_settings import RefreshSpec
from aflite_assets.specs.registry import parse_spec
from tests.pipeline_fixtures import CIRCLES

HUB: dict[str, Any] = {"format": "hub", "id": "me/data", "splits": {"train": "train", "test": "test"}}


def _at(*time: int) -> datetime:
    return datetime(*time, tzinfo=UTC)  # type: ignore[arg-type, misc]


def test_what_may_be_said() -> None:
    assert parse_spec(CIRCLES).refresh == RefreshSpec()
    assert parse_spec({**CIRCLES, "refresh": "never"}).refresh == "never"
    refresh = parse_spec({**CIRCLES, "refresh": {"cron": "0 3 * * mon", "timezone": "Europe/Berlin"}}).refresh
    assert refresh == RefreshSpec(cron="0 3 * * mon", timezone="Europe/Berlin")
    assert parse_spec({**CIRCLES, "refresh": {"start": True}}).refresh == RefreshSpec(start=True)


REFUSED: list[tuple[Any, str]] = [
    ("always", r"refresh: must be one of 'never' or a mapping .*\(received 'always'\)"),
    (True, r"refresh: must be one of 'never' or a mapping"),
    ({"crom": "0 3 * * *"}, r"refresh.crom: unknown key; did you mean 'cron'"),
    ({"cron": "3"}, "refresh: `cron` is '3', which is not a cron expression of five fields; give minute, hour"),
    ({"cron": "@daily"}, "`cron` is '@daily', which is not a cron expression of five fields"),
    ({"cron": "R * * * *"}, r"`cron` is 'R \* \* \* \*', which is not a cron expression of five fields"),
    ({"cron": "61 * * * *"}, r"`cron` is '61 \* \* \* \*', which matches no time.*out of range\); give minute"),
    ({"cron": "0 0 30 2 *"}, r"`cron` is '0 0 30 2 \*', which matches no time"),
    (
        {"cron": "0 3 * * *", "timezone": "Europe/Berln"},
        r"'Europe/Berln', which is unknown; did you mean 'Europe/Berlin'",
    ),
    ({"cron": "0 3 * * *", "timezone": "../etc"}, r"`timezone` is '\.\./etc', which is unknown"),
    (
        {"timezone": "Europe/Berlin"},
        "`timezone` is 'Europe/Berlin', but `cron` is not set; set `cron`, or remove `timezone`",
    ),
]


@pytest.mark.parametrize(("refresh", "message"), REFUSED)
def test_what_may_not_be_said(refresh: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_spec({**CIRCLES, "refresh": refresh})


def test_times_are_those_of_the_zone() -> None:
    mondays = RefreshSpec(cron="0 3 * * 1", timezone="Europe/Berlin")
    assert mondays.last_time(_at(2026, 11, 23, 1, 59)) == _at(2026, 11, 16, 2)
    assert mondays.last_time(_at(2026, 11, 23, 2, 0)) == _at(2026, 11, 23, 2)
    assert mondays.last_time(_at(2026, 11, 23, 2, 0, 59)) == _at(2026, 11, 23, 2)
    assert mondays.next_time(_at(2026, 11, 23, 2, 0)) == _at(2026, 11, 30, 2)
    assert mondays.last_time(datetime(2026, 7, 6, 3, 1, tzinfo=ZoneInfo("Europe/Berlin"))) == _at(2026, 7, 6, 1)
    assert RefreshSpec(cron="0 3 * * 1").last_time(_at(2026, 11, 23, 3, 1)) == _at(2026, 11, 23, 3)
    assert RefreshSpec().last_time(_at(2026, 11, 23)) is None
    assert RefreshSpec().next_time(_at(2026, 11, 23)) is None


def test_an_hour_that_the_clocks_leave_out_is_not_missed() -> None:
    nightly = RefreshSpec(cron="30 2 * * *", timezone="Europe/Berlin")
    times = {nightly.last_time(_at(2026, 3, day, 12)) for day in (28, 29, 30)}
    assert times == {_at(2026, 3, 28, 1, 30), _at(2026, 3, 29, 1, 0), _at(2026, 3, 30, 0, 30)}


def test_a_dataset_of_the_hub_is_pinned_or_says_that_it_takes_the_newest() -> None:
    assert parse_spec({**CIRCLES, "source": {**HUB, "newest": True}}).model_dump()["source"]["newest"] is True
    with pytest.raises(
        SpecError,
        match="is not set, so the dataset could change unnoticed; set `revision` to a commit from the page "
        "'Files and versions' on the hub, or set `newest: true` to use the newest commit at every "
        "materialisation",
    ):
        parse_spec({**CIRCLES, "source": HUB})
