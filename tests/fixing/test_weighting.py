"""Weights with which a cue tells nothing, and what cues tell with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from aflite_assets.errors import DataError
from aflite_assets.fixing.weighting import balancing_weights, effective_rows, weighted_result
from aflite_assets.scan.cues import ClassSize, Cue, ScanResult
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.statistics.effects import measure_effects

COUNTS = st.integers(1, 60)


def _rows(counts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows with these numbers without and with the cue, by class."""
    carriers = np.concatenate([np.repeat([False, True], pair) for pair in counts])
    return carriers[:, None], np.repeat(np.arange(len(counts)), [sum(pair) for pair in counts])


def test_weights_are_those_of_reweighing_by_hand() -> None:
    carriers, labels = _rows([[30, 10], [20, 40]])
    weights = balancing_weights(carriers, labels)
    # Of 100 rows 50 carry the cue and 40 have class 0, so that 20 of class 0 are expected on either side.
    assert weights[:30].tolist() == [0.666667] * 30
    assert weights[30:40].tolist() == [2.0] * 10
    assert weights[40:60].tolist() == [1.5] * 20
    assert weights[60:].tolist() == [0.75] * 40
    assert effective_rows(weights) == pytest.approx(100**2 / (30 * (2 / 3) ** 2 + 10 * 4 + 20 * 2.25 + 40 * 0.5625))


@given(counts=st.lists(st.tuples(COUNTS, COUNTS).map(list), min_size=2, max_size=4))
def test_class_shares_are_those_of_all_rows_on_either_side(counts: list[list[int]]) -> None:
    carriers, labels = _rows(counts)
    weights = balancing_weights(carriers, labels)
    assert weights.mean() == pytest.approx(1, rel=1e-5)
    for side in (carriers[:, 0], ~carriers[:, 0]):
        shares = np.bincount(labels[side], weights[side]) / weights[side].sum()
        assert shares == pytest.approx(np.bincount(labels) / len(labels), rel=1e-5)
        assert weights[side].sum() == pytest.approx(side.sum(), rel=1e-5)


def test_rows_that_no_weight_balances_weigh_nothing() -> None:
    carriers, labels = _rows([[40, 0], [40, 20]])
    weights = balancing_weights(carriers, labels)
    assert weights[:40].tolist() == [0.8] * 40  # 40 % of all rows have class 0, and half of those without the cue
    assert weights[40:80].tolist() == [1.2] * 40
    assert weights[80:].tolist() == [0.0] * 20
    with pytest.raises(DataError, match="neither the rows with the cue nor the rows without it contain every"):
        balancing_weights(*_rows([[40, 0], [0, 20]]))


def test_every_combination_of_several_cues_is_balanced() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    carriers = rng.random((900, 2)) < np.stack([0.2 + 0.2 * labels, 0.7 - 0.2 * labels], axis=1)
    weights = balancing_weights(carriers, labels)
    for pattern in ((0, 0), (0, 1), (1, 0), (1, 1)):
        inside = (carriers == pattern).all(axis=1)
        shares = np.bincount(labels[inside], weights[inside]) / weights[inside].sum()
        assert shares == pytest.approx(np.bincount(labels) / 900, rel=1e-4)


def _result(carriers: np.ndarray, labels: np.ndarray, units: np.ndarray | None = None) -> tuple[ScanResult, ScanRows]:
    count = len(labels)
    numbers = (10, 0.6, 0.1, 0.8, 0.5, 0.9, 0.8, 1.0, 0.001)
    cues = tuple(Cue(place, f"cue {place}", "words", None, "b", *numbers) for place in range(carriers.shape[1]))
    sizes = (ClassSize("a", 50, 0.6), ClassSize("b", 50, 0.6))
    sets, rows = np.full(count, "train", dtype=object), np.arange(count)
    own = rows if units is None else units
    result = ScanResult(cues, None, sizes, count, count, 10, (), carriers, sets, rows, own)
    return result, ScanRows(labels, ("a", "b"), np.zeros(count, dtype=np.int64), ("train",), np.arange(count) * 1.0)


def test_a_balanced_cue_is_gone_and_another_stays_with_its_weighted_accuracy() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2_000)
    carriers = rng.random((2_000, 3)) < 0.2 + 0.5 * labels[:, None]
    carriers[:, 2] = carriers[:, 0] ^ (rng.random(2_000) < 0.02)  # nearly the same rows as the first
    result, rows = _result(carriers, labels)
    weights = balancing_weights(carriers[:, :1], labels)
    (left,) = weighted_result(result, rows, weights).cues
    assert left.number == 1
    inside, outside = (np.average(carriers[labels == own, 1], weights=weights[labels == own]) for own in (1, 0))
    assert left.balanced == pytest.approx(0.5 + (inside - outside) / 2)
    assert 0.68 < left.low < left.balanced < left.high < 0.8
    equal = weighted_result(result, rows, np.ones(2_000)).cues
    assert [cue.number for cue in equal] == [0, 1, 2]
    known = measure_effects(csc_array(carriers.astype(float)), labels == 1, np.arange(2_000))
    assert [(cue.balanced, cue.low, cue.high) for cue in equal] == [
        pytest.approx(found) for found in zip(known.balanced, known.low, known.high, strict=True)
    ]


def test_units_and_weights_widen_the_interval() -> None:
    """Twenty copies of each of 100 rows say as much as these."""
    rng = np.random.default_rng(1)
    labels = np.arange(100) % 2
    few = rng.random((100, 1)) < 0.1 + 0.8 * labels[:, None]
    once, rows_once = _result(few, labels)
    copies, rows = _result(np.repeat(few, 20, axis=0), np.repeat(labels, 20), np.repeat(np.arange(100), 20))
    first = weighted_result(once, rows_once, np.ones(100)).cues[0]
    second = weighted_result(copies, rows, np.ones(2_000)).cues[0]
    assert (second.balanced, second.low, second.high) == pytest.approx((first.balanced, first.low, first.high))


def test_a_cue_that_weights_turn_round_still_tells_the_label() -> None:
    labels = np.repeat([0, 1], 500)
    carriers = (np.arange(1_000) % 10 < np.where(labels, 7, 3))[:, None]
    result, rows = _result(carriers, labels)
    weights = np.where(carriers[:, 0] == (labels == 1), 0.1, 1.0)
    (cue,) = weighted_result(result, rows, weights).cues
    assert cue.balanced == pytest.approx(1 - 0.7 * 0.1 / (0.7 * 0.1 + 0.3))
