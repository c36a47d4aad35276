"""The classifiers' losses and their derivatives in torch. The compiled form of the derivatives is in kernels.py.

With L2 strength s = 1 / C every fit minimises sum(loss) + s/2 |W|^2, scikit-learn's objective divided by C; the
intercepts are not penalised. Scores are rows x outputs: one output for two classes, else one per class.
"""

from dataclasses import dataclass

import torch

SOFTMAX = 0
"""Multinomial logistic loss; classes that a training set lacks get probability 0."""
SIGMOID = 1
"""Logistic loss of two classes: one output, the log odds of class 1."""
HINGE = 2
"""Squared hinge loss, each class against the rest; for two classes one output, class 1 against class 0."""


def residuals(scores: torch.Tensor, codes: torch.Tensor, seen: torch.Tensor, loss: int) -> torch.Tensor:
    """Derivatives of the loss with respect to the scores: (..., rows, outputs), codes (..., rows), seen (..., classes).

    0 for outputs whose class is not in `seen`; a single output needs rows of both classes.
    """
    if loss == SIGMOID:
        return torch.sigmoid(scores) - codes[..., None].to(scores.dtype)
    if loss == HINGE:
        sides = _sides(scores, codes)
        slopes = -2 * sides * (1 - sides * scores).clamp(min=0)
        return slopes if scores.shape[-1] == 1 else torch.where(seen[..., None, :], slopes, 0)
    shares = probabilities(scores, seen, loss)
    own = codes[..., None]
    return shares.scatter_add(-1, own, shares.new_full((), -1.0).expand(own.shape))


def probabilities(scores: torch.Tensor, seen: torch.Tensor, loss: int) -> torch.Tensor:
    """Probabilities of the outputs' classes; of both classes for SIGMOID."""
    if loss == SIGMOID:
        return torch.sigmoid(torch.cat([-scores, scores], dim=-1))
    return torch.softmax(scores.masked_fill(~seen[..., None, :], -torch.inf), dim=-1)


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of the loss of n rows over mixed outputs a, b.

    That of a row is mixing^T (diag(diagonal) - coupling coupling^T) mixing. `diagonal`, `coupling`: n x outputs;
    coupling is None where outputs do not interact.
    """

    diagonal: torch.Tensor
    coupling: torch.Tensor | None
    mixing: torch.Tensor

    def mixed(self, mixing: torch.Tensor) -> "Curvature":
        """The same over other combinations of the outputs."""
        return Curvature(self.diagonal, self.coupling, mixing)

    @property
    def own(self) -> torch.Tensor:
        """n x mixed outputs: the derivatives of every mixed output with respect to itself, at least 0."""
        own = self.diagonal @ self.mixing**2
        return own if self.coupling is None else (own - (self.coupling @ self.mixing) ** 2).clamp(min=0)

    def pair(self, one: int, other: int) -> torch.Tensor:
        """n: the derivatives with respect to two mixed outputs."""
        both = self.diagonal @ (self.mixing[:, one] * self.mixing[:, other])
        if self.coupling is None:
            return both
        return both - (self.coupling @ self.mixing[:, one]) * (self.coupling @ self.mixing[:, other])

    def total(self) -> torch.Tensor:
        """Mixed outputs x mixed outputs: the sum over the rows."""
        total = torch.diag(self.diagonal.sum(dim=0))
        if self.coupling is not None:
            total = total - self.coupling.T @ self.coupling
        return self.mixing.T @ total @ self.mixing


def curvature_of(scores: torch.Tensor, codes: torch.Tensor, loss: int) -> Curvature:
    """The curvature of rows with some scores (n x outputs) and classes, over the outputs as they are; float64."""
    scores = scores.double()
    mixing = torch.eye(scores.shape[1], dtype=scores.dtype, device=scores.device)
    if loss == HINGE:
        return Curvature(2.0 * (_sides(scores, codes) * scores < 1).to(scores.dtype), None, mixing)
    if loss == SIGMOID:
        share = torch.sigmoid(scores)
        return Curvature(share * (1 - share), None, mixing)
    share = torch.softmax(scores, dim=-1)
    return Curvature(share, share, mixing)


def _sides(scores: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """1 where an output's class is the row's, else -1."""
    outputs = torch.arange(scores.shape[-1], device=scores.device)
    positive = outputs + 1 if len(outputs) == 1 else outputs
    return torch.where(codes[..., None] == positive, 1.0, -1.0).to(scores.dtype)
