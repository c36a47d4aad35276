"""Warnings about a finished run, written as sentences and based on the run's records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm.records import IterationRecord
from aflite_assets.algorithm.settings import FilterSettings

# Percentage points by which a class's share may move before a reader must know of it.
_SHARE_MOVE = 0.05
# Standard deviations by which a share of right predictions over so many rows stays above a value by chance alone.
_DEVIATIONS = 2.0


def warnings_of(
    records: Sequence[IterationRecord], settings: FilterSettings, *, classes: np.ndarray
) -> tuple[str, ...]:
    """Return the warnings about a run, as sentences. `records` includes the last scoring pass."""
    return (
        *_bias_under_guessing(records[-1]),
        *(move.sentence() for move in class_moves(_class_share(records[0]), _class_share(records[-1]), classes)),
        *_large_training_sets(records),
        *_ties(records, settings),
    )


def _bias_under_guessing(last: IterationRecord) -> Iterator[str]:
    # Guessing each class as often as it occurs is right with probability sum(share^2): no data are needed for it.
    guessing = float((_class_share(last) ** 2).sum())
    deviation = (guessing * (1 - guessing) / last.rows_in) ** 0.5
    if last.representation_bias < guessing - _DEVIATIONS * deviation:
        yield (
            f"The kept rows' representation bias, {last.representation_bias:.3f}, is below {guessing:.3f}, the "
            "value for guessing each class as often as it occurs: filtering went too far, and kept rows "
            "on which linear classifiers are wrong. Raise target_size or threshold."
        )


@dataclass(frozen=True)
class ClassMove:
    """A class whose share of the rows changed by more than 5 percentage points. The shares before and after filtering
    are in [0, 1].
    """

    label: int
    before: float
    after: float

    def sentence(
        self,
        name: str | None = None,
        advice: str = ": compare with a random subset that has the same class sizes.",
    ) -> str:
        """Return the warning about the changed share. `name`: the displayed name of the class. `advice`: the last part
        of the warning.
        """
        return (
            f"Class {self.label if name is None else name} made up {self.before:.1%} of the rows and makes up "
            f"{self.after:.1%} of the kept ones{advice}"
        )


def class_moves(before: np.ndarray, after: np.ndarray, classes: np.ndarray) -> tuple[ClassMove, ...]:
    """Return the classes whose share of the rows changed by more than 5 percentage points. `before` and `after`:
    float64 shares in [0, 1], one entry per class in `classes`.
    """
    return tuple(
        ClassMove(int(label), float(old), float(new))
        for label, old, new in zip(classes, before, after, strict=True)
        if round(abs(new - old), 9) > _SHARE_MOVE  # 0.55 - 0.5 is more than 0.05 in binary
    )


def _large_training_sets(records: Sequence[IterationRecord]) -> Iterator[str]:
    large = [record for record in records if 2 * record.largest_train_size > record.rows_in]
    if large:
        yield (
            f"From iteration {large[0].iteration} on, train_size {large[0].largest_train_size} is over half of "
            f"the pool ({large[0].rows_in} rows): each row is held out in under half of the partitions. "
            "Lower train_size or raise n_partitions."
        )


def _ties(records: Sequence[IterationRecord], settings: FilterSettings) -> Iterator[str]:
    """Return the warning about rows with equal scores at the cut-off of the last slice. Equal scores in earlier slices
    do not matter, because a later slice removes the remaining rows.
    """
    removing = [record for record in records if record.cutoff is not None]
    by_score = settings.selection == "greedy" and settings.ranking == "predictability"
    if not by_score or not removing or removing[-1].tied_at_cutoff <= settings.slice_size:
        return
    last = removing[-1]
    remedy = (
        "Those rows are always predicted: lower target_size, so that all of them can be removed."
        if last.cutoff == 1.0
        else "Raise n_partitions, or lower target_size."
    )
    yield (
        f"When the filter ended (iteration {last.iteration}), {last.tied_at_cutoff} rows had the same predictability, "
        f"{last.cutoff:.3f}. A slice has {settings.slice_size}, so the removed rows were drawn at random among "
        f"them. {remedy}"
    )


def _class_share(record: IterationRecord) -> np.ndarray:
    return np.array(record.rows_per_class) / record.rows_in
