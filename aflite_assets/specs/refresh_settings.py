"""Model of the field `refresh` in a dataset's YAML file, which sets whether and when a refresh processes changes. Cache
keys of results do not depend on the field `refresh`.
"""

import re
from datetime import UTC, datetime
from typing import Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, model_validator

from aflite_assets.specs.models.settings import StrictSpec
from aflite_assets.wording import did_you_mean

_RANDOM = re.compile(r"\b[rR]\b")
"""Symbol of croniter for a random time, which is drawn again at each call."""


class RefreshSpec(StrictSpec):
    """Settings that determine when a refresh processes changes of the data."""

    start: bool = Field(
        False,
        description="true: a refresh also runs the pipeline for the first time; default: the first run is "
        "started by hand",
    )
    cron: str | None = Field(
        None,
        max_length=200,
        description="five cron fields (minute, hour, day, month, weekday): the times when changes are processed; "
        "default: at once",
    )
    timezone: str | None = Field(None, description="time zone of `cron`, such as Europe/Berlin; default: UTC")

    @model_validator(mode="after")
    def _times_exist(self) -> Self:
        if self.timezone is not None:
            _check_timezone(self.timezone)
        if self.cron is None and self.timezone is not None:
            raise ValueError(
                f"`timezone` is {self.timezone!r}, but `cron` is not set; set `cron`, or remove `timezone`"
            )
        if self.cron is not None:
            _check_cron(self.cron)
        return self

    def last_time(self, now: datetime) -> datetime | None:
        """Return the last time at or before `now` that matches `cron`, in UTC. Return None if `cron` is not set."""
        if self.cron is None:
            return None
        from croniter import croniter

        local = now.astimezone(ZoneInfo(self.timezone or "UTC"))
        if croniter.match(self.cron, local):
            return local.replace(second=0, microsecond=0).astimezone(UTC)
        previous: datetime = croniter(self.cron, local).get_prev(datetime)
        return previous.astimezone(UTC)

    def next_time(self, now: datetime) -> datetime | None:
        """Return the first time after `now` that matches `cron`, in UTC. Return None if `cron` is not set."""
        if self.cron is None:
            return None
        from croniter import croniter

        next_run: datetime = croniter(self.cron, now.astimezone(ZoneInfo(self.timezone or "UTC"))).get_next(datetime)
        return next_run.astimezone(UTC)


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"`timezone` is {name[:60]!r}, which is unknown"
            + (did_you_mean(name[:60], sorted(available_timezones())) or "; give a name such as Europe/Berlin")
        ) from None


def _check_cron(cron: str) -> None:
    from croniter import CroniterError, croniter

    wanted = 'give minute, hour, day, month and weekday, such as "0 3 * * 1" for Mondays at three'
    if len(cron.split()) != 5 or _RANDOM.search(cron):
        raise ValueError(f"`cron` is {cron!r}, which is not a cron expression of five fields; {wanted}")
    try:
        croniter(cron, datetime(2024, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (CroniterError, ValueError) as error:
        raise ValueError(f"`cron` is {cron!r}, which matches no time ({error}); {wanted}") from None
