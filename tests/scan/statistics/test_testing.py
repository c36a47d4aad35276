"""P-values: exact levels under the null, permutations that keep units whole, medians over cuts, false discovery."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

from aflite_assets.scan.statistics.cuts import draw_cut
from aflite_assets.scan.statistics.effects import measure_effects, wilson
from aflite_assets.scan.statistics.testing import (
    false_discovery_set,
    over_cuts,
    permutation_p_values,
    score_p_values,
    unit_permutations,
)


def test_the_smallest_p_value_is_uniform_without_a_cue() -> None:
    """The adjusted p-value of the strongest of twenty rules is at most 10 % in 10 % of the draws."""
    rng = np.random.default_rng(0)
    smallest = []
    for _ in range(150):
        present = (rng.random((120, 20)) < 0.3).astype(np.float32)
        p_values = permutation_p_values(present, np.ones(20, np.int64), rng.integers(0, 2, 120), np.arange(120), rng)
        smallest.append(p_values.min())
    assert np.mean(np.array(smallest) <= 0.1) == pytest.approx(0.1, abs=0.07)
    assert np.mean(np.array(smallest) <= 0.5) == pytest.approx(0.5, abs=0.13)


def test_a_strong_rule_gets_the_smallest_possible_p_value_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    present = np.column_stack([rng.random(400) < np.where(labels == 1, 0.6, 0.2), rng.random(400) < 0.3])
    p_values = permutation_p_values(present.astype(np.float32), np.ones(2, np.int64), labels, np.arange(400), rng)
    assert p_values[0] == pytest.approx(0.001)
    assert p_values[1] > 0.02


def test_a_habit_of_few_large_units_is_no_cue() -> None:
    """Each unit has one class and one habit: rows by themselves would look like hundreds of proofs."""
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(24), 50)
    labels, habit = rng.integers(0, 2, 24), rng.integers(0, 2, 24)
    labels[:16], habit[:16] = 1, 1
    labels[16:], habit[16:] = 0, np.array([1, 0, 1, 0, 0, 1, 0, 1])
    present = habit[units][:, None].astype(np.float32)
    by_unit = permutation_p_values(present, np.ones(1, np.int64), labels[units], units, rng)
    by_row = permutation_p_values(present, np.ones(1, np.int64), labels[units], np.arange(1_200), rng)
    assert by_row[0] == pytest.approx(0.001)
    assert by_unit[0] > 5 * by_row[0]


def test_units_exchange_their_labels_as_wholes_with_units_of_their_size() -> None:
    units = np.array([0, 1, 1, 2, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4])
    own = unit_permutations(units, np.random.default_rng(0))
    for _ in range(20):
        source = next(own)
        assert sorted(source[:1].tolist() + source[5:6].tolist()) == [0, 5]
        assert sorted(source[1:5].tolist()) == [1, 2, 3, 4]
        assert len({int(units[row]) for row in source[1:3]}) == 1
        assert sorted(source[6:].tolist()) == list(range(6, 14))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 8), min_size=4, max_size=60), st.integers(0, 100))
def test_every_unit_is_on_one_side_of_a_cut_and_the_sides_are_nearly_equal(units: list[int], seed: int) -> None:
    codes, rng = np.array(units), np.random.default_rng(seed)
    labels = rng.integers(0, 2, len(codes))
    cut = draw_cut(np.arange(len(codes)) + 7, labels, codes, rng)
    assert sorted([*cut.chosen_on, *cut.tested_on]) == list(range(7, len(codes) + 7))
    assert not set(codes[cut.chosen_on - 7]) & set(codes[cut.tested_on - 7])
    largest = np.bincount(codes).max()
    assert abs(len(cut.chosen_on) - len(cut.tested_on)) <= 2 * largest + 1


def test_a_cut_halves_a_rare_class() -> None:
    rng = np.random.default_rng(0)
    labels = (np.arange(2_000) < 100).astype(np.int64)
    cut = draw_cut(np.arange(2_000), labels, np.arange(2_000), rng)
    assert labels[cut.tested_on].sum() == 50
    assert len(cut.tested_on) == pytest.approx(1_000, abs=1)


def test_score_p_values_see_a_tie_and_are_one_sided() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    tied = rng.random(600) < np.where(labels == 1, 0.5, 0.2)
    present = csc_array(np.column_stack([tied, ~tied, rng.random(600) < 0.3]).astype(np.float64))
    p_values = score_p_values(present, np.ones(3, np.int64), labels, np.arange(600))
    assert p_values[0] < 1e-9
    assert p_values[1] > 1 - 1e-9
    assert 0.01 < p_values[2] < 0.99


def test_cuts_in_which_a_rule_was_not_chosen_count_as_one() -> None:
    assert over_cuts([0.001, 0.002, 0.003], 5) == pytest.approx(0.006)
    assert over_cuts([0.001, 0.002], 5) == 1.0
    assert over_cuts([0.9] * 5, 5) == 1.0


def test_false_discovery_as_worked_by_hand() -> None:
    """Of three tests the limits are 0.05 * rank / (1 + 1/2 + 1/3) = 0.0273, 0.0545 and 0.0818."""
    assert false_discovery_set({"a": 0.027, "b": 0.055, "c": 0.5}, 0.05, tests=3) == {"a"}
    assert false_discovery_set({"a": 0.03, "b": 0.054, "c": 0.5}, 0.05, tests=3) == {"a", "b"}
    assert false_discovery_set({"a": 0.0126}, 0.05, tests=30) == set(), "1 + 1/2 + ... + 1/30 is 3.995"
    assert false_discovery_set({"a": 0.0125}, 0.05, tests=30) == {"a"}
    assert false_discovery_set({}, 0.05, tests=0) == set()


def test_effects_of_planted_shares() -> None:
    is_class = np.arange(1_000) < 400
    carries = np.zeros(1_000)
    carries[:240], carries[400:460] = 1, 1
    effects = measure_effects(csc_array(carries[:, None]), is_class, np.arange(1_000))
    assert effects.balanced[0] == pytest.approx(0.5 + (0.6 - 0.1) / 2)
    assert effects.carriers[0] == 300
    assert (effects.low[0], effects.high[0]) == pytest.approx((0.7225, 0.7756), abs=0.002)


def test_an_interval_counts_units_and_not_their_rows() -> None:
    rng = np.random.default_rng(0)
    is_class, carries = rng.random(100) < 0.5, rng.random(100) < 0.4
    single = measure_effects(csc_array(carries[:, None] * 1.0), is_class, np.arange(100))
    tenfold = measure_effects(
        csc_array(np.repeat(carries, 10)[:, None] * 1.0), np.repeat(is_class, 10), np.repeat(np.arange(100), 10)
    )
    assert tenfold.balanced[0] == pytest.approx(single.balanced[0])
    assert tenfold.high[0] - tenfold.low[0] == pytest.approx(single.high[0] - single.low[0], rel=0.02)


def test_wilson_as_published() -> None:
    """Brown, Cai and DasGupta (2001): 0 of 10 is [0, 0.2775]."""
    low, high = wilson(np.array([0.0]), np.array([10.0]))
    assert (low[0], high[0]) == pytest.approx((0.0, 0.2775), abs=1e-4)
