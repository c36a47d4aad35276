from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.algorithm import (
    ClassifierFit,
    FilterSettings,
    InvalidInputError,
    Optimum,
    Predict,
    bias_table,
    exact_bias,
    optimal_subset,
    score_rows,
)


def numbered(rows: int) -> np.ndarray:
    """Features that say which row it is."""
    return np.arange(float(rows))[:, None]


def alternating(rows: int) -> np.ndarray:
    return np.arange(rows) % 2


def scripted(labels: np.ndarray, seed: int) -> ClassifierFit:
    """A classifier of `numbered` rows whose answers are coin flips drawn anew for each training set."""

    def fit(features: np.ndarray, given_labels: np.ndarray, classes: np.ndarray) -> Predict:
        answers = flips(len(labels), features[:, 0].astype(int).tolist(), seed)

        def predict(rows: np.ndarray) -> np.ndarray:
            numbers = rows[:, 0].astype(int)
            return np.where(answers[numbers], labels[numbers], 1 - labels[numbers])

        return predict

    return fit


def flips(rows: int, trained: Sequence[int], seed: int) -> np.ndarray:
    return np.random.default_rng([seed, *sorted(trained)]).random(rows) < 0.6


def by_loops(subset: Sequence[int], train_size: int, *, rows: int, seed: int) -> Fraction:
    """Equation 4 word by word: a mean over rows, each the mean over the training sets that leave it out."""
    per_row = []
    for row in subset:
        others = [other for other in subset if other != row]
        right = [bool(flips(rows, trained, seed)[row]) for trained in combinations(others, train_size)]
        per_row.append(Fraction(sum(right), len(right)))
    return sum(per_row, Fraction(0)) / len(per_row)


def say_the_one_label(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Predict:
    """Trained on a single row, every classifier can only repeat its label."""
    return lambda rows: np.full(len(rows), labels[0])


@pytest.mark.parametrize("fit", [say_the_one_label, None], ids=["oracle", "logistic regression"])
@pytest.mark.parametrize(
    ("target_size", "kept", "bias", "ties"),
    [
        (2, [0, 2], 0.0, 6),  # one row of each label: 2 x 3 pairs
        (3, [0, 1, 2], 1 / 3, 9),  # 2 of the 6 ordered pairs share a label; only rows 2, 3, 4 are of one label
        (4, [0, 1, 2, 3], 1 / 3, 3),  # two of each label: 4 of 12 ordered pairs share one
        (5, [0, 1, 2, 3, 4], 8 / 20, 1),  # 2 + 6 of 20
    ],
)
def test_five_rows_by_hand(
    fit: ClassifierFit | None, target_size: int, kept: list[int], bias: float, ties: int
) -> None:
    optimum = optimal_subset(numbered(5), [0, 0, 1, 1, 1], target_size=target_size, train_size=1, fit=fit)
    assert optimum.kept_rows.tolist() == kept
    assert optimum.kept_rows.dtype == np.int64
    assert optimum.representation_bias == bias
    assert optimum.ties == ties
    assert optimum.subsets_searched == comb(5, target_size)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("target_size", "train_size"), [(3, 1), (3, 2), (4, 2), (5, 3), (6, 2)])
def test_six_rows_by_plain_loops(seed: int, target_size: int, train_size: int) -> None:
    labels = alternating(6)
    optimum = optimal_subset(
        numbered(6), labels, target_size=target_size, train_size=train_size, fit=scripted(labels, seed)
    )
    searched = {
        subset: by_loops(subset, train_size, rows=6, seed=seed) for subset in combinations(range(6), target_size)
    }
    least = min(searched.values())
    best = [subset for subset, bias in searched.items() if bias == least]
    assert tuple(optimum.kept_rows.tolist()) == best[0]
    assert optimum.representation_bias == float(least)
    assert optimum.ties == len(best)
    for subset, bias in searched.items():
        assert exact_bias(optimum.table, subset) == float(bias)


@pytest.mark.parametrize("seed", range(4))
def test_larger_subsets_have_the_mean_bias_of_theirs_and_none_has_less(seed: int) -> None:
    labels = alternating(7)
    optimum = optimal_subset(numbered(7), labels, target_size=4, train_size=2, fit=scripted(labels, seed))
    for size in (5, 6, 7):
        for subset in combinations(range(7), size):
            bias = exact_bias(optimum.table, subset)
            smaller = [exact_bias(optimum.table, inside) for inside in combinations(subset, size - 1)]
            assert bias == pytest.approx(np.mean(smaller), abs=1e-14)
            assert bias >= optimum.representation_bias


