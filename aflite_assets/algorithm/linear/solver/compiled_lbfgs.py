"""Compiled L-BFGS steps for many classifiers at once. The steps are computed between two passes over the rows.

The method is the same as in `lbfgs.py`; the variables are z as defined in `preconditioner.py`. Classifiers are
processed one after the other, so that the data of a classifier stay in the processor's cache while they are needed. All
arrays are C-ordered, and float32 unless stated otherwise.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numba import njit

from aflite_assets.algorithm.linear.solver.lbfgs import LONGEST, SHORTEST, STEEPEST, LossGradients
from aflite_assets.algorithm.linear.solver.preconditioner import Preconditioner
from aflite_assets.algorithm.linear.threads import Threads

FAST = {"reassoc", "contract", "arcp", "nsz"}
"""The "fast math" options that let numba vectorise sums. Infinities and NaN are still handled correctly."""


class PreconditionerArrays(NamedTuple):
    """Arrays of a `Preconditioner`, and the classifier at z = 0. Weights are in the preconditioner's basis.

    `start`: outputs x width. `start_intercepts`: outputs. `mixing`: outputs x outputs, or no rows if outputs are not
    mixed. `centres`, `dense` and `scales` are as in `Preconditioner`.
    """

    start: np.ndarray
    start_intercepts: np.ndarray
    mixing: np.ndarray
    centres: np.ndarray
    dense: np.ndarray
    scales: np.ndarray


class State(NamedTuple):
    """The state of every problem. Most arrays are problems x size; some have one float64 number per problem.

    `pairs`: the last steps and gradient changes, problems x memory x 2 x size. `products`: the product of each step
    with its gradient change, float64, problems x memory. `stored`: the number of pairs stored so far, int64. When the
    memory is full, the oldest pair is replaced. `slopes` are the slopes along `direction`, and `lengths` are the
    lengths of the next step. `norms` are the norms of `gradient`, or negative numbers before the first gradient.
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
def trial_weights(
    share: np.ndarray,
    problems: np.ndarray,
    state: State,
    arrays: PreconditionerArrays,
    weights: np.ndarray,
    intercepts: np.ndarray,
) -> None:
    """Compute the classifiers at the end of the next step. For each i in `share`, entry i receives the classifier of
    `problems[i]`.

    `weights`: entries x outputs x width, in the preconditioner's basis. `intercepts`: entries x outputs.
    """
    outputs, width = arrays.start.shape
    first = len(arrays.dense)
    directions = width - arrays.scales.shape[1]
    top, row = np.empty(first, np.float32), np.empty(width, np.float32)
    for entry in share:
        problem = problems[entry]
        length = np.float32(state.lengths[problem])
        z, direction = state.z[problem], state.direction[problem]
        top[:] = 0
        for part in range(first):
            for other in range(first):
                top[part] += arrays.dense[part, other] * (z[other] + length * direction[other])
        weights[entry] = arrays.start
        intercepts[entry] = arrays.start_intercepts
        for output in range(outputs):
            at, rest = output * (directions + 1), first + output * (width - directions)
            row[:directions] = top[at : at + directions]
            for column in range(width - directions):
                value = z[rest + column] + length * direction[rest + column]
                row[directions + column] = arrays.scales[output, column] * value
            shift = top[at + directions] - _dot(row, arrays.centres[output])
            if len(arrays.mixing):
                for target in range(outputs):
                    _add(weights[entry, target], arrays.mixing[target, output], row)
                    intercepts[entry, target] += arrays.mixing[target, output] * shift
            else:
                _add(weights[entry, output], np.float32(1.0), row)
                intercepts[entry, output] += shift


