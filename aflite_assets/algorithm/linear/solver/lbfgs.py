"""L-BFGS on many smooth convex problems at once. One step for all problems requires one gradient evaluation per
problem. This module does not use the rows.

One loop (`advance_all`) runs one of two implementations of the steps. The steps in torch are in this module, for any
device and precision. The steps in torch are used on a GPU, for small jobs, and for fits that are repeated in float64.
The compiled steps, for float32 on the CPU, are in `compiled_lbfgs.py`. The steps in torch and the compiled steps follow
the same rule. Let g . d be the slope along the direction d. A step is taken if the slope at its end is at most
`STEEPEST` times the absolute slope at its start. A longer step is shortened to the length at which a linearly changing
slope would be zero (the secant rule). The step is shortened by a factor between `SHORTEST` and `LONGEST`. Function
values are not used, because sums of losses in float32 are too coarse to compare near an optimum. Gradients are precise
enough. After a step is taken, the next step has length 1 along -H g. H is the inverse Hessian of L-BFGS. A step and its
gradient change are stored if the curvature along the step is positive. The compiled steps multiply by H with the
two-loop recursion of Nocedal (1980). The steps in torch use the compact form of Byrd, Nocedal and Schnabel (1994),
because torch is faster with few large products. The two forms are equal except for rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

Gradients = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""A function that returns the gradients of some problems, given their z and their numbers. z and the gradients are
problems x size.
"""

