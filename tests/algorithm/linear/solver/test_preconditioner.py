"""The preconditioner against matrices written out."""

from functools import partial

import numpy as np
import pytest
import torch

from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX, curvature_of
from aflite_assets.algorithm.linear.solver.preconditioner import Preconditioner, Sample, preconditioner_at

CASES = [
    (SIGMOID, 1),
    (HINGE, 1),
    *((loss, outputs) for loss in (SOFTMAX, HINGE) for outputs in (2, 3, 10, 30, 70)),
]
WIDTH = 48


def sample_of(
    *, width: int = WIDTH, rows: int = 400, dtype: torch.dtype = torch.float64, columns: np.ndarray | None = None
) -> Sample:
    """Rows with a falling spectrum in turned directions, centred and scaled."""
    rng = np.random.default_rng((width, rows))
    turned = np.linalg.qr(rng.normal(size=(width, width)))[0]
    values = rng.normal(size=(rows, width)) * np.geomspace(3.0, 0.1, width) @ turned
    values = values if columns is None else values * columns
    values -= values.mean(axis=0)
    return Sample.of(torch.from_numpy(values / np.sqrt(np.mean(values**2))).to(dtype))


def classes_of(rows: int, outputs: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(outputs).integers(0, max(2, outputs), rows))


def point(outputs: int, width: int, *, spread: float = 0.15, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    rng = np.random.default_rng((outputs, width))
    values = torch.from_numpy(spread * rng.normal(size=(outputs, width + 1))).to(dtype)
    return [values[:, :-1].contiguous(), values[:, -1].contiguous()]


def preconditioner(
    sample: Sample,
    loss: int,
    outputs: int,
    *,
    spread: float = 0.15,
    codes: torch.Tensor | None = None,
    train_size: float = 900.0,
    strength: float = 0.7,
) -> Preconditioner:
    rows, width = sample.features.shape
    codes = classes_of(rows, outputs) if codes is None else codes
    at = point(outputs, width, spread=spread, dtype=sample.features.dtype)
    return preconditioner_at(sample, codes, *at, loss=loss, train_size=train_size, strength=strength)


def matrix_of(map_: Preconditioner) -> torch.Tensor:
    """The map from z to (output, weight or intercept) as a matrix."""
    weights, intercepts = map_.weights(torch.eye(map_.size, dtype=torch.float64))
    return torch.cat([weights, intercepts[:, :, None]], dim=2).flatten(1).T


def hessian(sample: Sample, loss: int, outputs: int, *, factor: float, strength: float) -> torch.Tensor:
    """Of factor x sum(loss) + strength / 2 |W|^2 over the sample, at `point`."""
    rows, width = sample.features.shape
    weights, intercepts = point(outputs, width)
    curvature = curvature_of(sample.features @ weights.T + intercepts, classes_of(rows, outputs), loss)
    extended = torch.cat([sample.features, torch.ones(rows, 1, dtype=torch.float64)], dim=1)
    blocks = [[extended.T @ (curvature.pair(a, b)[:, None] * extended) for b in range(outputs)] for a in range(outputs)]
    penalty = torch.ones(outputs, width + 1, dtype=torch.float64) * strength
    penalty[:, -1] = 0.0
    return factor * torch.cat([torch.cat(row, dim=1) for row in blocks]) + torch.diag(penalty.flatten())


def whitened(sample: Sample, loss: int, outputs: int) -> torch.Tensor:
    map_ = preconditioner(sample, loss, outputs, train_size=900.0, strength=0.7)
    full = hessian(sample, loss, outputs, factor=900.0 / len(sample.features), strength=0.7)
    turned = matrix_of(map_)
    return turned.T @ full @ turned


@pytest.mark.parametrize(("loss", "outputs"), CASES)
@pytest.mark.parametrize("width", [8, WIDTH])
def test_gradient_is_the_transpose_of_weights(loss: int, outputs: int, width: int) -> None:
    map_ = preconditioner(sample_of(width=width), loss, outputs)
    assert map_.size == outputs * (width + 1)
    rng = np.random.default_rng(9)
    z = torch.from_numpy(rng.normal(size=(5, map_.size)))
    gradients = torch.from_numpy(rng.normal(size=(5, outputs, width)))
    intercept_gradients = torch.from_numpy(rng.normal(size=(5, outputs)))
    weights, intercepts = map_.weights(z)
    assert weights.shape == (5, outputs, width)
    assert intercepts.shape == (5, outputs)
    there = (weights * gradients).sum(dim=(1, 2)) + (intercepts * intercept_gradients).sum(dim=1)
    back = (z * map_.gradient(gradients, intercept_gradients)).sum(dim=1)
    size = torch.linalg.vector_norm(weights) * torch.linalg.vector_norm(gradients)
    assert size > 0.1
    torch.testing.assert_close(back, there, rtol=0, atol=1e-12 * float(size) + 1e-12)


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 3), (SOFTMAX, 30), (SOFTMAX, 70)])
def test_every_classifier_can_be_reached(loss: int, outputs: int) -> None:
    """The map has an inverse, so no optimum is out of reach."""
    width = 8 if outputs > 10 else WIDTH
    singular = torch.linalg.svdvals(matrix_of(preconditioner(sample_of(width=width), loss, outputs)))
    assert singular[-1] > 1e-6 * singular[0]


