"""What a solver needs of the data, one pass over the pool at a time: gradients, and predictions counted."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from aflite_assets.algorithm.linear.threads import Threads


@dataclass(frozen=True)
class Counts:
    """Sums over models, per slot, of the models that were not trained on it.

    `correct`: int64, right predictions. `label_sums`: float64, probabilities of the row's own label. `matrix_sums`:
    float64, slots x classes, probabilities of every class. The last two are empty where not asked for.
    """

    correct: np.ndarray
    label_sums: np.ndarray
    matrix_sums: np.ndarray

    @classmethod
    def zeros(cls, n_slots: int, n_classes: int, *, label: bool, matrix: bool) -> "Counts":
        """Nothing counted yet."""
        return cls(
            np.zeros(n_slots, dtype=np.int64),
            np.zeros(n_slots if label else 0),
            np.zeros((n_slots if matrix else 0, n_classes)),
        )

    def without_probabilities(self) -> "Counts":
        """The same right predictions, shared, and no sums of probabilities."""
        return Counts(self.correct, self.label_sums[:0], self.matrix_sums[:0])


class GradientPasses(Protocol):
    """Gradients over one pool for some training sets. Tensors are on the passes' own device, in their dtype."""

    @property
    def threads(self) -> Threads | None:
        """Those that compiled kernels share; None where torch makes the passes."""
        ...

    @property
    def resident(self) -> np.ndarray | None:
        """Features (slots x width) of the whole pool for compiled steps; None where they are not in memory."""
        ...

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss gradients of the training sets `numbers`, at weights (numbers x outputs x width) and intercepts."""
        ...


class Passes(GradientPasses, Protocol):
    """Predictions beside the gradients."""

    def count(self, weights: torch.Tensor, intercepts: torch.Tensor, counts: Counts) -> None:
        """Predict every slot with the models of all training sets and add up."""
        ...


class SummedPasses:
    """Passes for one training set given as `parts` sets, so that threads share it: the sum over them, in order."""

    def __init__(self, passes: GradientPasses, parts: int) -> None:
        self._passes, self._parts = passes, parts

    @property
    def threads(self) -> Threads | None:
        """See `GradientPasses`."""
        return self._passes.threads

    @property
    def resident(self) -> None:
        """Not given: the parts are one training set."""

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """See `GradientPasses`."""
        all_parts = torch.arange(self._parts, device=numbers.device)
        sums = self._passes.gradients(weights.repeat(self._parts, 1, 1), intercepts.repeat(self._parts, 1), all_parts)
        return sums[0].sum(dim=0, keepdim=True), sums[1].sum(dim=0, keepdim=True)
