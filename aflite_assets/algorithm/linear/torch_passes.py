"""Passes by torch: any device and float type, one training set after the other."""

from collections.abc import Iterator

import numpy as np
import torch

from aflite_assets.algorithm.linear import losses
from aflite_assets.algorithm.linear.passes import Counts
from aflite_assets.algorithm.linear.pool import PoolFeatures
from aflite_assets.algorithm.linear.training_sets import TrainingSets


class TorchPasses:
    """Passes over a pool for some training sets; predictions are counted for the slots `counted`, ascending.

    `resident`: the whole pool as a tensor on the device, where it fits.
    """

    def __init__(
        self,
        pool: PoolFeatures,
        sets: TrainingSets,
        counted: np.ndarray,
        *,
        loss: int,
        device: torch.device,
        memory_limit: int,
        resident: torch.Tensor | None = None,
    ) -> None:
        self._pool, self._sets, self._loss, self._device = pool, sets, loss, device
        self._counted, self._resident, self._memory_limit = counted, resident, memory_limit
        self._slots = torch.from_numpy(sets.slots).to(device)
        self._codes = torch.from_numpy(sets.codes).to(device)
        self._seen = torch.from_numpy(sets.seen).to(device)

    @property
    def threads(self) -> None:
        """Torch has its own."""

    @property
    def resident(self) -> None:
        """Not given: no step is compiled."""

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Passes`."""
        sums, intercept_sums = torch.zeros_like(weights), torch.zeros_like(intercepts)
        row_bytes = 2 * weights.shape[2] * weights.element_size() + 4 * intercepts.shape[1] * weights.element_size()
        most = max(1, self._memory_limit // 8 // row_bytes)
        for first, features in self._blocks():
            for index, number in enumerate(numbers.tolist()):
                start, stop = self._within(number, first, first + len(features))
                for at in range(start, stop, most):
                    slots = self._slots[at : min(at + most, stop)]
                    rows = features.index_select(0, slots - first)
                    scores = torch.addmm(intercepts[index], rows, weights[index].T)
                    residuals = losses.residuals(scores, self._codes[slots], self._seen[number], self._loss)
                    sums[index].addmm_(residuals.T, rows)
                    intercept_sums[index] += residuals.sum(dim=0)
        return sums, intercept_sums

    def count(self, weights: torch.Tensor, intercepts: torch.Tensor, counts: Counts) -> None:
        """See `Passes`."""
        columns = len(weights) * self._sets.seen.shape[1]
        most = max(1, self._memory_limit // 8 // (4 * columns * weights.element_size()))
        for first, features in self._blocks():
            low, high = np.searchsorted(self._counted, (first, first + len(features)))
            for start in range(low, high, most):
                slots = self._counted[start : min(start + most, high)]
                on_device = torch.from_numpy(slots).to(self._device)
                scores = self._class_scores(features.index_select(0, on_device - first), weights, intercepts)
                self._add(scores, slots, self._codes[on_device], counts)

    def _add(self, scores: torch.Tensor, slots: np.ndarray, codes: torch.Tensor, counts: Counts) -> None:
        held_out = self._held_out(slots)
        masked = scores.masked_fill(~self._seen, -torch.inf)
        right = (masked.argmax(dim=2) == codes[:, None]) & held_out
        counts.correct[slots] += right.sum(dim=1).cpu().numpy()
        if not len(counts.label_sums):
            return
        summed = torch.einsum("nmc,nm->nc", torch.softmax(masked, dim=2).double(), held_out.double())
        counts.label_sums[slots] += summed.gather(1, codes[:, None])[:, 0].cpu().numpy()
        if len(counts.matrix_sums):
            counts.matrix_sums[slots] += summed.cpu().numpy()

    def _blocks(self) -> Iterator[tuple[int, torch.Tensor]]:
        if self._resident is not None:
            yield 0, self._resident
            return
        for block in self._pool.blocks():
            yield block.first, torch.from_numpy(block.features).to(self._device)

    def _within(self, number: int, first: int, stop: int) -> tuple[int, int]:
        """Which entries of `slots` belong to a set and lie in first:stop."""
        begin = self._sets.bounds[number]
        low, high = np.searchsorted(self._sets[number], (first, stop))
        return int(begin + low), int(begin + high)

    def _class_scores(self, features: torch.Tensor, weights: torch.Tensor, intercepts: torch.Tensor) -> torch.Tensor:
        """Rows x models x classes; a single output is that of class 1 against class 0."""
        models, outputs, width = weights.shape
        scores = torch.addmm(intercepts.flatten(), features, weights.reshape(-1, width).T)
        scores = scores.reshape(-1, models, outputs)
        return torch.cat([torch.zeros_like(scores), scores], dim=2) if outputs == 1 else scores

    def _held_out(self, slots: np.ndarray) -> torch.Tensor:
        """Slots x models: whether the model predicts the slot."""
        mask = np.ones((len(slots), len(self._sets)), dtype=bool)
        for number in range(len(self._sets)):
            for unpredicted in self._sets.unpredicted(number):
                low, high = np.searchsorted(unpredicted, (slots[0], slots[-1] + 1))
                mask[np.isin(slots, unpredicted[low:high], assume_unique=True), number] = False
        return torch.from_numpy(mask).to(self._device)
