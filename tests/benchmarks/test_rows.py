"""Scores of rows in `benchmarks.rows`: against what is known of them, on small planted rows."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.row_scores import _shapley, dynamics
from benchmarks.row_sets import circle_rows, rare_rows
from benchmarks.rows import balanced, interval, judged


def test_shapley_values_sum_to_what_the_neighbours_get_right() -> None:
    rng = np.random.default_rng(0)
    features, judges = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    labels, judged_labels = rng.integers(0, 2, 40), rng.integers(0, 2, 30)
    values = _shapley(features, labels, judges, judged_labels, 5)
    near = KNeighborsClassifier(5).fit(features, labels).kneighbors(judges, return_distance=False)
    assert values.sum() == pytest.approx((labels[near] == judged_labels[:, None]).mean(), abs=1e-9)


def test_rows_that_lie_apart_are_learnt_and_a_wrong_label_is_not() -> None:
    labels = np.arange(100) % 2
    features = np.random.default_rng(1).normal(size=(100, 2)) + 6.0 * labels[:, None]
    labels[0] = 1 - labels[0]
    found = dynamics(features, labels, seed=0)
    assert found.confidence[0] == found.confidence.min() < 0.3
    assert (found.el2n.argmax(), found.wrong_early.sum(), found.wrong_early[0]) == (0, 1, 1)


def test_the_rare_class_is_one_in_twenty_but_for_wrong_labels() -> None:
    data = rare_rows(0)
    assert data.labels.mean() == pytest.approx(0.05 + 0.05 * 0.9, abs=0.02)
    assert (data.carries.mean(), data.wrong.mean()) == pytest.approx((0.6, 0.05), abs=0.03)


def test_turned_circles_have_the_bias_of_the_other_circle() -> None:
    data = circle_rows(0)
    features, labels = data.turned
    assert (np.sign(features[:, 2:].mean(axis=1)) == 1 - 2 * labels).all()
    assert data.carries.mean() == 0.75


def test_what_is_kept_is_counted_in_shares() -> None:
    data = rare_rows(1)
    found = judged(data, np.flatnonzero(~data.carries), np.random.default_rng(0))
    assert (found["planted recall"], found["precision"]) == (1.0, 1.0)
    assert found["kept"] == pytest.approx((~data.carries).mean())
    assert balanced(np.array([0, 0, 1]), np.array([0, 0, 0])) == pytest.approx(2 / 3)
    assert (interval([0.5, 0.7], 1), interval([np.nan], 1)) == ("0.60 ± 0.20", "")
