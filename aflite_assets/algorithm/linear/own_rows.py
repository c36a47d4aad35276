"""The rows that a training set's own curvature hangs on, and that curvature's inverse in its steps.

With many classes a few dozen rows decide about each, other ones in every training set, so that the pool's curvature
says little about a set's. Here the rows with the most curvature for an output are taken as they are and the others as
a multiple of the pool's curvature, outputs apart; Woodbury's formula gives the inverse. How rows are chosen:
own_choice.py.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from aflite_assets.algorithm.linear.row_products import add_products, dot_products
from aflite_assets.algorithm.linear.tiles import TILE_ROWS
from aflite_assets.algorithm.linear.vector_code import FAST

OWN_PAIRS = 8
"""Steps and gradient changes that are still worth their time beside own curvature."""


class OwnRows(NamedTuple):
    """What is known of every problem's own curvature; arrays of length 0 where nothing is asked for.

    float32 where nothing else is said. `features`: slots x width; `chosen`: problems, bool, whether the others hold
    something; `slots`: int64, problems x outputs x rows; `roots`: the same shape, root of the row's curvature for the
    output; `inverses`: problems x outputs x rows x rows, of the identity plus the rows' products in the metric of the
    rest; `shares` and `intercepts`: problems x outputs, curvature of the other rows, in units of the pool's and in all,
    the latter with a little added; `seen`: problems x outputs, bool, classes of the training set; `unrooted`: the
    inverse of the coordinates' `dense`.
    """

    features: np.ndarray
    chosen: np.ndarray
    slots: np.ndarray
    roots: np.ndarray
    inverses: np.ndarray
    shares: np.ndarray
    intercepts: np.ndarray
    seen: np.ndarray
    unrooted: np.ndarray

    @classmethod
    def empty(cls, features: np.ndarray, unrooted: np.ndarray, problems: int, outputs: int, rows: int) -> "OwnRows":
        """Nothing known yet, and room for `rows` rows of every output of every problem."""
        held = problems if outputs else 0
        return cls(
            features,
            chosen=np.zeros(problems, np.bool_),
            slots=np.empty((held, outputs, rows), np.int64),
            roots=np.empty((held, outputs, rows), np.float32),
            inverses=np.empty((held, outputs, rows, rows), np.float32),
            shares=np.empty((held, outputs), np.float32),
            intercepts=np.empty((held, outputs), np.float32),
            seen=np.empty((held, outputs), np.bool_),
            unrooted=unrooted,
        )

    @classmethod
    def none(cls, problems: int) -> "OwnRows":
        """Nothing known, and never to be."""
        return cls.empty(np.empty((0, 0), np.float32), np.empty((0, 0), np.float32), problems, 0, 0)


@njit(nogil=True, cache=True, fastmath=FAST)
def precondition(
    problem: int,
    direction: np.ndarray,
    own: OwnRows,
    scales: np.ndarray,
    centres: np.ndarray,
    strength: np.float32,
) -> None:
    """Multiply a vector z, in place, with the inverse of a problem's own curvature (Woodbury 1950).

    `direction`: float32, a part for every intercept and then outputs x width; `scales`, `centres` (outputs x width, a
    multiple of 16): as in `Coordinates`; `strength`: L2 strength. What weights of all classes seen have in common
    changes no probability: its curvature is `strength` alone, which outputs apart do not know, and is taken out of the
    vector before and of the result after.
    """
    outputs, width = scales.shape
    rows, base, row_bytes = own.roots.shape[2], own.features.ctypes.data, own.features.strides[0]
    raw, metric = np.zeros(outputs, np.float32), np.empty(width, np.float32)
    spread, found = np.empty(width, np.float32), np.empty(width, np.float32)
    products = np.zeros((1, rows + TILE_ROWS), np.float32)
    factors = np.zeros((1, rows + TILE_ROWS), np.float32)
    for part in range(outputs):
        for output in range(outputs):
            raw[output] += direction[part] * own.unrooted[part, output]
    vectors = direction[outputs:].reshape(outputs, width)
    common = _common_gradient(vectors, raw, own.seen[problem], scales, centres)
    for output in range(outputs):
        if own.seen[problem, output]:
            _add_scaled(vectors[output], np.float32(-1.0), scales[output], common)
    for output in range(outputs):
        along = vectors[output]
        scale, centre, share = scales[output], centres[output], own.shares[problem, output]
        slots, roots, inverse = own.slots[problem, output], own.roots[problem, output], own.inverses[problem, output]
        shift = raw[output] / own.intercepts[problem, output]
        raw[output] = shift
        inverse_of_the_rest(scale, share, strength, metric)
        for column in range(width):
            along[column] *= metric[column]
            spread[column] = scale[column] * along[column]
            shift -= spread[column] * centre[column]
            found[column] = np.float32(0.0)
        dot_products(base, row_bytes, slots, 0, rows, spread.ctypes.data, 1, width, products)
        for row in range(rows):
            products[0, row] = (products[0, row] + shift) * roots[row]
        total = np.float32(0.0)
        for row in range(rows):
            factor = np.float32(0.0)
            for other in range(rows):
                factor += inverse[row, other] * products[0, other]
            factors[0, row] = factor * roots[row]
            total += factors[0, row]
        add_products(base, row_bytes, slots, 0, rows, found.ctypes.data, 1, width, factors)
        raw[output] -= total / own.intercepts[problem, output]
        for column in range(width):
            along[column] -= scale[column] * metric[column] * (found[column] - total * centre[column])
    _replace_common(vectors, raw, own.seen[problem], scales, centres, common, strength)
    for part in range(outputs):
        total = np.float32(0.0)
        for output in range(outputs):
            total += own.unrooted[part, output] * raw[output]
        direction[part] = total


@njit(nogil=True, cache=True, fastmath=FAST)
def inverse_of_the_rest(scale: np.ndarray, share: np.float32, strength: np.float32, metric: np.ndarray) -> None:
    """Write the inverse curvature, by column of z, of the penalty and the rows that are not an output's own.

    In z the penalty and the pool's curvature make 1 together, by the map's making.
    """
    for column in range(len(scale)):
        penalty = strength * scale[column] * scale[column]
        metric[column] = np.float32(1.0) / (penalty + (np.float32(1.0) - penalty) * share)


@njit(nogil=True, cache=True, fastmath=FAST)
def _common_gradient(
    vectors: np.ndarray, raw: np.ndarray, seen: np.ndarray, scales: np.ndarray, centres: np.ndarray
) -> np.ndarray:
    """The mean over the classes seen of the gradient with respect to their weights; `raw`: that of the intercepts."""
    outputs, width = scales.shape
    common, classes = np.zeros(width, np.float32), np.float32(seen.sum())
    for output in range(outputs):
        if seen[output]:
            along, scale, centre = vectors[output], scales[output], centres[output]
            for column in range(width):
                common[column] += (along[column] / scale[column] + raw[output] * centre[column]) / classes
    return common


@njit(nogil=True, cache=True, fastmath=FAST)
def _replace_common(
    vectors: np.ndarray,
    raw: np.ndarray,
    seen: np.ndarray,
    scales: np.ndarray,
    centres: np.ndarray,
    common: np.ndarray,
    strength: np.float32,
) -> None:
    """Put common / strength in the place of what the weights of the classes seen have in common."""
    outputs, width = scales.shape
    mean, classes = np.zeros(width, np.float32), np.float32(seen.sum())
    for output in range(outputs):
        if seen[output]:
            _add_scaled(mean, np.float32(1.0) / classes, scales[output], vectors[output])
    excess = mean - common / strength
    for output in range(outputs):
        if seen[output]:
            along, scale, centre = vectors[output], scales[output], centres[output]
            for column in range(width):
                along[column] -= excess[column] / scale[column]
                raw[output] -= excess[column] * centre[column]


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_scaled(target: np.ndarray, factor: np.float32, scale: np.ndarray, other: np.ndarray) -> None:
    for column in range(len(scale)):
        target[column] += factor * scale[column] * other[column]