@njit(nogil=True, cache=True, fastmath=FAST)
def update_directions(
    share: np.ndarray,
    problems: np.ndarray,
    state: State,
    arrays: PreconditionerArrays,
    strengths: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray,
    intercept_sums: np.ndarray,
) -> None:
    """Decide for each problem whether the step to the classifiers from `trial_weights` is taken or shortened. If the
    step is taken, also choose the next direction.

    `weights`: the weights that `trial_weights` computed. `sums` and `intercept_sums`: gradients of the losses at
    `weights`, in the preconditioner's basis. `strengths`: the L2 strength of each problem.
    """
    new_gradient = np.empty(state.z.shape[1], np.float32)
    alphas = np.empty(state.pairs.shape[1])
    top, row = np.empty(len(arrays.dense), np.float32), np.empty(weights.shape[2], np.float32)
    for entry in share:
        problem = problems[entry]
        gradient, direction = state.gradient[problem], state.direction[problem]
        _gradient(
            sums[entry], intercept_sums[entry], weights[entry], strengths[problem], arrays, top, row, new_gradient
        )
        if state.norms[problem] >= 0:
            before, after = abs(state.slopes[problem]), _dot(new_gradient, direction)
            if not (np.isfinite(after) and after <= STEEPEST * before):
                shorter = before / (before + after) if np.isfinite(after) else 0.0
                state.lengths[problem] *= min(max(shorter, SHORTEST), LONGEST)
                continue
            _take_step(problem, state, new_gradient)
        else:
            gradient[:] = new_gradient
        state.norms[problem] = np.sqrt(_dot(gradient, gradient))
        state.lengths[problem] = 1.0
        _set_direction(problem, state, alphas)
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
    arrays: PreconditionerArrays,
    top: np.ndarray,
    row: np.ndarray,
    new_gradient: np.ndarray,
) -> None:
    """Compute the gradient of loss plus penalty with respect to z. The work arrays `top` and `row` are overwritten."""
    outputs, width = weights.shape
    first = len(arrays.dense)
    directions = width - arrays.scales.shape[1]
    for output in range(outputs):
        shift = np.float32(0.0)
        if len(arrays.mixing):
            row[:] = 0
            for source in range(outputs):
                factor = arrays.mixing[source, output]
                for column in range(width):
                    row[column] += factor * (sums[source, column] + strength * weights[source, column])
                shift += factor * intercept_sums[source]
        else:
            for column in range(width):
                row[column] = sums[output, column] + strength * weights[output, column]
            shift = intercept_sums[output]
        _add(row, -shift, arrays.centres[output])
        at, rest = output * (directions + 1), first + output * (width - directions)
        top[at : at + directions] = row[:directions]
        top[at + directions] = shift
        for column in range(width - directions):
            new_gradient[rest + column] = arrays.scales[output, column] * row[directions + column]
    new_gradient[:first] = 0
    for part in range(first):
        _add(new_gradient[:first], top[part], arrays.dense[part])


@njit(nogil=True, cache=True, fastmath=FAST)
def _take_step(problem: int, state: State, new_gradient: np.ndarray) -> None:
    """Take the step. Store the step and the change of the gradient if the curvature along the step is positive."""
    z, gradient, direction = state.z[problem], state.gradient[problem], state.direction[problem]
    length = np.float32(state.lengths[problem])
    product = np.float32(0.0)
    for part in range(len(z)):
        product += length * direction[part] * (new_gradient[part] - gradient[part])
    if product > 0:
        slot = state.stored[problem] % state.pairs.shape[1]
        step, change = state.pairs[problem, slot, 0], state.pairs[problem, slot, 1]
        for part in range(len(z)):
            step[part] = length * direction[part]
            change[part] = new_gradient[part] - gradient[part]
        state.products[problem, slot] = product
        state.stored[problem] += 1
    for part in range(len(z)):
        z[part] += length * direction[part]
        gradient[part] = new_gradient[part]


@njit(nogil=True, cache=True, fastmath=FAST)
def _set_direction(problem: int, state: State, alphas: np.ndarray) -> None:
    """Compute the next direction with the two-loop recursion of Nocedal (1980). The initial inverse Hessian is a
    multiple of the identity.
    """
    gradient, direction, pairs = state.gradient[problem], state.direction[problem], state.pairs[problem]
    products, stored, memory = state.products[problem], state.stored[problem], state.pairs.shape[1]
    oldest = max(0, stored - memory)
    for part in range(len(gradient)):
        direction[part] = -gradient[part]
    for number in range(stored - 1, oldest - 1, -1):
        slot = number % memory
        alphas[slot] = _dot(pairs[slot, 0], direction) / products[slot]
        _add(direction, np.float32(-alphas[slot]), pairs[slot, 1])
    if stored > 0:
        last = (stored - 1) % memory
        scale = np.float32(products[last] / _dot(pairs[last, 1], pairs[last, 1]))
        for part in range(len(direction)):
            direction[part] *= scale
    for number in range(oldest, stored):
        slot = number % memory
        beta = _dot(pairs[slot, 1], direction) / products[slot]
        _add(direction, np.float32(alphas[slot] - beta), pairs[slot, 0])


@njit(nogil=True, cache=True, fastmath=FAST)
def _dot(left: np.ndarray, right: np.ndarray) -> float:
    total = np.float32(0.0)
    for part in range(len(left)):
        total += left[part] * right[part]
    return np.float64(total)


