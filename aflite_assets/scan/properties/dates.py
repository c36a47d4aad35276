"""Properties of columns of dates: the day, and the weekday, month and hour, alone and as unordered values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from aflite_assets.scan.properties.records import PropertyInfo, info_of

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?")
_EPOCH = datetime(1970, 1, 1)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def are_dates(known: Sequence[str]) -> bool:
    """Return True if all texts are dates such as 2026-05-31. The column must have no missing text."""
    return all(_DATE.fullmatch(value) for value in known[:100])


def days(values: Sequence[str | None]) -> np.ndarray:
    """Return days since 1970, float64, or NaN for a missing or invalid date."""
    known = (_parsed(value) for value in values)
    return np.array([np.nan if date is None else (date - _EPOCH).total_seconds() / 86_400 for date in known])


@dataclass(frozen=True, eq=False)
class DatePart:
    """One part of the dates in a column, such as the weekday. `values`: names of the part's values, such as "Monday".

    `codes`: int64, the position of each row's value in `values`, -1 for a missing date.
    """

    name: str
    values: tuple[str, ...]
    codes: np.ndarray


def date_parts(name: str, values: Sequence[str | None]) -> Iterator[DatePart]:
    """Yield the weekday, month and hour of a column of dates.

    A part with fewer than two different values is left out, so that a column of days has no hour.
    """
    dates = [_parsed(value) for value in values]
    parts = (
        ("weekday", _WEEKDAYS, [-1 if date is None else date.weekday() for date in dates]),
        ("month", _MONTHS, [-1 if date is None else date.month - 1 for date in dates]),
        ("hour", tuple(f"{hour:02d}" for hour in range(24)), [-1 if date is None else date.hour for date in dates]),
    )
    for part, names, codes in parts:
        if len({code for code in codes if code >= 0}) > 1:
            yield DatePart(f"{part} of {name}", names, np.array(codes, dtype=np.int64))


def date_part_flags(
    name: str, values: Sequence[str | None], *, declared: bool, fewest: int
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield a property for each weekday, month and hour that at least `fewest` rows have."""
    for part in date_parts(name, values):
        for code in np.flatnonzero(np.bincount(part.codes[part.codes >= 0]) >= fewest):
            shown, absent = f"{part.name} = {part.values[code]}", f"{part.name} is not {part.values[code]}"
            yield info_of("date", shown, absent=absent, source=name, declared=declared), part.codes == code


def _parsed(value: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(value or "").replace(tzinfo=None)
    except ValueError:
        return None
