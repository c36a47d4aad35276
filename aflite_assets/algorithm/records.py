"""Results of the algorithm: scores, one record per iteration, the final result, and the state from which a run can
resume.

The modules `scoring.py` and `filtering.py` compute the results. The caller of the algorithm stores the states.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, get_type_hints

import numpy as np

from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.errors import InvalidInputError


class StopReason(Enum):
    """Reason why filtering stopped."""

    TARGET_SIZE = "target_size"
    """The target size was reached. The last slice was made smaller to reach the target exactly."""
    THRESHOLD = "threshold"
    """Too few rows reached the threshold to fill the slice. With `selection="gumbel"`, no row reached the threshold."""
    CHANCE = "chance"
    """With `stop_at_chance`, two consecutive passes had no more bias than passes over permuted labels."""
    NOTHING_LEARNT = "nothing_learnt"
    """The function `is_learnt` returned False after the first pass, so nothing was removed."""


@dataclass(frozen=True)
class Scores:
    """Scores from one iteration. All arrays have one entry per input row.

    `predictability`: the share of the row's held-out predictions that were correct, float32 in [0, 1]. Predictability
    is NaN if the row was never held out. `held_out_count`: the number of partitions in which the row was held out,
    int64. With the classifier "both", each partition gives two predictions. `label_probability`: the mean held-out
    probability of the row's own label, float32 in [0, 1]. The label probability is NaN if the row was never held out.
    `label_probability` is None if no classifier gives probabilities. `probabilities`: the mean held-out probability of
    every class, float32, rows x classes, or None without `keep_probabilities`. The columns are the distinct labels in
    ascending order. `representation_bias`: mean predictability of the scored rows that are not `score_only`.
    `scored_bias`: mean predictability of the `score_only` rows, or None if no `score_only` row has a score.
    """

    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None
    representation_bias: float
    scored_bias: float | None
    probabilities: np.ndarray | None = None


IsLearnt = Callable[[np.ndarray, np.ndarray | None], bool]
"""A function that returns True if the classifiers learned something (not in the papers). The arguments are the arrays
`predictability` and `label_probability` of `Scores`.
"""

LEAST_MOVED = 0.5
"""Passes measure chance only if permutations move at least this share of labels, relative to permutations without
groups.
"""


@dataclass(frozen=True, eq=False)
class ChanceScores:
    """Scores of passes over permuted labels. `bias` has one number per pass, and `class_bias` is passes x classes.
    `bias` and `class_bias` are in [0, 1].

    `bias` is the mean predictability of all rows. `class_bias` is the mean predictability of the rows of each class, in
    ascending order of the labels. `class_bias` is NaN for a class without a scored row. `class_probability`: the mean
    label probability of the rows of each class, or None if the classifier gives no probabilities. `rows`: number of
    rows in each pass. `moved`: mean share of rows with a changed label, relative to permutations without groups
    (`chance.share_moved`). If `moved` is below `LEAST_MOVED`, the groups keep most labels in place, so the passes do
    not measure chance.
    """

    bias: np.ndarray
    class_bias: np.ndarray
    rows: int
    moved: float = 1.0
    class_probability: np.ndarray | None = None

    @property
    def labels_moved(self) -> bool:
        """True if the permutations moved enough labels to measure chance."""
        return self.moved >= LEAST_MOVED

    @property
    def largest(self) -> float:
        """Highest bias among all passes."""
        return float(self.bias.max())


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
    """Sizes, scores and time of one iteration. Fields with "scored" in their name describe the `score_only` rows. All
    other fields describe the other rows.

    `iteration`: number of the iteration, from 0. `rows_in`, `scored_rows_in`: number of rows in the pool at the start.
    `removed`, `scored_removed`: number of rows that the iteration removed. `counted_rows_in`, `counted_removed`: like
    `rows_in` and `removed`, but only for rows that count towards the target size. `cutoff`: lowest score among the
    removed rows (with remove="groups", among the removed groups), or None if nothing was removed. `tied_at_cutoff`:
    number of removed and kept rows with exactly the cut-off score, or 0 if there is no cut-off. `representation_bias`,
    `scored_bias`: mean predictability of the rows at the start. `rows_per_class`: number of rows of each class at the
    start, in the order of `FilterResult.classes`. `never_held_out`: number of rows without a score, because they were
    never held out. `smallest_train_size`, `largest_train_size`: smallest and largest number of rows that a classifier
    was trained on. The two sizes differ only with groups. `chance_bias`: with `stop_at_chance`, the highest bias of
    passes over permuted labels of the rows at the start. `chance_bias` is None if no pass permuted the labels.
    `distinct_words`, `words_per_row`: number of distinct words at the start, in total and as a mean per row.
    `distinct_words` and `words_per_row` are None unless rows are ranked by vocabulary. `seconds`: wall time, which is
    ignored when records are compared.
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
    chance_bias: float | None = None
    distinct_words: int | None = None
    words_per_row: float | None = None
    seconds: float = field(compare=False)

    @property
    def at_chance(self) -> bool:
        """True if the bias at the start is at most the bias with permuted labels. False if `chance_bias` is None."""
        return self.chance_bias is not None and self.representation_bias <= self.chance_bias


