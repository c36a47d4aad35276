"""Results of the algorithm: scores, a record per iteration, the result, and the state a run can go on from.

Plain records; how they are computed is in scoring.py and filtering.py. Keeping a state is the caller's business.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, get_type_hints

import numpy as np

from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.errors import InvalidInputError


class StopReason(Enum):
    """Why filtering ended."""

    TARGET_SIZE = "target_size"
    """The target was within one slice's reach: the slice was cut by it."""
    THRESHOLD = "threshold"
    """Fewer rows than the slice had a predictability at or over the threshold; with "gumbel", none had."""
    CHANCE = "chance"
    """With `stop_at_chance`: two passes in a row had no more bias than permuted labels give."""
    NOTHING_LEARNT = "nothing_learnt"
    """The function given as `is_learnt` answered False after the first pass, so nothing was removed."""


@dataclass(frozen=True)
class Scores:
    """One iteration's scores, one entry per input row.

    `predictability`: float32 in [0, 1], share of the row's held-out predictions that were right; NaN where
    the row was never held out. `held_out_count`: int64, partitions in which the row was held out (with
    classifier "both" each carries two predictions). `label_probability`: float32 in [0, 1], mean held-out
    probability of the row's own label, NaN where never held out; None when no classifier gave
    probabilities. `probabilities`: float32, rows x classes (those that occur, ascending), the same of every class, only
    with `keep_probabilities`. `representation_bias`: mean predictability of the scored rows that are not `score_only`;
    `scored_bias`: the same over the `score_only` rows, None where none has a score.
    """

    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None
    representation_bias: float
    scored_bias: float | None
    probabilities: np.ndarray | None = None


IsLearnt = Callable[[np.ndarray, np.ndarray | None], bool]
"""Whether classifiers learnt, from predictability and label probability of every row as `Scores` has them (not in the
papers)."""

LEAST_MOVED = 0.5
"""Least share of labels that permutations must move, relative to a free permutation, to show what chance gives."""


