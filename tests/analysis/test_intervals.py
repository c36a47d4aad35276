import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aflite_assets.analysis.intervals import (
    CrossedInterval,
    chosen_interval,
    contrast_interval,
    crossed_interval,
    crossed_spread,
    effective_groups,
    effective_rows,
    label_mean_interval,
    side,
)
from aflite_assets.errors import InvalidInputError


def bits(*trainings: str) -> list[np.ndarray]:
    return [np.array([bit == "1" for bit in training]) for training in trainings]


def drawn(seed: int, rows: int = 40, trainings: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    chances = rng.choice([0.2, 0.9], rows)
    return [rng.random(rows) < chances for _ in range(trainings)]


def numbers(one: CrossedInterval) -> tuple[float, ...]:
    return one.difference, one.low, one.high, one.p_value, one.degrees_of_freedom


def test_an_interval_worked_by_hand() -> None:
    found = crossed_interval(bits("1110", "1100"), bits("1000", "0000"))
    # Accuracies 0.75, 0.5 and 0.25, 0: T = 2 x 0.03125 / 2. Differences of rows 0.5, 1, 0.5, 0: B = 0.5 / 12. What is
    # left of each side without the means of trainings and rows is 0.375 once and 0.125 three times, twice: N = T.
    between_trainings, between_groups = 0.03125, 0.5 / 12
    raised = between_trainings * 2 / stats.chi2.ppf(0.25, 2)
    total = raised + between_groups - between_trainings
    degrees = total**2 / (raised**2 / 2 + between_groups**2 / 3)
    half = 100 * stats.t.ppf(0.975, degrees) * np.sqrt(between_groups)
    assert found.difference == 50
    assert found.degrees_of_freedom == pytest.approx(degrees)
    assert found.degrees_of_freedom == pytest.approx(2.187, abs=1e-3)
    assert (found.low, found.high) == (pytest.approx(50 - half), 100)
    assert found.p_value == pytest.approx(2 * stats.t.sf(0.5 / np.sqrt(between_groups), degrees))
    assert (found.trainings, found.groups, found.effective_groups, found.counts_training) == ((2, 2), 4, 4, True)


def test_the_mean_over_gold_labels_weighs_each_alike() -> None:
    labels = np.array([0, 0, 0, 1])
    found = label_mean_interval(bits("1110", "1110"), bits("0001", "0001"), labels)
    assert found.difference == 0  # three rows won, one lost: each label is worth half
    assert crossed_interval(bits("1110", "1110"), bits("0001", "0001")).difference == 50
    even = np.array([0, 1, 0, 1])
    assert label_mean_interval(bits("1110", "1100"), bits("1000", "0000"), even) == crossed_interval(
        bits("1110", "1100"), bits("1000", "0000")
    )
    one_label = np.array([2, 2, 2, 2])
    assert label_mean_interval(bits("1110", "1100"), bits("1000", "0000"), one_label) == crossed_interval(
        bits("1110", "1100"), bits("1000", "0000")
    )


def test_one_training_a_side_is_the_t_interval_of_the_rows() -> None:
    first, second = drawn(0, trainings=1), drawn(1, trainings=1)
    found = crossed_interval(first, second)
    expected = stats.ttest_1samp(first[0].astype(float) - second[0], 0)
    low, high = expected.confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(100 * low), pytest.approx(100 * high))
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.degrees_of_freedom == pytest.approx(39)
    assert not found.counts_training
    assert not crossed_interval(first, drawn(1)).counts_training


def test_a_side_that_never_moves_leaves_the_degrees_of_the_other() -> None:
    rows = 4000
    fixed = [np.arange(rows) % 2 == 0] * 3
    moving = [np.arange(rows) < right for right in (1600, 2000, 2400)]
    # the rows' answers only nest, so nearly all that moves is between trainings: 0.1 deviation, three of them
    found = crossed_interval(moving, fixed)
    assert found.difference == 0
    assert 2 <= found.degrees_of_freedom < 2.1
    assert found.high == pytest.approx(100 * stats.t.ppf(0.975, found.degrees_of_freedom) * 0.1 / np.sqrt(3), rel=0.02)


