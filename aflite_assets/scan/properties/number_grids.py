"""Grids of numbers: multiples of 5, 10 and 100, and numbers that would be whole numbers in another unit."""

from collections.abc import Iterator, Mapping

import numpy as np

UNITS: Mapping[tuple[str, str], float] = {
    ("inches", "mm"): 25.4,
    ("inches", "cm"): 2.54,
    ("feet", "cm"): 30.48,
    ("feet", "m"): 0.3048,
    ("miles", "km"): 1.609344,
    ("ounces", "g"): 28.349523125,
    ("pounds", "g"): 453.59237,
    ("pounds", "kg"): 0.45359237,
    ("fluid ounces", "ml"): 29.5735295625,
    ("cm", "inches"): 1 / 2.54,
    ("kg", "pounds"): 1 / 0.45359237,
    ("km", "miles"): 1 / 1.609344,
}
"""Conversions between units: the number of second units in one first unit."""

_WHOLE = "a whole number of "

MULTIPLES = (5, 10, 100)
"""Multiples of the place value of the last decimal."""

_MOST_DIGITS = 4
_BY_CHANCE = 0.1
"""A grid is tested only if at most this share of numbers lies on it by chance."""

_FEWEST_VALUES, _FEWEST_ON_GRID = 100, 10
"""Minimum number of distinct numbers in a column, and of distinct numbers on a grid."""


def is_conversion(grid: str) -> bool:
    """Return True if the name of the grid means that numbers were converted from another unit."""
    return grid.startswith(_WHOLE)


def grids(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each grid, such as "a whole number of inches (25.4 mm)", and a bool mask of the rows whose
    number is on the grid.

    `values`: float64 of shape (rows,), NaN for a missing value. Columns with fewer than 100 distinct numbers, or with
    more than four decimals, have no grid.
    """
    different = np.unique(values[np.isfinite(values)])
    step = place_value(different) if len(different) >= _FEWEST_VALUES else None
    if step is None:
        return
    for multiple in MULTIPLES:
        if (on_grid := _on_grid(values, different, multiple * step, step)) is not None:
            yield f"a multiple of {multiple * step:g}", on_grid
    for (counted, written), unit in UNITS.items():
        if step / unit <= _BY_CHANCE and (on_grid := _on_grid(values, different, unit, step)) is not None:
            yield f"{_WHOLE}{counted} ({unit:.5g} {written})", on_grid


def place_value(different: np.ndarray) -> float | None:
    """Return the place value of the last decimal: 1, 0.1, ... 0.0001; None for numbers with more decimals."""
    for digits in range(_MOST_DIGITS + 1):
        scaled = different * 10**digits
        if np.abs(scaled - np.rint(scaled)).max() < 1e-6 * max(1.0, np.abs(scaled).max() * 1e-6):
            return float(10.0**-digits)
    return None


def _on_grid(values: np.ndarray, different: np.ndarray, unit: float, step: float) -> np.ndarray | None:
    """Return a bool mask of values that are positive multiples of `unit`, rounded to `step`.

    Returns None if too few values lie on the grid, or if all values lie on it.
    """
    on_grid = is_multiple(values, unit, step)
    on_own = int(is_multiple(different, unit, step).sum())
    return on_grid if _FEWEST_ON_GRID <= on_own < len(different) else None


def is_multiple(values: np.ndarray, unit: float, step: float) -> np.ndarray:
    """Return a bool mask of values that are multiples of `unit`, but not 0, rounded to `step`."""
    whole = np.rint(values / unit)
    return np.asarray((np.abs(whole) >= 1) & (np.abs(values - whole * unit) <= 0.5001 * step))
