"""From training sets to fitted weights: a start shared by all, coordinates around it, L-BFGS from there."""

from dataclasses import dataclass

import numpy as np
import torch

from aflite_assets.algorithm.linear.coordinates import Coordinates, Sample, coordinates_at
from aflite_assets.algorithm.linear.lbfgs import advance_all, minimise
from aflite_assets.algorithm.linear.losses import SOFTMAX, curvature_of
from aflite_assets.algorithm.linear.passes import GradientPasses
from aflite_assets.algorithm.linear.threads import Threads
from aflite_assets.algorithm.linear.training_sets import TrainingSets

# Error of the scores that predictions are made from, as a share of their spread.
PRECISIONS = {torch.float32: 3e-4, torch.float64: 2e-9}
# The same of the start, where more does not save evaluations later.
START_PRECISION = 1e-2
_MOST_EVALUATIONS = {torch.float32: 500, torch.float64: 5000}
_PATIENCE = {torch.float32: 60, torch.float64: 500}
# Scores with a smaller spread are told apart no better than this.
_LEAST_SPREAD = 0.01
# Outputs up to which none are taken to share an error.
_FEW_OUTPUTS = 3
# However few rows a training set has for its width, the root of its curvature is taken to be at least this share of
# the pool's.
_LEAST_SHARE = 0.2
# Pairs of steps and gradient changes. More do not save evaluations; on badly scaled columns half of them take twice as
# many, but where all vectors together leave the caches, going through the pairs costs more than that.
_MEMORY, _LEAST_MEMORY = 10, 4
_CACHED_BYTES = 2**22
# Vectors a fit needs beside its pairs of steps and changes: point, gradient, direction, their next ones, weights.
_OTHER_VECTORS = 14


@dataclass(frozen=True)
class Objective:
    """What is minimised: sum of the losses (a name of losses.py) + strength / 2 |W|^2 in the pool's scaled features."""

    loss: int
    outputs: int
    strength: float


@dataclass(frozen=True)
class Point:
    """Weights (outputs x width) and intercepts (outputs) of one classifier."""

    weights: torch.Tensor
    intercepts: torch.Tensor


@dataclass(frozen=True)
class Fits:
    """Weights (sets x outputs x width) and intercepts (sets x outputs); `converged` and `evaluations` per set."""

    weights: torch.Tensor
    intercepts: torch.Tensor
    converged: torch.Tensor
    evaluations: torch.Tensor


def fit(
    passes: GradientPasses,
    sets: TrainingSets,
    objective: Objective,
    coordinates: Coordinates,
    start: Point,
    *,
    tolerance: float,
    memory_limit: int,
) -> Fits:
    """Fit a classifier to every training set; one with rows of a single class keeps the start and is never looked at.

    A fit has converged when the norm of its gradient in whitened coordinates, which is about the curvature-weighted
    error of its scores over the root of its rows, is at most `tolerance` (see `tolerance_at`).
    """
    dtype, device = start.weights.dtype, start.weights.device
    needed = torch.as_tensor(np.flatnonzero(sets.seen.sum(axis=1) > 1), device=device)
    weights = start.weights.repeat(len(sets), 1, 1)
    intercepts = start.intercepts.repeat(len(sets), 1)
    converged = torch.ones(len(sets), dtype=torch.bool, device=device)
    evaluations = torch.zeros(len(sets), dtype=torch.int64, device=device)
    if len(needed):
        task = _Task(
            passes,
            sets,
            objective.loss,
            coordinates,
            start,
            needed,
            torch.as_tensor(_strengths(sets, objective), dtype=dtype, device=device)[needed],
            tolerance * torch.as_tensor(sets.sizes, dtype=dtype, device=device)[needed].sqrt(),
            _memory(coordinates.size, len(needed), dtype.itemsize, memory_limit, cached=passes.threads is not None),
            memory_limit,
        )
        fits = _fit_with_torch(task) if passes.threads is None else _fit_compiled(task, passes.threads)
        weights[needed], intercepts[needed] = fits.weights, fits.intercepts
        converged[needed], evaluations[needed] = fits.converged, fits.evaluations
    return Fits(weights, intercepts, converged, evaluations)


@dataclass(frozen=True)
class _Task:
    """The training sets `numbers` of `sets` with what differs between them: L2 strengths and tolerances."""

    passes: GradientPasses
    sets: TrainingSets
    loss: int
    coordinates: Coordinates
    start: Point
    numbers: torch.Tensor
    strengths: torch.Tensor
    tolerances: torch.Tensor
    memory: int
    memory_limit: int

    @property
    def limits(self) -> dict[str, int]:
        """When a fit is given up."""
        dtype = self.start.weights.dtype
        return {"most_evaluations": _MOST_EVALUATIONS[dtype], "patience": _PATIENCE[dtype]}