def test_nothing_that_moves_is_no_division_by_zero() -> None:
    same = drawn(0, trainings=1) * 2
    found = crossed_interval(same, same)
    # no disagreement in 40 rows: a share of 3.69 / 40 may still disagree, two-sided 95 %
    assert (found.difference, found.p_value) == (0, 1)
    assert (found.low, found.high) == pytest.approx((-9.2222, 9.2222), abs=1e-4)
    apart = crossed_interval(bits("1" * 40, "1" * 40), bits("0" * 40, "0" * 40))
    assert (apart.difference, apart.high, apart.p_value) == (100, 100, 0)
    assert apart.low == pytest.approx(90.7778, abs=1e-4)


def test_the_interval_without_a_disagreement_counts_groups() -> None:
    same = bits("1" * 40, "1" * 40)
    assert crossed_interval(same, same, np.arange(40) // 4).high == pytest.approx(36.8888, abs=1e-4)


def test_rows_of_one_group_tell_nothing() -> None:
    found = crossed_interval(bits("1110"), bits("0000"), np.zeros(4, np.int64))
    assert (found.difference, found.low, found.high, found.p_value, found.groups) == (75, -100, 100, 1, 1)


@given(st.integers(0, 10_000))
def test_a_group_per_row_is_no_group(seed: int) -> None:
    first, second = drawn(seed), drawn(seed + 1)
    groups = np.random.default_rng(seed).permutation(40) * 7
    assert numbers(crossed_interval(first, second, groups)) == pytest.approx(
        numbers(crossed_interval(first, second)), nan_ok=False
    )


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_rows_that_are_repeated_as_a_group_count_once(seed: int, times: int) -> None:
    first, second = drawn(seed), drawn(seed + 1)
    repeated = [[np.repeat(one, times) for one in trained] for trained in (first, second)]
    found = crossed_interval(repeated[0], repeated[1], np.repeat(np.arange(40), times))
    assert numbers(found) == pytest.approx(numbers(crossed_interval(first, second)))


@given(st.integers(0, 10_000))
def test_orders_do_not_matter_and_sides_mirror(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, groups = drawn(seed), drawn(seed + 1, trainings=2), rng.integers(0, 12, 40)
    one = crossed_interval(first, second, groups)
    order = rng.permutation(40)
    moved = crossed_interval(
        [each[order] for each in first[::-1]], [each[order] for each in second], 99 - groups[order]
    )
    assert numbers(moved) == pytest.approx(numbers(one))
    other = crossed_interval(second, first, groups)
    mirrored = (-one.difference, -one.high, -one.low, one.p_value, one.degrees_of_freedom)
    assert numbers(other) == pytest.approx(mirrored)


@given(st.integers(0, 10_000))
def test_what_all_trainings_of_both_sides_share_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 15)
    first, second = (rng.random((3, 15)) * sizes for _ in range(2))
    shared = rng.random(15)
    plain = crossed_spread(side(first, sizes), side(second, sizes), 14)
    shifted = crossed_spread(side(first + shared, sizes), side(second + shared, sizes), 14)
    assert shifted.variance == pytest.approx(plain.variance)
    assert shifted.degrees_of_freedom == pytest.approx(plain.degrees_of_freedom)


@pytest.mark.parametrize("deviations", [(0.031, 0.007), (0.04, 0.0), (0.0, 0.04)])
def test_sides_with_unlike_numbers_of_trainings_are_rarely_told_apart(deviations: tuple[float, float]) -> None:
    rng, rows, simulations = np.random.default_rng(1), 400, 2000
    chances = rng.choice([0.3, 0.8], (simulations, 1, rows))
    sides = []
    for trainings, deviation in zip((2, 5), deviations, strict=True):
        shifts = 3 * deviation * rng.standard_normal((simulations, trainings, 1))
        sides.append(side((rng.random((simulations, trainings, rows)) < chances + shifts).astype(float), np.ones(rows)))
    spread = crossed_spread(sides[0], sides[1], rows - 1)
    gaps = np.abs(sides[0].accuracies.mean(axis=-1) - sides[1].accuracies.mean(axis=-1))
    called = gaps > stats.t.ppf(0.975, spread.degrees_of_freedom) * np.sqrt(spread.variance)
    # 7 % at most, and two deviations of a share of 2,000 draws
    assert called.mean() <= 0.07 + 2 * np.sqrt(0.07 * 0.93 / simulations)


def test_many_simulations_at_once_are_each_by_themselves() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 2, (4, 5, 3, 20)).astype(float) for _ in range(2))
    sizes = np.ones(20)
    at_once = crossed_spread(side(first, sizes), side(second, sizes), 19)
    assert at_once.variance.shape == (4, 5)
    for at in np.ndindex(4, 5):
        alone = crossed_spread(side(first[at], sizes), side(second[at], sizes), 19)
        assert alone.variance == pytest.approx(at_once.variance[at])
        assert alone.degrees_of_freedom == pytest.approx(at_once.degrees_of_freedom[at])


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
def test_the_variance_is_never_under_either_part(seed: int, some: int, others: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 12).astype(float)
    sides = [side(rng.binomial(sizes.astype(int), 0.6, (s, 12)).astype(float), sizes) for s in (some, others)]
    spread = crossed_spread(sides[0], sides[1], 11)
    gap = sides[0].shifts.mean(axis=0) - sides[1].shifts.mean(axis=0)
    assert spread.variance >= 11 / 12 * (gap**2).sum() - 1e-15
    if min(some, others) > 1:
        assert spread.variance >= sum(one.accuracies.var(ddof=1) / len(one.accuracies) for one in sides) - 1e-15
        assert spread.degrees_of_freedom > 0


