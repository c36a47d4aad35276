"""Compiled passes over a block of rows that compute gradients of many classifiers and count their predictions.

This module contains only arithmetic. The module `engine/compiled_passes.py` manages blocks, threads and memory. Every
array is C-ordered. Rows and weights are float32, start at multiples of 64 bytes and are padded with zeros to a multiple
of 16 columns. Arrays that are passed by address are not checked: an array with the wrong dtype would give wrong
results.
"""

import numpy as np
from numba import njit

from aflite_assets.algorithm.linear.kernels.activations import (
    GROUP,
    highest_class,
    to_hinge_slopes,
    to_logistic_slopes,
    to_probabilities,
)
from aflite_assets.algorithm.linear.kernels.products import add_products, dot_products
from aflite_assets.algorithm.linear.losses import HINGE, PROBABILITY_ROUNDING

# Weights that predictions are made with before the next ones are looked at: half of a second-level cache.
_WEIGHTS_BYTES = 2**19


@njit(nogil=True, cache=True)
def add_gradients(
    models: np.ndarray,
    features: np.ndarray,
    offset: int,
    positions: np.ndarray,
    starts: np.ndarray,
    blocks: tuple[int, int],
    weights: np.ndarray,
    intercepts: np.ndarray,
    codes: np.ndarray,
    seen: np.ndarray,
    loss: int,
    gradients: np.ndarray,
    intercept_gradients: np.ndarray,
) -> None:
    """Add, for each of `models`, the gradient of the loss over the rows in blocks[0]:blocks[1].

    `features`: rows x width. The first row of `features` has the pool position `offset`. `positions`: the training rows
    of all models, as pool positions. The training rows of model j in block b are positions[starts[j, b] : starts[j, b +
    1]]. `weights` and `gradients` are models x outputs x width. `intercepts` (float32) and `intercept_gradients`
    (float64) are models x outputs. `codes`: the class of every pool position. `seen`: models x classes, bool.
    """
    outputs, width = weights.shape[1], weights.shape[2]
    scores, group_codes = np.empty((outputs, GROUP), np.float32), np.zeros(GROUP, np.int32)
    base, row_bytes = features.ctypes.data - offset * features.strides[0], features.strides[0]
    for block in range(blocks[0], blocks[1]):
        for model in models:
            start, stop = starts[model, block], starts[model, block + 1]
            weight = weights.ctypes.data + model * weights.strides[0]
            gradient = gradients.ctypes.data + model * gradients.strides[0]
            for first in range(start, stop, GROUP):
                count = min(GROUP, stop - first)
                dot_products(base, row_bytes, positions, first, first + count, weight, outputs, width, scores)
                for row in range(count):
                    group_codes[row] = codes[positions[first + row]]
                _residuals(scores, intercepts[model], group_codes, count, seen[model], loss, intercept_gradients[model])
                add_products(base, row_bytes, positions, first, first + count, gradient, outputs, width, scores)