@pytest.mark.parametrize("loss", [SIGMOID, HINGE])
@pytest.mark.parametrize("width", [8, 16])
def test_few_directions_are_whitened_for_one_output(loss: int, width: int) -> None:
    left = whitened(sample_of(width=width), loss, 1) - torch.eye(width + 1, dtype=torch.float64)
    # The ridge that keeps the intercepts apart is 1e-3 of their curvature.
    assert left.abs().max() < 2e-3
    assert left[:-1, :-1].abs().max() < 1e-8


@pytest.mark.parametrize(("loss", "outputs"), [(SOFTMAX, 3), (HINGE, 3), (SOFTMAX, 5), (HINGE, 5)])
def test_few_directions_are_whitened_for_several_outputs(loss: int, outputs: int) -> None:
    values = torch.linalg.eigvalsh(whitened(sample_of(width=8), loss, outputs))
    # A softmax does not change when all intercepts move together.
    flat = 1 if loss == SOFTMAX else 0
    assert values[:flat].abs().max() < 1e-8 if flat else values[0] > 0.99
    assert values[flat:].min() > 0.99
    assert values.max() < 1.01


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (HINGE, 1), (SOFTMAX, 3), (HINGE, 3), (SOFTMAX, 10)])
def test_many_directions_are_nearly_whitened(loss: int, outputs: int) -> None:
    sample = sample_of(width=80, rows=1500)
    plain = torch.linalg.eigvalsh(hessian(sample, loss, outputs, factor=900.0 / 1500, strength=0.7))
    values = torch.linalg.eigvalsh(whitened(sample, loss, outputs))
    flat = 1 if loss == SOFTMAX else 0
    assert plain[-1] / plain[flat] > 200
    assert values[flat] > 0.2
    assert values[-1] < 3.0


