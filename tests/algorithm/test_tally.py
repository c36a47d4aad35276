from dataclasses import replace

import numpy as np
import pytest

from aflite_assets.algorithm import ClassifierFit, InvalidInputError, Predict, Predictions
from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.tally import counts_classes, predicted_instead, shares, tally_partitions

CLASSES = np.array([2, 5])
NONE, ALL = np.zeros(6, dtype=bool), np.ones(6, dtype=bool)
INPUTS = Inputs(np.arange(12.0).reshape(6, 2), np.array([2, 5, 2, 5, 2, 5]), CLASSES, None, NONE, ALL)


def always(label: int, probability: float | None = None) -> ClassifierFit:
    """A classifier that predicts one label, with a probability for class 2 where it is given."""

    def fit(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Predict:
        def predict(rows: np.ndarray) -> np.ndarray | Predictions:
            labels = np.full(len(rows), label)
            if probability is None:
                return labels
            return Predictions(labels, np.tile([probability, 1.0 - probability], (len(rows), 1)))

        return predict

    return fit


def test_counts_by_hand() -> None:
    subsets = [np.array([0, 1]), np.array([1, 2])]
    tally = tally_partitions(INPUTS, subsets, pool=np.arange(5), fits=[always(2)], memory_limit=1000)
    assert tally.held_out.tolist() == [1, 0, 1, 2, 2, 0]
    assert tally.predictions.tolist() == [1, 0, 1, 2, 2, 0]
    assert tally.correct.tolist() == [1, 0, 1, 0, 2, 0]
    np.testing.assert_array_equal(tally.scores, [1.0, np.nan, 1.0, 0.0, 1.0, np.nan])
    assert tally.label_probability is None


def test_two_fits_give_two_predictions_and_the_mean_of_the_probabilities_there_are() -> None:
    fits = [always(2, 0.75), always(5)]
    tally = tally_partitions(
        INPUTS, [np.array([0, 1])], pool=np.arange(6), fits=fits, memory_limit=1000, keep_probabilities=True
    )
    assert tally.predictions.tolist() == [0, 0, 2, 2, 2, 2]
    assert tally.held_out.tolist() == [0, 0, 1, 1, 1, 1]
    np.testing.assert_array_equal(tally.scores[2:], [0.5] * 4)
    assert tally.label_probability is not None
    assert tally.probabilities is not None
    np.testing.assert_array_equal(tally.label_probability, [np.nan, np.nan, 0.75, 0.25, 0.75, 0.25])
    np.testing.assert_array_equal(tally.probabilities[:3], [[np.nan] * 2, [np.nan] * 2, [0.75, 0.25]])
    assert tally.probabilities.dtype == np.float32


@pytest.mark.parametrize(("limit", "longest"), [(80, 1), (239, 2), (10_000, 5)])
def test_the_memory_limit_bounds_the_rows_predicted_at_once(limit: int, longest: int) -> None:
    seen: list[int] = []

    def fit(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Predict:
        def predict(rows: np.ndarray) -> np.ndarray:
            seen.append(len(rows))
            return np.full(len(rows), 2)

        return predict

    tally = tally_partitions(INPUTS, [np.array([3])], pool=np.arange(6), fits=[fit], memory_limit=limit)
    assert max(seen) == longest
    assert sum(seen) == 5
    assert tally.correct.tolist() == [1, 0, 1, 0, 1, 0]


def test_fit_and_predict_get_float64_of_the_right_rows() -> None:
    given: list[np.ndarray] = []

    def fit(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Predict:
        given.extend([features, labels, classes])

        def predict(rows: np.ndarray) -> np.ndarray:
            given.append(rows)
            return np.full(len(rows), 2)

        return predict

    half = replace(INPUTS, features=INPUTS.features.astype(np.float16))
    tally_partitions(half, [np.array([1, 4])], pool=np.array([1, 2, 4, 5]), fits=[fit], memory_limit=1000)
    assert [array.tolist() for array in given] == [[[2, 3], [8, 9]], [5, 2], [2, 5], [[4, 5], [10, 11]]]
    assert given[0].dtype == given[3].dtype == np.float64


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (np.array([2]), r"labels of shape \(1,\) for 5 rows; return one"),
        (Predictions(np.full(5, 2), np.ones((5, 3))), r"probabilities of shape \(5, 3\) instead of \(5, 2\); return"),
    ],
)
def test_predictions_of_a_wrong_shape(predicted: np.ndarray | Predictions, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        tally_partitions(
            INPUTS,
            [np.array([3])],
            pool=np.arange(6),
            fits=[lambda features, labels, classes: lambda rows: predicted],
            memory_limit=1000,
        )


def test_shares_of_nothing_are_unknown() -> None:
    np.testing.assert_array_equal(shares(np.array([1, 0, 7]), np.array([4, 0, 10])), [0.25, np.nan, 0.7])


def test_classes_predicted_instead_by_hand() -> None:
    counts = np.array([[4, 1, 0, 2, 2], [0, 5, 0, 0, 0], [1, 1, 1, 1, 9]])
    found = predicted_instead(counts, np.array([0, 1, 2]), rows=np.array([3, 0, 2]), n_rows=4)
    assert found.columns.tolist() == [[-1, -1, -1], [-1, -1, -1], [4, 0, 1], [3, 4, 1]]
    assert found.counts.tolist() == [[0, 0, 0], [0, 0, 0], [9, 1, 1], [2, 2, 1]]


def test_of_two_classes_there_is_one_to_predict_instead() -> None:
    subsets = [np.array([0, 1]), np.array([1, 2])]
    tally = tally_partitions(INPUTS, subsets, pool=np.arange(5), fits=[always(2), always(5)], memory_limit=1000)
    assert tally.instead is not None
    assert tally.instead.columns.tolist() == [[1, -1, -1], [-1] * 3, [1, -1, -1], [0, -1, -1], [1, -1, -1], [-1] * 3]
    assert tally.instead.counts[:, 0].tolist() == [1, 0, 1, 2, 2, 0]


def test_a_label_that_is_no_class_is_wrong_and_no_class() -> None:
    tally = tally_partitions(INPUTS, [np.array([0])], pool=np.arange(6), fits=[always(9)], memory_limit=1000)
    assert tally.instead is not None
    assert not tally.correct.any()
    assert not tally.instead.counts.any()


def test_classes_are_counted_only_where_memory_is_given_for_it() -> None:
    assert counts_classes(INPUTS, 16 * 6 * 2 * 4)
    assert not counts_classes(INPUTS, 16 * 6 * 2 * 4 - 1)
    tally = tally_partitions(INPUTS, [np.array([0])], pool=np.arange(6), fits=[always(2)], memory_limit=700)
    assert tally.instead is None
