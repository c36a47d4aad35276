"""Results of the engine: counts and classifiers of single training sets, and their combination into a tally."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine.passes import Counts
from aflite_assets.algorithm.linear.engine.pool import Standardization
from aflite_assets.algorithm.tally import Tally, predicted_instead


@dataclass(frozen=True)
class EngineTally:
    """The counts of predictions in one iteration, and a starting point for the fits of the next iteration.

    `start`: the mean of the iteration's classifiers, for standardized features. `start` is float64, kinds of classifier
    x outputs x (width + 1), with intercepts in the last column. `evaluations`: the number of gradients that each fit
    computed, kinds of classifier x subsets.
    """

    tally: Tally
    start: np.ndarray
    evaluations: np.ndarray


@dataclass(frozen=True)
class WholeIteration:
    """Numbers that are common to all fits of an iteration: the number of training sets and their mean
    number of rows.
    """

    n_sets: int
    train_size: float

    @classmethod
    def of(cls, subsets: Sequence[np.ndarray]) -> "WholeIteration":
        """Return the number and the mean size of the given training sets."""
        return cls(len(subsets), sum(map(len, subsets)) / len(subsets))


class SummedClassifiers:
    """A running sum of the weights and intercepts of all classifiers of one kind. The rounding of the sum depends on
    `at_once`, but not on how many classifiers are added per call.

    The object holds the sum and the classifiers of at most `at_once` training sets. `at_once` is the number of training
    sets that are fitted at a time.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once, self._waiting = at_once, np.empty((0, 0, 0), np.float32)
        self._total, self._n_sets = np.zeros((0, 0)), 0

    def add(self, classifiers: np.ndarray) -> None:
        """Add `classifiers`, which are for standardized rows: float32, sets x outputs x (padded width + 1), with
        intercepts in the last column.
        """
        if not self._n_sets:
            self._total, self._waiting = np.zeros(classifiers.shape[1:]), classifiers[:0]
        self._n_sets += len(classifiers)
        while len(classifiers):
            missing = self._at_once - len(self._waiting)
            self._waiting = np.concatenate([self._waiting, classifiers[:missing]])
            classifiers = classifiers[missing:]
            if len(self._waiting) == self._at_once:
                self._add_waiting()

    def mean(self) -> np.ndarray:
        """Return the mean classifier: float64, outputs x (padded width + 1)."""
        self._add_waiting()
        return self._total / self._n_sets

    def _add_waiting(self) -> None:
        self._total += torch.from_numpy(self._waiting).double().sum(dim=0).numpy()
        self._waiting = self._waiting[:0]


@dataclass(frozen=True)
class KeptClassifiers:
    """The classifiers of one kind, in the order in which they were added. Another process sums the classifiers with
    `SummedClassifiers`.
    """

    at_once: int
    parts: list[np.ndarray] = field(default_factory=list)

    def add(self, classifiers: np.ndarray) -> None:
        """Append `classifiers`, an array as in `SummedClassifiers.add`."""
        self.parts.append(classifiers)


@dataclass(frozen=True)
class SetCounts:
    """Counts and classifiers from the fits to some training sets of one iteration. The arrays may be read-only.

    `counts`: one entry per row of the pool. `classifiers`: one entry per kind of classifier. `evaluations`: the number
    of computed gradients per kind and training set.
    """

    counts: Counts
    classifiers: tuple[KeptClassifiers, ...]
    evaluations: np.ndarray


def tally_of(
    counts: Counts,
    classifiers: Sequence[SummedClassifiers],
    evaluations: np.ndarray,
    *,
    inputs: Inputs,
    standardization: Standardization,
    pool: np.ndarray,
    left_out: Sequence[np.ndarray],
) -> EngineTally:
    """Combine the results of all training sets into the tally of the iteration. Each array of `left_out` holds the rows
    that the classifiers of one set did not predict.
    """
    kinds, n_sets = evaluations.shape
    tally = tally_of_counts(counts, kinds, inputs=inputs, pool=pool, n_sets=n_sets, left_out=left_out)
    start = [_packed(of_kind.mean(), standardization, inputs.features.shape[1]) for of_kind in classifiers]
    return EngineTally(tally, np.stack(start), evaluations)


def tally_of_counts(
    counts: Counts, kinds: int, *, inputs: Inputs, pool: np.ndarray, n_sets: int, left_out: Sequence[np.ndarray]
) -> Tally:
    """Convert the counts of all training sets and of `kinds` kinds of classifier into a tally. `n_sets` and `left_out`
    are the number of training sets, and the rows that their classifiers did not predict.
    """
    held_out, correct = (np.zeros(len(inputs.labels), dtype=np.int64) for _ in range(2))
    held_out[pool] = n_sets
    for unpredicted in left_out:
        held_out[unpredicted] -= 1
    correct[pool] = counts.correct
    label = _means(counts.label_sums, pool, held_out) if len(counts.label_sums) else None
    matrix = _means(counts.matrix_sums, pool, held_out) if len(counts.matrix_sums) else None
    instead = None
    if len(counts.class_counts):
        codes = np.searchsorted(inputs.classes, inputs.labels[pool])
        by_class = np.require(counts.class_counts, requirements="W")
        instead = predicted_instead(by_class, codes, rows=pool, n_rows=len(inputs.labels))
    return Tally(correct, held_out * kinds, held_out, label, matrix, instead)


def _packed(mean: np.ndarray, standardization: Standardization, width: int) -> np.ndarray:
    """Remove padding and rotation from the classifiers (outputs x (padded width + 1)), as in `EngineTally.start`."""
    weights, rotation = mean[:, :-1], standardization.rotation
    if rotation is not None:
        weights = (torch.from_numpy(weights) @ torch.from_numpy(rotation).double().T).numpy()
    return np.column_stack([weights[:, :width], mean[:, -1]])


def _means(sums: np.ndarray, rows: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Divide sums by counts and return float32 means per input row. The mean of a row that was never held out is
    NaN.
    """
    means = np.full((len(held_out), *sums.shape[1:]), np.nan, dtype=np.float32)
    counted = held_out[rows] > 0
    divisors = held_out[rows[counted]]
    means[rows[counted]] = (sums[counted].T / divisors).T
    return means
