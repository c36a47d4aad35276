import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.paired import paired_differences, paired_interval
from aflite_assets.reports.records import BenchmarkData

ROWS: dict[tuple[str, str, str], list[float]] = {
    ("p", "test", "full"): [-0.5, 0.5, 1, -1, -1, 0],
    ("p", "test", "filtered"): [-0.5, 0.5, 1],
    ("p", "odd", "all"): [0, 1, 0.5, 1, 1, 1, 0.5, 0],
    ("q", "test", "full"): [-1, -1, -1, 1, 1, 1],
    ("q", "test", "filtered"): [-1, -1, -1],
    ("q", "odd", "all"): [0] * 8,
}
"""Filtered minus random per row, means over finished seeds, of representation `a`."""


def slow_interval(differences: np.ndarray, seed: int, resamples: int) -> tuple[float, float]:
    """The bootstrap with a row drawn at a time."""
    rng = np.random.default_rng(seed)
    means = [100 * differences[rng.integers(0, len(differences), len(differences))].mean() for _ in range(resamples)]
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def test_every_difference(by_hand: BenchmarkData) -> None:
    found = {(one.evaluator, one.test_set, str(one.tested_on)): one for one in paired_differences(by_hand, "a")}
    assert list(found) == list(ROWS)
    for key, rows in ROWS.items():
        one = found[key]
        assert one.interval == paired_interval(np.array(rows, dtype=float), seed=0), key
        assert one.interval is not None
        assert one.interval.difference == pytest.approx(100 * np.mean(rows))
        assert one.test_rows == len(rows)
    assert {(one.filtered_seeds, one.random_seeds) for one in found.values() if one.evaluator == "p"} == {(2, 2)}
    assert {(one.filtered_seeds, one.random_seeds) for one in found.values() if one.evaluator == "q"} == {(1, 1)}


def test_verdicts_are_sides_of_zero(by_hand: BenchmarkData) -> None:
    said = {(one.evaluator, one.test_set, one.tested_on): one.verdict for one in paired_differences(by_hand, "a")}
    assert said["p", "odd", "all"] == "above"
    assert said["q", "test", "filtered"] == "below"
    assert said["p", "test", "full"] == said["q", "odd", "all"] == "open"


def test_without_random_there_is_no_interval(by_hand: BenchmarkData) -> None:
    q = [one for one in paired_differences(by_hand, "b") if one.evaluator == "q"]
    assert [(one.interval, one.verdict, one.filtered_seeds, one.random_seeds) for one in q] == [(None, None, 2, 0)] * 3


@pytest.mark.parametrize("rows", [40, 1500])
def test_interval_agrees_with_a_slow_loop(rows: int) -> None:
    rng = np.random.default_rng(rows)
    differences = rng.choice([-1, -2 / 3, 0, 0, 0, 1 / 3, 1], rows)
    found = paired_interval(differences, seed=1, resamples=20_000)
    low, high = slow_interval(differences, 2, 4_000)
    # Two bootstraps' percentiles differ by chance alone: about a tenth of the mean's standard error here.
    tolerance = 0.2 * 100 * differences.std() / np.sqrt(rows)
    assert found.low == pytest.approx(low, abs=tolerance)
    assert found.high == pytest.approx(high, abs=tolerance)
    assert found.difference == pytest.approx(100 * differences.mean())


def test_interval_has_the_percentiles_of_all_resamples() -> None:
    differences = np.array([-1.0, 0.0, 1.0, 1.0])
    means = [100 * np.mean(drawn) for drawn in itertools.product(differences, repeat=4)]
    found = paired_interval(differences, seed=0, resamples=100_000)
    assert (found.low, found.high) == (np.percentile(means, 2.5), np.percentile(means, 97.5)) == (-50, 100)


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    differences = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], 3000)
    assert paired_interval(differences, seed=3) == paired_interval(differences, seed=3)
    assert paired_interval(differences, seed=3) != paired_interval(differences, seed=4)
    assert paired_interval(differences, seed=3) == paired_interval(differences[::-1], seed=3)


@given(st.lists(st.sampled_from([-1.0, -1 / 3, 0.0, 1 / 3, 1.0]), min_size=1, max_size=30))
def test_interval_lies_within_the_differences(rows: list[float]) -> None:
    found = paired_interval(np.array(rows), seed=0)
    assert 100 * min(rows) - 1e-6 <= found.low <= found.high <= 100 * max(rows) + 1e-6


@pytest.mark.parametrize("rows", [[], [0.0, np.nan]])
def test_no_or_not_finite_differences_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidInputError, match="needs finite differences of at least one row"):
        paired_interval(np.array(rows, dtype=float), seed=0)