LossGradients = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""A function `f(weights, intercepts, problems)` that returns the gradients of the losses of some problems, without the
penalty. The function takes weights (problems x outputs x width) and intercepts (problems x outputs), and returns
gradients of the same shapes.
"""

STEEPEST = 0.9
"""A step is taken if the slope at its end is at most this share of the absolute slope at its start."""

SHORTEST, LONGEST = 0.05, 0.8
"""Smallest and largest factor by which a step that is too long is shortened."""

# Directions are computed for the moved problems alone if at most one of so many problems moved. Otherwise the copies of
# their pairs would take too much memory.
_FEW = 4


@dataclass(frozen=True)
class Minima:
    """Minima of all problems: `z` (problems x size), `converged` (bool), gradient norms (`residuals`) and numbers of
    computed gradients (`evaluations`).
    """

    z: torch.Tensor
    converged: torch.Tensor
    residuals: torch.Tensor
    evaluations: torch.Tensor


class Problems(Protocol):
    """Many minimisation problems, each at its current point. All tensors are on the same device."""

    @property
    def norms(self) -> torch.Tensor:
        """Gradient norm of every problem."""
        ...

    def advance(self, active: torch.Tensor) -> None:
        """Evaluate one gradient per problem in `active`, at the end of the next step. Take the step if it is not too
        long.
        """
        ...


def minimise(
    gradients: Gradients,
    start: torch.Tensor,
    *,
    tolerance: torch.Tensor,
    most_evaluations: int,
    patience: int,
    memory: int,
) -> Minima:
    """Minimise every problem. Row i of `start` is the starting point of problem i. `memory`: the number of pairs of
    step and gradient change that are kept.

    The other arguments are described in `advance_all`.
    """
    problems = _TorchProblems(gradients, start.clone(), memory)
    evaluations = advance_all(problems, tolerance=tolerance, most_evaluations=most_evaluations, patience=patience)
    return Minima(problems.z, problems.norms <= tolerance, problems.norms, evaluations)


def advance_all(problems: Problems, *, tolerance: torch.Tensor, most_evaluations: int, patience: int) -> torch.Tensor:
    """Advance each problem until its gradient norm is at most its `tolerance`. Return the number of evaluations per
    problem.

    Each problem must already have been evaluated once at its start. The evaluation of a problem ends when the problem
    has converged, or after `most_evaluations` evaluations. The evaluation also ends if rounding prevents further
    progress, that is, if the smallest gradient norm does not halve within `patience` evaluations. If a gradient is not
    finite, the step is shortened.
    """
    evaluations = torch.ones(len(tolerance), dtype=torch.int64, device=tolerance.device)
    active = torch.nonzero(problems.norms > tolerance).flatten()
    least = before = problems.norms.clone()
    for number in range(1, most_evaluations):
        if not len(active):
            break
        problems.advance(active)
        evaluations[active] += 1
        active = active[problems.norms[active] > tolerance[active]]
        least = torch.minimum(least, problems.norms)
        if number % patience == 0:
            active = active[least[active] <= 0.5 * before[active]]
            before = least
    return evaluations


class _TorchProblems:
    """Current point, gradient and direction of every problem, the slope along the direction, and the length of the next
    step.
    """

    def __init__(self, gradients: Gradients, z: torch.Tensor, memory: int) -> None:
        self.z, self._gradients = z, gradients
        self._gradient = gradients(z, torch.arange(len(z), device=z.device))
        self.norms = torch.linalg.vector_norm(self._gradient, dim=1)
        self._direction = -self._gradient
        self._slope, self._length = -(self.norms**2), torch.ones_like(self.norms)
        self._history = _History(z, memory)

    def advance(self, active: torch.Tensor) -> None:
        """Try one step per problem in `active`. If the step is not too long, take the step and choose the next
        direction.
        """
        chosen = slice(None) if len(active) == len(self.z) else active
        step = self._length[chosen, None] * self._direction[chosen]
        new = self._gradients(self.z[chosen] + step, active)
        before = self._slope[chosen].abs()
        after = torch.linalg.vecdot(new, self._direction[chosen])
        taken = (after <= STEEPEST * before) & after.isfinite()
        shorter = self._length[chosen] * (before / (before + after)).nan_to_num(0.0).clamp(SHORTEST, LONGEST)
        self._length[chosen] = torch.where(taken, 1.0, shorter)
        if not taken.all():
            chosen, step, new = active[taken], step[taken], new[taken]
        self._take(chosen, step, new)

    def _take(self, moved: slice | torch.Tensor, step: torch.Tensor, new: torch.Tensor) -> None:
        if not len(new):
            return
        self.z[moved] += step
        self._history.add(moved, step, new - self._gradient[moved])
        self._gradient[moved] = new
        self.norms[moved] = torch.linalg.vector_norm(new, dim=1)
        direction = self._history.directions(moved, self._gradient)
        slope = torch.linalg.vecdot(direction, new)
        uphill = slope >= 0
        if uphill.any():
            direction[uphill] = -new[uphill]
            slope[uphill] = -(self.norms[moved][uphill] ** 2)
        self._direction[moved], self._slope[moved] = direction, slope


class _History:
    """Recent steps and gradient changes of every problem. The steps and gradient changes determine the new directions.

    All problems use the same slots. If a problem made no step, its entry in the slot is zero and has no effect. When
    all slots are full, the oldest slot is overwritten.
    """

    def __init__(self, like: torch.Tensor, memory: int) -> None:
        problems, size = like.shape
        self._pairs = like.new_empty(problems, 2 * memory, size)
        # Products of all steps and changes with each other.
        self._products = like.new_zeros(problems, 2 * memory, 2 * memory, dtype=torch.float64)
        self._added, self._memory = 0, memory

    def add(self, moved: slice | torch.Tensor, steps: torch.Tensor, changes: torch.Tensor) -> None:
        """Store a pair of step and gradient change for the problems `moved`."""
        slot = 2 * (self._added % self._memory)
        self._added += 1
        new = slice(slot, slot + 2)
        if isinstance(moved, torch.Tensor):
            self._pairs[:, new] = 0.0
        self._pairs[moved, slot] = steps
        self._pairs[moved, slot + 1] = changes
        unusable = ~(torch.linalg.vecdot(steps, changes) > 0)
        if unusable.any():
            which = torch.arange(len(self._pairs), device=steps.device)[moved][unusable]
            self._pairs[which, new] = 0.0
        used = 2 * min(self._added, self._memory)
        products = (self._pairs[:, :used] @ self._pairs[:, new].mT).double()
        self._products[:, :used, new] = products
        self._products[:, new, :used] = products.mT

    def directions(self, moved: slice | torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """Return the new directions of the problems `moved`, given the gradients of all problems.

        The inverse Hessian has the form of Byrd, Nocedal and Schnabel (1994), section 2. The initial inverse Hessian is
        a multiple of the identity.
        """
        kept = min(self._added, self._memory)
        pairs, products = self._pairs[:, : 2 * kept], self._products
        few = isinstance(moved, torch.Tensor) and _FEW * len(moved) <= len(pairs)
        if few:
            pairs, products, gradient = pairs[moved], products[moved], gradient[moved]
        order = torch.arange(self._added - kept, self._added, device=gradient.device) % self._memory
        toward = (pairs @ gradient[:, :, None])[:, :, 0].double()
        toward_steps = toward[:, ::2].index_select(1, order)[:, :, None]
        toward_changes = toward[:, 1::2].index_select(1, order)[:, :, None]
        with_changes = products[:, :, 1::2].index_select(2, order)
        both = with_changes[:, ::2].index_select(1, order)
        squares = with_changes[:, 1::2].index_select(1, order)
        curvature = both.diagonal(dim1=1, dim2=2)
        upper = torch.triu(both)
        upper.diagonal(dim1=1, dim2=2).add_(curvature == 0)
        scale = self._scales(curvature, squares)[:, None, None]
        first = torch.linalg.solve_triangular(upper, toward_steps, upper=True)
        inner = curvature[:, :, None] * first + scale * (squares @ first - toward_changes)
        weights = torch.zeros_like(toward)
        weights[:, 2 * order] = torch.linalg.solve_triangular(upper.mT, inner, upper=False)[:, :, 0]
        weights[:, 2 * order + 1] = -(scale * first)[:, :, 0]
        new = torch.bmm(weights[:, None].to(gradient.dtype), pairs)[:, 0]
        new.add_(scale[:, 0].to(gradient.dtype) * gradient)
        return (new if few else new[moved]).neg_()

    @staticmethod
    def _scales(curvature: torch.Tensor, squares: torch.Tensor) -> torch.Tensor:
        """Return the inverse curvature along each problem's last nonzero step, or 1 if all steps of the problem are
        zero.
        """
        squared = squares.diagonal(dim1=1, dim2=2)
        filled = (squared > 0).int()
        last = filled.shape[1] - 1 - filled.flip(1).argmax(dim=1, keepdim=True)
        ratio = curvature.gather(1, last) / squared.gather(1, last)
        return torch.where(ratio > 0, ratio, 1.0)[:, 0]  # 0 / 0 is not over 0
