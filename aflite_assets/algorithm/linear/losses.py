"""The classifiers' losses, which every fit minimises, with their first and second derivatives, in torch.

For n rows x_i with scores s_i = W x_i + b, a fit minimises over W and b

    sum_i loss(s_i, y_i) + strength / 2 * ||W||^2,    strength = 1 / C,

This objective is scikit-learn's divided by C; the intercepts b are not penalised. With the residuals R[i, k] = d
loss(s_i, y_i) / d s_i[k], the gradient is

    d/dW = R^T X + strength * W,    d/db = sum_i R[i].

The losses are below; p_k is the probability of class k, and [condition] is 1 if the condition holds and else 0:

    name     outputs  loss                                      R[k]                           second derivative
    SOFTMAX  classes  log(sum_k exp(s_k)) - s_y                 p_k - [k = y]                  diag(p) - p p^T
    SIGMOID  1        log(1 + exp(s)) - y s                     p - y                          p (1 - p)
    HINGE    classes  sum_k max(0, 1 - t_k s_k)^2               -2 t_k max(0, 1 - t_k s_k)     2 [t_k s_k < 1], diagonal

SOFTMAX is the multinomial logistic loss. The sums of SOFTMAX run over the classes that the training set has; the other
classes have probability 0. SIGMOID is the logistic loss of two classes, with y in {0, 1} and s the log odds of class 1.
HINGE is the squared hinge loss of each class against the rest: t_k is 1 for the row's own class and -1 for the others.
Two classes have one output, class 1 against class 0. If a training set has only two of more classes, SOFTMAX has
scikit-learn's binary objective, which is the one above with twice the strength (`Objective.strengths`).

In all of `linear`, features are rows x width, weights outputs x width, intercepts outputs, and scores and residuals
rows x outputs. If there are many models or sets, an axis `models` or `sets` comes first. `codes` (int64) are class
numbers from 0; `seen` (bool) marks the classes that a training set has. The compiled form of R is in
kernels/activations.py.
"""

from dataclasses import dataclass

import numpy as np
import torch

PROBABILITY_ROUNDING = 6144.0
"""Adding this number to a probability and subtracting it again, in float64, leaves a multiple of 2^-40.

Sums of up to 2^13 such numbers are exact, so partitions give the same bits in any order of addition.
"""

SOFTMAX = 0
"""Multinomial logistic loss."""
SIGMOID = 1
"""Logistic loss of two classes, one output."""
HINGE = 2
"""Squared hinge loss, each class against the rest."""


@dataclass(frozen=True)
class Objective:
    """Objective of a fit: `loss` is SOFTMAX, SIGMOID or HINGE, `strength` the L2 strength in the features' scale."""

    loss: int
    outputs: int
    strength: float

    def strengths(self, seen: np.ndarray) -> np.ndarray:
        """Return the L2 strength of every training set (float64) for its classes `seen`, sets x classes."""
        mirrored = (seen.sum(axis=1) == 2) & (self.loss == SOFTMAX)
        return np.where(mirrored, 2.0, 1.0) * self.strength


def n_outputs(n_classes: int) -> int:
    """Return the number of weight vectors of a classifier: one for two classes, else one per class."""
    return 1 if n_classes == 2 else n_classes


def residuals(scores: torch.Tensor, codes: torch.Tensor, seen: torch.Tensor, loss: int) -> torch.Tensor:
    """Return R, the derivatives of the loss with respect to the scores.

    `scores`: (..., rows, outputs); `codes`: (..., rows); `seen`: (..., classes). The derivatives have the scores' shape
    and are 0 for outputs whose class is not in `seen`; a single output needs rows of both classes.
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
    """Return the probabilities of the outputs' classes; for SIGMOID, of both classes."""
    if loss == SIGMOID:
        return torch.sigmoid(torch.cat([-scores, scores], dim=-1))
    return torch.softmax(scores.masked_fill(~seen[..., None, :], -torch.inf), dim=-1)


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of the loss of n rows with respect to combinations of the outputs.

    The second derivative of row i is mixing^T (diag(d_i) - c_i c_i^T) mixing, outputs x outputs. `diagonal` (rows d_i)
    and `coupling` (rows c_i) are n x outputs; `coupling` is None if outputs do not interact. Column a of `mixing`
    (outputs x outputs) defines the mixed output a.
    """

    diagonal: torch.Tensor
    coupling: torch.Tensor | None
    mixing: torch.Tensor

    def mixed(self, mixing: torch.Tensor) -> "Curvature":
        """Return the curvature over other combinations of the outputs."""
        return Curvature(self.diagonal, self.coupling, mixing)

    @property
    def own(self) -> torch.Tensor:
        """Return n x mixed outputs: the second derivative along every mixed output, at least 0."""
        own = self.diagonal @ self.mixing**2
        return own if self.coupling is None else (own - (self.coupling @ self.mixing) ** 2).clamp(min=0)

    def pair(self, a: int, b: int) -> torch.Tensor:
        """Return, for n rows, the second derivatives with respect to the mixed outputs a and b."""
        product = self.diagonal @ (self.mixing[:, a] * self.mixing[:, b])
        if self.coupling is None:
            return product
        return product - (self.coupling @ self.mixing[:, a]) * (self.coupling @ self.mixing[:, b])

    def total(self) -> torch.Tensor:
        """Return the sum over the rows: mixed outputs x mixed outputs."""
        total = torch.diag(self.diagonal.sum(dim=0))
        if self.coupling is not None:
            total = total - self.coupling.T @ self.coupling
        return self.mixing.T @ total @ self.mixing


def curvature_of(scores: torch.Tensor, codes: torch.Tensor, loss: int) -> Curvature:
    """Return the float64 curvature of n rows, given scores (n x outputs) and classes, with unmixed outputs."""
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
    """Return 1 if an output's class is the row's, else -1."""
    outputs = torch.arange(scores.shape[-1], device=scores.device)
    positive = outputs + 1 if len(outputs) == 1 else outputs
    return torch.where(codes[..., None] == positive, 1.0, -1.0).to(scores.dtype)