@dataclass(frozen=True, eq=False)
class ChanceScores:
    """Scores of passes over permuted labels: `bias`, one per pass, and `class_bias`, passes x classes, both in [0, 1].

    `bias` is the mean predictability of the rows, `class_bias` that of the rows of each class, in the order of the
    labels that occur; NaN for a class without a scored row. `class_probability`: the same of the rows' label
    probabilities; None if the classifier has none. `rows`: how many rows each pass had. `moved`: the mean
    share of rows that a pass gave another label, over that of a free permutation (`chance.share_moved`); under
    `LEAST_MOVED` the groups hold the labels in place, and the passes say nothing about chance.
    """

    bias: np.ndarray
    class_bias: np.ndarray
    rows: int
    moved: float = 1.0
    class_probability: np.ndarray | None = None

    @property
    def labels_moved(self) -> bool:
        """Whether enough labels moved for the passes to show what chance gives."""
        return self.moved >= LEAST_MOVED

    @property
    def largest(self) -> float:
        """The highest bias of all passes."""
        return float(self.bias.max())


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
    """Record of one iteration. "Rows" leaves the `score_only` rows out; fields named "scored" are about those alone.

    `iteration`: from 0. `rows_in`, `scored_rows_in`: rows in the pool when it began. `removed`,
    `scored_removed`: rows it removed. `counted_rows_in`, `counted_removed`: of `rows_in` and `removed`, those that the
    target size counts. `cutoff`: lowest score among the removed rows (with remove="groups",
    among the removed groups), None when nothing was removed. `tied_at_cutoff`: rows that had exactly the
    cut-off score, removed or not; 0 without a cut-off. `representation_bias`, `scored_bias`: mean
    predictability of the rows that entered. `rows_per_class`: rows that entered, in the order of
    `FilterResult.classes`. `never_held_out`: rows that got no score. `smallest_train_size`,
    `largest_train_size`: rows a classifier was trained on (they differ only with groups). `chance_bias`: with
    `stop_at_chance`, the highest bias of passes over permuted labels of the rows that entered, None where they were
    not made. `distinct_words`, `words_per_row`: where rows are ranked by vocabulary, the distinct words of the rows
    that entered, and the mean number of distinct words of one; else None. `seconds`: wall time, left out when records
    are compared.
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
        """Whether the rows that entered had no more bias than permuted labels give; False where that was not asked."""
        return self.chance_bias is not None and self.representation_bias <= self.chance_bias


@dataclass(frozen=True, kw_only=True)
class FilterArrays:
    """Arrays of what a run knows of its rows; all row numbers are positions in the input.

    `removed_rows`: int64, by iteration, ascending within one; `removed_in_iteration`: int64 beside it. `predictability`
    (float32) and `held_out_count` (int64): for every input row as of the last iteration that scored it; NaN and 0 for a
    row that none did. `label_probability`: float32, every input row, from the first iteration; NaN where never held
    out, None when the classifier has no probabilities. `probabilities`: float32, rows x classes, the first iteration's
    mean held-out probabilities, only with `keep_probabilities`. `instead_labels` (int64, -1 for none) and
    `instead_shares` (float32), rows x 3: the labels that classifiers gave most often in place of the row's own, in the
    iteration that `predictability` is of, most frequent first, and their shares of its held-out predictions; None
    where counts of every class would take over a sixteenth of the memory limit. `own_words` (int64) and
    `vocabulary_share` (float64): where rows are ranked by vocabulary, of every input row the words that no other row of
    the pool had when it was removed, or at the end, and its share of the vocabulary at the start (vocabulary.py; rows
    that leave together have those of all of them); else None. `last_label_probability`: where label probabilities put
    rows in order, float32, of every row as of the last iteration that scored it; else None.
    """

    removed_rows: np.ndarray
    removed_in_iteration: np.ndarray
    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None
    probabilities: np.ndarray | None
    instead_labels: np.ndarray | None = None
    instead_shares: np.ndarray | None = None
    own_words: np.ndarray | None = None
    vocabulary_share: np.ndarray | None = None
    last_label_probability: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class FilterResult(FilterArrays):
    """The outcome of a run.

    `kept_rows`: int64, ascending, `score_only` rows included. `classes`: int64, the labels that occur, ascending.
    `iterations`: a record each; the last one scores the kept rows and removes nothing. `warnings`: sentences about what
    may be wrong with this run.
    """

    kept_rows: np.ndarray
    classes: np.ndarray
    iterations: tuple[IterationRecord, ...]
    stop_reason: StopReason
    warnings: tuple[str, ...]
    settings: FilterSettings
    seed: int


_PLAIN_ARRAYS = ("removed_rows", "removed_in_iteration", "predictability", "held_out_count")
_OPTIONAL_ARRAYS = (
    "label_probability",
    "probabilities",
    "instead_labels",
    "instead_shares",
    "own_words",
    "vocabulary_share",
    "last_label_probability",
    "start",
)
_STOP_CODES: dict[StopReason | None, int] = {None: 0} | {reason: place for place, reason in enumerate(StopReason, 1)}
_RECORD_PREFIX = "iterations."
_RECORD_TYPES = get_type_hints(IterationRecord)
_OF_VOCABULARY = ("distinct_words", "words_per_row")
"""Fields of a record that only runs with this ranking have: states of other runs are written without them."""


@dataclass(frozen=True, kw_only=True)
class FilterState(FilterArrays):
    """Everything needed to go on with a run; arrays that are not known yet are empty or None.

    `stop_reason` is set once nothing more will be removed, `finished` once the kept rows have been scored too. `start`
    is where the next iteration's classifiers start from (see `EngineTally`), None before the first. `inputs_hash` is
    the SHA-256 of the inputs, settings and seed (hexadecimal).
    """

    start: np.ndarray | None
    iterations: tuple[IterationRecord, ...]
    stop_reason: StopReason | None
    finished: bool
    inputs_hash: str

    @property
    def next_iteration(self) -> int:
        """Number of the iteration that comes next."""
        return len(self.iterations)

    @property
    def pool(self) -> np.ndarray:
        """Row numbers not removed so far, ascending."""
        left = np.ones(len(self.predictability), dtype=bool)
        left[self.removed_rows] = False
        return np.flatnonzero(left)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Numeric and bool arrays by name, fit for `np.savez` and `np.load(..., allow_pickle=False)`."""
        arrays = {name: getattr(self, name) for name in _PLAIN_ARRAYS}
        arrays |= {name: getattr(self, name) for name in _OPTIONAL_ARRAYS if getattr(self, name) is not None}
        arrays["stop_code"] = np.asarray(_STOP_CODES[self.stop_reason], dtype=np.int64)
        arrays["finished"] = np.asarray(self.finished)
        arrays["inputs_hash"] = np.frombuffer(bytes.fromhex(self.inputs_hash), dtype=np.uint8)
        return arrays | _record_arrays(self.iterations)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "FilterState":
        """Return the state that `to_arrays` described.

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


def _take(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise InvalidInputError(
            f"A saved filter state lacks the array {name!r}; it has {', '.join(sorted(arrays)) or 'none'}: "
            "give everything that FilterState.to_arrays returned."
        )
    return arrays[name]


def _stop_reason(code: int) -> StopReason | None:
    for reason, known in _STOP_CODES.items():
        if known == code:
            return reason
    raise InvalidInputError(
        f"A saved filter state has stop_code {code}, which is not one of 0 to {len(StopReason)}: save it again."
    )


def _record_arrays(records: Sequence[IterationRecord]) -> dict[str, np.ndarray]:
    """One array per field of the records; NaN stands for None."""
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