@njit(nogil=True, cache=True)
def count_predictions(
    positions: np.ndarray,
    features: np.ndarray,
    offset: int,
    weights: np.ndarray,
    intercepts: np.ndarray,
    codes: np.ndarray,
    seen: np.ndarray,
    unpredicted: np.ndarray,
    correct: np.ndarray,
    class_counts: np.ndarray,
    label_sums: np.ndarray,
    matrix_sums: np.ndarray,
) -> None:
    """Predict the rows at `positions` with every model for which they are held out, and count the predictions.

    `features`, `offset`, `weights`, `intercepts`, `codes` and `seen` are as in `add_gradients`. `unpredicted`: a bit
    mask, positions x words, uint64. Bit j of word w is set if model 64 w + j does not predict the row. `correct`
    (int64): number of correct predictions per position. `class_counts` (positions x classes, int32): number of
    predictions of every class. `label_sums` (float64): sum of the probabilities of the row's label. `matrix_sums`
    (positions x classes): sum of the probabilities of every class. Each array except `correct` is skipped if the array
    is empty.
    """
    models, outputs, width = weights.shape
    most = max(1, _WEIGHTS_BYTES // (outputs * width * 4))
    base, row_bytes = features.ctypes.data - offset * features.strides[0], features.strides[0]
    products = np.empty((most * outputs, GROUP), np.float32)
    chosen, held_out = np.zeros(GROUP, np.int32), np.zeros(GROUP, np.int32)
    group_codes, right = np.zeros(GROUP, np.int32), np.zeros(GROUP, np.int32)
    for first_model in range(0, models, most):
        stop_model = min(first_model + most, models)
        weight, columns = weights.ctypes.data + first_model * weights.strides[0], (stop_model - first_model) * outputs
        for first in range(0, len(positions), GROUP):
            count = min(GROUP, len(positions) - first)
            stop = first + count
            dot_products(base, row_bytes, positions, first, stop, weight, columns, width, products)
            right[:] = 0
            for row in range(count):
                group_codes[row] = codes[positions[first + row]]
            for model in range(first_model, stop_model):
                scores = products[(model - first_model) * outputs : (model - first_model + 1) * outputs]
                _choose(scores, intercepts[model], seen[model], chosen)
                word, bit = model >> 6, np.uint64(model & 63)
                for row in range(count):
                    left_out = np.int32((unpredicted[positions[first + row], word] >> bit) & np.uint64(1))
                    held_out[row] = np.int32(1) - left_out
                    right[row] += held_out[row] if chosen[row] == group_codes[row] else np.int32(0)
                if len(class_counts):
                    for row in range(count):
                        class_counts[positions[first + row], chosen[row]] += held_out[row]
                if len(label_sums):
                    _probabilities(scores, intercepts[model], seen[model])
                    for row in range(count):
                        position = positions[first + row]
                        label_sums[position] += _rounded(_share(scores, group_codes[row], row)) * held_out[row]
                        if len(matrix_sums):
                            for number in range(seen.shape[1]):
                                share = _rounded(_share(scores, number, row))
                                matrix_sums[position, number] += share * held_out[row]
            for row in range(count):
                correct[positions[first + row]] += right[row]


@njit(nogil=True, cache=True, inline="always")
def _choose(scores: np.ndarray, intercepts: np.ndarray, seen: np.ndarray, chosen: np.ndarray) -> None:
    """Choose the seen class with the highest score. Among equal scores, choose the first class."""
    first, zero = _before(scores, seen)
    highest_class(
        scores.ctypes.data,
        len(scores),
        intercepts.ctypes.data,
        seen.ctypes.data + first,
        zero,
        first,
        chosen.ctypes.data,
    )


@njit(nogil=True, cache=True, inline="always")
def _probabilities(scores: np.ndarray, intercepts: np.ndarray, seen: np.ndarray) -> None:
    """Replace scores (without intercepts) by the probabilities of the outputs' classes."""
    first, zero = _before(scores, seen)
    to_probabilities(scores.ctypes.data, len(scores), intercepts.ctypes.data, seen.ctypes.data + first, zero)


@njit(nogil=True, cache=True, inline="always")
def _residuals(
    scores: np.ndarray,
    intercepts: np.ndarray,
    codes: np.ndarray,
    count: int,
    seen: np.ndarray,
    loss: int,
    sums: np.ndarray,
) -> None:
    """Replace scores (without intercepts) by the derivatives of the loss, and add the derivatives to `sums`. The
    derivatives are 0 for unseen classes.
    """
    first, zero = _before(scores, seen)
    address, outputs, flags = scores.ctypes.data, len(scores), seen.ctypes.data + first
    if loss == HINGE:
        to_hinge_slopes(address, outputs, intercepts.ctypes.data, flags, first, codes.ctypes.data, count)
    else:
        to_logistic_slopes(address, outputs, intercepts.ctypes.data, flags, zero, first, codes.ctypes.data, count)
    alone = outputs % 4
    for output in range(alone):
        for row in range(count):
            sums[output] += scores[output, row]
    for output in range(alone, outputs, 4):
        # Four sums at once: each has to wait for its last addition.
        sum_0, sum_1, sum_2, sum_3 = sums[output], sums[output + 1], sums[output + 2], sums[output + 3]
        for row in range(count):
            sum_0 += scores[output, row]
            sum_1 += scores[output + 1, row]
            sum_2 += scores[output + 2, row]
            sum_3 += scores[output + 3, row]
        sums[output], sums[output + 1], sums[output + 2], sums[output + 3] = sum_0, sum_1, sum_2, sum_3


@njit(nogil=True, cache=True, inline="always")
def _before(scores: np.ndarray, seen: np.ndarray) -> tuple[int, bool]:
    """Return the class of the first output, and True if an earlier class with score 0 was seen. With two classes, the
    only output is for class 1, and class 0 has score 0.
    """
    first = 1 if len(scores) == 1 else 0
    return first, first == 1 and bool(seen[0])


@njit(nogil=True, cache=True, inline="always")
def _rounded(probability: float) -> float:
    """Round to a multiple of 2^-40; see `PROBABILITY_ROUNDING`."""
    return (np.float64(probability) + PROBABILITY_ROUNDING) - PROBABILITY_ROUNDING


@njit(nogil=True, cache=True, inline="always")
def _share(probabilities: np.ndarray, number: int, row: int) -> float:
    """Return the probability of a class. With a single output, class 0 has 1 minus the probability of class 1."""
    if len(probabilities) > 1:
        return probabilities[number, row]
    return probabilities[0, row] if number == 1 else np.float32(1.0) - probabilities[0, row]
