"""L-BFGS by the compiled steps, between the passes of the compiled kernels. Its counterpart in torch: lbfgs.py."""

from functools import partial

import numpy as np
import torch

from aflite_assets.algorithm.linear.coordinates import Coordinates
from aflite_assets.algorithm.linear.own_choice import OwnCurvature
from aflite_assets.algorithm.linear.own_rows import OwnRows
from aflite_assets.algorithm.linear.passes import GradientPasses
from aflite_assets.algorithm.linear.steps import Map, State, spread, turn
from aflite_assets.algorithm.linear.threads import Threads

# After how many steps own curvature is looked at, and after how many more again: not before a training set is near its
# own optimum, and as long as the gradient's norm does not fall to less than one part in `_FALL` in between, since
# then other rows matter by now. Curvature that stays when it no longer holds is worse than none.
_FIRST_LOOK, _LOOK_EVERY, _FALL = 10, 6, 8


class CompiledProblems:
    """The classifiers of some training sets on their way from one start to their optima; see `lbfgs.Problems`.

    `numbers`: the training sets, as the passes number them; `strengths`: L2 strength of each; `memory`: pairs of steps
    and gradient changes kept; `curvature`: what finds their own curvature, None to do without.
    """

    def __init__(
        self,
        passes: GradientPasses,
        threads: Threads,
        coordinates: Coordinates,
        weights: torch.Tensor,
        intercepts: torch.Tensor,
        *,
        numbers: torch.Tensor,
        strengths: torch.Tensor,
        memory: int,
        curvature: OwnCurvature | None = None,
    ) -> None:
        """`weights` (outputs x width) and `intercepts` (outputs): the start."""
        self._passes, self._threads, self._numbers, self._basis = passes, threads, numbers, coordinates.basis
        self._strengths = strengths.numpy()
        self._place = _place(coordinates, weights, intercepts)
        self._state = _state(len(numbers), coordinates.size, memory)
        self._curvature, self._steps, self._marks = curvature, 0, np.zeros(len(numbers))
        self._own = OwnRows.none(len(numbers)) if curvature is None else curvature.nothing_yet(len(numbers))
        self.advance(torch.arange(len(numbers)))

    @property
    def norms(self) -> torch.Tensor:
        """The norm of every problem's gradient."""
        return torch.from_numpy(self._state.norms)

    def advance(self, active: torch.Tensor) -> None:
        """Try one step for the problems `active`, take it where it is not too long, and turn."""
        along, weights, intercepts = self._spread(active.numpy())
        sums, intercept_sums = self._passes.gradients(weights, intercepts, self._numbers[active])
        if self._curvature is not None:
            self._look(self._curvature, active.numpy(), weights, intercepts)
        self._steps += 1
        if self._basis is not None:
            sums = sums @ self._basis
        step = partial(
            turn,
            problems=active.numpy(),
            state=self._state,
            place=self._place,
            own=self._own,
            strengths=self._strengths,
            weights=along.numpy(),
            sums=sums.numpy(),
            intercept_sums=intercept_sums.numpy(),
        )
        self._threads.share(step, np.arange(len(active)))

    def classifiers(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (problems x outputs x width) and intercepts (problems x outputs) where every problem stands."""
        self._state.lengths[:] = 0.0
        _, weights, intercepts = self._spread(np.arange(len(self._numbers)))
        return weights, intercepts

    def _look(
        self, curvature: OwnCurvature, problems: np.ndarray, weights: torch.Tensor, intercepts: torch.Tensor
    ) -> None:
        """Choose the own rows of the problems that need it, at the classifiers that were just tried."""
        if self._steps < _FIRST_LOOK or (self._steps - _FIRST_LOOK) % _LOOK_EVERY:
            return
        norms = self._state.norms[problems]
        slow = np.flatnonzero(norms * _FALL > self._marks[problems])
        chosen = problems[slow]
        numbers, strengths = self._numbers.numpy()[chosen], self._strengths[chosen]
        curvature.choose(self._own, chosen, numbers, strengths, weights[slow], intercepts[slow])
        self._marks[problems] = norms

    def _spread(self, problems: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The next classifiers: weights in the basis, the same in the features' columns, intercepts."""
        along = torch.empty(len(problems), *self._place.start.shape)
        intercepts = torch.empty(len(problems), len(self._place.start))
        write = partial(
            spread,
            problems=problems,
            state=self._state,
            place=self._place,
            weights=along.numpy(),
            intercepts=intercepts.numpy(),
        )
        self._threads.share(write, np.arange(len(problems)))
        return along, along if self._basis is None else along @ self._basis.T, intercepts


def _place(coordinates: Coordinates, weights: torch.Tensor, intercepts: torch.Tensor) -> Map:
    mixing = coordinates.mixing if coordinates.is_mixed else coordinates.mixing[:0]
    parts = (
        weights if coordinates.basis is None else weights @ coordinates.basis,
        intercepts,
        mixing,
        coordinates.centres,
        coordinates.dense,
        coordinates.scales,
    )
    return Map(*(part.contiguous().numpy() for part in parts))


def _state(problems: int, size: int, memory: int) -> State:
    z, gradient, direction = (np.zeros((problems, size), np.float32) for _ in range(3))
    return State(
        z,
        gradient,
        direction,
        pairs=np.empty((problems, memory, 2, size), np.float32),
        products=np.zeros((problems, memory)),
        stored=np.zeros(problems, np.int64),
        slopes=np.zeros(problems),
        lengths=np.zeros(problems),
        norms=np.full(problems, -1.0),
    )
