"""Table columns of unordered values, such as codes of people, places or sources. Each column is one property."""

from collections.abc import Iterator, Mapping

import numpy as np

from aflite_assets.diagnostics.numbers import as_numbers, is_blank
from aflite_assets.scan.properties.dates import are_dates, date_parts
from aflite_assets.scan.properties.records import MISSING_BIN, Categories, PropertyInfo, info_of
from aflite_assets.scan.properties.tables import shortened
from aflite_assets.scan.rows import TableColumn

MOST_CATEGORIES = 1_000
"""Maximum number of distinct values of one column that are tested; the most frequent values are chosen."""

MOST_NUMBERS = 60
"""A column with more distinct whole numbers than this is not treated as unordered codes."""

FEWEST_ROWS = 10
"""Minimum number of rows with a value for the value to be tested."""


def column_categories(columns: Mapping[str, TableColumn], *, declared: frozenset[str]) -> Iterator[Categories]:
    """Yield each column in which at least three values are frequent.

    `declared`: columns declared as not part of the task.
    """
    for name, column in columns.items():
        info = info_of(column.role, name, source=name, declared=name in declared)
        values = as_numbers(column.values)
        found = _names(info, column) if values is None else [_numbers(info, values)]
        yield from (one for one in found if one is not None)


def _names(info: PropertyInfo, column: TableColumn) -> Iterator[Categories | None]:
    values = np.array(["" if is_blank(value) else value for value in column.values], dtype=object)
    different, codes = np.unique(values, return_inverse=True)
    if are_dates([value for value in different.tolist() if value]):
        for part in date_parts(info.name, values.tolist()):
            of_part = info_of("date", part.name, source=info.name, declared=info.reason == "declared")
            counts = np.bincount(part.codes[part.codes >= 0], minlength=len(part.values))
            yield _categories(of_part, [*part.values, ""], part.codes, np.append(counts, 0))  # -1 is the last place
        return
    counts = np.bincount(codes) * (different != "")
    yield _categories(info, [shortened(value) for value in different.tolist()], codes, counts)


def _numbers(info: PropertyInfo, values: np.ndarray) -> Categories | None:
    """Return a column of a few distinct whole numbers as unordered values, or None for other columns."""
    known = np.isfinite(values)
    different, codes = np.unique(values[known], return_inverse=True)
    if len(different) > MOST_NUMBERS or (different != np.rint(different)).any():
        return None
    every = np.full(len(values), len(different))
    every[known] = codes
    counts = np.append(np.bincount(codes, minlength=len(different)), 0)
    return _categories(info, [f"{value:.10g}" for value in different.tolist()], every, counts)


def _categories(info: PropertyInfo, names: list[str], codes: np.ndarray, counts: np.ndarray) -> Categories | None:
    frequent = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    frequent = frequent[counts[frequent] >= FEWEST_ROWS]
    if len(frequent) < 3:
        return None
    places = np.full(len(counts), MISSING_BIN, dtype=np.int32)
    places[frequent] = np.arange(len(frequent))
    return Categories(info, places[codes], tuple(names[place] for place in frequent.tolist()))