def test_the_scale_of_rows_and_penalty_is_taken_into_account() -> None:
    sample = sample_of(width=8)
    for train_size, strength in ((10.0, 0.01), (1e6, 100.0)):
        map_ = preconditioner(sample, SIGMOID, 1, train_size=train_size, strength=strength)
        full = hessian(sample, SIGMOID, 1, factor=train_size / 400, strength=strength)
        values = torch.linalg.eigvalsh(matrix_of(map_).T @ full @ matrix_of(map_))
        assert values[0] > 0.998
        assert values[-1] < 1.002


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 30)])
def test_rows_in_the_basis_give_the_same_classifiers_there(loss: int, outputs: int) -> None:
    sample = sample_of()
    rotated = sample.rotated()
    assert sample.basis is not None
    assert rotated.basis is None
    torch.testing.assert_close(rotated.features, sample.features @ sample.basis, rtol=0, atol=1e-12)
    weights, intercepts = point(outputs, WIDTH)
    codes = classes_of(400, outputs)
    at = partial(preconditioner_at, codes=codes, loss=loss, train_size=900.0, strength=0.7)
    plain = at(sample, weights=weights, intercepts=intercepts)
    turned = at(rotated, weights=weights @ sample.basis, intercepts=intercepts)
    # Directions may come with the other sign, which the products of all scores do not show.
    products = []
    for map_, rows in ((plain, sample.features), (turned, rotated.features)):
        mapped, mapped_intercepts = map_.weights(torch.eye(map_.size, dtype=torch.float64))
        scores = rows[:20] @ mapped.mT + mapped_intercepts[:, None]
        if loss == SOFTMAX:  # which does not change with all scores together
            scores = scores - scores.mean(dim=2, keepdim=True)
        products.append(scores.flatten(1).T @ scores.flatten(1))
    assert products[0].abs().max() > 1e-3
    torch.testing.assert_close(products[1], products[0], rtol=0, atol=1e-10 * float(products[0].abs().max()))


@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 30)])
def test_double_is_the_same_map_in_float64(loss: int, outputs: int) -> None:
    single = preconditioner(sample_of(dtype=torch.float32), loss, outputs)
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(2, single.size))).float()
    double = single.double()
    assert double.size == single.size
    for actual, expected in zip(single.weights(z), double.weights(z.double()), strict=True):
        assert expected.dtype == torch.float64
        torch.testing.assert_close(actual.double(), expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


def assert_usable(map_: Preconditioner) -> None:
    """Finite both ways, and nothing is mapped to nothing."""
    dtype, (outputs, directions) = map_.dense.dtype, map_.centres.shape
    weights, intercepts = map_.weights(torch.ones(2, map_.size, dtype=dtype))
    back = map_.gradient(torch.ones(2, outputs, directions, dtype=dtype), torch.ones(2, outputs, dtype=dtype))
    for part in (map_.mixing, map_.centres, map_.dense, map_.scales, weights, intercepts, back):
        assert part.isfinite().all()
    assert (map_.scales > 0).all()
    assert (map_.dense.diagonal() > 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
class TestFinite:
    def test_where_the_sample_lacks_classes(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        codes = classes_of(400, outputs).clamp(max=max(0, outputs - 3))
        assert_usable(preconditioner(sample_of(dtype=dtype), loss, outputs, codes=codes))

    def test_where_a_class_has_no_probability_at_all(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        sample = sample_of(dtype=dtype)
        weights, intercepts = point(outputs, WIDTH, dtype=dtype)
        intercepts[-1] = -1e6
        codes = classes_of(400, outputs)
        assert_usable(preconditioner_at(sample, codes, weights, intercepts, loss=loss, train_size=900.0, strength=0.7))

    def test_where_columns_are_constant(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        columns = np.where(np.arange(WIDTH) < 40, 0.0, 1.0)
        assert_usable(preconditioner(sample_of(dtype=dtype, columns=columns), loss, outputs))

    def test_where_all_columns_are_constant(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        sample = Sample.of(torch.zeros(50, WIDTH, dtype=dtype))
        assert_usable(preconditioner(sample, loss, outputs))

    def test_where_all_scores_are_extreme(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        assert_usable(preconditioner(sample_of(dtype=dtype), loss, outputs, spread=1e6))

    def test_where_every_row_is_far_on_its_side(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        """No row has curvature left, and the penalty is weak."""
        sample = sample_of(dtype=dtype)
        weights, intercepts = point(outputs, WIDTH, spread=100.0, dtype=dtype)
        scores = sample.features @ weights.T + intercepts
        codes = (scores[:, 0] > 0).long() if outputs == 1 else scores.argmax(dim=1)
        map_ = preconditioner_at(sample, codes, weights, intercepts, loss=loss, train_size=1e6, strength=1e-4)
        assert_usable(map_)

    def test_where_rows_are_fewer_than_columns(self, loss: int, outputs: int, dtype: torch.dtype) -> None:
        assert_usable(preconditioner(sample_of(rows=5, dtype=dtype), loss, outputs))
