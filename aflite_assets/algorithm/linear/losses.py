"""Losses of the classifiers, with first and second derivatives, in torch. Every fit minimises one of the losses in this
module.

For n rows x_i with scores s_i = W x_i + b, a fit minimises over W and b

    sum_i loss(s_i, y_i) + strength / 2 * ||W||^2,    strength = 1 / C,

This objective is scikit-learn's objective divided by C. The intercepts b are not penalised. With the residuals R[i, k]
= d loss(s_i, y_i) / d s_i[k], the gradient is

    d/dW = R^T X + strength * W,    d/db = sum_i R[i].

The table lists the losses. In the table, p_k is the probability of class k, and [condition] is 1 if the condition holds
and 0 otherwise:

    name     outputs  loss                                      R[k]                           second derivative
    SOFTMAX  classes  log(sum_k exp(s_k)) - s_y                 p_k - [k = y]                  diag(p) - p p^T
    SIGMOID  1        log(1 + exp(s)) - y s                     p - y                          p (1 - p)
    HINGE    classes  sum_k max(0, 1 - t_k s_k)^2               -2 t_k max(0, 1 - t_k s_k)     2 [t_k s_k < 1], diagonal

SOFTMAX is the multinomial logistic loss. The sums of SOFTMAX run over the classes in the training set; other classes
have probability 0. SIGMOID is the logistic loss of two classes, with y in {0, 1} and s the log odds of class 1. HINGE
is the squared hinge loss of each class against the rest. The target t_k is 1 for the row's own class and -1 for all
other classes. If there are two classes, there is one output: class 1 against class 0. If a training set has only two of
three or more classes, SOFTMAX uses the binary objective of scikit-learn. The binary objective equals the objective
above with twice the strength (`Objective.strengths`).

In the whole package `linear`, the shapes are: features rows x width, weights outputs x width, intercepts outputs,
scores and residuals rows x outputs. If there are several models or training sets, the first axis is `models` or `sets`.
`codes` (int64) are class numbers from 0. `seen` (bool) is True for the classes that a training set contains. The
compiled code that computes R is in `kernels/activations.py`.
"""

from dataclasses import dataclass

import numpy as np
import torch

PROBABILITY_ROUNDING = 6144.0
"""A number that rounds probabilities to multiples of 2^-40: it is added in float64 and then subtracted again. Sums of
up to 2^13 rounded probabilities are exact. The sum over partitions is therefore bit-identical in any order.
"""

SOFTMAX = 0
"""Multinomial logistic loss."""
SIGMOID = 1
"""Logistic loss for two classes, with a single output."""
HINGE = 2
"""Squared hinge loss, each class against the rest."""


@dataclass(frozen=True)
class Objective:
    """Objective of a fit. `loss` is SOFTMAX, SIGMOID or HINGE. `strength` is the L2 strength for features in their
    current scale.
    """

    loss: int
    outputs: int
    strength: float

    def strengths(self, seen: np.ndarray) -> np.ndarray:
        """Return the L2 strength of every training set, float64. `seen` (sets x classes) is True for the classes that a
        set contains.
        """
        mirrored = (seen.sum(axis=1) == 2) & (self.loss == SOFTMAX)
        return np.where(mirrored, 2.0, 1.0) * self.strength


def n_outputs(n_classes: int) -> int:
    """Return the number of weight vectors of a classifier: one for two classes, otherwise one per class."""
    return 1 if n_classes == 2 else n_classes


def residuals(scores: torch.Tensor, codes: torch.Tensor, seen: torch.Tensor, loss: int) -> torch.Tensor:
    """Return the derivatives of the loss with respect to the scores (R in the module's docstring).

    `scores`: (..., rows, outputs); `codes`: (..., rows); `seen`: (..., classes). The derivatives have the shape of the
    scores. The derivatives are 0 for the outputs of classes that are not in `seen`. With a single output, both classes
    must have rows.
    """
    if loss == SIGMOID:
        return torch.sigmoid(scores) - codes[..., None].to(scores.dtype)
    if loss == HINGE:
        sides = _sides(scores, codes)
        slopes = -2 * sides * (1 - sides * scores).clamp(min=0)
        return slopes if scores.shape[-1] == 1 else torch.where(seen[..., None, :], slopes, 0)
    shares = softmax(scores.masked_fill(~seen[..., None, :], -torch.inf))
    own = codes[..., None]
    return shares.scatter_add(-1, own, shares.new_full((), -1.0).expand(own.shape))


def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Return the softmax over the last dimension. On the CPU, torch is several times faster along another dimension, if
    there are few classes.
    """
    if scores.device.type != "cpu":
        return torch.softmax(scores, dim=-1)
    return torch.softmax(scores.mT.contiguous(), dim=-2).mT


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of the loss for each of n rows, with respect to linear combinations of the outputs.

    The second derivative of row i is mixing^T (diag(d_i) - c_i c_i^T) mixing, outputs x outputs. `diagonal` (with rows
    d_i) and `coupling` (with rows c_i) are n x outputs. `coupling` is None if outputs do not interact. Column a of
    `mixing` (outputs x outputs) defines the mixed output a.
    """

    diagonal: torch.Tensor
    coupling: torch.Tensor | None
    mixing: torch.Tensor

    @property
    def own(self) -> torch.Tensor:
        """Return the second derivative along every mixed output, n x mixed outputs. Each value is at least 0."""
        own = self.diagonal @ self.mixing**2
        return own if self.coupling is None else (own - (self.coupling @ self.mixing) ** 2).clamp(min=0)

    def pair(self, a: int, b: int) -> torch.Tensor:
        """Return, for n rows, the second derivatives with respect to the mixed outputs a and b."""
        product = self.diagonal @ (self.mixing[:, a] * self.mixing[:, b])
        if self.coupling is None:
            return product
        return product - (self.coupling @ self.mixing[:, a]) * (self.coupling @ self.mixing[:, b])

    def total(self) -> torch.Tensor:
        """Return the second derivatives summed over the rows, mixed outputs x mixed outputs."""
        total = torch.diag(self.diagonal.sum(dim=0))
        if self.coupling is not None:
            total = total - self.coupling.T @ self.coupling
        return self.mixing.T @ total @ self.mixing


def curvature_of(scores: torch.Tensor, codes: torch.Tensor, loss: int) -> Curvature:
    """Return the float64 curvature of n rows, given the scores (n x outputs) and classes. The outputs are not mixed."""
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
    """Return, for each row and output, 1 if the output's class is the row's class and -1 otherwise."""
    outputs = torch.arange(scores.shape[-1], device=scores.device)
    positive = outputs + 1 if len(outputs) == 1 else outputs
    return torch.where(codes[..., None] == positive, 1.0, -1.0).to(scores.dtype)
