"""Properties of table columns: numbers, dates, frequent values, number formats, missing values and their pattern."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from aflite_assets.diagnostics.properties.artefacts import is_identifier
from aflite_assets.scan.properties.records import Flags, Number, PropertyInfo, flags_of, info_of, number_of
from aflite_assets.scan.rows import TableColumn

MOST_VALUES = 60
"""Values of one column that are properties, the most frequent ones."""

_NUMERIC = 0.95
"""Share of the known values from which a column of texts is one of numbers or dates."""

_LAST_NUMBER = re.compile(r"(\d{1,15})\D*$")
_DIGITS = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?")


def column_properties(
    columns: Mapping[str, TableColumn], *, declared: frozenset[str], fewest: int, rows: int
) -> tuple[list[Flags], list[Number]]:
    """Return the properties of the columns; `fewest`: rows that a value needs to be a property.

    `declared`: columns that are no part of the task. A missing value is an artefact by nature, and so is an identifier.
    """
    flags, numbers = [], []
    for name, column in columns.items():
        values = as_numbers(column.values)
        if values is None and not isinstance(column.values, np.ndarray):
            flags.append(flags_of(_texts(name, column, name in declared, fewest), rows=rows))
            numbers += _in_texts(name, column.values, name in declared)
        elif values is not None:
            flags.append(flags_of(_frequent_numbers(name, column, values, name in declared, fewest), rows=rows))
            kind = "identifier" if is_identifier(name, values) else column.role
            found = number_of(info_of(kind, name, source=name, declared=name in declared), values)
            numbers += [] if found is None else [found]
    flags.append(flags_of(_missing(columns, fewest, rows), rows=rows))
    return flags, numbers + _count_of_missing(columns, rows)


def as_numbers(values: np.ndarray | Sequence[str | None]) -> np.ndarray | None:
    """Return a column as float64 with NaN for missing values, or None if it does not hold numbers.

    Texts are numbers if at least 95 % of the known ones are; the others are then missing.
    """
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    parsed = np.array([_number(value) for value in values])
    known = sum(value is not None for value in values)
    return parsed if known and np.isfinite(parsed).sum() >= _NUMERIC * known else None


def _number(text: str | None) -> float:
    if text is None or len(text) > 40 or "_" in text:
        return np.nan
    try:
        return float(text)
    except ValueError:
        return np.nan


def missing_of(column: TableColumn) -> np.ndarray:
    """Return which rows lack a value, bool of shape (rows,)."""
    if isinstance(column.values, np.ndarray):
        return np.isnan(column.values.astype(np.float64))
    return np.array([value is None or not value.strip() for value in column.values], dtype=bool)


def _missing(columns: Mapping[str, TableColumn], fewest: int, rows: int) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    lacking = {name: missing_of(column) for name, column in columns.items()}
    lacking = {name: mask for name, mask in lacking.items() if mask.any() and not mask.all()}
    for name, mask in lacking.items():
        yield info_of("missing values", f"{name} is missing", absent=f"{name} is given", source=name), mask
    if len(lacking) < 2:
        return
    patterns = np.column_stack(list(lacking.values()))
    different, codes, counts = np.unique(patterns, axis=0, return_inverse=True, return_counts=True)
    for place in np.argsort(-counts)[:MOST_VALUES]:
        pattern = [name for name, gone in zip(lacking, different[place], strict=True) if gone]
        if len(pattern) > 1 and counts[place] >= fewest:
            name = f"exactly these are missing: {', '.join(pattern[:4])}{' …' if len(pattern) > 4 else ''}"
            yield info_of("missing values", name), codes.reshape(-1) == place


def _count_of_missing(columns: Mapping[str, TableColumn], rows: int) -> list[Number]:
    if len(columns) < 3:
        return []
    count = np.sum([missing_of(column) for column in columns.values()], axis=0, dtype=np.float64)
    found = number_of(info_of("missing values", "number of missing values"), np.broadcast_to(count, (rows,)))
    return [] if found is None else [found]


def _frequent_numbers(
    name: str, column: TableColumn, values: np.ndarray, declared: bool, fewest: int
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    different, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[place] >= fewest and len(different) > 2:
            shown = f"{different[place]:.10g}"
            info = info_of(
                column.role, f"{name} = {shown}", absent=f"{name} is not {shown}", source=name, declared=declared
            )
            yield info, values == different[place]
    whole = np.isfinite(values) & (values == np.rint(values))
    if 0 < whole.sum() < np.isfinite(values).sum():
        info = info_of(
            column.role, f"{name} is a whole number", absent=f"{name} has a fraction", source=name, declared=declared
        )
        yield info, whole
    if not isinstance(column.values, np.ndarray):
        yield from _decimals(name, column, declared, fewest)


def _decimals(name: str, column: TableColumn, declared: bool, fewest: int) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield how many digits stand after the point, as the file writes the numbers."""
    written = [len(value.partition(".")[2]) if value else -1 for value in column.values]
    digits = np.array(written)
    for count in np.unique(digits[digits >= 0])[:8]:
        if fewest <= (digits == count).sum() < (digits >= 0).sum():
            shown = f"{name} is written with {count} decimals"
            yield (
                info_of(column.role, shown, absent=f"not: {shown}", source=name, declared=declared),
                digits == count,
            )


