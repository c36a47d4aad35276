"""Early stopping: selection of the rows that are held back from training, and of the epoch after which training stops.
The module `checkpoints` saves the best weights.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.global_state import library_seed
from aflite_assets.specs.models.settings import EarlyStoppingSpec

FEWEST_TRAIN_ROWS = 2

_HELD_BACK = 2
"""Number of a stream of random numbers that is derived from the seed. The module `batches` uses other streams."""


@dataclass(frozen=True)
class TrainingRows:
    """Rows to train on, and rows for early stopping (None if there is no early stopping).

    `weights`, float32: a factor for the loss of each train row. If `weights` is None, all factors are 1.
    """

    train: Examples
    held_back: Examples | None
    weights: np.ndarray | None = None


def training_rows(
    examples: Examples,
    stopping: EarlyStoppingSpec | None,
    held_back: Examples | None,
    *,
    seed: int,
    weights: np.ndarray | None = None,
) -> TrainingRows:
    """Return the rows for training and for early stopping. The rows for early stopping are `held_back` or, if that is
    None, a share of the train rows. `weights` has one entry per row of `examples`.

    The share is drawn at random with `seed`, stratified by label. If there are groups, whole groups are drawn, so the
    share may be smaller.

    Raises:
        DataError: no row would be held back, or fewer than 2 rows would be left to train on.
        ModelError: `held_back` is None, although the settings name a split for early stopping.
    """
    if stopping is None:
        return TrainingRows(examples, None, weights)
    if held_back is None and stopping.split is not None:
        raise ModelError(
            f"`early_stopping.split` is {stopping.split!r}, but the rows of that split were not given; give these "
            "rows, or leave `split` out to hold back a share of the train rows"
        )
    if held_back is None:
        rows = _share(examples, weights, stopping.share, seed=seed)
    else:
        rows = TrainingRows(examples, held_back, weights)
    _check(rows, stopping)
    return rows


def _share(examples: Examples, weights: np.ndarray | None, share: float, *, seed: int) -> TrainingRows:
    rng = np.random.default_rng([library_seed(seed), _HELD_BACK])
    drawn = stratified_sample(examples.labels, examples.groups, round(share * len(examples)), rng=rng)
    left = np.delete(np.arange(len(examples)), drawn)
    return TrainingRows(
        Examples(rows_at(examples.table, left), examples.label_names),
        Examples(rows_at(examples.table, drawn), examples.label_names),
        None if weights is None else weights[left],
    )


def _check(rows: TrainingRows, stopping: EarlyStoppingSpec) -> None:
    held, left = len(rows.held_back or ()), len(rows.train)
    if held and left >= FEWEST_TRAIN_ROWS:
        return
    source = f"`share` {stopping.share}" if stopping.split is None else f"`split` {stopping.split!r}"
    raise DataError(
        f"`early_stopping` with {source} holds back {held} of {held + left} rows and leaves {left} to train on, but "
        f"at least 1 held-back row and {FEWEST_TRAIN_ROWS} train rows are needed; choose another `share` or `split` "
        "(whole groups are held back), give the dataset more rows, or leave `early_stopping` out"
    )


@dataclass
class EarlyStopping:
    """Accuracies on the held-back rows, one per finished epoch. The accuracies determine the best epoch and the end of
    training.

    `score` is a function that returns the model's current accuracy, in [0, 1].
    """

    patience: int
    rows: int
    score: Callable[[], float]
    accuracies: list[float] = field(default_factory=list)

    def end_epoch(self) -> float:
        """Compute, store and return the model's accuracy after an epoch."""
        self.accuracies.append(self.score())
        return self.accuracies[-1]

    @property
    def best_epoch(self) -> int:
        """Number of the best epoch, counted from 1. If several epochs are equally good, the first epoch is the best."""
        return int(np.argmax(self.accuracies)) + 1

    @property
    def patience_is_over(self) -> bool:
        """True if the accuracy has not risen in the last `patience` epochs."""
        return len(self.accuracies) - self.best_epoch >= self.patience

    def metrics(self) -> Mapping[str, float]:
        """Return the metrics: held_back_rows, best_epoch (from 1), held_back_accuracy (in the best epoch) and epochs
        (number of trained epochs).
        """
        return {
            "held_back_rows": float(self.rows),
            "best_epoch": float(self.best_epoch),
            "held_back_accuracy": self.accuracies[self.best_epoch - 1],
            "epochs": float(len(self.accuracies)),
        }