@pytest.mark.parametrize(
    ("first", "second", "groups"),
    [([], bits("10"), None), (bits("10"), bits("101"), None), (bits(""), bits(""), None),
     (bits("10"), bits("11"), np.arange(3))],
)  # fmt: skip
def test_sides_that_cannot_be_compared_are_refused(first: Any, second: Any, groups: Any) -> None:
    with pytest.raises(InvalidInputError, match="at least one training run, and test all runs on the same rows"):
        crossed_interval(first, second, groups)


def test_groups_of_equal_size_count_in_full() -> None:
    assert effective_groups(np.full(12, 3)) == pytest.approx(12)
    assert effective_groups(np.array([8, 1, 1])) == pytest.approx(100 / 66)


def test_effective_rows_by_hand() -> None:
    groups = np.repeat(np.arange(4), 2)
    # alike within groups, half right: between groups 4/3 x 4 x 1 / 64, binomial 1/4 / 8
    rows, degrees = effective_rows(np.repeat([1.0, 1.0, 0.0, 0.0], 2), groups)
    assert rows == pytest.approx(8 / ((16 / 3 / 64) / (0.25 / 8)))
    assert degrees == pytest.approx(3)
    # one right in each group: the groups differ by less than independent rows would, which is no reason to count more
    assert effective_rows(np.tile([1.0, 0.0], 4), groups)[0] == 8


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_without_an_error_the_largest_group_says_what_rows_are_worth(right: float) -> None:
    rows, _ = effective_rows(np.full(10, right), np.array([0] * 5 + [1] * 3 + [2] * 2))
    assert rows == 2


def test_the_choice_of_rows_by_hand() -> None:
    right = np.array([True] * 6 + [False] * 4)
    chosen = np.arange(10) >= 4
    interval = chosen_interval([right, right], chosen)
    assert interval.difference == pytest.approx(100 * (0.6 - 2 / 6))
    assert interval.groups == 6
    assert interval.low < 100 * (0.6 - 2 / 6) < interval.high
    assert interval.counts_training