def _texts(name: str, column: TableColumn, declared: bool, fewest: int) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield the frequent values, and for names such as "A-0017" the frequent patterns with digits as #."""
    values = np.array([value if value is not None else "" for value in column.values], dtype=object)
    different, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[place] >= fewest and different[place]:
            shown = f"{name} = {_short(different[place])}"
            absent = f"{name} is not {_short(different[place])}"
            yield info_of(column.role, shown, absent=absent, source=name, declared=declared), codes == place
    if len(different) > MOST_VALUES:
        yield from pattern_flags(values.tolist(), name, column.role, declared=declared, fewest=fewest)


def pattern_flags(
    values: Sequence[str | None], name: str, kind: str, *, declared: bool, fewest: int
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield the frequent patterns of short names, in which runs of digits are written as #."""
    patterns = np.array([_DIGITS.sub("#", (value or "")[:60]) for value in values], dtype=object)
    different, codes, counts = np.unique(patterns, return_inverse=True, return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[place] >= fewest and different[place]:
            shown = f"{name} is written like {_short(different[place])}"
            yield info_of(kind, shown, absent=f"not: {shown}", source=name, declared=declared), codes == place


def _in_texts(name: str, values: Sequence[str | None], declared: bool) -> list[Number]:
    """Return the dates of a column of dates, or else the last number of each value of a column of ids."""
    known = [value for value in values if value]
    if not known:
        return []
    if all(_DATE.fullmatch(value) for value in known[:100]):
        dates = number_of(info_of("date", name, source=name, declared=declared), _days(values), is_date=True)
        return [] if dates is None else [dates]
    if len(set(known)) < 0.9 * len(known) or any(" " in value.strip() for value in known[:100]):
        return []
    found = number_of(
        info_of("identifier", f"the number in {name}", source=name, declared=declared), trailing_numbers(values)
    )
    return [] if found is None else [found]


def _days(values: Sequence[str | None]) -> np.ndarray:
    """Return days since 1970, NaN for a missing or odd date."""
    return np.array([_day(value) for value in values])


def _day(value: str | None) -> float:
    try:
        date = datetime.fromisoformat(value or "")
    except ValueError:
        return np.nan
    return (date.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86_400


def trailing_numbers(values: Sequence[str | None]) -> np.ndarray:
    """Return the last run of digits of each text as a number, NaN without one."""
    found = (_LAST_NUMBER.search(value or "") for value in values)
    return np.array([float(match[1]) if match else np.nan for match in found])


def _short(text: str) -> str:
    return f"“{text if len(text) <= 60 else text[:59] + '…'}”"
