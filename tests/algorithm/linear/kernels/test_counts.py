"""The compiled counts against the same predictions in plain float64 numpy."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm.linear.kernels.row_passes import count_predictions
from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX

Case = Any
MakeCase = Callable[..., Case]
SHAPES = [
    (SIGMOID, 1),
    *((SOFTMAX, outputs) for outputs in range(2, 10)),
    *((HINGE, outputs) for outputs in range(1, 10)),
]


def probabilities(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    masked = np.where(seen, scores, -np.inf)
    powers = np.exp(masked - masked.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Counted:
    correct: np.ndarray
    classes: np.ndarray
    label: np.ndarray
    matrix: np.ndarray


def trained_bits(case: Case) -> np.ndarray:
    """Bit j of word w: whether model 64 w + j was trained on a position."""
    words = [
        sum(1 << model for model, slots in enumerate(case.slots) if position in slots) for position in range(case.stop)
    ]
    n_words = -(-len(case.slots) // 64)
    return np.array([[word >> 64 * at & 2**64 - 1 for at in range(n_words)] for word in words], dtype=np.uint64)


def count(
    case: Case,
    shares: Sequence[np.ndarray],
    *,
    label: bool = True,
    matrix: bool = True,
    by_class: bool = True,
    threads: int = 1,
) -> Counted:
    classes = case.seen.shape[1]
    counted = Counted(
        np.zeros(case.stop, dtype=np.int64),
        np.zeros((case.stop if by_class else 0, classes), dtype=np.int32),
        np.zeros(case.stop if label else 0),
        np.zeros((case.stop if matrix else 0, classes)),
    )
    add = partial(
        count_predictions,
        features=case.features,
        offset=case.offset,
        weights=case.weights,
        intercepts=case.intercepts,
        codes=case.codes,
        seen=case.seen,
        unpredicted=trained_bits(case),
        correct=counted.correct,
        class_counts=counted.classes,
        label_sums=counted.label,
        matrix_sums=counted.matrix,
    )
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, shares))
    return counted


def expected_counts(case: Case, positions: np.ndarray) -> Counted:
    correct = np.zeros(case.stop, dtype=np.int64)
    matrix = np.zeros((case.stop, case.seen.shape[1]))
    classes = np.zeros((case.stop, case.seen.shape[1]), dtype=np.int32)
    for model, slots in enumerate(case.slots):
        rows = np.setdiff1d(positions, slots)
        scores = case.scores(model, rows)
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(rows)), scores])
        shares = probabilities(scores, case.seen[model])
        chosen = np.where(case.seen[model], scores, -np.inf).argmax(axis=1)
        correct[rows] += chosen == case.codes[rows]
        classes[rows, chosen] += 1
        matrix[rows] += shares
    return Counted(correct, classes, matrix[np.arange(case.stop), case.codes], matrix)


@pytest.mark.parametrize("width", [16, 48])
@pytest.mark.parametrize(("loss", "outputs"), SHAPES)
def test_counts_are_those_of_float64(loss: int, outputs: int, width: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, width=width, rows=61, sizes=(1, 17, 30, 44))
    positions = np.arange(61)
    expected = expected_counts(case, positions)
    assert 0 < expected.correct.sum() < 4 * 61 - 92
    actual = count(case, [positions], label=loss != HINGE, matrix=loss != HINGE)
    np.testing.assert_array_equal(actual.correct, expected.correct)
    np.testing.assert_array_equal(actual.classes, expected.classes)
    if loss != HINGE:
        np.testing.assert_allclose(actual.label, expected.label, atol=4e-6)
        np.testing.assert_allclose(actual.matrix, expected.matrix, atol=4e-6)


@pytest.mark.parametrize("n_rows", [1, 3, 15, 16, 17, 31])
def test_any_positions_are_counted_and_no_others(n_rows: int, case_of: MakeCase) -> None:
    case = case_of(SOFTMAX, 3, offset=500, sizes=(10, 20))
    positions = 500 + np.sort(np.random.default_rng(n_rows).choice(60, n_rows, replace=False))
    expected, actual = expected_counts(case, positions), count(case, [positions])
    np.testing.assert_array_equal(actual.correct, expected.correct)
    np.testing.assert_allclose(actual.label[positions], expected.label[positions], atol=4e-6)
    others = np.setdiff1d(np.arange(560), positions)
    assert not actual.correct[others].any()
    assert not actual.label[others].any()
    assert not actual.matrix[others].any()
    assert not actual.classes[others].any()


@pytest.mark.parametrize("loss", [SIGMOID, HINGE])
def test_of_two_classes_the_one_that_is_seen_is_predicted(loss: int, case_of: MakeCase) -> None:
    case = case_of(loss, 1, sizes=(30, 30, 30), unseen=True)
    positions = np.arange(60)
    actual = count(case, [positions], label=loss != HINGE, matrix=loss != HINGE)
    np.testing.assert_array_equal(actual.correct, expected_counts(case, positions).correct)
    if loss == SIGMOID:
        single = replace(case, slots=case.slots[:1], weights=case.weights[:1], intercepts=case.intercepts[:1])
        alone = count(replace(single, seen=case.seen[:1]), [positions])
        held_out = np.setdiff1d(positions, case.slots[0])
        np.testing.assert_array_equal(alone.matrix[held_out], [[1.0, 0.0]] * len(held_out))


def test_a_score_of_nought_is_of_the_first_of_two_classes(case_of: MakeCase) -> None:
    case = case_of(SIGMOID, 1, sizes=(1,))
    case.weights[:], case.intercepts[:] = 0.0, 0.0
    held_out = np.setdiff1d(np.arange(60), case.slots[0])
    np.testing.assert_array_equal(count(case, [held_out]).correct[held_out], case.codes[held_out] == 0)


def test_more_weights_than_are_gone_through_at_once(case_of: MakeCase) -> None:
    case = case_of(HINGE, 9, width=48, rows=30, sizes=[1 + model % 29 for model in range(310)])
    assert case.weights.nbytes > 2**19
    actual = count(case, [np.arange(30)], label=False, matrix=False)
    np.testing.assert_array_equal(actual.correct, expected_counts(case, np.arange(30)).correct)


@pytest.mark.parametrize("loss", [SOFTMAX, HINGE])
def test_unseen_classes_are_never_predicted(loss: int, case_of: MakeCase) -> None:
    case = case_of(loss, 4, sizes=(30, 30, 30), unseen=True)
    case.intercepts[0, -1] = case.intercepts[1, 0] = 50.0
    positions = np.arange(60)
    actual = count(case, [positions], label=loss != HINGE, matrix=loss != HINGE)
    np.testing.assert_array_equal(actual.correct, expected_counts(case, positions).correct)
    if loss == SOFTMAX:
        single = replace(case, slots=case.slots[:1], weights=case.weights[:1], intercepts=case.intercepts[:1])
        alone = count(replace(single, seen=case.seen[:1]), [positions])
        assert not alone.matrix[:, -1].any()
        assert not alone.correct[case.codes == 3].any()


@pytest.mark.parametrize("models", [63, 64, 65, 130])
def test_more_models_than_bits_in_a_word(models: int, case_of: MakeCase) -> None:
    case = case_of(SIGMOID, 1, rows=30, sizes=[1 + model % 29 for model in range(models)])
    expected, actual = expected_counts(case, np.arange(30)), count(case, [np.arange(30)])
    np.testing.assert_array_equal(actual.correct, expected.correct)
    np.testing.assert_allclose(actual.matrix, expected.matrix, atol=1e-4)
    held_out = sum(30 - len(slots) for slots in case.slots)
    assert actual.matrix.sum() == pytest.approx(held_out, rel=1e-6)


@pytest.mark.parametrize(("label", "matrix"), [(False, False), (True, False), (True, True)])
def test_sums_not_asked_for_are_left_out(label: bool, matrix: bool, case_of: MakeCase) -> None:
    case = case_of(SOFTMAX, 3)
    actual = count(case, [np.arange(60)], label=label, matrix=matrix, by_class=matrix)
    expected = expected_counts(case, np.arange(60))
    np.testing.assert_array_equal(actual.correct, expected.correct)
    assert len(actual.label) == 60 * label
    assert actual.matrix.shape == (60 * matrix, 3)
    assert actual.classes.sum() == (expected.classes.sum() if matrix else 0)
    if label:
        np.testing.assert_allclose(actual.label, expected.label, atol=4e-6)


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 4)])
def test_predictions_at_extreme_scores(loss: int, outputs: int, case_of: MakeCase) -> None:
    case = case_of(loss, outputs, spread=3000.0)
    positions = np.arange(60)
    expected, actual = expected_counts(case, positions), count(case, [positions])
    np.testing.assert_array_equal(actual.correct, expected.correct)
    np.testing.assert_allclose(actual.matrix, expected.matrix, atol=1e-6)


def test_of_equal_scores_the_first_seen_class_is_predicted(case_of: MakeCase) -> None:
    case = case_of(SOFTMAX, 3, sizes=(1, 1))
    case.weights[:], case.intercepts[:] = 0.0, 0.0
    case.seen[1, 0] = False
    positions = np.setdiff1d(np.arange(60), np.concatenate(case.slots))
    actual = count(case, [positions])
    expected = (case.codes[positions] == 0).astype(np.int64) + (case.codes[positions] == 1)
    np.testing.assert_array_equal(actual.correct[positions], expected)
    np.testing.assert_allclose(
        actual.matrix[positions], [[1 / 3, 1 / 3 + 1 / 2, 1 / 3 + 1 / 2]] * len(positions), atol=1e-6
    )


def test_shares_of_positions_do_not_change_a_bit(case_of: MakeCase) -> None:
    case = case_of(SOFTMAX, 5, rows=150, sizes=(30, 60, 90))
    whole = count(case, [np.arange(150)])
    parts = count(case, np.array_split(np.arange(150), 7), threads=3)
    np.testing.assert_array_equal(parts.correct, whole.correct)
    np.testing.assert_array_equal(parts.classes, whole.classes)
    np.testing.assert_array_equal(parts.label, whole.label)
    np.testing.assert_array_equal(parts.matrix, whole.matrix)
