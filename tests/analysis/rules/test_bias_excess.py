import numpy as np
import pytest

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.rules.bias_excess import bias_excess
from aflite_assets.errors import InvalidInputError


def chance(*, bias: float = 0.5, classes: int = 2, rows: int = 1_000, deviation: float = 0.0) -> ChanceScores:
    drawn = bias + deviation * np.linspace(-1, 1, 20)
    return ChanceScores(drawn, np.repeat(drawn[:, None], classes, axis=1), rows)


def test_the_excess_is_the_bias_less_that_of_permuted_labels() -> None:
    scores, labels = np.tile([1.0, 0.4], 500), np.tile([0, 1], 500)
    excess = bias_excess(scores, labels, chance())
    assert (excess.rows.bias, excess.rows.shuffled_labels, excess.rows.difference) == pytest.approx((0.7, 0.5, 20.0))
    half = 1.962 * 100 * 0.3 / 1_000**0.5
    assert (excess.rows.low, excess.rows.high) == pytest.approx((20 - half, 20 + half), abs=0.01)
    assert excess.classes.width == pytest.approx(0.0, abs=1e-9)
    assert excess.classes.difference == pytest.approx(20.0)


def test_the_mean_over_classes_ignores_how_often_each_is_predicted() -> None:
    labels = np.repeat([0, 1], [900, 100])
    always_first = (labels == 0).astype(np.float64)
    excess = bias_excess(always_first, labels, chance(bias=0.5))
    assert excess.rows.difference == pytest.approx(40.0)
    assert excess.classes.difference == pytest.approx(0.0)


def test_probabilities_show_what_was_learnt_where_predictions_do_not() -> None:
    labels = np.repeat([0, 1], [950, 50])
    always_first = (labels == 0).astype(np.float64)
    given = np.where(labels == 0, 0.96, 0.2) + np.tile([-0.01, 0.01], 500)
    passes = ChanceScores(
        np.full(20, 0.95), np.tile([1.0, 0.0], (20, 1)), 1_000, class_probability=np.tile([0.95, 0.05], (20, 1))
    )
    excess = bias_excess(always_first, labels, passes, label_probability=given)
    assert excess.probabilities is not None
    assert excess.learnt == excess.probabilities
    assert (excess.probabilities.bias, excess.probabilities.shuffled_labels) == pytest.approx((0.58, 0.5))
    error = 0.01 / 2 * (1 / 950 + 1 / 50) ** 0.5  # of the mean of two class means, each of rows 0.01 away
    assert excess.probabilities.width == pytest.approx(2 * 1.962 * 100 * error, rel=0.01)
    assert (excess.classes.difference, excess.is_learnt) == (pytest.approx(0.0), True)
    without = bias_excess(always_first, labels, passes)
    assert (without.probabilities, without.learnt, without.is_learnt) == (None, without.classes, False)


def test_what_class_shares_give_takes_no_width() -> None:
    labels = np.repeat([0, 1], [575, 425])
    always_first = (labels == 0).astype(np.float64)
    classes = np.tile([1.0, 0.0], (20, 1))
    passes = ChanceScores(np.full(20, 0.575), classes, 1_000)
    excess = bias_excess(always_first, labels, passes)
    assert (excess.rows.difference, excess.rows.width) == pytest.approx((0.0, 0.0))
    plain = bias_excess(always_first, labels, ChanceScores(np.full(20, 0.575), classes * 0 + 0.575, 1_000))
    assert plain.rows.width > 6


def test_rows_of_a_group_count_once() -> None:
    rng = np.random.default_rng(0)
    scores, labels = np.repeat(rng.random(100), 10), np.tile([0, 1], 500)
    alone, grouped = (
        bias_excess(scores, labels, chance()),
        bias_excess(scores, labels, chance(), np.arange(1_000) // 10),
    )
    assert grouped.rows.width == pytest.approx(alone.rows.width * 10**0.5, rel=0.05)
    assert grouped.rows.groups == 100


def test_passes_that_differ_much_widen_the_interval() -> None:
    scores, labels = np.full(1_000, 0.6), np.tile([0, 1], 500)
    assert bias_excess(scores, labels, chance()).rows.width == pytest.approx(0.0, abs=1e-9)
    assert bias_excess(scores, labels, chance(deviation=0.02)).rows.width > 4
    assert bias_excess(scores, labels, chance(deviation=0.02, rows=10)).rows.width < 2


def test_rows_never_held_out_are_left_out() -> None:
    excess = bias_excess(np.array([1.0, np.nan, 0.0, 1.0]), np.array([0, 0, 1, 1]), chance())
    assert excess.rows.rows == 3
    assert excess.rows.bias == pytest.approx(2 / 3)


def test_one_group_says_nothing() -> None:
    excess = bias_excess(np.array([1.0, 0.9]), np.array([0, 1]), chance(), np.zeros(2, dtype=np.int64))
    assert (excess.rows.low, excess.rows.high) == pytest.approx((-55.0, 100.0))


def test_scores_without_labels_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="there are 2 scores for 1 labels"):
        bias_excess(np.ones(2), np.zeros(1, dtype=np.int64), chance())
