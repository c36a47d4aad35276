"""Passes over the pool, which compute gradients for the solver and count predictions.

The passes in this module use torch, for any device and precision. The passes in `compiled_passes.py` use the compiled
kernels.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch

from aflite_assets.algorithm.linear import losses
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures
from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets


@dataclass(frozen=True)
class Counts:
    """Counts of predictions per slot (a row's position in the pool), summed over the models that predict the slot. A
    model predicts neither its training slots nor the slots that it leaves out.

    `correct`: number of correct predictions, int64. `class_counts`: number of predictions of every class, int32, slots
    x classes. `label_sums`: sum of the probabilities of the row's own label, float64. `matrix_sums`: sum of the
    probabilities of every class, float64, slots x classes. All arrays except `correct` are empty if they were not
    requested.
    """

    correct: np.ndarray
    class_counts: np.ndarray
    label_sums: np.ndarray
    matrix_sums: np.ndarray

    @classmethod
    def zeros(cls, n_slots: int, n_classes: int, *, label: bool, matrix: bool, classes: bool = False) -> "Counts":
        """Return counts that are all zero."""
        return cls(
            np.zeros(n_slots, dtype=np.int64),
            np.zeros((n_slots if classes else 0, n_classes), dtype=np.int32),
            np.zeros(n_slots if label else 0),
            np.zeros((n_slots if matrix else 0, n_classes)),
        )

    def of_slots(self, slots: np.ndarray) -> "Counts":
        """Return the counts of the ascending `slots`. If `slots` contains all slots, the arrays are returned without a
        copy.
        """
        if len(slots) == len(self.correct):
            return self
        parts = (self.correct, self.class_counts, self.label_sums, self.matrix_sums)
        return Counts(*(part[slots] if len(part) else part for part in parts))

    def plus(self, others: "Counts") -> "Counts":
        """Add the counts from other training sets for the same slots, and return the sum."""
        return Counts(*(getattr(self, field.name) + getattr(others, field.name) for field in fields(self)))

    def without_probabilities(self) -> "Counts":
        """Return the counts of predictions without the sums of probabilities. Arrays are not copied."""
        return Counts(self.correct, self.class_counts, self.label_sums[:0], self.matrix_sums[:0])


@dataclass(frozen=True)
class _GatheredRows:
    """Copied rows of equally large training sets: `features`, sets x rows x width, and `codes`, sets x rows.

    Small jobs spend most of their time in calls to torch. A product over all sets needs only a few calls.
    """

    features: torch.Tensor
    codes: torch.Tensor
    seen: torch.Tensor

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor, loss: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the gradients as `TorchPasses.gradients` does."""
        features, codes, seen = self.features, self.codes, self.seen
        if len(numbers) < len(features):
            features, codes, seen = (part.index_select(0, numbers) for part in (features, codes, seen))
        scores = torch.baddbmm(intercepts[:, None], features, weights.mT)
        residuals = losses.residuals(scores, codes, seen, loss)
        return residuals.mT @ features, residuals.sum(dim=1)


def gathered_bytes(sets: TrainingSets, width: int, outputs: int, itemsize: int) -> int:
    """Return the bytes that the copied rows of training sets take during their fits."""
    # twice, because the rows of the sets that are still being fitted are copied again
    return 2 * int(sets.sizes.sum()) * (width + 4 * outputs) * itemsize


def most_gathered(memory_limit: int) -> int:
    """Return the largest number of bytes for copied rows."""
    return memory_limit // 8


class TorchPasses:
    """Passes with torch. `counted`: the ascending slots (positions in the pool) for which predictions are counted.

    On the CPU, the rows of small training sets of equal size are copied once, so that one product serves all sets
    (`_GatheredRows`). If the sets differ in size, or on a GPU, the training sets are processed one after another.
    `resident`: the whole pool as a tensor on the device, if the pool fits.
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
        self._gathered: _GatheredRows | None = None

    def gradients(
        self, weights: torch.Tensor, intercepts: torch.Tensor, numbers: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the gradients of the loss for each training set in `numbers`, with respect to the weights (numbers x
        outputs x width) and the intercepts (numbers x outputs).

        The gradients are computed at `weights` and `intercepts`, which have the same shapes as the gradients. All
        tensors have the same device and dtype.
        """
        if self._gathered is None and self._can_gather(weights):
            self._gathered = self._gather(weights)
        if self._gathered is not None:
            return self._gathered.gradients(weights, intercepts, numbers, self._loss)
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
        """Predict the rows with the models of all training sets, and add the predictions to `counts`."""
        columns = len(weights) * self._sets.seen.shape[1]
        most = max(1, self._memory_limit // 8 // (4 * columns * weights.element_size()))
        for first, features in self._blocks():
            low, high = np.searchsorted(self._counted, (first, first + len(features)))
            for start in range(low, high, most):
                slots = self._counted[start : min(start + most, high)]
                on_device = torch.from_numpy(slots).to(self._device)
                scores = self._class_scores(features.index_select(0, on_device - first), weights, intercepts)
                self._add(scores, slots, self._codes[on_device], counts)

    def _can_gather(self, weights: torch.Tensor) -> bool:
        sizes = self._sets.sizes
        if self._device.type != "cpu" or len(sizes) < 2 or sizes.min() != sizes.max():
            return False
        _, outputs, width = weights.shape
        return gathered_bytes(self._sets, width, outputs, weights.element_size()) <= most_gathered(self._memory_limit)

    def _gather(self, like: torch.Tensor) -> _GatheredRows:
        gathered = like.new_empty(len(self._slots), like.shape[2])
        for first, features in self._blocks():
            inside = (self._slots >= first) & (self._slots < first + len(features))
            if inside.all():  # several times faster than a mask
                gathered = features.index_select(0, self._slots - first)
                break
            gathered[inside] = features.index_select(0, self._slots[inside] - first)
        shape = len(self._sets), int(self._sets.sizes[0])
        return _GatheredRows(gathered.reshape(*shape, -1), self._codes[self._slots].reshape(shape), self._seen)

    def _add(self, scores: torch.Tensor, slots: np.ndarray, codes: torch.Tensor, counts: Counts) -> None:
        held_out = self._held_out(slots)
        masked = scores.masked_fill(~self._seen, -torch.inf)
        chosen = masked.argmax(dim=2)
        right = (chosen == codes[:, None]) & held_out
        counts.correct[slots] += right.sum(dim=1).cpu().numpy()
        if len(counts.class_counts):
            by_class = torch.zeros(len(slots), masked.shape[2], dtype=torch.int32, device=masked.device)
            counts.class_counts[slots] += by_class.scatter_add_(1, chosen, held_out.int()).cpu().numpy()
        if not len(counts.label_sums):
            return
        probabilities = losses.softmax(masked).double()
        rounded = (probabilities + losses.PROBABILITY_ROUNDING) - losses.PROBABILITY_ROUNDING
        summed = torch.einsum("nmc,nm->nc", rounded, held_out.double())
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
        """Return the start and end of the entries of `slots` that belong to a training set and lie in the range
        first:stop.
        """
        begin = self._sets.bounds[number]
        low, high = np.searchsorted(self._sets[number], (first, stop))
        return int(begin + low), int(begin + high)

    def _class_scores(self, features: torch.Tensor, weights: torch.Tensor, intercepts: torch.Tensor) -> torch.Tensor:
        """Return scores, rows x models x classes. With two classes, the single output is the score of class 1 against
        class 0.
        """
        models, outputs, width = weights.shape
        scores = torch.addmm(intercepts.flatten(), features, weights.reshape(-1, width).T)
        scores = scores.reshape(-1, models, outputs)
        return torch.cat([torch.zeros_like(scores), scores], dim=2) if outputs == 1 else scores

    def _held_out(self, slots: np.ndarray) -> torch.Tensor:
        """Return a bool mask, slots x models. An entry is True if the model predicts the slot."""
        mask = np.ones((len(slots), len(self._sets)), dtype=bool)
        for number in range(len(self._sets)):
            for unpredicted in self._sets.unpredicted(number):
                low, high = np.searchsorted(unpredicted, (slots[0], slots[-1] + 1))
                found = unpredicted[low:high]
                places = np.searchsorted(slots, found)
                mask[places[slots[places] == found], number] = False
        return torch.from_numpy(mask).to(self._device)
