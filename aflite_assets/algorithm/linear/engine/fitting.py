"""Fitting of classifiers to training sets with L-BFGS. All fits share a starting point and a preconditioner computed at
that point.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets
from aflite_assets.algorithm.linear.losses import Objective, curvature_of
from aflite_assets.algorithm.linear.solver.lbfgs import LossGradients, advance_all, minimise
from aflite_assets.algorithm.linear.solver.preconditioner import Preconditioner, Sample, preconditioner_at
from aflite_assets.algorithm.linear.threads import Threads

# Error of the scores that predictions are made from, as a share of their spread.
PRECISIONS = {torch.float32: 3e-4, torch.float64: 2e-9}
# The same of the start, where more does not save evaluations later.
START_PRECISION = 1e-2
_MOST_EVALUATIONS = {torch.float32: 500, torch.float64: 5000}
_PATIENCE = {torch.float32: 60, torch.float64: 500}
# Scores with a smaller spread than this are taken to have it: they need no more precision.
_LEAST_SPREAD = 0.01
# Up to this many outputs the tolerance does not grow with their number.
_FEW_OUTPUTS = 3
# However few rows a training set has for its width, the root of its curvature is taken to be at least this share of
# the pool's.
_LEAST_SHARE = 0.2
# Pairs of steps and gradient changes. More do not save evaluations; on badly scaled columns half of them take twice as
# many, but where all vectors together leave the caches, going through the pairs costs more than that.
_MEMORY, _LEAST_MEMORY = 10, 4
CACHED_BYTES = 2**22
# Vectors a fit needs beside its pairs of steps and changes: point, gradient, direction, their next ones, weights.
_OTHER_VECTORS = 14


@dataclass(frozen=True)
class Point:
    """The weights (outputs x width) and intercepts (outputs) of one classifier."""

    weights: torch.Tensor
    intercepts: torch.Tensor


@dataclass(frozen=True)
class Fits:
    """Results of all fits: weights (sets x outputs x width) and intercepts (sets x outputs), with `converged` and
    `evaluations` per training set.
    """

    weights: torch.Tensor
    intercepts: torch.Tensor
    converged: torch.Tensor
    evaluations: torch.Tensor

    def part(self, start: int, stop: int) -> "Fits":
        """Return the fits with numbers from `start` up to, but not including, `stop`. Arrays are not copied."""
        chosen = slice(start, stop)
        return Fits(self.weights[chosen], self.intercepts[chosen], self.converged[chosen], self.evaluations[chosen])


def fit(
    gradients: LossGradients,
    sets: TrainingSets,
    objective: Objective,
    preconditioner: Preconditioner,
    start: Point,
    *,
    tolerance: float,
    memory_limit: int,
    threads: Threads | None = None,
    together: int | None = None,
) -> Fits:
    """Fit a classifier to every training set. `threads` run the compiled steps; without `threads`, torch computes the
    steps. `together` is the number of training sets whose L-BFGS vectors must fit
    into memory at the same time, by default all sets.

    For a training set with a single class, the classifier keeps the starting weights, because any weights predict that
    class. A fit has converged when the norm of the gradient, divided by the square root of the number of rows, is at
    most `tolerance` (see `tolerance_at`). The gradient is with respect to the preconditioned variables. The norm
    divided by the square root approximates the error of the fitted scores, weighted by curvature.
    """
    dtype, device = start.weights.dtype, start.weights.device
    needed = torch.as_tensor(np.flatnonzero(sets.seen.sum(axis=1) > 1), device=device)
    weights = start.weights.repeat(len(sets), 1, 1)
    intercepts = start.intercepts.repeat(len(sets), 1)
    converged = torch.ones(len(sets), dtype=torch.bool, device=device)
    evaluations = torch.zeros(len(sets), dtype=torch.int64, device=device)
    if len(needed):
        at_once, cached = together or len(sets), threads is not None
        task = _Task(
            lambda weights, intercepts, problems: gradients(weights, intercepts, needed[problems]),
            preconditioner,
            start,
            torch.as_tensor(objective.strengths(sets.seen), dtype=dtype, device=device)[needed],
            tolerance * torch.as_tensor(sets.sizes, dtype=dtype, device=device)[needed].sqrt(),
            _memory(preconditioner.size, at_once, dtype.itemsize, memory_limit, cached=cached),
        )
        limits = {"most_evaluations": _MOST_EVALUATIONS[dtype], "patience": _PATIENCE[dtype]}
        fits = _fit_with_torch(task, **limits) if threads is None else _fit_compiled(task, threads, **limits)
        weights[needed], intercepts[needed] = fits.weights, fits.intercepts
        converged[needed], evaluations[needed] = fits.converged, fits.evaluations
    return Fits(weights, intercepts, converged, evaluations)


@dataclass(frozen=True)
class _Task:
    """A fitting task: an L2 strength and a tolerance for each problem, and the gradients of the losses."""

    gradients: LossGradients
    preconditioner: Preconditioner
    start: Point
    strengths: torch.Tensor
    tolerances: torch.Tensor
    memory: int


def _fit_with_torch(task: _Task, **limits: int) -> Fits:
    preconditioner, start = task.preconditioner, task.start

    def gradients(z: torch.Tensor, problems: torch.Tensor) -> torch.Tensor:
        weights, intercepts = classifiers(z)
        sums, intercept_sums = task.gradients(weights, intercepts, problems)
        sums.add_(task.strengths[problems, None, None] * weights)
        return preconditioner.gradient(sums, intercept_sums)

    def classifiers(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, intercepts = preconditioner.weights(z)
        return start.weights + weights, start.intercepts + intercepts

    zero = start.weights.new_zeros(len(task.strengths), preconditioner.size)
    least = minimise(gradients, zero, tolerance=task.tolerances, memory=task.memory, **limits)
    return Fits(*classifiers(least.z), least.converged, least.evaluations)


def _fit_compiled(task: _Task, threads: Threads, **limits: int) -> Fits:
    # Imported where it is used: loading the compiler takes longer than a small job.
    from aflite_assets.algorithm.linear.solver.compiled_lbfgs import CompiledProblems

    problems = CompiledProblems(
        task.gradients,
        threads,
        task.preconditioner,
        task.start.weights,
        task.start.intercepts,
        strengths=task.strengths,
        memory=task.memory,
    )
    evaluations = advance_all(problems, tolerance=task.tolerances, **limits)
    return Fits(*problems.classifiers(), problems.norms <= task.tolerances, evaluations)


def summed(gradients: LossGradients, parts: int) -> LossGradients:
    """Return the gradients of one large training set that is split into `parts` for several threads. The results of the
    parts are summed in order.
    """

    def sums(
        weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        all_parts = torch.arange(parts, device=numbers.device)
        of_parts = gradients(weights.repeat(parts, 1, 1), intercepts.repeat(parts, 1), all_parts)
        return of_parts[0].sum(dim=0, keepdim=True), of_parts[1].sum(dim=0, keepdim=True)

    return sums


def pooled_start(
    gradients: LossGradients,
    sets: TrainingSets,
    objective: Objective,
    sample: Sample,
    codes: torch.Tensor,
    *,
    train_size: float,
    memory_limit: int,
    threads: Threads | None,
) -> Point:
    """Return the optimum on one large training set, from which all fits start. The L2 strength is scaled to the number
    of rows of the large set.
    """
    shape, like = (objective.outputs, sample.features.shape[1]), sample.features
    zero = Point(like.new_zeros(shape), like.new_zeros(objective.outputs))
    rows = float(sets.sizes[0])
    scaled = Objective(objective.loss, objective.outputs, objective.strength * rows / train_size)
    preconditioner = preconditioner_at(
        sample, codes, zero.weights, zero.intercepts, loss=scaled.loss, train_size=rows, strength=scaled.strength
    )
    limits: dict[str, Any] = {"tolerance": START_PRECISION, "memory_limit": memory_limit, "threads": threads}
    fits = fit(gradients, sets, scaled, preconditioner, zero, **limits)
    return Point(fits.weights[0], fits.intercepts[0])


def tolerance_at(
    point: Point, sample: Sample, codes: torch.Tensor, loss: int, *, train_size: float, precision: float
) -> float:
    """Return a tolerance for `fit` that limits the error of the scores to `precision` times the spread of the scores at
    `point`.

    Consider a training set of t rows with d columns. Its curvature along some direction may fall to (1 - sqrt(d / t))^2
    of the pool's curvature (Marchenko and Pastur 1967). The error along a direction grows as the curvature along the
    direction falls. The norm sums the errors of all outputs, but a prediction depends only on the highest outputs. If
    there are many outputs, a larger sum is therefore allowed.
    """
    scores = sample.features @ point.weights.T + point.intercepts
    weight = float(curvature_of(scores, codes, loss).own.mean())
    spread = float(scores.std(dim=0).square().mean().sqrt()) if len(scores) > 1 else 0.0
    share = max(_LEAST_SHARE, 1 - (sample.features.shape[1] / train_size) ** 0.5)
    outputs = max(1.0, len(point.weights) / _FEW_OUTPUTS) ** 0.125
    return precision * share * outputs * max(spread, _LEAST_SPREAD) * weight**0.5


def sets_at_once(size: int, itemsize: int, memory_limit: int) -> int:
    """Return the number of classifiers that half of the memory can hold. Each classifier has `size` numbers and a few
    L-BFGS pairs. The result is at least 1.
    """
    return max(1, memory_limit // 2 // ((2 * _LEAST_MEMORY + _OTHER_VECTORS) * size * itemsize))


def _memory(size: int, sets: int, itemsize: int, memory_limit: int, *, cached: bool) -> int:
    """Return the number of L-BFGS pairs to keep per fit. `cached` is True if only the pairs of one fit are read at a
    time.
    """
    vector_bytes = size * sets * itemsize
    most = _MEMORY if cached or vector_bytes <= CACHED_BYTES else _MEMORY // 2
    return int(np.clip((memory_limit // 2 // vector_bytes - _OTHER_VECTORS) // 2, _LEAST_MEMORY, most))
