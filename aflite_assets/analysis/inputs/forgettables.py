"""Rows that weak models forget, as a report knows them: weak models, their agreement, minorities, second phases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class WeakModelFacts:
    """One weak model's numbers, of its first seed; as JSON in the summary of `forgettable_sets`.

    `rows`: presented in training; of these `forgettable`, `never_learnt`, and `taken` (after balancing). `events`: rows
    by forgetting events, and those never learnt. `by_class`: rows, forgettable and taken by class. Shares in [0, 1]:
    `largest_class` of the rows, `train_accuracy` as presented, `accuracy` on splits that were not trained on.
    `margins`, per such split that is large enough: `largest_class`, and the interval (`low`, `high`) of the accuracy
    over it, in points; empty for an evaluator's own training.
    """

    rows: int
    forgettable: int
    taken: int
    never_learnt: int
    events: Mapping[str, int]
    by_class: Mapping[str, Mapping[str, int]]
    largest_class: float
    train_accuracy: float
    accuracy: Mapping[str, float]
    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Share of the rows that are forgettable."""
        return self.forgettable / max(self.rows, 1)


@dataclass(frozen=True)
class Agreement:
    """How far two trainings forget the same rows: counts, and the Jaccard index with its mean for random sets.

    The random sets have the same sizes; both are None if no row is forgettable.
    """

    first: str
    second: str
    first_rows: int
    second_rows: int
    shared: int
    jaccard: float | None
    jaccard_by_chance: float | None


@dataclass(frozen=True, eq=False)
class LearntRows:
    """How train rows were learnt in one training of a weak model.

    `counts`: a line per row with row_id, forgetting_events, right (0: never learnt) and presentations, all int64.
    `sets`: row ids (int64, ascending) by name of the sets, except random ones, that were drawn from this training.
    """

    weak_model: str
    seed: int
    counts: pa.Table
    sets: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class SecondPhase:
    """An evaluator that goes on from `start`, trained on full, with rows of weak models.

    `rows`: what each stage trains on, in words; `weak_model` and `set_name`: of the first stage on a weak model's rows;
    `training`: how each stage trains, in words, empty if that is not known. `as_many_as`: the other weak model whose
    rows give that stage's their number, or None.
    """

    start: str
    rows: tuple[str, ...]
    weak_model: str
    set_name: str
    training: tuple[str, ...] = ()
    as_many_as: str | None = None

    @property
    def sized_by(self) -> str:
        """The weak model with as many rows."""
        return self.as_many_as or self.weak_model


@dataclass(frozen=True)
class Threshold:
    """Accuracy in [0, 1], mean over `seeds`, if a row counts as `class_name` with a probability over a threshold.

    `chosen`: the threshold of highest accuracy, of several the one nearest to a half.
    """

    evaluator: str
    test_set: str
    class_name: str
    threshold: float
    accuracy: float
    seeds: int
    chosen: bool


def threshold_curve(
    evaluator: str, test_set: str, class_name: str, thresholds: np.ndarray, accuracy: np.ndarray, seeds: int
) -> Iterator[Threshold]:
    """Yield a record per threshold; `thresholds` and `accuracy` (mean over `seeds`): float64 in [0, 1]."""
    highest = thresholds[accuracy == accuracy.max()]
    best = highest[np.abs(highest - 0.5).argmin()]
    for one, mean in zip(thresholds.tolist(), accuracy.tolist(), strict=True):
        yield Threshold(evaluator, test_set, class_name, one, mean, seeds, one == float(best))
