"""Filtered against random on the same test rows: the paired difference in accuracy and its bootstrap interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.accuracy import DifferenceInterval, correct_rows
from aflite_assets.reports.groups import cell_groups
from aflite_assets.reports.parts import Part, parts_of
from aflite_assets.reports.records import BenchmarkData, Cell, TestSet
from aflite_assets.reports.remembered import remembered
from aflite_assets.reports.train_sets import compared_pairs
from aflite_assets.reports.zero_shot import zero_shot_parts

RESAMPLES = 2_000
"""Test sets drawn from the test rows, with replacement."""


@dataclass(frozen=True)
class PairedDifference:
    """Accuracy trained on `train_set` minus trained on `against`, on the same `test_rows` rows.

    `train_set` is filtered or filtered_<name>, `against` the random rows of its size. `tested_on` is "full" or
    "filtered" rows of a natural test set, "all" of a challenge set or of its part; `column`, `category` and `label` say
    which, as in `tables.ChallengePart`, all None for the whole set. `filtered_seeds` and `random_seeds` count finished
    seeds of the two sides. `interval` is None where either has none or no row is left.
    """

    representation: str
    evaluator: str
    train_set: str
    against: str
    test_set: str
    tested_on: Literal["full", "filtered", "all"]
    column: str | None
    category: str | None
    label: str | None
    test_rows: int
    filtered_seeds: int
    random_seeds: int
    interval: DifferenceInterval | None

    @property
    def whole(self) -> bool:
        """Whether it is about no part of a challenge set."""
        return self.column is None and self.label is None

    @property
    def is_label(self) -> bool:
        """Whether it is about the rows of one gold label, whatever their category."""
        return self.column is None and self.label is not None

    @property
    def verdict(self) -> Literal["above", "below", "open"] | None:
        """On which side of zero the whole interval lies; "open" where it holds zero, None without one."""
        if self.interval is None:
            return None
        if self.interval.low > 0:
            return "above"
        return "below" if self.interval.high < 0 else "open"


@dataclass(frozen=True)
class PairedParts:
    """The parts of one challenge set, `train_set` against `against`: a row per part, in it one per evaluator."""

    train_set: str
    against: str
    test_set: str
    evaluators: tuple[str, ...]
    rows: tuple[tuple[PairedDifference, ...], ...]


def paired_interval(differences: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> DifferenceInterval:
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
    return DifferenceInterval(float(100 * differences.mean()), float(low), float(high))


@remembered
def paired_differences(data: BenchmarkData, representation: str, *, seed: int = 0) -> tuple[PairedDifference, ...]:
    """Filtered against random, and the same of earlier iterations, for every evaluator on every test set.

    Of natural test sets the full and the filtered rows; challenge sets whole and then by `compared_parts`.
    Per row the mean over seeds of being right is taken first, so the interval says how much the choice of test rows
    could move the difference; how much training could is in the seeds' deviation.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
        DataError: predictions do not fit their test sets.
    """
    cells = {(evaluator, train_set): found for evaluator, train_set, found in cell_groups(data, representation)}
    pairs = [pair for pair in compared_pairs(dict.fromkeys(name for _, name in cells)) if pair[1] != "full"]
    return tuple(
        one
        for evaluator in data.evaluators
        for train_set, against in pairs
        for test_set in data.test_sets
        for one in _differences(
            (representation, evaluator, train_set, against),
            _finished(cells[evaluator, train_set], test_set),
            _finished(cells[evaluator, against], test_set),
            test_set,
            seed,
        )
    )


def compared_parts(test_set: TestSet) -> list[Part]:
    """Parts of a challenge set that are compared: gold labels alone, then those of the zero-shot table; two or none.

    On the whole set a gain on one gold label hides a loss on another (HANS's halves).
    """
    if not test_set.challenge:
        return []
    labels = [part for part in parts_of(test_set) if part.column is None]
    parts = labels + [part for part in zero_shot_parts(test_set) if part.column is not None]
    return parts if len(parts) > 1 else []


def part_tables(differences: Sequence[PairedDifference]) -> tuple[PairedParts, ...]:
    """The differences on parts of challenge sets side by side; sets without any interval are left out."""
    tables: dict[tuple[str, str, str], dict[tuple[str | None, ...], list[PairedDifference]]] = {}
    for one in differences:
        if not one.whole:
            rows = tables.setdefault((one.train_set, one.against, one.test_set), {})
            rows.setdefault((one.column, one.category, one.label), []).append(one)
    return tuple(
        PairedParts(*key, tuple(one.evaluator for one in next(iter(rows.values()))), tuple(map(tuple, rows.values())))
        for key, rows in tables.items()
        if any(one.interval is not None for row in rows.values() for one in row)
    )


def whole_groups(
    differences: Sequence[PairedDifference],
) -> list[tuple[tuple[str, str, str], list[PairedDifference]]]:
    """The differences on whole sets by evaluator and the two train sets."""
    whole = [one for one in differences if one.whole]
    return [
        (key, list(group)) for key, group in groupby(whole, lambda one: (one.evaluator, one.train_set, one.against))
    ]


def _differences(
    compared: tuple[str, str, str, str],
    filtered: Sequence[np.ndarray],
    random: Sequence[np.ndarray],
    test_set: TestSet,
    seed: int,
) -> Iterator[PairedDifference]:
    for tested_on, part in _tested(test_set, compared[0]):
        where = (*compared, test_set.name, tested_on, part.column, part.category, part.label)
        interval = _interval(filtered, random, part.mask, seed)
        yield PairedDifference(*where, int(part.mask.sum()), len(filtered), len(random), interval)


def _tested(test_set: TestSet, representation: str) -> list[tuple[Literal["full", "filtered", "all"], Part]]:
    """Which rows are compared, the whole set first."""
    everything = Part(None, None, None, np.ones(len(test_set.row_ids), dtype=bool))
    if test_set.challenge:
        return [("all", part) for part in (everything, *compared_parts(test_set))]
    if representation not in test_set.kept:
        return [("full", everything)]
    return [("full", everything), ("filtered", Part(None, None, None, test_set.kept[representation]))]


def paired_cells(
    cells: Sequence[Cell], others: Sequence[Cell], test_set: TestSet, *, seed: int = 0
) -> DifferenceInterval | None:
    """Accuracy of `cells` minus that of `others` on all rows of a test set, each a mean over seeds; None without both.

    Raises:
        DataError: predictions do not fit the test set.
    """
    rows = np.ones(len(test_set.row_ids), dtype=bool)
    return _interval(_finished(cells, test_set), _finished(others, test_set), rows, seed)


def _interval(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], rows: np.ndarray, seed: int
) -> DifferenceInterval | None:
    if not first or not second or not rows.any():
        return None
    return paired_interval((_share_right(first) - _share_right(second))[rows], seed=seed)


def _finished(cells: Sequence[Cell], test_set: TestSet) -> list[np.ndarray]:
    correct = [correct_rows(cell, test_set) for cell in cells]
    return [rows for rows in correct if isinstance(rows, np.ndarray)]


def _share_right(correct: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(sum(rows.astype(np.float64) for rows in correct) / len(correct))
