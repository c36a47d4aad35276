from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import expit

from aflite_assets.algorithm.linear.solver.lbfgs import Gradients, Minima, minimise


def positive_definite(size: int, *, condition: float, seed: int) -> np.ndarray:
    """Eigenvalues from 1 to `condition`, evenly spread over the orders of magnitude."""
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    return (turned * np.geomspace(1.0, condition, size)) @ turned.T


def quadratics(matrices: list[np.ndarray], optima: np.ndarray) -> Gradients:
    stacked, centres = torch.from_numpy(np.stack(matrices)), torch.from_numpy(optima)

    def gradients(z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return (stacked[numbers] @ (z - centres[numbers])[:, :, None])[:, :, 0]

    return gradients


def found_by(
    gradients: Gradients,
    start: np.ndarray,
    *,
    tolerance: float = 1e-8,
    most_evaluations: int = 2000,
    patience: int = 500,
    memory: int = 10,
) -> Minima:
    return minimise(
        gradients,
        torch.from_numpy(start),
        tolerance=torch.full((len(start),), tolerance, dtype=torch.float64),
        most_evaluations=most_evaluations,
        patience=patience,
        memory=memory,
    )


@pytest.mark.parametrize("memory", [1, 3, 10, 50])
def test_quadratics_with_known_optima(memory: int) -> None:
    rng = np.random.default_rng(2)
    optima, start = rng.normal(size=(6, 12)), rng.normal(size=(6, 12))
    conditions = [1.0, 3.0, 10.0, 100.0, 30.0, 2.0]
    matrices = [positive_definite(12, condition=condition, seed=at) for at, condition in enumerate(conditions)]
    least = found_by(quadratics(matrices, optima), start, memory=memory)
    assert least.converged.all()
    assert (least.residuals <= 1e-8).all()
    np.testing.assert_allclose(least.z.numpy(), optima, rtol=0, atol=1e-8)
    assert least.evaluations[0] == 2
    assert least.evaluations.max() > memory or memory == 50


def test_the_residual_is_the_norm_of_the_gradient_at_z() -> None:
    optima = np.random.default_rng(2).normal(size=(3, 8))
    matrices = [positive_definite(8, condition=50.0, seed=at) for at in range(3)]
    gradients = quadratics(matrices, optima)
    least = found_by(gradients, np.zeros((3, 8)), tolerance=1e-3)
    norms = torch.linalg.vector_norm(gradients(least.z, torch.arange(3)), dim=1)
    np.testing.assert_allclose(least.residuals, norms, rtol=1e-9)
    assert (norms <= 1e-3).all()


def test_a_problem_at_its_optimum_is_left_there() -> None:
    rng = np.random.default_rng(4)
    optima = rng.normal(size=(3, 9))
    start = optima + np.array([[1.0], [0.0], [1.0]])
    matrices = [positive_definite(9, condition=20.0, seed=at) for at in range(3)]
    least = found_by(quadratics(matrices, optima), start)
    np.testing.assert_array_equal(least.z[1].numpy(), optima[1])
    assert least.evaluations[1] == 1
    assert least.converged.all()
    np.testing.assert_allclose(least.z.numpy(), optima, rtol=0, atol=1e-8)


@pytest.mark.parametrize("condition", [1e3, 1e4])
def test_an_ill_conditioned_problem_among_easy_ones(condition: float) -> None:
    optima = np.random.default_rng(6).normal(size=(3, 10))
    conditions = [5.0, condition, 10.0]
    matrices = [positive_definite(10, condition=value, seed=at) for at, value in enumerate(conditions)]
    least = found_by(quadratics(matrices, optima), np.zeros((3, 10)), tolerance=1e-7)
    assert least.converged.all()
    np.testing.assert_allclose(least.z.numpy(), optima, rtol=0, atol=1e-7)
    assert least.evaluations[1] > 2 * least.evaluations[0]


def test_an_ill_conditioned_problem_in_float32_ends() -> None:
    matrix = torch.from_numpy(positive_definite(10, condition=1e7, seed=1)).float()
    start = torch.zeros(1, 10)
    tolerance = torch.tensor([1e-9])
    least = minimise(
        lambda z, numbers: (z - 1.0) @ matrix,
        start,
        tolerance=tolerance,
        most_evaluations=3000,
        patience=500,
        memory=10,
    )
    assert not least.converged.any()
    assert least.evaluations[0] < 3000
    assert least.z.isfinite().all()


def logistic_problems(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with their labels' signs multiplied in, and L2 strengths."""
    rng = np.random.default_rng(11)
    features = rng.normal(size=(count, 120, 7)) * np.geomspace(0.3, 3.0, 7)
    sides = np.where(features[:, :, 3] + rng.normal(size=(count, 120)) > 0, 1.0, -1.0)
    return features * sides[:, :, None], np.geomspace(0.01, 10.0, count)


def optimum(rows: np.ndarray, strength: float) -> np.ndarray:
    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        margins = rows @ w
        value = np.logaddexp(0.0, -margins).sum() + strength / 2 * w @ w
        return value, strength * w - expit(-margins) @ rows

    minimum = minimize(objective, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-7})
    return minimum.x


@pytest.mark.parametrize("memory", [3, 10])
def test_logistic_problems_end_where_scipy_ends(memory: int) -> None:
    rows, strengths = logistic_problems(5)
    all_rows, all_strengths = torch.from_numpy(rows), torch.from_numpy(strengths)

    def gradients(z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        margins = all_rows[numbers] @ z[:, :, None]
        pull = (all_rows[numbers] * torch.sigmoid(-margins)).sum(dim=1)
        return all_strengths[numbers, None] * z - pull

    least = found_by(gradients, np.zeros((5, 7)), memory=memory)
    assert least.converged.all()
    expected = np.stack([optimum(*pair) for pair in zip(rows, strengths, strict=True)])
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(least.z.numpy(), expected, rtol=0, atol=1e-5)


def beyond(radius: float, gradients: Gradients, value: float) -> Gradients:
    """Not finite outside a ball around 0."""

    def limited(z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        outside = torch.linalg.vector_norm(z, dim=1) > radius
        return torch.where(outside[:, None], value, gradients(z, numbers))

    return limited


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_beyond_a_radius(value: float) -> None:
    optima = np.random.default_rng(1).normal(size=(3, 5))
    optima *= 0.9 / np.linalg.norm(optima, axis=1, keepdims=True)
    matrices = [positive_definite(5, condition=1000.0, seed=at) for at in range(3)]
    start = -optima
    reached = []

    def noted(z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        reached.append(float(torch.linalg.vector_norm(z, dim=1).max()))
        return quadratics(matrices, optima)(z, numbers)

    least = found_by(beyond(1.0, noted, value), start)
    assert max(reached) > 1.0
    assert least.converged.all()
    np.testing.assert_allclose(least.z.numpy(), optima, rtol=0, atol=1e-8)


HOPELESS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "no optimum": lambda z: torch.ones_like(z),
    "rounding": lambda z: torch.round(z * 1e3) / 1e3 + 5e-4,
    "nan": lambda z: torch.full_like(z, torch.nan),
    "jumps": lambda z: torch.where(z > 0, 1.0, -1.0).to(z.dtype),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_a_problem_out_of_reach_of_its_tolerance_does_not_stop_the_others(name: str) -> None:
    optima = np.random.default_rng(3).normal(size=(4, 6))
    matrices = [positive_definite(6, condition=300.0, seed=at) for at in range(4)]
    easy, asked = quadratics(matrices, optima), []

    def gradients(z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        asked.append(numbers.tolist())
        assert len(z) == len(numbers)
        values = easy(z, numbers)
        hopeless = numbers == 1
        values[hopeless] = HOPELESS[name](z[hopeless] - 0.123)
        return values

    least = found_by(gradients, np.ones((4, 6)), patience=60)
    assert least.converged.tolist() == [True, False, True, True]
    others = [0, 2, 3]
    np.testing.assert_allclose(least.z[others].numpy(), optima[others], rtol=0, atol=1e-8)
    assert not least.residuals[1] <= 1e-8
    assert least.evaluations[1] <= 200
    assert least.evaluations.tolist() == [sum(number in numbers for numbers in asked) for number in range(4)]


def test_tolerances_are_per_problem() -> None:
    optima = np.random.default_rng(3).normal(size=(2, 6))
    matrices = [positive_definite(6, condition=100.0, seed=0)] * 2
    tolerance = torch.tensor([1e-2, 1e-9], dtype=torch.float64)
    start = torch.zeros(2, 6, dtype=torch.float64)
    least = minimise(
        quadratics(matrices, optima), start, tolerance=tolerance, most_evaluations=500, patience=500, memory=8
    )
    assert least.converged.all()
    assert (least.residuals <= tolerance).all()
    assert least.residuals[0] > 1e-9
    assert least.evaluations[0] < least.evaluations[1]


@pytest.mark.parametrize("most", [1, 2, 7])
def test_evaluations_end_at_the_most_allowed(most: int) -> None:
    gradients = quadratics([positive_definite(12, condition=100.0, seed=0)], np.zeros((1, 12)))
    least = found_by(gradients, np.ones((1, 12)), most_evaluations=most)
    assert least.evaluations.tolist() == [most]
    assert not least.converged.any()
    least = found_by(gradients, np.ones((1, 12)), most_evaluations=500)
    assert most < least.evaluations[0] < 500
    assert least.converged.all()


def test_start_is_not_changed() -> None:
    start = np.ones((1, 4))
    found_by(quadratics([positive_definite(4, condition=5.0, seed=0)], np.zeros((1, 4))), start)
    assert (start == 1.0).all()


def test_a_barrier_is_not_crossed() -> None:
    """sum(z - log(1 - z)) with NaN from 1 on and the same mirrored: optimum at 0, first step far outside."""

    def gradients(z: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return torch.where(z.abs() < 1, 2 * z / (1 - z**2), torch.nan)

    least = found_by(gradients, np.array([[0.99, -0.9, 0.5], [-0.999, 0.1, 0.0]]))
    assert least.converged.all()
    np.testing.assert_allclose(least.z.numpy(), 0.0, atol=1e-8)


def test_the_same_problem_gives_the_same_bits() -> None:
    optima = np.random.default_rng(3).normal(size=(3, 6))
    matrices = [positive_definite(6, condition=100.0, seed=at) for at in range(3)]
    first, second = (found_by(quadratics(matrices, optima), np.zeros((3, 6))) for _ in range(2))
    np.testing.assert_array_equal(first.z, second.z)
    np.testing.assert_array_equal(first.evaluations, second.evaluations)
