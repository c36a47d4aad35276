"""Properties of table columns: numbers, dates, frequent values, number formats, and missing values."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from aflite_assets.diagnostics.numbers import as_numbers, is_blank
from aflite_assets.diagnostics.properties.artefacts import CONVERSION, is_identifier
from aflite_assets.scan.properties.dates import are_dates, date_part_flags, days
from aflite_assets.scan.properties.number_grids import grids, is_conversion
from aflite_assets.scan.properties.records import Flags, Number, PropertyInfo, flags_of, info_of, number_of
from aflite_assets.scan.properties.totals import total_flags
from aflite_assets.scan.rows import TableColumn

MOST_VALUES = 60
"""Maximum number of values of one column that become properties; the most frequent values are chosen."""

_STAND_INS = frozenset({-1.0, 99.0, 999.0, 9_999.0, 99_999.0, -9.0, -99.0, -999.0, -9_999.0, -99_999.0})
"""Numbers that mean a missing value in files without empty cells."""

_LAST_NUMBER = re.compile(r"(\d{1,15})\D*$")
_DIGITS = re.compile(r"\d+")


def column_properties(
    columns: Mapping[str, TableColumn], *, declared: frozenset[str], fewest: int, rows: int
) -> tuple[list[Flags], list[Number]]:
    """Return the properties of the columns.

    `declared`: columns declared as not part of the task. `fewest`: minimum number of rows with a value that becomes a
    property. Missing values and identifiers are always artefacts.
    """
    flags, numbers, added = [], [], {}
    for name, column in columns.items():
        values = as_numbers(column.values)
        if values is None and not isinstance(column.values, np.ndarray):
            flags.append(flags_of(_texts(name, column, name in declared, fewest), rows=rows))
            numbers += _in_texts(name, column.values, name in declared)
        elif values is not None:
            flags.append(flags_of(_frequent_numbers(name, column, values, name in declared, fewest), rows=rows))
            kind = "identifier" if is_identifier(name, values) else column.role
            known = without_stand_ins(values)
            found = number_of(info_of(kind, name, source=name, declared=name in declared), known)
            numbers += [] if found is None else [found]
            if kind != "identifier":
                added[name] = known
    flags.append(total_flags(added, declared=declared, fewest=fewest, rows=rows))
    flags.append(flags_of(_missing(columns, fewest, rows), rows=rows))
    return flags, numbers + _count_of_missing(columns, rows)


def missing_of(column: TableColumn) -> np.ndarray:
    """Return a bool mask of the rows with a missing value, of shape (rows,)."""
    if isinstance(column.values, np.ndarray):
        return np.isnan(column.values.astype(np.float64))
    return np.array([is_blank(value) for value in column.values], dtype=bool)


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
            stands_in = is_stand_in(different, int(place))
            kind, why = ("missing values", ", which stands for a missing value") if stands_in else (column.role, "")
            info = info_of(
                kind, f"{name} = {shown}{why}", absent=f"{name} is not {shown}", source=name, declared=declared
            )
            yield info, values == different[place]
    whole = np.isfinite(values) & (values == np.rint(values))
    if 0 < whole.sum() < np.isfinite(values).sum():
        info = info_of(
            column.role, f"{name} is a whole number", absent=f"{name} has a fraction", source=name, declared=declared
        )
        yield info, whole
    for grid, on_grid in grids(values):
        names = f"{name} is {grid}", f"{name} is not {grid}"
        kind = CONVERSION if is_conversion(grid) else column.role
        yield info_of(kind, names[0], absent=names[1], source=name, declared=declared), on_grid
    if not isinstance(column.values, np.ndarray):
        yield from _decimals(name, column, values, declared, fewest)


def is_stand_in(different: np.ndarray, place: int) -> bool:
    """Return True if a value such as -999 means a missing value, because it is far from all other values.

    `different`: the distinct values of the column, ascending, at least three.
    """
    if different[place] not in _STAND_INS or place not in (0, len(different) - 1):
        return False
    others = np.delete(different, place)
    gap = min(abs(float(different[place] - others[0])), abs(float(different[place] - others[-1])))
    return gap > float(others[-1] - others[0]) / 2


def without_stand_ins(values: np.ndarray) -> np.ndarray:
    """Return the numbers, with NaN for values such as -999 that mean a missing value."""
    different = np.unique(values[np.isfinite(values)])
    if len(different) < 3:
        return values
    ends = [float(different[place]) for place in (0, len(different) - 1) if is_stand_in(different, place)]
    return np.where(np.isin(values, ends), np.nan, values)


def _decimals(
    name: str, column: TableColumn, values: np.ndarray, declared: bool, fewest: int
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield properties for the number of decimals that values have in the file. Frequent values are ignored."""
    written = [-1 if is_blank(value) else len(str(value).partition(".")[2]) for value in column.values]
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    frequent = (counts >= max(fewest, 0.05 * len(values)))[codes]
    digits = np.where(frequent, -1, np.array(written))
    for count in np.unique(digits[digits >= 0])[:8]:
        if fewest <= (digits == count).sum() < (digits >= 0).sum():
            shown, absent = (f"{name} {verb} written with {count} decimals" for verb in ("is", "is not"))
            yield (
                info_of(column.role, shown, absent=absent, source=name, declared=declared),
                digits == count,
            )


