"""Which rows a training set's own curvature hangs on: chosen on the way to its optimum. Their use: own_rows.py.

When rows are chosen is decided in compiled_fitting.py.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numba import njit

from aflite_assets.algorithm.linear.activations import GROUP, to_probabilities
from aflite_assets.algorithm.linear.coordinates import Coordinates
from aflite_assets.algorithm.linear.losses import SOFTMAX
from aflite_assets.algorithm.linear.own_rows import OwnRows, inverse_of_the_rest
from aflite_assets.algorithm.linear.row_products import dot_products
from aflite_assets.algorithm.linear.threads import Threads
from aflite_assets.algorithm.linear.tiles import TILE_ROWS
from aflite_assets.algorithm.linear.training_sets import TrainingSets
from aflite_assets.algorithm.linear.vector_code import FAST

ROWS = 64
"""Rows of an output that are taken as they are; fewer in smaller training sets."""

# Curvature of an intercept at least, as a share of the mean over the outputs.
_LEAST_INTERCEPT = np.float32(1e-3)
# Below it curvature has no inverse in float32; neither has what is no number.
_NOTHING = np.float32(1e-30)


def own_curvature(
    features: np.ndarray | None,
    sets: TrainingSets,
    coordinates: Coordinates,
    *,
    loss: int,
    threads: Threads,
    memory_left: int,
) -> "OwnCurvature | None":
    """What finds own rows, where they make up much of the curvature; None where they do not.

    They do where an output has no more training rows than are taken. `features`: those of the pool, None where they
    are not in memory. Mixed outputs and a basis other than the pool's columns are not for them. `memory_left`: bytes
    for the features and all that is held or passes through memory here.
    """
    outputs, width, size = len(coordinates.mass), coordinates.scales.shape[1], int(sets.sizes.max())
    few = loss == SOFTMAX and size <= ROWS * outputs
    if features is None or not few or coordinates.is_mixed or coordinates.basis is not None:
        return None
    held = len(sets) * outputs * ROWS * (ROWS + 3) * 4
    passing = threads.count * (size * outputs + ROWS * (width + ROWS)) * 4
    if features.nbytes + held + passing > memory_left:
        return None
    return OwnCurvature(features, sets, coordinates, threads)


@dataclass(frozen=True)
class OwnCurvature:
    """Where own rows are looked for: the pool's rows by slot, in the coordinates' basis, and the sets drawn from it."""

    features: np.ndarray
    sets: TrainingSets
    coordinates: Coordinates
    threads: Threads

    def nothing_yet(self, problems: int) -> OwnRows:
        """Room for `problems` problems."""
        outputs, rows = len(self.coordinates.mass), min(ROWS, int(self.sets.sizes.min()))
        unrooted = torch.linalg.inv(self.coordinates.dense.double()).float().numpy()
        return OwnRows.empty(self.features, unrooted, problems, outputs, rows)

    def choose(
        self,
        own: OwnRows,
        problems: np.ndarray,
        numbers: np.ndarray,
        strengths: np.ndarray,
        weights: torch.Tensor,
        intercepts: torch.Tensor,
    ) -> None:
        """Write to `own` what is chosen for some problems, by the curvature at the classifiers that were just tried.

        Entry i of all others is that of problems[i]: the number of its training set, its L2 strength (float32), its
        weights (outputs x width) and intercepts (outputs). Where curvature is nothing or not finite, as after a step
        that was far too long, what is known stays.
        """
        coordinates = self.coordinates
        choose = partial(
            _choose,
            problems=problems,
            numbers=numbers,
            own=own,
            slots=self.sets.slots,
            bounds=self.sets.bounds,
            seen=self.sets.seen,
            weights=weights.numpy(),
            intercepts=intercepts.numpy(),
            strengths=strengths,
            scales=coordinates.scales.numpy(),
            centres=coordinates.centres.numpy(),
            mass=coordinates.mass.numpy(),
        )
        self.threads.share(choose, np.arange(len(problems)))


@njit(nogil=True, cache=True, fastmath=FAST)
def _choose(
    share: np.ndarray,
    problems: np.ndarray,
    numbers: np.ndarray,
    own: OwnRows,
    slots: np.ndarray,
    bounds: np.ndarray,
    seen: np.ndarray,
    weights: np.ndarray,
    intercepts: np.ndarray,
    strengths: np.ndarray,
    scales: np.ndarray,
    centres: np.ndarray,
    mass: np.ndarray,
) -> None:
    """See `OwnCurvature.choose`; the entries `share` of `problems` and what is there for each."""
    outputs, rows = own.roots.shape[1:]
    masses, chosen = np.empty(outputs, np.float32), np.empty(rows, np.int64)
    for entry in share:
        problem, number = problems[entry], numbers[entry]
        here = slots[bounds[number] : bounds[number + 1]]
        curvature = _curvature(own.features, here, weights[entry], intercepts[entry], seen[number])
        for output in range(outputs):
            masses[output] = curvature[output].sum()
        least = _LEAST_INTERCEPT * masses.mean()
        if not least >= _NOTHING:
            continue
        own.chosen[problem], own.seen[problem] = True, seen[number]
        for output in range(outputs):
            _highest(curvature[output], chosen)
            left = masses[output]
            for row in range(rows):
                own.slots[problem, output, row] = here[chosen[row]]
                own.roots[problem, output, row] = np.sqrt(curvature[output, chosen[row]])
                left -= curvature[output, chosen[row]]
            left = max(left, np.float32(0.0))
            own.shares[problem, output] = left / mass[output]
            own.intercepts[problem, output] = left + least
            _write_products(own, problem, output, scales[output], centres[output], strengths[entry])
            _invert(own.inverses[problem, output])


@njit(nogil=True, cache=True, fastmath=FAST)
def _curvature(
    features: np.ndarray, slots: np.ndarray, weights: np.ndarray, intercepts: np.ndarray, seen: np.ndarray
) -> np.ndarray:
    """p (1 - p) for the probability p of every output: outputs x rows."""
    outputs, width = weights.shape
    curvature, scores = np.empty((outputs, len(slots)), np.float32), np.empty((outputs, GROUP), np.float32)
    base, row_bytes = features.ctypes.data, features.strides[0]
    for first in range(0, len(slots), GROUP):
        count = min(GROUP, len(slots) - first)
        dot_products(base, row_bytes, slots, first, first + count, weights.ctypes.data, outputs, width, scores)
        to_probabilities(scores.ctypes.data, outputs, intercepts.ctypes.data, seen.ctypes.data, False)
        for output in range(outputs):
            for row in range(count):
                share = scores[output, row]
                curvature[output, first + row] = share * (np.float32(1.0) - share)
    return curvature


@njit(nogil=True, cache=True)
def _highest(values: np.ndarray, places: np.ndarray) -> None:
    """Write where the highest values are, as many as `places` has room for: in falling order, first of equal ones."""
    found = 0
    for place in range(len(values)):
        if found == len(places) and values[place] <= values[places[found - 1]]:
            continue
        found = min(found + 1, len(places))
        at = found - 1
        while at > 0 and values[place] > values[places[at - 1]]:
            places[at] = places[at - 1]
            at -= 1
        places[at] = place


@njit(nogil=True, cache=True, fastmath=FAST)
def _write_products(
    own: OwnRows, problem: int, output: int, scale: np.ndarray, centre: np.ndarray, strength: np.float32
) -> None:
    """The identity plus the products of an output's own rows, in the metric of the rest, where its inverse will be."""
    features, slots, roots = own.features, own.slots[problem, output], own.roots[problem, output]
    rows, width = len(slots), len(scale)
    metric = np.empty(width, np.float32)
    vectors, products = np.empty((rows, width), np.float32), np.empty((rows, rows + TILE_ROWS), np.float32)
    inverse_of_the_rest(scale, own.shares[problem, output], strength, metric)
    for column in range(width):
        metric[column] *= scale[column] * scale[column]
    for row in range(rows):
        feature, vector = features[slots[row]], vectors[row]
        for column in range(width):
            vector[column] = metric[column] * (feature[column] - centre[column])
    base, row_bytes = features.ctypes.data, features.strides[0]
    dot_products(base, row_bytes, slots, 0, rows, vectors.ctypes.data, rows, width, products)
    target = own.inverses[problem, output]
    for row in range(rows):
        # The vectors are read once more: numba frees an array after its last use, which an address is not.
        vector, shift = vectors[row], np.float32(1.0) / own.intercepts[problem, output]
        for column in range(width):
            shift -= vector[column] * centre[column]
        for other in range(rows):
            target[row, other] = roots[row] * roots[other] * (products[row, other] + shift)
        target[row, row] += np.float32(1.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def _invert(matrix: np.ndarray) -> None:
    """Replace a matrix over the identity by its inverse (Gauss and Jordan; no pivots are needed there).

    LAPACK takes two to three times as long for matrices this small.
    """
    size = len(matrix)
    line = np.empty(size, np.float32)
    for pivot in range(size):
        factor = np.float32(1.0) / matrix[pivot, pivot]
        matrix[pivot, pivot] = np.float32(1.0)
        for column in range(size):
            line[column] = factor * matrix[pivot, column]
        for row in range(size):
            share = matrix[row, pivot]
            matrix[row, pivot] = np.float32(0.0)
            for column in range(size):
                matrix[row, column] -= share * line[column]
        matrix[pivot] = line
