"""The compiled gradients against the same sums in plain float64 numpy."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm.linear.kernels.row_passes import add_gradients
from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX
from tests.algorithm.linear.kernels.test_counts import probabilities

Case = Any
MakeCase = Callable[..., Case]
SHAPES = [
    (SIGMOID, 1),
    *((SOFTMAX, outputs) for outputs in (*range(2, 10), 16)),
    *((HINGE, outputs) for outputs in (*range(1, 11), 16)),
]


def residuals(scores: np.ndarray, codes: np.ndarray, seen: np.ndarray, loss: int) -> np.ndarray:
    """The losses' derivatives as the docstrings of losses.py define them."""
    if loss == SIGMOID:
        both = probabilities(np.column_stack([np.zeros(len(scores)), scores]), np.array([True, True]))
        return both[:, 1:] - codes[:, None]
    positive = np.arange(scores.shape[1]) + (scores.shape[1] == 1)
    own = codes[:, None] == positive
    if loss == SOFTMAX:
        return probabilities(scores, seen) - own
    sides = np.where(own, 1.0, -1.0)
    slopes = -2.0 * sides * np.maximum(0.0, 1.0 - sides * scores)
    return slopes if scores.shape[1] == 1 else np.where(seen, slopes, 0.0)


def expected_gradients(case: Case) -> tuple[np.ndarray, np.ndarray]:
    weights, intercepts = np.zeros(case.weights.shape), np.zeros(case.intercepts.shape)
    for model, slots in enumerate(case.slots):
        actual = residuals(case.scores(model, slots), case.codes[slots], case.seen[model], case.loss)
        weights[model] = actual.T @ case.features[slots - case.offset]
        intercepts[model] = actual.sum(axis=0)
    return weights, intercepts


def gradients(
    case: Case, *, edges: Sequence[int] | None = None, shares: Sequence[Sequence[int]] | None = None, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    edges = [case.offset, case.stop] if edges is None else edges
    counts = [len(slots) for slots in case.slots]
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    starts = np.stack([first + np.searchsorted(slots, edges) for first, slots in zip(firsts, case.slots, strict=True)])
    sums, intercept_sums = np.zeros(case.weights.shape, dtype=np.float32), np.zeros(case.intercepts.shape)
    add = partial(
        add_gradients,
        features=case.features,
        offset=case.offset,
        positions=np.concatenate(case.slots),
        starts=starts,
        blocks=(0, len(edges) - 1),
        weights=case.weights,
        intercepts=case.intercepts,
        codes=case.codes,
        seen=case.seen,
        loss=case.loss,
        gradients=sums,
        intercept_gradients=intercept_sums,
    )
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, [np.array(share) for share in shares or [range(len(case.slots))]]))
    return sums, intercept_sums


def assert_close(actual: np.ndarray, expected: np.ndarray, *, rtol: float = 2e-6) -> None:
    """Within a share of the largest entry."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * np.abs(expected).max() + 1e-12)


@pytest.mark.parametrize("width", [16, 48])
@pytest.mark.parametrize(("loss", "outputs"), SHAPES)
def test_gradients_are_those_of_float64(loss: int, outputs: int, width: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, width=width)
    for actual, expected in zip(gradients(case), expected_gradients(case), strict=True):
        assert np.abs(expected).max() > 0.1
        assert_close(actual, expected)


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 5)])
def test_training_sets_of_any_size(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, sizes=range(1, 41))
    weights, intercepts = expected_gradients(case)
    actual, actual_intercepts = gradients(case)
    for model in range(40):
        assert_close(actual[model], weights[model])
        assert_close(actual_intercepts[model], intercepts[model])


@pytest.mark.parametrize(("loss", "outputs"), [(SOFTMAX, 3), (SOFTMAX, 6), (HINGE, 3), (HINGE, 6)])
def test_classes_that_a_model_has_not_seen_get_no_gradient(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, sizes=(30, 40, 50), unseen=True)
    weights, intercepts = gradients(case)
    assert not weights[0, -1].any()
    assert not weights[1, 0].any()
    assert intercepts[0, -1] == intercepts[1, 0] == 0.0
    for actual, expected in zip((weights, intercepts), expected_gradients(case), strict=True):
        assert_close(actual, expected)


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 7), (HINGE, 2)])
def test_rows_may_start_anywhere_in_the_pool(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, offset=1000)
    for actual, expected in zip(gradients(case), expected_gradients(case), strict=True):
        assert_close(actual, expected)


def test_models_not_asked_for_are_left_alone(case_of: MakeCase) -> None:
    case = case_of(SOFTMAX, 3)
    weights, intercepts = gradients(case, shares=[[1]])
    assert not weights[[0, 2]].any()
    assert not intercepts[[0, 2]].any()
    assert_close(weights[1], expected_gradients(case)[0][1])


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 4), (HINGE, 1), (HINGE, 4)])
def test_gradients_at_extreme_scores(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, spread=3000.0)
    assert np.abs(case.scores(2, case.slots[2])).max() > 1e4
    for actual, expected in zip(gradients(case), expected_gradients(case), strict=True):
        assert np.isfinite(actual).all()
        assert_close(actual, expected)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 1), (HINGE, 3)])
def test_a_weight_that_is_not_finite_shows_in_its_model_and_no_other(
    loss: int, outputs: int, value: float, case_of: MakeCase
) -> None:
    case = case_of(loss, outputs)
    whole, whole_intercepts = gradients(case)
    case.weights[1, 0, 3] = value
    actual, actual_intercepts = gradients(case)
    assert not np.isfinite(actual[1]).all()
    for model in (0, 2):
        np.testing.assert_array_equal(actual[model], whole[model])
        np.testing.assert_array_equal(actual_intercepts[model], whole_intercepts[model])


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (SOFTMAX, 9), (HINGE, 4)])
def test_blocks_do_not_change_a_bit(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, rows=200, sizes=(3, 50, 150), offset=10)
    whole = gradients(case)
    for inner in ([100], [11, 12, 13, 40, 41, 209], list(range(17, 200, 7)), [10, 10, 210], list(range(11, 210))):
        for actual, expected in zip(gradients(case, edges=[10, *inner, 210]), whole, strict=True):
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 5), (HINGE, 3)])
def test_gradients_over_some_blocks_add_up(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, rows=90, sizes=(60,))
    slots = case.slots[0]
    whole = gradients(case)
    low = gradients(replace(case, slots=[slots[slots < 45]]))
    high = gradients(replace(case, slots=[slots[slots >= 45]]))
    for number in range(2):
        assert_close(low[number] + high[number], whole[number])


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 6)])
def test_shares_of_models_do_not_change_a_bit(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, rows=120, sizes=(9, 33, 70, 100, 16))
    whole = gradients(case)
    for shares in ([[0, 1], [2, 3, 4]], [[4], [3], [2], [1], [0]], [[2, 0, 4], [3, 1]]):
        for actual, expected in zip(gradients(case, shares=shares, threads=3), whole, strict=True):
            np.testing.assert_array_equal(actual, expected)