def _texts(name: str, column: TableColumn, declared: bool, fewest: int) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield a property for each frequent value. For identifiers such as "A-0017", yield a property for each frequent
    pattern.

    A pattern is an identifier in which each run of digits is replaced by #.
    """
    values = np.array(["" if is_blank(value) else value for value in column.values], dtype=object)
    different, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if are_dates([value for value in different.tolist() if value]):
        yield from date_part_flags(name, values.tolist(), declared=declared, fewest=fewest)
    for place in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[place] >= fewest and different[place]:
            shown = f"{name} = {shortened(different[place])}"
            absent = f"{name} is not {shortened(different[place])}"
            yield info_of(column.role, shown, absent=absent, source=name, declared=declared), codes == place
    if len(different) > MOST_VALUES:
        kind = "identifier" if are_names(values.tolist()) else column.role
        yield from pattern_flags(values.tolist(), name, kind, declared=declared, fewest=fewest)


def are_names(values: Sequence[str | None]) -> bool:
    """Return True if the texts are row identifiers such as "A-0017": nearly all are distinct, and they have digits and
    no blanks.
    """
    known = [value for value in values if value]
    different = len(set(known)) >= 0.9 * len(known)
    return different and all(" " not in value.strip() and _DIGITS.search(value) is not None for value in known[:100])


def pattern_flags(
    values: Sequence[str | None], name: str, kind: str, *, declared: bool, fewest: int
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield a property for each frequent pattern of short names. In a pattern, each run of digits is replaced by #."""
    patterns = np.array([_DIGITS.sub("#", (value or "")[:60]) for value in values], dtype=object)
    different, codes, counts = np.unique(patterns, return_inverse=True, return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
        if counts[place] >= fewest and different[place]:
            shown = f"{name} is written like {shortened(different[place])}"
            absent = f"{name} is not written like {shortened(different[place])}"
            yield info_of(kind, shown, absent=absent, source=name, declared=declared), codes == place


def _in_texts(name: str, values: Sequence[str | None], declared: bool) -> list[Number]:
    """Return the days of a column of dates, or the last number in each identifier of a column of identifiers."""
    known = [value for value in values if value is not None and not is_blank(value)]
    if not known:
        return []
    if are_dates(known):
        dates = number_of(info_of("date", name, source=name, declared=declared), days(values), is_date=True)
        return [] if dates is None else [dates]
    if not are_names(known):
        return []
    found = number_of(
        info_of("identifier", f"the number in {name}", source=name, declared=declared), trailing_numbers(values)
    )
    return [] if found is None else [found]


def trailing_numbers(values: Sequence[str | None]) -> np.ndarray:
    """Return the last run of digits in each text as a number, or NaN for a text without digits."""
    found = (_LAST_NUMBER.search(value or "") for value in values)
    return np.array([float(match[1]) if match else np.nan for match in found])


def shortened(text: str) -> str:
    """Return the value in quotation marks, truncated to 60 characters."""
    return f"'{text if len(text) <= 60 else text[:59] + '…'}'"