@dataclass(frozen=True, kw_only=True)
class FilterArrays:
    """Arrays that a run stores about its rows. All row numbers are positions in the input.

    `removed_rows`: int64, ordered by iteration, ascending within an iteration. `removed_in_iteration`: the iteration in
    which each row of `removed_rows` was removed, int64. `predictability` (float32) and `held_out_count` (int64): values
    of every input row from the last iteration in which the row had a score. For a row that never had a score,
    `predictability` is NaN and `held_out_count` is 0.
    `label_probability`: label probability of every input row in the first iteration, float32, NaN for a row that was
    not held out. `label_probability` is None if the classifier gives no probabilities. `probabilities`: mean held-out
    probabilities from the first iteration, float32, rows x classes, or None without `keep_probabilities`.
    `instead_labels` (int64, -1 for none) and `instead_shares` (float32) are rows x 3. `instead_labels` holds the most
    frequent wrong predictions for the row, most frequent first. `instead_shares` holds the share of each wrong
    prediction in `instead_labels` among the row's held-out predictions. `instead_labels` and `instead_shares` are from
    the same iteration as `predictability`. `instead_labels` and `instead_shares` are None if the counts of all classes
    would take more than a sixteenth of the memory limit. `own_words` (int64) and `vocabulary_share` (float64) have one
    entry per input row. `own_words` and `vocabulary_share` are None unless rows are ranked by vocabulary. `own_words`
    is the number of words that no other row of the pool contained when the row was removed. For a kept row, `own_words`
    is the number in the final pool. `vocabulary_share` is the row's share of the vocabulary at the start, as defined in
    `vocabulary.py`. Rows that are removed together have the same `own_words` and the same `vocabulary_share`.
    `last_label_probability`: the label probability of every row from the last iteration in which the row had a score,
    float32. `last_label_probability` is None unless rows are ranked by label probability.
    """

    removed_rows: np.ndarray
    removed_in_iteration: np.ndarray
    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    instead_labels: np.ndarray | None = None
    instead_shares: np.ndarray | None = None
    own_words: np.ndarray | None = None
    vocabulary_share: np.ndarray | None = None
    last_label_probability: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class FilterResult(FilterArrays):
    """The result of a run.

    `kept_rows`: int64, ascending, including `score_only` rows. `classes`: int64, the distinct labels, ascending.
    `iterations`: one record per iteration. The last iteration scores the kept rows and removes nothing. `warnings`:
    sentences about possible problems of the run.
    """

    kept_rows: np.ndarray
    classes: np.ndarray
    iterations: tuple[IterationRecord, ...]
    stop_reason: StopReason
    warnings: tuple[str, ...]
    settings: FilterSettings
    seed: int


_STOP_CODES: dict[StopReason | None, int] = {None: 0} | {reason: place for place, reason in enumerate(StopReason, 1)}
_RECORD_PREFIX = "iterations."
_RECORD_TYPES = get_type_hints(IterationRecord)
_OF_VOCABULARY = ("distinct_words", "words_per_row")
"""Fields of a record that exist only if rows are ranked by vocabulary. The saved states of other runs do not have these
fields.
"""


