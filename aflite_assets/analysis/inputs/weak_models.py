"""Records of weak models, from whose training a study draws rows, and of second training phases on these rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WeakModelFacts:
    """Numbers about one weak model, from the training run with the first seed.

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