def _fit_with_torch(task: _Task) -> Fits:
    coordinates, start = task.coordinates, task.start

    def gradients(z: torch.Tensor, problems: torch.Tensor) -> torch.Tensor:
        weights, intercepts = classifiers(z)
        sums, intercept_sums = task.passes.gradients(weights, intercepts, task.numbers[problems])
        sums.add_(task.strengths[problems, None, None] * weights)
        return coordinates.gradient(sums, intercept_sums)

    def classifiers(z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, intercepts = coordinates.weights(z)
        return start.weights + weights, start.intercepts + intercepts

    zero = start.weights.new_zeros(len(task.numbers), coordinates.size)
    least = minimise(gradients, zero, tolerance=task.tolerances, memory=task.memory, **task.limits)
    return Fits(*classifiers(least.z), least.converged, least.evaluations)


def _fit_compiled(task: _Task, threads: Threads) -> Fits:
    # Imported where it is used: loading the compiler takes longer than a small job.
    from aflite_assets.algorithm.linear.compiled_fitting import CompiledProblems
    from aflite_assets.algorithm.linear.own_choice import own_curvature

    vectors = (2 * task.memory + _OTHER_VECTORS) * task.coordinates.size * len(task.numbers)
    own = own_curvature(
        task.passes.resident,
        task.sets,
        task.coordinates,
        loss=task.loss,
        threads=threads,
        memory_left=task.memory_limit - vectors * task.start.weights.itemsize,
    )
    problems = CompiledProblems(
        task.passes,
        threads,
        task.coordinates,
        task.start.weights,
        task.start.intercepts,
        numbers=task.numbers,
        strengths=task.strengths,
        memory=task.memory,
        curvature=own,
    )
    evaluations = advance_all(problems, tolerance=task.tolerances, **task.limits)
    return Fits(*problems.classifiers(), problems.norms <= task.tolerances, evaluations)


def pooled_start(
    passes: GradientPasses,
    sets: TrainingSets,
    objective: Objective,
    sample: Sample,
    codes: torch.Tensor,
    *,
    train_size: float,
    memory_limit: int,
) -> Point:
    """The optimum on one large training set, with the L2 strength that `train_size` of its rows would feel."""
    shape, like = (objective.outputs, sample.features.shape[1]), sample.features
    zero = Point(like.new_zeros(shape), like.new_zeros(objective.outputs))
    rows = float(sets.sizes[0])
    scaled = Objective(objective.loss, objective.outputs, objective.strength * rows / train_size)
    coordinates = coordinates_at(
        sample, codes, zero.weights, zero.intercepts, loss=scaled.loss, train_size=rows, strength=scaled.strength
    )
    fits = fit(passes, sets, scaled, coordinates, zero, tolerance=START_PRECISION, memory_limit=memory_limit)
    return Point(fits.weights[0], fits.intercepts[0])


def tolerance_at(
    point: Point, sample: Sample, codes: torch.Tensor, loss: int, *, train_size: float, precision: float
) -> float:
    """The tolerance of `fit` for which scores are right to `precision` of their spread around `point`.

    The curvature of a training set of t rows in d columns is along some direction only (1 - sqrt(d / t))^2 of the
    pool's (Marchenko and Pastur 1967), which makes the error along it so much larger. The norm sums the errors of all
    outputs, of which a prediction compares the highest: errors of many outputs may sum up to more.
    """
    scores = sample.features @ point.weights.T + point.intercepts
    weight = float(curvature_of(scores, codes, loss).own.mean())
    spread = float(scores.std(dim=0).square().mean().sqrt()) if len(scores) > 1 else 0.0
    share = max(_LEAST_SHARE, 1 - (sample.features.shape[1] / train_size) ** 0.5)
    outputs = max(1.0, len(point.weights) / _FEW_OUTPUTS) ** 0.125
    return precision * share * outputs * max(spread, _LEAST_SPREAD) * weight**0.5


def sets_at_once(size: int, itemsize: int, memory_limit: int) -> int:
    """How many classifiers of `size` numbers half of the memory holds, with few pairs each; at least one."""
    return max(1, memory_limit // 2 // ((2 * _LEAST_MEMORY + _OTHER_VECTORS) * size * itemsize))


def _memory(size: int, sets: int, itemsize: int, memory_limit: int, *, cached: bool) -> int:
    """Pairs to keep; `cached`: one fit's pairs are gone through at a time, not those of all."""
    vector_bytes = size * sets * itemsize
    most = _MEMORY if cached or vector_bytes <= _CACHED_BYTES else _MEMORY // 2
    return int(np.clip((memory_limit // 2 // vector_bytes - _OTHER_VECTORS) // 2, _LEAST_MEMORY, most))


def _strengths(sets: TrainingSets, objective: Objective) -> np.ndarray:
    """Per set. Rows of two classes have scikit-learn's binary objective: half the penalty of two mirrored outputs."""
    mirrored = (sets.seen.sum(axis=1) == 2) & (objective.loss == SOFTMAX)
    return np.where(mirrored, 2.0, 1.0) * objective.strength
