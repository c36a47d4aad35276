"""What the algorithm hands back: plain records. How they are computed is in scoring.py and filtering.py."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from aflite_assets.algorithm.settings import FilterSettings


class StopReason(Enum):
    """Why filtering ended."""

    TARGET_SIZE = "target_size"
    """The target was within one slice's reach: the slice was cut by it."""
    THRESHOLD = "threshold"
    """Fewer rows than the slice had a predictability at or over the threshold; with "gumbel", none had."""


@dataclass(frozen=True)
class Scores:
    """One iteration's scores, one entry per input row.

    `predictability`: float32 in [0, 1], share of the row's held-out predictions that were right; NaN where
    the row was never held out. `held_out_count`: int64, partitions in which the row was held out (with
    classifier "both" each carries two predictions). `label_probability`: float32 in [0, 1], mean held-out
    probability of the row's own label, NaN where never held out; None when no classifier gave
    probabilities. `representation_bias`: mean predictability of the scored rows that are not `score_only`;
    `scored_bias`: the same over the `score_only` rows, None where none has a score.
    """

    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None
    representation_bias: float
    scored_bias: float | None


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
    """What one iteration did. "Rows" leaves the `score_only` rows out; fields named "scored" are about those alone.

    `iteration`: from 0. `rows_in`, `scored_rows_in`: rows in the pool when it began. `removed`,
    `scored_removed`: rows it removed. `counted_rows_in`, `counted_removed`: of `rows_in` and `removed`, those that the
    target size counts. `cutoff`: lowest score among the removed rows (with remove="groups",
    among the removed groups), None when nothing was removed. `tied_at_cutoff`: rows that had exactly the
    cut-off score, removed or not; 0 without a cut-off. `representation_bias`, `scored_bias`: mean
    predictability of the rows that entered. `rows_per_class`: rows that entered, in the order of
    `FilterResult.classes`. `never_held_out`: rows that got no score. `smallest_train_size`,
    `largest_train_size`: rows a classifier was trained on (they differ only with groups). `seconds`: wall
    time, left out when records are compared.
    """

    iteration: int
    rows_in: int
    scored_rows_in: int
    counted_rows_in: int
    removed: int
    scored_removed: int
    counted_removed: int
    cutoff: float | None
    tied_at_cutoff: int
    representation_bias: float
    scored_bias: float | None
    rows_per_class: tuple[int, ...]
    never_held_out: int
    smallest_train_size: int
    largest_train_size: int
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class FilterResult:
    """The outcome of a run; all row numbers are positions in the input.

    `kept_rows`: int64, ascending, `score_only` rows included. `removed_rows`: int64, by iteration, ascending
    within one; `removed_in_iteration`: int64 beside it. `predictability` (float32) and `held_out_count`
    (int64): for every input row as of the last iteration that scored it; NaN and 0 for a row that none did.
    `label_probability`: float32, every input row, from the first iteration; NaN where never held out, None
    when the classifier has no probabilities. `probabilities`: float32, rows x classes, the first iteration's
    mean held-out probabilities, only with `keep_probabilities`. `classes`: int64, the labels that occur,
    ascending. `iterations`: a record each; the last one scores the kept rows and removes nothing.
    `warnings`: sentences about what may be wrong with this run.
    """

    kept_rows: np.ndarray
    removed_rows: np.ndarray
    removed_in_iteration: np.ndarray
    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None
    probabilities: np.ndarray | None
    classes: np.ndarray
    iterations: tuple[IterationRecord, ...]
    stop_reason: StopReason
    warnings: tuple[str, ...]
    settings: FilterSettings
    seed: int
