"""Columns as a whole: which values are told apart, and which columns are measured or dated instead."""

from collections.abc import Sequence

import numpy as np

from aflite_assets.scan.properties.categories import column_categories
from aflite_assets.scan.properties.records import Categories
from aflite_assets.scan.rows import TableColumn


def _read(values: np.ndarray | Sequence[str | None], *, declared: bool = False) -> list[Categories]:
    column = {"desk": TableColumn("attribute", values)}
    return list(column_categories(column, declared=frozenset({"desk"} if declared else ())))


def test_frequent_values_are_told_apart_and_rare_and_missing_ones_are_not() -> None:
    values = ["a"] * 30 + ["b"] * 20 + ["c"] * 10 + ["d"] * 9 + [None] * 15 + ["NA"] * 15
    (found,) = _read(values, declared=True)
    assert found.values == ("'a'", "'b'", "'c'")
    assert np.bincount(found.codes + 1).tolist() == [39, 30, 20, 10]
    assert (found.info.name, found.info.source, found.info.reason) == ("desk", "desk", "declared")


def test_whole_numbers_of_few_values_may_be_codes() -> None:
    codes = np.tile([101.0, 7.0, 30.0, np.nan], 25)
    (found,) = _read(codes)
    assert found.values == ("7", "30", "101")
    assert [found.values[code] if code >= 0 else None for code in found.codes[:4]] == ["101", "7", "30", None]
    assert _read([str(code) for code in codes])[0].values == found.values


def test_dates_are_weekdays_months_and_hours() -> None:
    dates = [f"2026-0{month}-0{day} {hour:02d}:30" for month in (1, 2, 3) for day in range(1, 8) for hour in (7, 8, 9)]
    weekdays, months, hours = _read([*dates * 4, None], declared=True)
    assert [each.info.name for each in (weekdays, months, hours)] == [
        "weekday of desk", "month of desk", "hour of desk",
    ]  # fmt: skip
    assert (weekdays.info.kind, weekdays.info.source, weekdays.info.reason) == ("date", "desk", "declared")
    assert sorted(weekdays.values) == [
        "Friday", "Monday", "Saturday", "Sunday", "Thursday", "Tuesday", "Wednesday",
    ]  # fmt: skip
    assert weekdays.values[weekdays.codes[0]] == "Thursday"  # 1 January 2026
    assert [months.values[months.codes[place]] for place in (0, 21, 42)] == ["January", "February", "March"]
    assert [hours.values[code] for code in hours.codes[:3]] == ["07", "08", "09"]
    assert weekdays.codes[-1] == months.codes[-1] == hours.codes[-1] == -1


def test_measured_numbers_dates_and_columns_of_two_values_are_none() -> None:
    assert _read(np.tile([0.5, 1.5, 2.5], 20)) == []
    assert _read(np.repeat(np.arange(61.0), 20)) == []
    assert _read([f"2026-01-{day:02d}" for day in (1, 8, 15, 22)] * 20) == []
    assert _read(["yes", "no", None] * 20) == []
