"""Rows that weak models forget, as a report uses them: weak models, their agreement, minorities and second phases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class WeakModelFacts:
    """One weak model's numbers from its first seed; stored as JSON in the summary of `forgettable_sets`.

    `rows`: presented in training; among them `forgettable`, `never_learnt`, and `taken` (after balancing). `events`:
    number of rows by forgetting events, and of rows never learnt. `by_class`: number of rows, forgettable rows and
    taken rows by class. Shares in [0, 1]: `largest_class` of the rows, `train_accuracy` at presentation, and `accuracy`
    on splits that were not trained on. `margins` has an entry per such split that is large enough: `largest_class`, and
    the interval (`low`, `high`) of the accuracy minus it, in points. `margins` is empty for an evaluator's own
    training.
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
    """Agreement of two trainings on which rows they forget: counts, the Jaccard index, and its mean for random sets.

    The random sets have the same sizes; both indices are None if no row is forgettable.
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
    """The course of learning of train rows in one training of a weak model.

    `counts`: one line per row with row_id, forgetting_events, right (0: never learnt) and presentations, all int64.
    `sets`: row ids (int64, ascending) of the sets drawn from this training, by name, without random ones.
    """

    weak_model: str
    seed: int
    counts: pa.Table
    sets: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class SecondPhase:
    """An evaluator that starts from `start`, which was trained on full, and continues with rows of weak models.

    `rows`: what each stage trains on, in words. `weak_model` and `set_name`: of the first stage on a weak model's rows.
    `training`: how each stage trains, in words; empty if unknown. `as_many_as`: the other weak model whose number of
    rows that stage uses, or None.
    """

    start: str
    rows: tuple[str, ...]
    weak_model: str
    set_name: str
    training: tuple[str, ...] = ()
    as_many_as: str | None = None

    @property
    def sized_by(self) -> str:
        """The weak model whose number of rows the phase uses."""
        return self.as_many_as or self.weak_model


@dataclass(frozen=True)
class Threshold:
    """Accuracy in [0, 1], averaged over `seeds`, if rows whose probability of `class_name` exceeds a threshold get that
    class.

    `chosen`: the threshold of highest accuracy; among equal ones, the one nearest to 0.5.
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
    """Yield one record per threshold; `thresholds` and `accuracy` (mean over `seeds`) are float64 in [0, 1]."""
    highest = thresholds[accuracy == accuracy.max()]
    best = highest[np.abs(highest - 0.5).argmin()]
    for one, mean in zip(thresholds.tolist(), accuracy.tolist(), strict=True):
        yield Threshold(evaluator, test_set, class_name, one, mean, seeds, one == float(best))
