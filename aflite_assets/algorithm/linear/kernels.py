"""The compiled passes over a block of rows: gradients of many classifiers, and their predictions counted.

Only arithmetic is here: rows, threads and memory are decided in compiled_passes.py. Every array is C-ordered; rows and
weights are float32, start at multiples of 64 bytes and are padded with zeros to a multiple of 16 columns. Cached code
is renewed when this file changes, not when row_products.py or tiles.py do: clear the cache after editing those.
"""

import numpy as np
from numba import njit

from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID
from aflite_assets.algorithm.linear.row_products import add_products, dot_products

# Rows handled together between two passes over the weights: enough for a vector of logits per class.
GROUP = 16

# Weights that predictions are made with before the next ones are looked at: half of a second-level cache.
_WEIGHTS_BYTES = 2**19

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)
_SMALLEST_EXPONENT = np.float32(-87.0)
_LOWEST = np.float32(-3e38)
# What of "fast math" keeps infinities and a fixed order of operations within a row.
_FAST = {"contract", "arcp", "nsz"}


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
    """Add the loss's gradient over the rows of blocks[0]:blocks[1] for each of `models`.

    `features`: rows x width, whose first row has pool position `offset`. `positions`: the training rows of all
    models as pool positions; those of model j in block b are positions[starts[j, b] : starts[j, b + 1]]. `weights`,
    `gradients`: models x outputs x width; `intercepts` float32, `intercept_gradients` float64: models x outputs.
    `codes`: the class of every pool position. `seen`: models x classes, bool.
    """
    outputs, width = weights.shape[1], weights.shape[2]
    scores = np.empty((outputs, GROUP), np.float32)
    group_codes = np.zeros(GROUP, np.int32)
    scratch = np.empty((2, GROUP), np.float32)
    base, row_bytes = features.ctypes.data - offset * features.strides[0], features.strides[0]
    for block in range(blocks[0], blocks[1]):
        for model in models:
            start, stop = starts[model, block], starts[model, block + 1]
            weight = weights.ctypes.data + model * weights.strides[0]
            gradient = gradients.ctypes.data + model * gradients.strides[0]
            for first in range(start, stop, GROUP):
                count = min(GROUP, stop - first)
                dot_products(base, row_bytes, positions, first, first + count, stop, weight, outputs, width, scores)
                for row in range(count):
                    group_codes[row] = codes[positions[first + row]]
                _residuals(scores, intercepts, group_codes, count, seen, model, loss, scratch)
                add_products(base, row_bytes, positions, first, first + count, gradient, outputs, width, scores)
                for output in range(outputs):
                    total = intercept_gradients[model, output]
                    for row in range(count):
                        total += scores[output, row]
                    intercept_gradients[model, output] = total


