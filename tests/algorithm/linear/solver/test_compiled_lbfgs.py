"""The compiled steps of L-BFGS against those of torch, and on problems with known optima."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX, residuals
from aflite_assets.algorithm.linear.solver.compiled_lbfgs import CompiledProblems
from aflite_assets.algorithm.linear.solver.lbfgs import advance_all, minimise
from aflite_assets.algorithm.linear.solver.preconditioner import Preconditioner, Sample, preconditioner_at
from aflite_assets.algorithm.linear.threads import Threads

ROWS, WIDTH, SETS = 600, 16, 5
CASES = [(SIGMOID, 1), (HINGE, 1), (SOFTMAX, 3), (HINGE, 3), (SOFTMAX, 10), (SOFTMAX, 25), (HINGE, 25)]


@pytest.fixture
def threads() -> Iterator[Threads]:
    with ThreadPoolExecutor(3) as executor:
        yield Threads(executor, 3)


@dataclass
class RowPasses:
    """Gradients of a loss on some rows per training set, in float32 by torch. `spoilt`: calls that answer NaN."""

    features: torch.Tensor
    codes: torch.Tensor
    rows: list[torch.Tensor]
    loss: int
    spoilt: set[int] = field(default_factory=set)
    calls: int = 0

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.calls += 1
        sums, intercept_sums = torch.zeros_like(weights), torch.zeros_like(intercepts)
        for index, number in enumerate(numbers.tolist()):
            rows = self.features[self.rows[number]]
            seen = torch.ones(max(2, weights.shape[1]), dtype=torch.bool)
            scores = rows @ weights[index].T + intercepts[index]
            share = residuals(scores, self.codes[self.rows[number]], seen, self.loss)
            sums[index], intercept_sums[index] = share.T @ rows, share.sum(dim=0)
        if self.calls in self.spoilt:
            sums[0, 0, 0] = torch.nan
        return sums, intercept_sums


@dataclass(frozen=True)
class Problem:
    """Some training sets of one pool, a start and preconditioner around it."""

    passes: RowPasses
    preconditioner: Preconditioner
    weights: torch.Tensor
    intercepts: torch.Tensor
    strengths: torch.Tensor

    def compiled(self, threads: Threads, *, memory: int = 10) -> CompiledProblems:
        return CompiledProblems(
            self.passes.gradients,
            threads,
            self.preconditioner,
            self.weights,
            self.intercepts,
            strengths=self.strengths,
            memory=memory,
        )

    def gradients(self, z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        weights, intercepts = self.classifiers(z)
        sums, intercept_sums = self.passes.gradients(weights, intercepts, numbers)
        sums += self.strengths[numbers, None, None] * weights
        return self.preconditioner.gradient(sums, intercept_sums)

    def scores(self, weights: torch.Tensor, intercepts: torch.Tensor) -> torch.Tensor:
        return self.passes.features @ weights.mT + intercepts[:, None]

    def classifiers(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, intercepts = self.preconditioner.weights(z)
        return self.weights + weights, self.intercepts + intercepts


def problem_of(loss: int, outputs: int, *, rotated: bool = False) -> Problem:
    rng = np.random.default_rng(outputs)
    codes = torch.from_numpy(rng.integers(0, max(2, outputs), ROWS))
    means = rng.normal(size=(max(2, outputs), WIDTH)) * 0.4
    values = (rng.normal(size=(ROWS, WIDTH)) + means[codes]) * np.geomspace(2.0, 0.3, WIDTH)
    sample = Sample.of(torch.from_numpy(values - values.mean(axis=0)).float())
    sample = sample.rotated() if rotated else sample
    start = torch.from_numpy(0.1 * rng.normal(size=(outputs, WIDTH + 1))).float()
    weights, intercepts = start[:, :-1].contiguous(), start[:, -1].contiguous()
    preconditioner = preconditioner_at(sample, codes, weights, intercepts, loss=loss, train_size=200, strength=1.0)
    rows = [torch.from_numpy(np.sort(rng.choice(ROWS, 200 + 20 * number, replace=False))) for number in range(SETS)]
    strengths = torch.linspace(0.5, 2.0, SETS)
    return Problem(RowPasses(sample.features, codes, rows, loss), preconditioner, weights, intercepts, strengths)


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_the_start_is_the_first_point_and_norms_are_those_of_torch(
    loss: int, outputs: int, rotated: bool, threads: Threads
) -> None:
    problem = problem_of(loss, outputs, rotated=rotated)
    compiled = problem.compiled(threads)
    weights, intercepts = compiled.classifiers()
    np.testing.assert_allclose(weights, problem.weights.repeat(SETS, 1, 1), atol=1e-6)
    np.testing.assert_allclose(intercepts, problem.intercepts.repeat(SETS, 1), atol=1e-7)
    expected = problem.gradients(torch.zeros(SETS, problem.preconditioner.size), torch.arange(SETS))
    np.testing.assert_allclose(compiled.norms, torch.linalg.vector_norm(expected, dim=1), rtol=1e-4)


STARTS = 5
"""Starts of a search, over which its evaluations are averaged."""


@pytest.mark.parametrize(("rotated", "memory"), [(False, 10), (True, 2)])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_the_optima_and_the_evaluations_are_those_of_torch(
    loss: int, outputs: int, rotated: bool, memory: int, threads: Threads
) -> None:
    tolerance, torch_counts, counts = torch.full((SETS,), 1e-3), [], []
    given = problem_of(loss, outputs, rotated=rotated)
    # The first start is the given one. The others lie a rounding error away, which moves a single long search by up to
    # a third, in torch alone too; over all starts the two need as many evaluations.
    noise = np.random.default_rng(0).normal(0, 1e-6, (STARTS, *given.weights.shape))
    noise[0] = 0
    for start in torch.from_numpy(noise).float():
        problem = replace(given, weights=given.weights + start)
        least = minimise(
            problem.gradients,
            torch.zeros(SETS, problem.preconditioner.size),
            tolerance=tolerance,
            most_evaluations=200,
            patience=60,
            memory=memory,
        )
        compiled = problem.compiled(threads, memory=memory)
        evaluations = advance_all(compiled, tolerance=tolerance, most_evaluations=200, patience=60)
        assert least.converged.all()
        assert (compiled.norms <= tolerance).all()
        assert evaluations.min() > 3
        torch_counts.append(least.evaluations)
        counts.append(evaluations)
        scores, expected = problem.scores(*compiled.classifiers()), problem.scores(*problem.classifiers(least.z))
        assert (scores - expected).norm() <= 2e-3 * expected.norm()
    wanted, found = (torch.stack(each).double().mean(dim=0) for each in (torch_counts, counts))
    assert ((found - wanted).abs() <= 1 + 0.2 * wanted).all()


@pytest.mark.parametrize("stretched", [1.0, 1.5, 6.0])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_every_step_is_the_one_that_torch_takes(loss: int, outputs: int, stretched: float, threads: Threads) -> None:
    """The rule for steps, the pairs kept and the directions are the same; `stretched` variables make steps too long."""
    problem = problem_of(loss, outputs)
    map_ = problem.preconditioner
    longer = replace(map_, dense=stretched * map_.dense, scales=stretched * map_.scales)
    problem = replace(problem, preconditioner=longer)
    tolerance, compiled = torch.zeros(SETS), problem.compiled(threads)
    for evaluations in range(1, 7):
        least = minimise(
            problem.gradients,
            torch.zeros(SETS, problem.preconditioner.size),
            tolerance=tolerance,
            most_evaluations=evaluations,
            patience=60,
            memory=10,
        )
        np.testing.assert_allclose(compiled.norms, least.residuals, rtol=2e-2)
        compiled.advance(torch.arange(SETS))


def test_only_active_problems_move(threads: Threads) -> None:
    problem = problem_of(SOFTMAX, 3)
    compiled = problem.compiled(threads)
    before = compiled.norms.clone()
    compiled.advance(torch.tensor([1, 4]))
    weights, _ = compiled.classifiers()
    moved = (weights - problem.weights).abs().amax(dim=(1, 2)) > 1e-3
    assert moved.tolist() == [False, True, False, False, True]
    assert (compiled.norms == before).tolist() == [True, False, True, True, False]


def test_the_number_of_threads_changes_no_bit(threads: Threads) -> None:
    weights_by_threads = []
    for count in (1, 2, 3):
        compiled = problem_of(SOFTMAX, 10).compiled(Threads(threads.executor, count))
        advance_all(compiled, tolerance=torch.full((SETS,), 1e-2), most_evaluations=50, patience=60)
        weights_by_threads.append(compiled.classifiers()[0].numpy())
    np.testing.assert_array_equal(weights_by_threads[0], weights_by_threads[1])
    np.testing.assert_array_equal(weights_by_threads[0], weights_by_threads[2])


def test_a_gradient_that_is_not_finite_shortens_the_step(threads: Threads) -> None:
    problem = problem_of(SOFTMAX, 3)
    problem.passes.spoilt.add(3)
    compiled = problem.compiled(threads)
    compiled.advance(torch.arange(SETS))
    before = compiled.norms.clone()
    compiled.advance(torch.arange(SETS))
    assert compiled.norms[0] == before[0]
    assert (compiled.norms[1:] != before[1:]).all()
    tolerance = torch.full((SETS,), 1e-3)
    advance_all(compiled, tolerance=tolerance, most_evaluations=100, patience=60)
    assert (compiled.norms <= tolerance).all()


@dataclass
class ConcavePasses(RowPasses):
    """Losses of concave quadratics, steeper than the penalty."""

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return -3.0 * weights - 0.1, -3.0 * intercepts - 0.1


def test_concave_steps_are_taken_and_not_learnt_from(threads: Threads) -> None:
    problem = problem_of(SOFTMAX, 3, rotated=True)
    passes = ConcavePasses(**vars(problem.passes))
    problem = replace(problem, passes=passes, strengths=torch.ones(SETS))
    compiled, steps = problem.compiled(threads), 4
    first = compiled.norms.clone()
    tolerance = torch.full((SETS,), 1e-9)
    advance_all(compiled, tolerance=tolerance, most_evaluations=1 + steps, patience=60)
    z = torch.zeros(1, problem.preconditioner.size)
    for _ in range(steps):
        # Without a pair of positive curvature every step is the gradient's.
        z = z - problem.gradients(z, torch.tensor([0]))
    weights, intercepts = problem.classifiers(z)
    np.testing.assert_allclose(compiled.classifiers()[0], weights.repeat(SETS, 1, 1), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(compiled.classifiers()[1], intercepts.repeat(SETS, 1), rtol=1e-3, atol=1e-4)
    assert (compiled.norms > first).all()


@pytest.mark.parametrize(("count", "entries"), [(1, 4), (3, 7), (3, 2), (8, 0)])
def test_work_is_shared_without_gaps(count: int, entries: int, threads: Threads) -> None:
    done: list[int] = []
    Threads(threads.executor, count).share(lambda part: done.extend(part.tolist()), np.arange(entries))
    assert sorted(done) == list(range(entries))


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_norms_at_the_end_are_those_of_the_classifiers(loss: int, outputs: int, threads: Threads) -> None:
    problem = problem_of(loss, outputs)
    compiled = problem.compiled(threads)
    for _ in range(3):
        compiled.advance(torch.arange(SETS))
    norms = compiled.norms.clone()
    weights, intercepts = compiled.classifiers()
    sums, intercept_sums = problem.passes.gradients(weights, intercepts, torch.arange(SETS))
    gradient = problem.preconditioner.gradient(sums + problem.strengths[:, None, None] * weights, intercept_sums)
    np.testing.assert_allclose(norms, torch.linalg.vector_norm(gradient, dim=1), rtol=1e-3, atol=1e-4)