def test_choosing_every_row_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    interval = chosen_interval([rng.random(50) < 0.5 for _ in range(3)], np.ones(50, dtype=bool))
    assert (interval.difference, interval.low, interval.high) == pytest.approx((0.0, 0.0, 0.0))


def test_chosen_rows_of_one_group_tell_nothing() -> None:
    interval = chosen_interval([np.ones(6)], np.arange(6) < 2, np.arange(6) // 2)
    assert (interval.low, interval.high, interval.groups, interval.counts_training) == (-100, 100, 1, False)


def test_choices_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="1 training runs tested on \\[4\\] rows, and 0 rows are chosen"):
        chosen_interval([np.ones(4)], np.zeros(4, dtype=bool))


def test_the_interval_of_a_choice_holds_its_promise() -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(400):
        hard = np.arange(300) % 3 == 0
        trained = [rng.random(300) < np.where(hard, 0.4, 0.8) for _ in range(3)]
        interval = chosen_interval(trained, hard)
        missed += not interval.low <= 100 * (2 / 3 * 0.4) <= interval.high
    assert missed / 400 < 0.07


def halves(trained: list[np.ndarray], rows: int) -> list[list[np.ndarray]]:
    """The first rows of every training, then the others."""
    return [[one[:rows] for one in trained], [one[rows:] for one in trained]]


def test_a_contrast_is_one_difference_less_the_other() -> None:
    rng = np.random.default_rng(1)
    first, second = ([rng.random(90) < share for _ in range(3)] for share in (0.7, 0.5))
    here, there = (crossed_interval(*sides) for sides in zip(halves(first, 40), halves(second, 40), strict=True))
    contrast = contrast_interval(halves(first, 40), halves(second, 40))
    assert contrast.difference == pytest.approx(here.difference - there.difference)
    assert contrast.high - contrast.low > max(here.high - here.low, there.high - there.low)


def test_sets_that_are_alike_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(400):
        first = [rng.random(400) < 0.7 + rng.normal(0, 0.02) for _ in range(3)]
        second = [rng.random(400) < 0.6 + rng.normal(0, 0.02) for _ in range(3)]
        groups = [np.arange(200) // 2] * 2
        found += contrast_interval(halves(first, 200), halves(second, 200), groups).p_value < 0.05
    assert found / 400 < 0.07


@pytest.mark.parametrize(("rows", "said"), [(0, "[0], [10]"), (10, "[10], [0]")])
def test_a_contrast_needs_two_sets(rows: int, said: str) -> None:
    first, second = [np.ones(10)], [np.zeros(10)]
    expected = f"the sides have [1, 1, 1, 1] training runs on the two test sets, tested on [{said}] rows"
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        contrast_interval(halves(first, rows), halves(second, rows))
    with pytest.raises(InvalidInputError, match="give at least two groups in each test set"):
        contrast_interval(halves(first, 5), halves(second, 5), [np.zeros(5, np.int64)] * 2)


def test_the_sets_of_a_contrast_have_the_same_trainings_on_the_same_rows() -> None:
    both = halves([np.ones(10)], 5)
    for other in ([both[0], []], [both[0], both[1] * 2], [both[0], [np.ones(4)]]):
        with pytest.raises(InvalidInputError, match="on the same rows of both test sets"):
            contrast_interval(both, other)
        with pytest.raises(InvalidInputError, match="on the same rows of both test sets"):
            contrast_interval(other, other if len(other[1]) != 1 else both)


def test_a_higher_confidence_is_a_wider_interval() -> None:
    rng = np.random.default_rng(0)
    first, second = ([rng.random(100) < 0.5 for _ in range(2)] for _ in range(2))
    usual, wide = (crossed_interval(first, second, confidence=confidence) for confidence in (0.95, 0.9875))
    assert usual == crossed_interval(first, second)
    assert wide.high - wide.low > 1.2 * (usual.high - usual.low)