def test_bias_is_what_score_rows_finds_over_all_partitions() -> None:
    rng = np.random.default_rng(5)
    labels = alternating(8)
    features = rng.normal(size=(8, 2)) + labels[:, None]
    table = bias_table(features, labels, train_size=3, inverse_regularization=0.5)
    for subset in ([0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 4, 5, 7]):
        scores = score_rows(
            features[subset],
            labels[subset],
            settings=FilterSettings(target_size=4, train_size=3, slice_size=1, inverse_regularization=0.5),
            seed=0,
            partitions=[np.array(trained) for trained in combinations(range(len(subset)), 3)],
        )
        assert exact_bias(table, subset) == pytest.approx(scores.representation_bias, abs=1e-14)


@st.composite
def problems(draw: st.DrawFn) -> tuple[int, int, int, int]:
    rows = draw(st.integers(3, 8))
    target_size = draw(st.integers(2, rows))
    return rows, target_size, draw(st.integers(1, target_size - 1)), draw(st.integers(0, 1000))


def optimum_of(problem: tuple[int, int, int, int]) -> Optimum:
    rows, target_size, train_size, seed = problem
    labels = alternating(rows)
    return optimal_subset(
        numbered(rows), labels, target_size=target_size, train_size=train_size, fit=scripted(labels, seed)
    )


@settings(max_examples=40, deadline=None)
@given(problem=problems(), data=st.data())
def test_no_subset_of_the_target_size_or_more_has_less_bias(
    problem: tuple[int, int, int, int], data: st.DataObject
) -> None:
    optimum = optimum_of(problem)
    rows, target_size = problem[:2]
    assert exact_bias(optimum.table, optimum.kept_rows) == optimum.representation_bias
    for _ in range(10):
        subset = data.draw(st.lists(st.integers(0, rows - 1), min_size=target_size, unique=True))
        assert exact_bias(optimum.table, subset) >= optimum.representation_bias


@settings(max_examples=30, deadline=None)
@given(problem=problems(), data=st.data())
def test_the_order_of_rows_does_not_matter(problem: tuple[int, int, int, int], data: st.DataObject) -> None:
    straight = optimum_of(problem)
    rows, target_size, train_size, seed = problem
    order = np.array(data.draw(st.permutations(range(rows))))
    labels = alternating(rows)
    shuffled = optimal_subset(
        numbered(rows)[order],
        labels[order],
        target_size=target_size,
        train_size=train_size,
        fit=scripted(labels, seed),
    )
    assert (shuffled.representation_bias, shuffled.ties) == (straight.representation_bias, straight.ties)
    assert exact_bias(straight.table, order[shuffled.kept_rows]) == straight.representation_bias
    if straight.ties == 1:
        np.testing.assert_array_equal(np.sort(order[shuffled.kept_rows]), straight.kept_rows)


def test_equal_rows_tie() -> None:
    labels = alternating(6)
    always_right = optimal_subset(
        numbered(6),
        labels,
        target_size=4,
        train_size=2,
        fit=lambda *training: lambda rows: labels[rows[:, 0].astype(int)],
    )
    assert (always_right.representation_bias, always_right.ties) == (1.0, 15)
    assert always_right.kept_rows.tolist() == [0, 1, 2, 3]


def test_rows_that_are_always_predicted_go() -> None:
    rows = 9
    labels, easy = alternating(rows), np.isin(np.arange(rows), [0, 3, 4, 8])

    def oracle(features: np.ndarray, given_labels: np.ndarray, classes: np.ndarray) -> Predict:
        def predict(rows: np.ndarray) -> np.ndarray:
            numbers = rows[:, 0].astype(int)
            return np.where(easy[numbers], labels[numbers], 1 - labels[numbers])

        return predict

    optimum = optimal_subset(numbered(rows), labels, target_size=5, train_size=2, fit=oracle)
    assert optimum.kept_rows.tolist() == np.flatnonzero(~easy).tolist()
    assert (optimum.representation_bias, optimum.ties) == (0.0, 1)
    assert exact_bias(optimum.table, np.arange(rows)) == pytest.approx(4 / 9, abs=1e-15)
    assert optimal_subset(numbered(rows), labels, target_size=6, train_size=2, fit=oracle).ties == 4


