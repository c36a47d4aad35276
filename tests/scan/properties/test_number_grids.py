"""Grids of numbers: conversions of units and multiples, at their rates by chance, and columns that are not asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.scan.properties.number_grids import UNITS, grids


def found(values: np.ndarray) -> dict[str, np.ndarray]:
    return dict(grids(values))


def test_lengths_that_were_inches_lie_on_their_grid_and_others_by_chance_alone() -> None:
    rng = np.random.default_rng(0)
    inches = np.rint(rng.integers(4, 40, 300) * 25.4)
    measured = rng.integers(100, 1_000, 5_000).astype(np.float64)
    on_grid = found(np.append(inches, measured))["a whole number of inches (25.4 mm)"]
    assert on_grid[:300].all()
    assert on_grid[300:].mean() == pytest.approx(1 / 25.4, abs=0.01)


@pytest.mark.parametrize(("counted", "written"), UNITS)
def test_every_unit_is_seen_where_enough_digits_are_written(counted: str, written: str) -> None:
    rng, unit = np.random.default_rng(1), UNITS[counted, written]
    converted = np.round(rng.integers(1, 400, 500) * unit, 2)
    others = np.round(rng.uniform(1, 400 * unit, 500), 2)
    on_grid = found(np.append(converted, others)).get(f"a whole number of {counted} ({unit:.5g} {written})")
    assert on_grid is not None
    assert on_grid[:500].all()
    assert on_grid[500:].mean() < 0.1


def test_multiples_are_of_the_last_digit_that_is_written() -> None:
    rng = np.random.default_rng(2)
    typed, measured = rng.integers(1, 100, 200) / 10, np.round(rng.uniform(0, 10, 800), 2)
    on_grid = found(np.append(typed, measured))
    assert on_grid["a multiple of 0.1"][:200].all()
    assert on_grid["a multiple of 0.1"][200:].mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(90.0),  # too few different numbers
        np.random.default_rng(3).uniform(size=1_000),  # more digits than are asked
        np.full(500, np.nan),
        np.arange(1.0, 101.0) * 100,  # all are multiples of 100
    ],
)
def test_columns_without_a_grid_of_some_rows(values: np.ndarray) -> None:
    assert found(values) == {}


def test_zero_and_missing_numbers_are_on_no_grid() -> None:
    values = np.append(np.arange(300.0), [np.nan, 0.0])
    assert not any(on_grid[-2:].any() or on_grid[0] for on_grid in found(values).values())


@given(st.lists(st.integers(-10_000, 10_000), min_size=120, max_size=300, unique=True))
def test_a_sign_changes_no_grid(numbers: list[int]) -> None:
    values = np.array(numbers, dtype=np.float64)
    ours, theirs = found(values), found(-values)
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)
