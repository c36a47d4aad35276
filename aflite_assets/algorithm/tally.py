"""Counts of held-out predictions: classifiers are fitted, and their predictions are added up per row. This module also
defines the interface of a classifier.

The module `partitions.py` draws the training rows, and `selection.py` chooses the removed rows. The package `linear` is
a fast engine that computes the same counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm.inputs import Inputs, prediction_row_bytes, row_blocks
from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class Predictions:
    """Predicted labels, with probabilities if the classifier gives probabilities.

    `labels`: one predicted class per row. `probabilities`: rows x classes, in [0, 1], with columns in the order of the
    `classes` argument of the fit. A class without training rows has probability 0.
    """

    labels: np.ndarray
    probabilities: np.ndarray | None = None


Predict = Callable[[np.ndarray], np.ndarray | Predictions]
"""A function that takes features (rows x width, float64) and returns predicted classes or `Predictions`."""

ClassifierFit = Callable[[np.ndarray, np.ndarray, np.ndarray], Predict]
"""A function `fit(features, labels, classes)`: features are rows x width float64, and labels are int64. `classes`
(int64, ascending) holds all classes of the dataset, including classes without training rows.
"""


MOST_INSTEAD = 3
"""Largest number of wrong classes that are listed per row."""

_COUNTS_PART = 16
"""Share of the memory limit that counts of predictions per class may take."""


@dataclass(frozen=True)
class PredictedInstead:
    """The most frequent wrong classes among the held-out predictions of each row, at most `MOST_INSTEAD` classes per
    row.

    `columns` and `counts` are rows x `MOST_INSTEAD`, with the most frequent class first. Among equally frequent
    classes, the lower class is first. `columns` (int32): positions in the dataset's classes, padded with -1. `counts`
    (int32): number of predictions of each class, padded with 0.
    """

    columns: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Tally:
    """Counts over the partitions of one iteration. All arrays have one entry per input row. Counts of rows outside the
    pool are zero.

    `correct` and `predictions`: number of correct held-out predictions, and number of all held-out predictions.
    `held_out`: number of partitions in which the row was held out. `label_probability`: mean probability of the row's
    own label, float32, NaN for a row without a prediction. `label_probability` is None if no classifier gives
    probabilities. `probabilities`: the mean probability of every class, rows x classes, or None if not requested.
    `instead`: the most frequent wrong classes, or None if `counts_classes` is False.
    """

    correct: np.ndarray
    predictions: np.ndarray
    held_out: np.ndarray
    label_probability: np.ndarray | None
    probabilities: np.ndarray | None
    instead: PredictedInstead | None = None

    @property
    def scores(self) -> np.ndarray:
        """Predictability of each row, float64. The predictability is NaN for a row without a prediction."""
        return shares(self.correct, self.predictions)


def tally_partitions(
    inputs: Inputs,
    subsets: Sequence[np.ndarray],
    *,
    pool: np.ndarray,
    fits: Sequence[ClassifierFit],
    memory_limit: int,
    keep_probabilities: bool = False,
    unpredicted: Sequence[np.ndarray] | None = None,
) -> Tally:
    """Call every fit function for every subset of training rows, and count the predictions for the other rows of `pool`
    (ascending row numbers).

    `unpredicted`: for each subset, further rows of the pool that are left out of the prediction.
    """
    by_class = counts_classes(inputs, memory_limit)
    counts = _Counts(inputs, keep_probabilities=keep_probabilities, by_class=by_class)
    row_bytes = prediction_row_bytes(inputs.features.shape[1], len(inputs.classes))
    for trained, left_out in zip(subsets, unpredicted or [pool[:0]] * len(subsets), strict=True):
        held_out = np.setdiff1d(pool, np.append(trained, left_out), assume_unique=True)
        counts.held_out[held_out] += 1
        features, labels = _gather(inputs.features, trained), inputs.labels[trained]
        for fit in fits:
            predict = fit(features, labels, inputs.classes)
            for block in row_blocks(len(held_out), row_bytes=row_bytes, memory_limit=memory_limit):
                rows = held_out[block]
                counts.add(rows, predict(_gather(inputs.features, rows)))
    return counts.tally()


def counts_classes(inputs: Inputs, memory_limit: int) -> bool:
    """Return True if predictions are counted per class, that is, if these counts take at most a sixteenth of the memory
    limit. All input rows count, so the result is the same in all iterations.
    """
    return len(inputs.labels) * len(inputs.classes) * np.dtype(np.int32).itemsize <= memory_limit // _COUNTS_PART


def predicted_instead(
    class_counts: np.ndarray, codes: np.ndarray, *, rows: np.ndarray, n_rows: int
) -> PredictedInstead:
    """Return the most frequent wrong classes for `rows`. The result has `n_rows` entries, one per input row.

    `class_counts`: number of predictions of every class, one entry per row of `rows`. This array is overwritten.
    `codes`: the true classes of `rows`.
    """
    columns = np.full((n_rows, MOST_INSTEAD), -1, dtype=np.int32)
    counts = np.zeros((n_rows, MOST_INSTEAD), dtype=np.int32)
    places = np.arange(len(rows))
    class_counts[places, codes] = 0
    for rank in range(min(MOST_INSTEAD, class_counts.shape[1] - 1)):
        highest = class_counts.argmax(axis=1)
        found = class_counts[places, highest]
        columns[rows, rank] = np.where(found > 0, highest, -1)
        counts[rows, rank] = found
        class_counts[places, highest] = 0
    return PredictedInstead(columns, counts)


def shares(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """Return `parts / wholes` in float64. An entry is NaN if `wholes` is 0."""
    return np.divide(parts, wholes, out=np.full(len(parts), np.nan), where=wholes > 0)


class _Counts:
    """Running sums of predictions per row."""

    def __init__(self, inputs: Inputs, *, keep_probabilities: bool, by_class: bool) -> None:
        rows = len(inputs.labels)
        self._labels, self._classes = inputs.labels, inputs.classes
        self._label_columns = np.searchsorted(inputs.classes, inputs.labels)
        self._label_sums = np.zeros(rows)
        self._matrix_sums = np.zeros((rows, len(inputs.classes))) if keep_probabilities else None
        self._with_probabilities = np.zeros(rows, dtype=np.int64)
        self._correct = np.zeros(rows, dtype=np.int64)
        self._predictions = np.zeros(rows, dtype=np.int64)
        self._by_class = np.zeros((rows, len(inputs.classes)), dtype=np.int32) if by_class else None
        self.held_out = np.zeros(rows, dtype=np.int64)

    def add(self, rows: np.ndarray, predicted: np.ndarray | Predictions) -> None:
        """Count the predictions of one classifier for `rows`. Each row must occur once."""
        predictions = self._checked(len(rows), predicted)
        self._predictions[rows] += 1
        self._correct[rows] += predictions.labels == self._labels[rows]
        if self._by_class is not None:
            columns = np.minimum(np.searchsorted(self._classes, predictions.labels), len(self._classes) - 1)
            known = self._classes[columns] == predictions.labels
            self._by_class[rows[known], columns[known]] += 1
        if predictions.probabilities is None:
            return
        self._with_probabilities[rows] += 1
        self._label_sums[rows] += predictions.probabilities[np.arange(len(rows)), self._label_columns[rows]]
        if self._matrix_sums is not None:
            self._matrix_sums[rows] += predictions.probabilities

    def tally(self) -> Tally:
        """Return the sums so far as a `Tally`."""
        means, matrix = None, None
        if self._with_probabilities.any():
            means = shares(self._label_sums, self._with_probabilities).astype(np.float32)
            if self._matrix_sums is not None:
                counted = np.where(self._with_probabilities > 0, self._with_probabilities, np.nan)
                matrix = (self._matrix_sums / counted[:, None]).astype(np.float32)
        instead = None
        if self._by_class is not None:
            rows = np.arange(len(self._labels))
            instead = predicted_instead(self._by_class, self._label_columns, rows=rows, n_rows=len(rows))
        return Tally(self._correct, self._predictions, self.held_out, means, matrix, instead)

    def _checked(self, n_rows: int, predicted: np.ndarray | Predictions) -> Predictions:
        predictions = predicted if isinstance(predicted, Predictions) else Predictions(np.asarray(predicted))
        if predictions.labels.shape != (n_rows,):
            raise InvalidInputError(
                f"`predict` returned labels of shape {predictions.labels.shape} for {n_rows} rows; return one "
                "predicted class per row"
            )
        expected = (n_rows, len(self._classes))
        if predictions.probabilities is not None and predictions.probabilities.shape != expected:
            raise InvalidInputError(
                f"`predict` returned probabilities of shape {predictions.probabilities.shape} instead of {expected}; "
                "return one column for each class that `fit` received"
            )
        return predictions


def _gather(features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return features[rows].astype(np.float64)
