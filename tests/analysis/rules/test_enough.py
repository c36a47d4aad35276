"""What a difference lacks, from planted right and wrong rows."""

import math

import numpy as np
import pytest

from aflite_assets.analysis.intervals import crossed_interval
from aflite_assets.analysis.rules.verdicts import WIDEST_SAID, Shortfall, lacking


def trainings(seed: int, rows: int, *accuracies: float) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(np.arange(rows) < round(rows * accuracy)) for accuracy in accuracies]


def test_few_rows_lack_rows_and_as_many_as_said_would_do() -> None:
    sides = trainings(0, 40, 0.6, 0.6, 0.6), trainings(1, 40, 0.6, 0.6, 0.6)
    few = lacking(*sides, None)
    assert few is not None
    assert (few.what, few.present) == ("rows", 40)
    more = trainings(0, few.needed, 0.6, 0.6, 0.6), trainings(1, few.needed, 0.6, 0.6, 0.6)
    interval = crossed_interval(*more)
    assert interval.high - interval.low == pytest.approx(WIDEST_SAID, abs=6)


def test_rows_that_belong_together_lack_groups() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 10)
    first, second = ([rng.random(12)[groups] < 0.5 for _ in range(3)] for _ in range(2))
    few = lacking(first, second, groups)
    assert few is not None
    assert (few.what, few.present) == ("groups", 12)
    assert few.needed > 12


def test_trainings_that_differ_lack_seeds_and_as_many_as_said_would_do() -> None:
    first, second = (0.5, 0.6), (0.58, 0.5)
    few = lacking(trainings(0, 4_000, *first), trainings(1, 4_000, *second), None)
    assert few is not None
    assert (few.what, few.present) == ("seeds", 2)
    assert 3 <= few.needed <= 8
    many = [np.tile(each, few.needed)[: few.needed] for each in (first, second)]
    interval = crossed_interval(trainings(0, 4_000, *many[0]), trainings(1, 4_000, *many[1]))
    assert interval.high - interval.low < 1.3 * WIDEST_SAID


def test_what_says_something_lacks_nothing() -> None:
    assert lacking(trainings(0, 2_000, 0.6, 0.6), trainings(1, 2_000, 0.6, 0.6), None) is None
    clear = crossed_interval(trainings(0, 30, 1.0, 1.0), trainings(1, 30, 0.4, 0.4))
    assert clear.high - clear.low > WIDEST_SAID
    assert clear.low > 0
    assert lacking(trainings(0, 30, 1.0, 1.0), trainings(1, 30, 0.4, 0.4), None) is None


def test_one_training_lacks_rows_alone() -> None:
    one, other = trainings(0, 40, 0.6), trainings(1, 40, 0.6)
    interval = crossed_interval(one, other)
    needed = math.ceil(40 * ((interval.high - interval.low) / WIDEST_SAID) ** 2)
    assert lacking(one, other, None) == Shortfall("rows", 40, needed)
    assert needed > 150
