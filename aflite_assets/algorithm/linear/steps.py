"""One step of L-BFGS for many classifiers at once, compiled: what lies between two passes over the rows.

Only arithmetic is here, the same as in lbfgs.py and coordinates.py, one classifier after the other, so that what
belongs to it is in the cache while it is needed. All arrays are C-ordered, float32 where nothing else is said. Cached
code is renewed when this file changes, not when the constants of lbfgs.py do: clear the cache after editing those.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from aflite_assets.algorithm.linear.lbfgs import LONGEST, SHORTEST, STEEPEST
from aflite_assets.algorithm.linear.own_rows import OWN_PAIRS, OwnRows, precondition
from aflite_assets.algorithm.linear.vector_code import FAST


class Map(NamedTuple):
    """`Coordinates` around a start, in the basis: z = 0 is the start.

    `start`: outputs x width; `start_intercepts`: outputs; `mixing`: outputs x outputs, no rows where none are mixed;
    `centres`, `dense`, `scales`: as in `Coordinates`.
    """

    start: np.ndarray
    start_intercepts: np.ndarray
    mixing: np.ndarray
    centres: np.ndarray
    dense: np.ndarray
    scales: np.ndarray


class State(NamedTuple):
    """Where every problem stands: problems x size each, but for `pairs` and one float64 number per problem each.

    `pairs`: problems x memory x 2 x size, the last steps and gradient changes; `products`: float64, problems x memory,
    of a step with its change; `stored`: int64, pairs stored so far, in turn; `slopes` along `direction`; `lengths` of
    the next step; `norms` of `gradient`, below 0 before the first.
    """

    z: np.ndarray
    gradient: np.ndarray
    direction: np.ndarray
    pairs: np.ndarray
    products: np.ndarray
    stored: np.ndarray
    slopes: np.ndarray
    lengths: np.ndarray
    norms: np.ndarray


@njit(nogil=True, cache=True, fastmath=FAST)
def spread(
    share: np.ndarray, problems: np.ndarray, state: State, place: Map, weights: np.ndarray, intercepts: np.ndarray
) -> None:
    """Write the classifiers that the next step would make: entry i of `weights` is that of problems[i], i in `share`.

    `weights`: entries x outputs x width, in the basis; `intercepts`: entries x outputs.
    """
    outputs, width = place.start.shape
    first = len(place.dense)
    directions = width - place.scales.shape[1]
    top, row = np.empty(first, np.float32), np.empty(width, np.float32)
    for entry in share:
        problem = problems[entry]
        length = np.float32(state.lengths[problem])
        z, direction = state.z[problem], state.direction[problem]
        top[:] = 0
        for part in range(first):
            for other in range(first):
                top[part] += place.dense[part, other] * (z[other] + length * direction[other])
        weights[entry] = place.start
        intercepts[entry] = place.start_intercepts
        for output in range(outputs):
            at, rest = output * (directions + 1), first + output * (width - directions)
            row[:directions] = top[at : at + directions]
            for column in range(width - directions):
                value = z[rest + column] + length * direction[rest + column]
                row[directions + column] = place.scales[output, column] * value
            shift = top[at + directions] - _dot(row, place.centres[output])
            if len(place.mixing):
                for target in range(outputs):
                    _add(weights[entry, target], place.mixing[target, output], row)
                    intercepts[entry, target] += place.mixing[target, output] * shift
            else:
                _add(weights[entry, output], np.float32(1.0), row)
                intercepts[entry, output] += shift


@njit(nogil=True, cache=True, fastmath=FAST)
def turn(
    share: np.ndarray,
    problems: np.ndarray,
    state: State,
    place: Map,
    own: OwnRows,
    strengths: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray,
    intercept_sums: np.ndarray,
) -> None:
    """Take the step that `spread` tried where it was not too long, and choose the next one.

    `weights`: as `spread` wrote them; `sums`, `intercept_sums`: gradients of the losses there, in the basis;
    `strengths`: L2 strength per problem; `own`: what is known of the problems' own curvature.
    """
    found = np.empty(state.z.shape[1], np.float32)
    alphas = np.empty(state.pairs.shape[1])
    top, row = np.empty(len(place.dense), np.float32), np.empty(weights.shape[2], np.float32)
    for entry in share:
        problem = problems[entry]
        gradient, direction = state.gradient[problem], state.direction[problem]
        _gradient(sums[entry], intercept_sums[entry], weights[entry], strengths[problem], place, top, row, found)
        if state.norms[problem] >= 0:
            before, after = abs(state.slopes[problem]), _dot(found, direction)
            if not (np.isfinite(after) and after <= STEEPEST * before):
                shorter = before / (before + after) if np.isfinite(after) else 0.0
                state.lengths[problem] *= min(max(shorter, SHORTEST), LONGEST)
                continue
            _move(problem, state, found)
        else:
            gradient[:] = found
        state.norms[problem] = np.sqrt(_dot(gradient, gradient))
        state.lengths[problem] = 1.0
        _turn(problem, state, place, own, strengths[problem], alphas)
        slope = _dot(direction, gradient)
        if not slope < 0:
            for part in range(len(direction)):
                direction[part] = -gradient[part]
            slope = -(state.norms[problem] ** 2)
        state.slopes[problem] = slope


@njit(nogil=True, cache=True, fastmath=FAST)
def _gradient(
    sums: np.ndarray,
    intercept_sums: np.ndarray,
    weights: np.ndarray,
    strength: np.float32,
    place: Map,
    top: np.ndarray,
    row: np.ndarray,
    found: np.ndarray,
) -> None:
    """The gradient with respect to z, penalty included. `top` and `row` are overwritten."""
    outputs, width = weights.shape
    first = len(place.dense)
    directions = width - place.scales.shape[1]
    for output in range(outputs):
        shift = np.float32(0.0)
        if len(place.mixing):
            row[:] = 0
            for source in range(outputs):
                factor = place.mixing[source, output]
                for column in range(width):
                    row[column] += factor * (sums[source, column] + strength * weights[source, column])
                shift += factor * intercept_sums[source]
        else:
            for column in range(width):
                row[column] = sums[output, column] + strength * weights[output, column]
            shift = intercept_sums[output]
        _add(row, -shift, place.centres[output])
        at, rest = output * (directions + 1), first + output * (width - directions)
        top[at : at + directions] = row[:directions]
        top[at + directions] = shift
        for column in range(width - directions):
            found[rest + column] = place.scales[output, column] * row[directions + column]
    found[:first] = 0
    for part in range(first):
        _add(found[:first], top[part], place.dense[part])


@njit(nogil=True, cache=True, fastmath=FAST)
def _move(problem: int, state: State, found: np.ndarray) -> None:
    """Take the step, and keep it with the change of the gradient where the curvature along it is over 0."""
    z, gradient, direction = state.z[problem], state.gradient[problem], state.direction[problem]
    length = np.float32(state.lengths[problem])
    product = np.float32(0.0)
    for part in range(len(z)):
        product += length * direction[part] * (found[part] - gradient[part])
    if product > 0:
        slot = state.stored[problem] % state.pairs.shape[1]
        step, change = state.pairs[problem, slot, 0], state.pairs[problem, slot, 1]
        for part in range(len(z)):
            step[part] = length * direction[part]
            change[part] = found[part] - gradient[part]
        state.products[problem, slot] = product
        state.stored[problem] += 1
    for part in range(len(z)):
        z[part] += length * direction[part]
        gradient[part] = found[part]


@njit(nogil=True, cache=True, fastmath=FAST)
def _turn(problem: int, state: State, place: Map, own: OwnRows, strength: np.float32, alphas: np.ndarray) -> None:
    """The direction by the two loops of Nocedal (1980), from own curvature or else a multiple of the identity."""
    gradient, direction, pairs = state.gradient[problem], state.direction[problem], state.pairs[problem]
    products, stored, memory = state.products[problem], state.stored[problem], state.pairs.shape[1]
    oldest = max(0, stored - (min(memory, OWN_PAIRS) if own.chosen[problem] else memory))
    for part in range(len(gradient)):
        direction[part] = -gradient[part]
    for number in range(stored - 1, oldest - 1, -1):
        slot = number % memory
        alphas[slot] = _dot(pairs[slot, 0], direction) / products[slot]
        _add(direction, np.float32(-alphas[slot]), pairs[slot, 1])
    if own.chosen[problem]:
        precondition(problem, direction, own, place.scales, place.centres, strength)
    elif stored > 0:
        last = (stored - 1) % memory
        scale = np.float32(products[last] / _dot(pairs[last, 1], pairs[last, 1]))
        for part in range(len(direction)):
            direction[part] *= scale
    for number in range(oldest, stored):
        slot = number % memory
        beta = _dot(pairs[slot, 1], direction) / products[slot]
        _add(direction, np.float32(alphas[slot] - beta), pairs[slot, 0])


@njit(nogil=True, cache=True, fastmath=FAST)
def _dot(one: np.ndarray, other: np.ndarray) -> float:
    total = np.float32(0.0)
    for part in range(len(one)):
        total += one[part] * other[part]
    return np.float64(total)


@njit(nogil=True, cache=True, fastmath=FAST)
def _add(target: np.ndarray, factor: np.float32, other: np.ndarray) -> None:
    for part in range(len(target)):
        target[part] += factor * other[part]
