"""The preconditioner: a change of variables that makes the optima of random training sets easy to reach.

Training sets drawn from one pool have nearly the same curvature H (the second derivative of the objective). The change
of variables is (W, b) = start + P z with P P^T = H^-1. The curvature in z is then close to the identity for every
classifier, so L-BFGS needs few steps. Two steps make H nearly diagonal in the basis of eigenvectors of the features'
covariance. First, the outputs are mixed along the eigenvectors of their mean curvature. Second, the features of each
mixed output are centred at the rows for which that output is uncertain. The centring decouples the weights of a mixed
output from its intercept. Directions of large variance are too strongly coupled for a diagonal approximation. These
directions form one dense block with the intercepts. This module only computes the preconditioner and fits no
classifier.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from aflite_assets.algorithm.linear.losses import Curvature, curvature_of

# Rows and columns of the dense block at most, and directions in it at most.
_DENSE_SIZE, _DENSE_DIRECTIONS = 128, 32
# Over this many outputs none are mixed, and the dense block holds the intercepts alone.
_MIXED_OUTPUTS = 20
# Curvature below this share of the largest is rounding.
_LEAST_CURVATURE = 1e-12


@dataclass(frozen=True)
class Sample:
    """A sample of rows that represents the pool. `features` is n x width and standardized. `projected` is `features @
    basis`.

    `basis`: the eigenvectors of the covariance as columns, width x width, in descending order of variance. If `basis`
    is None, the identity is used.
    """

    features: torch.Tensor
    basis: torch.Tensor | None
    projected: torch.Tensor

    @classmethod
    def of(
        cls, features: torch.Tensor, product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = torch.matmul
    ) -> "Sample":
        """Compute the basis from centred rows. `product` is the function that multiplies two matrices."""
        basis = torch.linalg.eigh(product(features.T, features))[1].flip(1).contiguous()
        return cls(features, basis, product(features, basis))

    def rotated(self) -> "Sample":
        """Return the sample with its features expressed in the basis."""
        return Sample(self.projected, None, self.projected)


@dataclass(frozen=True)
class Preconditioner:
    """The linear map P from flat vectors z (models x size) to weights with intercepts, and the transpose of P.

    `mixing`: the orthogonal matrix that mixes the outputs, outputs x outputs. `centres`: the centre of each mixed
    output in the basis, mixed outputs x directions. `dense`: the inverse square root of the dense block of the
    curvature. Each row and each column of `dense` belongs to one mixed output and to either one direction of large
    variance or the intercept. `scales`: the inverse square roots of the curvature along the other directions, mixed
    outputs x other directions.
    """

    basis: torch.Tensor | None
    mixing: torch.Tensor
    centres: torch.Tensor
    dense: torch.Tensor
    scales: torch.Tensor

    @property
    def size(self) -> int:
        """Length of a vector z."""
        return len(self.dense) + self.scales.numel()

    @property
    def is_mixed(self) -> bool:
        """True if outputs are mixed. More than `_MIXED_OUTPUTS` outputs are not mixed, because with many balanced
        classes, all combinations of outputs have similar curvature.
        """
        return len(self.mixing) <= _MIXED_OUTPUTS

    def weights(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the weights (models x outputs x width) and intercepts (models x outputs) for z."""
        models, outputs = len(z), len(self.mixing)
        top = (z[:, : len(self.dense)] @ self.dense.T).reshape(models, outputs, -1)
        rest = self.scales * z[:, len(self.dense) :].reshape(models, outputs, -1)
        along = torch.cat([top[:, :, :-1], rest], dim=2)
        intercepts = top[:, :, -1] - torch.linalg.vecdot(along, self.centres)
        weights = self.mixing @ along if self.is_mixed else along
        return weights if self.basis is None else weights @ self.basis.T, intercepts @ self.mixing.T

    def gradient(self, weights: torch.Tensor, intercepts: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to z, from the gradients with respect to weights and intercepts."""
        along = weights if self.basis is None else weights @ self.basis
        along = self.mixing.T @ along if self.is_mixed else along
        intercepts = intercepts @ self.mixing
        along = torch.addcmul(along, intercepts[:, :, None], self.centres, value=-1)
        directions = along.shape[2] - self.scales.shape[1]
        top = torch.cat([along[:, :, :directions], intercepts[:, :, None]], dim=2).flatten(1) @ self.dense
        return torch.cat([top, (self.scales * along[:, :, directions:]).flatten(1)], dim=1)

    def double(self) -> "Preconditioner":
        """Return the preconditioner in float64."""
        basis = None if self.basis is None else self.basis.double()
        return Preconditioner(basis, *(part.double() for part in (self.mixing, self.centres, self.dense, self.scales)))


def preconditioner_at(
    sample: Sample,
    codes: torch.Tensor,
    weights: torch.Tensor,
    intercepts: torch.Tensor,
    *,
    loss: int,
    train_size: float,
    strength: float,
) -> Preconditioner:
    """Return the preconditioner for the curvature of the objective over `train_size` rows that resemble the sample.

    `codes`: classes of the sample's rows. `weights` (outputs x width) and `intercepts` (outputs): the point at which
    the curvature is computed, which should be near the optima. `loss` and `strength` are as in `losses.Objective`.
    """
    outputs = len(intercepts)
    curvature = curvature_of(sample.features @ weights.T + intercepts, codes, loss)
    if 1 < outputs <= _MIXED_OUTPUTS:
        curvature = replace(curvature, mixing=torch.linalg.eigh(curvature.total())[1])
    factor = train_size / len(codes)
    along = curvature.own.to(weights.dtype)
    mass = along.sum(dim=0)[:, None].clamp(min=1e-20)
    centres = along.T @ sample.projected / mass
    directions = min(_DENSE_DIRECTIONS, _DENSE_SIZE // outputs - 1, sample.features.shape[1])
    directions = directions if outputs <= _MIXED_OUTPUTS else 0
    rest = sample.projected[:, directions:]
    variances = (along.T @ rest**2 - mass * centres[:, directions:] ** 2).clamp(min=0)
    least = max(strength, _LEAST_CURVATURE * factor * float(variances.max())) if rest.shape[1] else strength
    scales = (factor * variances + least).rsqrt()
    dense = _dense_root(sample.projected[:, :directions], centres[:, :directions], curvature, factor, strength)
    return Preconditioner(sample.basis, curvature.mixing.to(weights.dtype), centres, dense, scales)


def _dense_root(
    top: torch.Tensor, centres: torch.Tensor, curvature: Curvature, factor: float, strength: float
) -> torch.Tensor:
    """Return a matrix R with R R^T equal to the inverse of the dense block of the curvature, computed in float64. Each
    row of the block belongs to a mixed output and to either a direction of large variance or the intercept.
    """
    outputs, directions = centres.shape
    size = directions + 1
    if directions == 0:
        matrix = curvature.total() * factor
    else:
        matrix = torch.empty(outputs, size, outputs, size, dtype=torch.float64, device=top.device)
        ones = top.new_ones(len(top), 1)
        extended = [torch.cat([top - centre, ones], dim=1).double() for centre in centres]
        for a in range(outputs):
            for b in range(a, outputs):
                block = factor * (extended[a].T @ (curvature.pair(a, b)[:, None] * extended[b]))
                matrix[a, :, b, :], matrix[b, :, a, :] = block, block.T
        matrix = matrix.reshape(outputs * size, outputs * size)
    # Directions without curvature, as all intercepts moved together, must not be left singular.
    ridge = torch.full((outputs, size), strength, dtype=torch.float64, device=top.device)
    ridge[:, -1] = 1e-3 * matrix.diagonal()[directions::size].mean() + 1e-20
    return _inverse_root(matrix + torch.diag(ridge.flatten())).to(top.dtype)


def _inverse_root(matrix: torch.Tensor) -> torch.Tensor:
    """Return a matrix R with R R^T equal to the inverse of a positive definite matrix. If the matrix is nearly
    singular, its diagonal is increased first.
    """
    eye = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    ridge = torch.zeros_like(matrix)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    while failed:
        ridge = torch.maximum(10 * ridge, _LEAST_CURVATURE * matrix.diagonal().max().clamp(min=1e-200) * eye)
        factor, failed = torch.linalg.cholesky_ex(matrix + ridge)
    return torch.linalg.solve_triangular(factor, eye, upper=False).T.contiguous()
