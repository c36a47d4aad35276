"""The losses' derivatives against automatic differentiation of the losses written out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from aflite_assets.algorithm.linear.losses import (
    HINGE,
    SIGMOID,
    SOFTMAX,
    Curvature,
    curvature_of,
    residuals,
)

CASES = [(SIGMOID, 1), (SOFTMAX, 2), (SOFTMAX, 3), (SOFTMAX, 6), (HINGE, 1), (HINGE, 3), (HINGE, 6)]


def drawn(outputs: int, *, rows: int = 12, spread: float = 1.5) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng((outputs, rows))
    scores = torch.from_numpy(spread * rng.normal(size=(rows, outputs)))
    return scores, torch.from_numpy(rng.integers(0, max(2, outputs), rows))


def loss_of(scores: torch.Tensor, code: int, loss: int) -> torch.Tensor:
    """The loss of one row."""
    if loss == SOFTMAX:
        return torch.logsumexp(scores, dim=0) - scores[code]
    if loss == SIGMOID:
        return torch.nn.functional.softplus(scores[0]) - code * scores[0]
    own = torch.arange(len(scores)) + (len(scores) == 1) == code
    return ((1 - torch.where(own, 1.0, -1.0) * scores).clamp(min=0) ** 2).sum()


def all_seen(outputs: int) -> torch.Tensor:
    return torch.ones(max(2, outputs), dtype=torch.bool)


def hessians(scores: torch.Tensor, codes: torch.Tensor, loss: int) -> torch.Tensor:
    """Rows x outputs x outputs."""
    of_rows = [
        torch.autograd.functional.hessian(lambda values, code=code: loss_of(values, code, loss), row)
        for row, code in zip(scores, codes.tolist(), strict=True)
    ]
    return torch.stack(of_rows)


def orthogonal(size: int) -> torch.Tensor:
    return torch.linalg.qr(torch.from_numpy(np.random.default_rng(size).normal(size=(size, size))))[0]


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_residuals_are_the_derivatives(loss: int, outputs: int) -> None:
    scores, codes = drawn(outputs)
    scores.requires_grad_()
    total = torch.stack([loss_of(row, code, loss) for row, code in zip(scores, codes.tolist(), strict=True)]).sum()
    expected = torch.autograd.grad(total, scores)[0]
    actual = residuals(scores.detach(), codes, all_seen(outputs), loss)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", [SOFTMAX, HINGE])
def test_residuals_without_a_class_are_those_of_the_other_classes(loss: int) -> None:
    scores, codes = drawn(4)
    codes = torch.where(codes == 1, 3, codes)
    seen = torch.tensor([True, False, True, True])
    actual = residuals(scores, codes, seen, loss)
    fewer = residuals(scores[:, seen], (codes - (codes > 1).long()), torch.ones(3, dtype=torch.bool), loss)
    torch.testing.assert_close(actual[:, seen], fewer, rtol=0, atol=1e-15)
    assert not actual[:, 1].any()


def test_residuals_of_many_sets_at_once() -> None:
    scores, codes = drawn(3, rows=20)
    seen = torch.tensor([[True, True, True], [True, False, True]])
    codes = torch.where(codes == 1, 0, codes).reshape(2, 10)
    actual = residuals(scores.reshape(2, 10, 3), codes, seen, SOFTMAX)
    for number in range(2):
        alone = residuals(scores.reshape(2, 10, 3)[number], codes[number], seen[number], SOFTMAX)
        torch.testing.assert_close(actual[number], alone, rtol=0, atol=0)


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_extreme_scores_give_finite_derivatives(loss: int, outputs: int) -> None:
    scores, codes = drawn(outputs, spread=1e4)
    actual = residuals(scores.float(), codes, all_seen(outputs), loss)
    assert actual.isfinite().all()
    torch.testing.assert_close(actual.double(), residuals(scores, codes, all_seen(outputs), loss), rtol=1e-5, atol=1e-6)
    curvature = replace(curvature_of(scores.float(), codes, loss), mixing=orthogonal(outputs))
    assert curvature.own.isfinite().all()
    assert (curvature.own >= 0).all()


@pytest.mark.parametrize(("loss", "outputs"), CASES)
@pytest.mark.parametrize("mixed", [False, True])
def test_curvature_is_the_second_derivative(loss: int, outputs: int, mixed: bool) -> None:
    scores, codes = drawn(outputs)
    mixing = orthogonal(outputs) if mixed else torch.eye(outputs, dtype=torch.float64)
    curvature = replace(curvature_of(scores, codes, loss), mixing=mixing)
    expected = mixing.T @ hessians(scores, codes, loss) @ mixing
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(curvature.own, expected.diagonal(dim1=1, dim2=2), rtol=0, atol=1e-12)
    torch.testing.assert_close(curvature.total(), expected.sum(dim=0), rtol=0, atol=1e-12)
    for a in range(outputs):
        for b in range(outputs):
            torch.testing.assert_close(curvature.pair(a, b), expected[:, a, b], rtol=0, atol=1e-12)


@pytest.mark.parametrize("coupled", [False, True])
def test_curvature_of_any_diagonal_and_coupling(coupled: bool) -> None:
    rng = np.random.default_rng(8)
    diagonal, coupling = torch.from_numpy(1 + rng.random((9, 4))), torch.from_numpy(rng.random((9, 4)) / 2)
    curvature = Curvature(diagonal, coupling if coupled else None, orthogonal(4))
    matrices = torch.diag_embed(diagonal) - (coupling[:, :, None] * coupling[:, None, :] if coupled else 0.0)
    expected = orthogonal(4).T @ matrices @ orthogonal(4)
    torch.testing.assert_close(curvature.own, expected.diagonal(dim1=1, dim2=2), rtol=0, atol=1e-12)
    torch.testing.assert_close(curvature.total(), expected.sum(dim=0), rtol=0, atol=1e-12)
    torch.testing.assert_close(curvature.pair(0, 3), expected[:, 0, 3], rtol=0, atol=1e-12)
