"""Filtered against random on the same test rows: the paired difference in accuracy and its bootstrap interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.accuracy import correct_rows
from aflite_assets.reports.groups import cells_of
from aflite_assets.reports.records import BenchmarkData, Cell, TestSet
from aflite_assets.reports.remembered import remembered

RESAMPLES = 2_000
"""Test sets drawn from the test rows, with replacement."""


@dataclass(frozen=True)
class PairedInterval:
    """Mean of paired differences and bounds of its 95 % interval, in points (hundredths of accuracy)."""

    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedDifference:
    """Accuracy trained on filtered minus trained on random, on the same `test_rows` rows.

    `tested_on` is "full" or "filtered" rows of a natural test set, "all" of a challenge set. `filtered_seeds` and
    `random_seeds` count finished seeds. `interval` is None where either has none or no row is left.
    """

    representation: str
    evaluator: str
    test_set: str
    tested_on: Literal["full", "filtered", "all"]
    test_rows: int
    filtered_seeds: int
    random_seeds: int
    interval: PairedInterval | None

    @property
    def verdict(self) -> Literal["above", "below", "open"] | None:
        """On which side of zero the whole interval lies; "open" where it holds zero, None without one."""
        if self.interval is None:
            return None
        if self.interval.low > 0:
            return "above"
        return "below" if self.interval.high < 0 else "open"


def paired_interval(differences: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> PairedInterval:
    """Percentile bootstrap of a mean (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13).

    `differences`: one per test row, in [-1, 1]. Few values occur, and a row drawn with replacement has each value with
    its share, so how often each occurs in a resample is drawn at once, from the multinomial distribution of as many
    rows: the same distribution as drawing rows one by one, in time that does not grow with them.

    Raises:
        InvalidInputError: no difference, or one that is not finite.
    """
    if not len(differences) or not np.isfinite(differences).all():
        raise InvalidInputError(f"a paired interval needs finite differences of at least one row, got {differences!r}")
    rows = len(differences)
    # Rounded, as sums over seeds in another order would tell equal differences apart.
    values, counts = np.unique(np.round(differences, 12), return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(rows, counts / rows, size=resamples)
    low, high = np.percentile(100 * (drawn @ values) / rows, [2.5, 97.5])
    return PairedInterval(float(100 * differences.mean()), float(low), float(high))


@remembered
def paired_differences(data: BenchmarkData, representation: str, *, seed: int = 0) -> tuple[PairedDifference, ...]:
    """Filtered against random for every evaluator, on each natural test set's full and filtered rows and challenge set.

    Per row the mean over seeds of being right is taken first, so the interval says how much the choice of test rows
    could move the difference; how much training could is in the seeds' deviation.
    """
    return tuple(
        _difference(data, representation, evaluator, test_set, tested_on, seed)
        for evaluator in data.evaluators
        for test_set in data.test_sets
        for tested_on in _tested_on(test_set, representation)
    )


def _tested_on(test_set: TestSet, representation: str) -> tuple[Literal["full", "filtered", "all"], ...]:
    if test_set.challenge:
        return ("all",)
    return ("full", "filtered") if representation in test_set.kept else ("full",)


def _difference(
    data: BenchmarkData,
    representation: str,
    evaluator: str,
    test_set: TestSet,
    tested_on: Literal["full", "filtered", "all"],
    seed: int,
) -> PairedDifference:
    rows = test_set.kept[representation] if tested_on == "filtered" else np.ones(len(test_set.row_ids), dtype=bool)
    filtered, random = (
        _finished(cells_of(data, evaluator, train_set, representation), test_set)
        for train_set in ("filtered", "random")
    )
    interval = _interval(filtered, random, rows, seed)
    where = (representation, evaluator, test_set.name)
    return PairedDifference(*where, tested_on, int(rows.sum()), len(filtered), len(random), interval)


def paired_cells(
    cells: Sequence[Cell], others: Sequence[Cell], test_set: TestSet, *, seed: int = 0
) -> PairedInterval | None:
    """Accuracy of `cells` minus that of `others` on all rows of a test set, each a mean over seeds; None without both.

    Raises:
        DataError: predictions do not fit the test set.
    """
    rows = np.ones(len(test_set.row_ids), dtype=bool)
    return _interval(_finished(cells, test_set), _finished(others, test_set), rows, seed)


def _interval(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], rows: np.ndarray, seed: int
) -> PairedInterval | None:
    if not first or not second or not rows.any():
        return None
    return paired_interval((_share_right(first) - _share_right(second))[rows], seed=seed)


def _finished(cells: Sequence[Cell], test_set: TestSet) -> list[np.ndarray]:
    correct = [correct_rows(cell, test_set) for cell in cells]
    return [rows for rows in correct if isinstance(rows, np.ndarray)]


def _share_right(correct: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(sum(rows.astype(np.float64) for rows in correct) / len(correct))