@njit(nogil=True, cache=True, fastmath=FAST)
def _add(target: np.ndarray, factor: np.float32, addend: np.ndarray) -> None:
    for part in range(len(target)):
        target[part] += factor * addend[part]


class CompiledProblems:
    """Classifiers that move from a shared starting point to their optima, one per training set; see `lbfgs.Problems`.

    `strengths`: the L2 strength of each problem. `memory`: the number of pairs of step and gradient change that are
    kept.
    """

    def __init__(
        self,
        gradients: LossGradients,
        threads: Threads,
        preconditioner: Preconditioner,
        weights: torch.Tensor,
        intercepts: torch.Tensor,
        *,
        strengths: torch.Tensor,
        memory: int,
    ) -> None:
        """Start all problems from `weights` (outputs x width) and `intercepts` (outputs)."""
        self._gradients, self._threads, self._basis = gradients, threads, preconditioner.basis
        self._strengths = strengths.numpy()
        self._arrays = _arrays(preconditioner, weights, intercepts)
        self._state = _state(len(strengths), preconditioner.size, memory)
        self.advance(torch.arange(len(strengths)))

    @property
    def norms(self) -> torch.Tensor:
        """Gradient norm of every problem."""
        return torch.from_numpy(self._state.norms)

    def advance(self, active: torch.Tensor) -> None:
        """Try one step for each problem in `active`. If the step is not too long, take the step and choose the next
        direction.
        """
        in_basis, weights, intercepts = self._trial_weights(active.numpy())
        sums, intercept_sums = self._gradients(weights, intercepts, active)
        if self._basis is not None:
            sums = self._times(sums, self._basis)
        update = partial(
            update_directions,
            problems=active.numpy(),
            state=self._state,
            arrays=self._arrays,
            strengths=self._strengths,
            weights=in_basis.numpy(),
            sums=sums.numpy(),
            intercept_sums=intercept_sums.numpy(),
        )
        self._threads.share(update, np.arange(len(active)))

    def classifiers(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return every problem's current weights (problems x outputs x width) and intercepts (problems x outputs)."""
        self._state.lengths[:] = 0.0
        _, weights, intercepts = self._trial_weights(np.arange(len(self._strengths)))
        return weights, intercepts

    def _trial_weights(self, problems: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the classifiers at the end of the next step: weights in the preconditioner's basis, weights per
        feature column, and intercepts.
        """
        in_basis = torch.empty(len(problems), *self._arrays.start.shape)
        intercepts = torch.empty(len(problems), len(self._arrays.start))
        write = partial(
            trial_weights,
            problems=problems,
            state=self._state,
            arrays=self._arrays,
            weights=in_basis.numpy(),
            intercepts=intercepts.numpy(),
        )
        self._threads.share(write, np.arange(len(problems)))
        weights = in_basis if self._basis is None else self._times(in_basis, self._basis.T)
        return in_basis, weights, intercepts

    def _times(self, rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        """Multiply each problem's weights (outputs x width) by the matrix.

        Problems are multiplied one by one, because rounding may depend on the shape of a product. A fit must not depend
        on the other fits in the same call.
        """
        products = torch.empty_like(rows)

        def multiply(share: np.ndarray) -> None:
            for entry in share:
                torch.mm(rows[entry], matrix, out=products[entry])

        self._threads.share(multiply, np.arange(len(rows)))
        return products


def _arrays(preconditioner: Preconditioner, weights: torch.Tensor, intercepts: torch.Tensor) -> PreconditionerArrays:
    mixing = preconditioner.mixing if preconditioner.is_mixed else preconditioner.mixing[:0]
    parts = (
        weights if preconditioner.basis is None else weights @ preconditioner.basis,
        intercepts,
        mixing,
        preconditioner.centres,
        preconditioner.dense,
        preconditioner.scales,
    )
    return PreconditionerArrays(*(part.contiguous().numpy() for part in parts))


def _state(problems: int, size: int, memory: int) -> State:
    z, gradient, direction = (np.zeros((problems, size), np.float32) for _ in range(3))
    return State(
        z,
        gradient,
        direction,
        pairs=np.empty((problems, memory, 2, size), np.float32),
        products=np.zeros((problems, memory)),
        stored=np.zeros(problems, np.int64),
        slopes=np.zeros(problems),
        lengths=np.zeros(problems),
        norms=np.full(problems, -1.0),
    )
