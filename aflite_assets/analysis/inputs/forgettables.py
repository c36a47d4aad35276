"""Inputs of a report about the rows that weak models forget: numbers per weak model, agreement of weak models, and
second training phases.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class WeakModelFacts:
    """Numbers about one weak model, from the training run with the first seed. The numbers are stored as JSON in the
    summary of `forgettable_sets`.

    `rows`: number of rows presented in training. `forgettable`: number of rows that were forgotten or never learnt.
    `never_learnt`: number of rows that were never learnt. `taken`: number of rows in the forgettable set (after
    balancing). `events`: the number of rows for each number of forgetting events; rows that were never learnt are
    counted separately. `by_class`: the numbers of rows, forgettable rows and taken rows of each class. `largest_class`:
    share of the largest class. `train_accuracy`: accuracy at the time when rows are presented. `accuracy`: accuracy on
    each split that the model was not trained on. All shares and accuracies are in [0, 1]. `margins` has one entry per
    split that is large enough. An entry of `margins` holds the share of the largest class in the split, and the
    interval of the accuracy minus this share, in points. `margins` is empty if the weak model is an evaluator's own
    training run.
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
    """Agreement of two training runs on the rows that they forget: counts, and the Jaccard index of the two sets of
    forgotten rows.

    `jaccard_by_chance`: the mean Jaccard index of two random sets with the sizes of the two sets of forgotten rows.
    `jaccard` and `jaccard_by_chance` are None if no row is forgettable.
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
    """Learning statistics of the train rows in one training run of a weak model.

    `counts`: one line per row with the int64 columns `row_id`, `forgetting_events`, `right` and `presentations`.
    `right` counts the correct predictions; 0 means never learnt. `sets`: row ids (int64, ascending) of each set drawn
    from this training run, by name; random sets are left out.
    """

    weak_model: str
    seed: int
    counts: pa.Table
    sets: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class SecondPhase:
    """An evaluator that continues the training of the evaluator `start` with rows chosen by weak models.

    The evaluator `start` was trained on `full`. `rows`: for each stage, a description of the rows that the stage trains
    on. `weak_model`, `set_name`: weak model and row set of the first stage that trains on rows chosen by a weak model.
    `training`: for each stage, a description of the training; empty if unknown. `as_many_as`: another weak model whose
    set determines the number of rows, or None if the set of `weak_model` determines the number.
    """

    start: str
    rows: tuple[str, ...]
    weak_model: str
    set_name: str
    training: tuple[str, ...] = ()
    as_many_as: str | None = None

    @property
    def sized_by(self) -> str:
        """The weak model whose set determines the number of rows in the phase."""
        return self.as_many_as or self.weak_model


@dataclass(frozen=True)
class Threshold:
    """Accuracy of a model that assigns rows to the class `class_name` by a probability threshold. The accuracy lies in
    [0, 1] and is averaged over `seeds`.

    A row is assigned to the class if its probability of the class exceeds the threshold. `chosen`: whether this
    threshold has the highest accuracy. Among equal accuracies, the threshold nearest to 0.5 is chosen.
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
