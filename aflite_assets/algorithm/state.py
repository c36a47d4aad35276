"""Where a run stands between two iterations, and its form as named arrays. Keeping them is the caller's business."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from aflite_assets.algorithm.records import IterationRecord, StopReason
from aflite_assets.errors import InvalidInputError

_PLAIN_ARRAYS = ("removed_rows", "removed_in_iteration", "predictability", "held_out_count")
_OPTIONAL_ARRAYS = ("label_probability", "probabilities", "start")
_STOP_CODES: dict[StopReason | None, int] = {None: 0, StopReason.TARGET_SIZE: 1, StopReason.THRESHOLD: 2}
_RECORD_PREFIX = "iterations."
_OPTIONAL_NUMBERS = ("cutoff", "scored_bias")
_FLOATS = ("representation_bias", "seconds")


@dataclass(frozen=True, kw_only=True)
class FilterState:
    """Everything needed to go on with a run; the arrays are those of `FilterResult`, as far as they are known.

    `stop_reason` is set once nothing more will be removed, `finished` once the kept rows have been scored too. `start`
    is where the next iteration's classifiers start from (see `EngineTally`), None before the first. `inputs_hash` is
    the SHA-256 of the inputs, settings and seed (hexadecimal).
    """

    removed_rows: np.ndarray
    removed_in_iteration: np.ndarray
    predictability: np.ndarray
    held_out_count: np.ndarray
    label_probability: np.ndarray | None
    probabilities: np.ndarray | None
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
        """The state that `to_arrays` described.

        Raises:
            InvalidInputError: an array is missing or the stop code is unknown.
        """
        return cls(
            **{name: _take(arrays, name) for name in _PLAIN_ARRAYS},
            label_probability=arrays.get("label_probability"),
            probabilities=arrays.get("probabilities"),
            start=arrays.get("start"),
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
    raise InvalidInputError(f"A saved filter state has stop_code {code}, which is none of 0, 1, 2: save it again.")


def _record_arrays(records: Sequence[IterationRecord]) -> dict[str, np.ndarray]:
    """One array per field of the records; NaN stands for None."""
    columns = {field.name: [getattr(record, field.name) for record in records] for field in fields(IterationRecord)}
    return {_RECORD_PREFIX + name: _column(name, values) for name, values in columns.items()}


def _column(name: str, values: list[Any]) -> np.ndarray:
    if name in _OPTIONAL_NUMBERS or name in _FLOATS:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(values, dtype=np.int64)


def _records(arrays: Mapping[str, np.ndarray]) -> tuple[IterationRecord, ...]:
    columns = {
        field.name: [_value(field.name, item) for item in _take(arrays, _RECORD_PREFIX + field.name)]
        for field in fields(IterationRecord)
    }
    rows = zip(*columns.values(), strict=True)
    return tuple(IterationRecord(**dict(zip(columns, row, strict=True))) for row in rows)


def _value(name: str, item: np.ndarray) -> object:
    if name == "rows_per_class":
        return tuple(int(count) for count in item)
    if name in _FLOATS:
        return float(item)
    if name in _OPTIONAL_NUMBERS:
        return None if np.isnan(item) else float(item)
    return int(item)