@njit(nogil=True, cache=True)
def count_predictions(
    positions: np.ndarray,
    features: np.ndarray,
    offset: int,
    weights: np.ndarray,
    intercepts: np.ndarray,
    codes: np.ndarray,
    seen: np.ndarray,
    trained: np.ndarray,
    correct: np.ndarray,
    label_sums: np.ndarray,
    matrix_sums: np.ndarray,
) -> None:
    """Predict the rows at `positions` with every model that was not trained on them, and count.

    `features`, `offset`, `weights`, `intercepts`, `codes`, `seen`: as in `add_gradients`. `trained`: positions x
    words, uint64; bit j of word w says whether model 64 w + j was trained on the row. `correct` int64: right
    predictions per position. `label_sums` float64: summed probability of the row's label; `matrix_sums` (positions
    x classes) of every class; either is left alone when it is empty.
    """
    models, outputs, width = weights.shape
    classes, most = seen.shape[1], max(1, _WEIGHTS_BYTES // (outputs * width * 4))
    base, row_bytes = features.ctypes.data - offset * features.strides[0], features.strides[0]
    products = np.empty((most * outputs, GROUP), np.float32)
    scores = np.empty((classes, GROUP), np.float32)
    chosen, held_out = np.zeros(GROUP, np.int32), np.zeros(GROUP, np.int32)
    group_codes, right = np.zeros(GROUP, np.int32), np.zeros(GROUP, np.int32)
    scratch = np.empty((2, GROUP), np.float32)
    for first_model in range(0, models, most):
        stop_model = min(first_model + most, models)
        weight, columns = weights.ctypes.data + first_model * weights.strides[0], (stop_model - first_model) * outputs
        for first in range(0, len(positions), GROUP):
            count = min(GROUP, len(positions) - first)
            stop = first + count
            dot_products(base, row_bytes, positions, first, stop, len(positions), weight, columns, width, products)
            right[:] = 0
            for row in range(count):
                group_codes[row] = codes[positions[first + row]]
            for model in range(first_model, stop_model):
                _class_scores(products[(model - first_model) * outputs :], intercepts[model], scores)
                _choose(scores, seen, model, scratch, chosen)
                word, bit = model >> 6, np.uint64(model & 63)
                for row in range(count):
                    trained_on = np.int32((trained[positions[first + row], word] >> bit) & np.uint64(1))
                    held_out[row] = np.int32(1) - trained_on
                for row in range(GROUP):
                    right[row] += held_out[row] if chosen[row] == group_codes[row] else np.int32(0)
                if len(label_sums):
                    _softmax(scores, seen, model, scratch)
                    for row in range(count):
                        label_sums[positions[first + row]] += scores[group_codes[row], row] * held_out[row]
                    if len(matrix_sums):
                        for row in range(count):
                            for output in range(classes):
                                matrix_sums[positions[first + row], output] += scores[output, row] * held_out[row]
            for row in range(count):
                correct[positions[first + row]] += right[row]


@njit(nogil=True, cache=True, inline="always")
def _class_scores(products: np.ndarray, intercepts: np.ndarray, scores: np.ndarray) -> None:
    """One model's scores with intercept; a single output is that of class 1 against class 0."""
    outputs = len(intercepts)
    only = 1 if outputs == 1 else 0
    if only:
        for row in range(GROUP):
            scores[0, row] = np.float32(0.0)
    for output in range(outputs):
        intercept = intercepts[output]
        for row in range(GROUP):
            scores[output + only, row] = products[output, row] + intercept


@njit(nogil=True, cache=True, inline="always")
def _choose(scores: np.ndarray, seen: np.ndarray, model: int, scratch: np.ndarray, chosen: np.ndarray) -> None:
    """The seen class of the highest score, the first of equal ones."""
    for row in range(GROUP):
        scratch[0, row] = np.float32(-np.inf)
    for output in range(seen.shape[1]):
        if seen[model, output]:
            number = np.int32(output)
            for row in range(GROUP):
                better = scores[output, row] > scratch[0, row]
                scratch[0, row] = scores[output, row] if better else scratch[0, row]
                chosen[row] = number if better else chosen[row]


@njit(nogil=True, cache=True, inline="always", fastmath=_FAST)
def _exponential(value: np.float32) -> np.float32:
    """e ** value for values of at most 0, to float32 precision (Cephes' polynomial)."""
    value = max(value, _SMALLEST_EXPONENT)
    power = np.floor(value * _LOG2_E + np.float32(0.5))
    rest = value - power * _LN2_HIGH - power * _LN2_LOW
    series = np.float32(1.9875691500e-4)
    series = series * rest + np.float32(1.3981999507e-3)
    series = series * rest + np.float32(8.3334519073e-3)
    series = series * rest + np.float32(4.1665795894e-2)
    series = series * rest + np.float32(1.6666665459e-1)
    series = series * rest + np.float32(5.0000001201e-1)
    series = series * rest * rest + rest + np.float32(1.0)
    return series * np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(nogil=True, cache=True, fastmath=_FAST)
def _softmax(scores: np.ndarray, seen: np.ndarray, model: int, scratch: np.ndarray) -> None:
    """Scores to probabilities in place; 0 for classes not seen. `scratch`: 2 x GROUP, highest scores and totals."""
    outputs = seen.shape[1]
    for row in range(GROUP):
        scratch[0, row] = _LOWEST
        scratch[1, row] = np.float32(0.0)
    for output in range(outputs):
        if seen[model, output]:
            for row in range(GROUP):
                scratch[0, row] = max(scratch[0, row], scores[output, row])
    for output in range(outputs):
        if seen[model, output]:
            for row in range(GROUP):
                scores[output, row] = _exponential(scores[output, row] - scratch[0, row])
                scratch[1, row] += scores[output, row]
        else:
            for row in range(GROUP):
                scores[output, row] = np.float32(0.0)
    for row in range(GROUP):
        scratch[1, row] = np.float32(1.0) / scratch[1, row]
    for output in range(outputs):
        for row in range(GROUP):
            scores[output, row] *= scratch[1, row]


@njit(nogil=True, cache=True, fastmath=_FAST)
def _residuals(
    scores: np.ndarray,
    intercepts: np.ndarray,
    codes: np.ndarray,
    count: int,
    seen: np.ndarray,
    model: int,
    loss: int,
    scratch: np.ndarray,
) -> None:
    """Scores without intercept to the loss's derivatives in place; 0 for classes not seen."""
    outputs = len(scores)
    for output in range(outputs):
        for row in range(GROUP):
            scores[output, row] += intercepts[model, output]
    if loss == SIGMOID:
        for row in range(GROUP):
            side = np.float32(1.0) if codes[row] == 1 else np.float32(-1.0)
            margin = scores[0, row] * side
            small = _exponential(-abs(margin))
            scores[0, row] = -side * (small if margin > 0 else np.float32(1.0)) / (np.float32(1.0) + small)
    elif loss == HINGE:
        for output in range(outputs):
            positive = 1 if outputs == 1 else output
            for row in range(GROUP):
                side = np.float32(1.0) if codes[row] == positive else np.float32(-1.0)
                short = max(np.float32(0.0), np.float32(1.0) - side * scores[output, row])
                scores[output, row] = np.float32(-2.0) * side * short if seen[model, output] else np.float32(0.0)
    else:
        _softmax(scores, seen, model, scratch)
        for row in range(count):
            scores[codes[row], row] -= np.float32(1.0)
    for output in range(outputs):
        for row in range(count, GROUP):
            scores[output, row] = np.float32(0.0)
