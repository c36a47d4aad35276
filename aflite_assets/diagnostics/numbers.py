"""Numbers in columns of text: which columns hold numbers, and which attributes are measured instead of being codes."""

from collections.abc import Sequence

import numpy as np

from aflite_assets.data.raw_table.columns import NO_VALUE

_NUMERIC = 0.95
"""A text column holds numbers if at least this share of its present values can be parsed."""

_BLANK = frozenset({"", "na", "n/a", "nan", "null", "?", "-", NO_VALUE})
"""Texts of a missing value, in small letters."""

MOST_CODES = 50
"""An attribute of at most this many different numbers may hold codes, so its numbers are treated as names."""


def as_numbers(values: np.ndarray | Sequence[str | None]) -> np.ndarray | None:
    """Return a column as float64 with NaN for missing values, or None for a column that does not contain numbers.

    A text column counts as numbers if at least 95 % of the values that are not missing are numbers. The other values of
    a text column of numbers become missing values.
    """
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    parsed = np.array([number_in(value) for value in values])
    known = sum(not is_blank(value) for value in values)
    return parsed if known and np.isfinite(parsed).sum() >= _NUMERIC * known else None


def measured_numbers(attribute: Sequence[str | None]) -> np.ndarray | None:
    """Return an attribute's numbers as `as_numbers` does, or None if at most `MOST_CODES` of them are different."""
    numbers = as_numbers(attribute)
    return numbers if numbers is not None and len(np.unique(numbers[np.isfinite(numbers)])) > MOST_CODES else None


def is_blank(value: str | None) -> bool:
    """Return True for a missing value and for common placeholders such as "NA"."""
    return value is None or value.strip().lower() in _BLANK


def number_in(text: str | None) -> float:
    """Return the number that a text consists of, or NaN."""
    if text is None or len(text) > 40 or "_" in text:
        return np.nan
    try:
        return float(text)
    except ValueError:
        return np.nan