def test_logistic_regression_has_less_bias_without_the_rows_that_tell_their_label() -> None:
    labels = alternating(10)
    easy = np.arange(10) < 4
    features = np.where(easy, 20.0 * labels - 10.0, 0.0)[:, None]
    before = features.copy()
    optimum = optimal_subset(features, labels, target_size=6, train_size=3)
    # Three and three rows without a feature: 2 of the 20 training sets have one label and are never right, the other
    # 18 say their majority, which 1 of the 3 rows left has.
    assert exact_bias(optimum.table, np.flatnonzero(~easy)) == 0.3
    assert exact_bias(optimum.table, np.arange(10)) > 0.5
    # One row at -10 alone is as hard as those at 0, two on the same side are not.
    assert optimum.representation_bias <= 0.3
    assert easy[optimum.kept_rows].sum() <= 1
    np.testing.assert_array_equal(features, before)


def solve(**changes: Any) -> Optimum:
    given: dict[str, Any] = {"features": numbered(6), "labels": alternating(6), "target_size": 4, "train_size": 2}
    arguments = given | changes
    return optimal_subset(arguments.pop("features"), arguments.pop("labels"), **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_size": 7}, "`target_size` is 7, but only 6 rows count towards it; lower"),
        ({"train_size": 4}, "`train_size` is 4, but `target_size` is 4 and must be larger; lower `train_size`"),
        ({"target_size": 0}, "`target_size` is 0, but it must be a whole number of at least 1"),
        ({"train_size": 1.5}, "`train_size` is 1.5, but it must be a whole number of at least 1"),
        ({"inverse_regularization": 0.0}, "`inverse_regularization` is 0.0, but it must be a finite number above 0"),
        ({"labels": [0] * 6}, "have the same label"),
        ({"features": np.full((6, 1), np.nan)}, "`features` has the value nan in row 0, column 0"),
        ({"most_subsets": 63}, r"6 rows have 2\*\*6 subsets, but `most_subsets` is 63; give fewer rows, or raise"),
        (
            {"most_fits": 14},
            "6 rows have 15 training sets of `train_size` 2, but `most_fits` is 14; give fewer rows",
        ),
        ({"fit": lambda *training: lambda rows: np.zeros(1)}, r"labels of shape \(1,\) for 4 rows"),
    ],
)
def test_refused_inputs(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        solve(**changes)


def test_limits_are_inclusive_and_hold_for_the_table_too() -> None:
    assert solve(most_fits=15, most_subsets=64).subsets_searched == 15
    with pytest.raises(InvalidInputError, match=r"21 rows have 2\*\*21 subsets, but `most_subsets` is 1048576"):
        bias_table(numbered(21), alternating(21), train_size=1)
    with pytest.raises(
        InvalidInputError, match="20 rows have 38760 training sets of `train_size` 6, but `most_fits` is 20000"
    ):
        bias_table(numbered(20), alternating(20), train_size=6)
    with pytest.raises(InvalidInputError, match="`train_size` is 6, but there are only 6 rows to train on"):
        bias_table(numbered(6), alternating(6), train_size=6)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 1], "`rows` contains 2 rows, but `train_size` is 2; give more rows"),
        ([0, 1, 1], "`rows` contains a row twice; give each row once"),
        ([0, 1, 6], "`rows` contains row 6, but the rows of `features` are numbered from 0 to 5; give row numbers"),
        ([-1, 0, 1], "`rows` contains row -1, but the rows of `features` are numbered from 0 to 5"),
        ([[0, 1, 2]], r"`rows` has the shape \(1, 3\) and the dtype int64, but it must be a 1-d array"),
        (
            [True] * 6,
            r"the shape \(6,\) and the dtype bool, .*; turn a bool mask into row numbers with `np.flatnonzero`",
        ),
    ],
)
def test_refused_subsets(rows: Any, message: str) -> None:
    table = bias_table(numbered(6), alternating(6), train_size=2)
    with pytest.raises(InvalidInputError, match=message):
        exact_bias(table, rows)