@dataclass(frozen=True, kw_only=True)
class FilterState(FilterArrays):
    """All data for resuming a run. Arrays that are not computed yet are empty or None.

    `stop_reason` is set when no more rows will be removed. `finished` becomes True when the kept rows have also been
    scored. `start` is the starting point of the next iteration's fits (see `EngineTally`), or None before the first
    iteration. `inputs_hash` is the SHA-256 of the inputs, settings and seed (hexadecimal).
    """

    start: np.ndarray | None = None
    iterations: tuple[IterationRecord, ...] = ()
    stop_reason: StopReason | None
    finished: bool
    inputs_hash: str

    @property
    def next_iteration(self) -> int:
        """Number of the next iteration."""
        return len(self.iterations)

    @property
    def pool(self) -> np.ndarray:
        """Numbers of the rows that are not removed so far, ascending."""
        left = np.ones(len(self.predictability), dtype=bool)
        left[self.removed_rows] = False
        return np.flatnonzero(left)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as a dictionary of numeric and bool arrays, suitable for `np.savez` and `np.load(...,
        allow_pickle=False)`.
        """
        arrays = {name: getattr(self, name) for name in _PLAIN_ARRAYS}
        arrays |= {name: getattr(self, name) for name in _OPTIONAL_ARRAYS if getattr(self, name) is not None}
        arrays["stop_code"] = np.asarray(_STOP_CODES[self.stop_reason], dtype=np.int64)
        arrays["finished"] = np.asarray(self.finished)
        arrays["inputs_hash"] = np.frombuffer(bytes.fromhex(self.inputs_hash), dtype=np.uint8)
        return arrays | _record_arrays(self.iterations)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "FilterState":
        """Return the state from the arrays that `to_arrays` returned.

        Raises:
            InvalidInputError: an array is missing or the stop code is unknown.
        """
        given: dict[str, Any] = {name: _take(arrays, name) for name in _PLAIN_ARRAYS}
        return cls(
            **given | {name: arrays.get(name) for name in _OPTIONAL_ARRAYS},
            iterations=_records(arrays),
            stop_reason=_stop_reason(int(_take(arrays, "stop_code"))),
            finished=bool(_take(arrays, "finished")),
            inputs_hash=np.asarray(_take(arrays, "inputs_hash"), dtype=np.uint8).tobytes().hex(),
        )


_PLAIN_ARRAYS, _OPTIONAL_ARRAYS = (
    [name for name, kind in get_type_hints(FilterState).items() if kind == wanted]
    for wanted in (np.ndarray, np.ndarray | None)
)


def _take(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise InvalidInputError(
            f"the saved filter state has no array {name!r} (its arrays: {', '.join(sorted(arrays)) or 'none'}); give "
            "all arrays that `FilterState.to_arrays` returned"
        )
    return arrays[name]


def _stop_reason(code: int) -> StopReason | None:
    for reason, known in _STOP_CODES.items():
        if known == code:
            return reason
    raise InvalidInputError(
        f"the saved filter state has the `stop_code` {code}, but the valid codes are 0 to {len(StopReason)}; save the "
        "state again"
    )


def _record_arrays(records: Sequence[IterationRecord]) -> dict[str, np.ndarray]:
    """Return one array per field of the records. A value of None becomes NaN."""
    ranked = any(record.distinct_words is not None for record in records)
    return {
        _RECORD_PREFIX + name: _column(kind, [getattr(record, name) for record in records])
        for name, kind in _RECORD_TYPES.items()
        if ranked or name not in _OF_VOCABULARY
    }


def _column(kind: object, values: list[Any]) -> np.ndarray:
    if kind in (float, float | None, int | None):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(values, dtype=np.int64)


def _records(arrays: Mapping[str, np.ndarray]) -> tuple[IterationRecord, ...]:
    names = [name for name in _RECORD_TYPES if name not in _OF_VOCABULARY or _RECORD_PREFIX + name in arrays]
    columns = [[_value(_RECORD_TYPES[name], item) for item in _take(arrays, _RECORD_PREFIX + name)] for name in names]
    return tuple(IterationRecord(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))


def _value(kind: object, item: np.ndarray) -> Any:
    if kind is float:
        return float(item)
    if kind == float | None:
        return None if np.isnan(item) else float(item)
    if kind == int | None:
        return None if np.isnan(item) else int(item)
    return tuple(item.tolist()) if kind == tuple[int, ...] else int(item)
