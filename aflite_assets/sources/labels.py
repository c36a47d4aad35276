"""From label values as a source writes them to class numbers and names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError


@dataclass(frozen=True)
class Labels:
    """Class numbers int64 by split, -1 for unlabelled rows, and the classes' names in their order."""

    numbers: Mapping[str, np.ndarray]
    names: tuple[str, ...]


def read_labels(
    columns: Mapping[str, pa.ChunkedArray], *, names: tuple[str, ...] | None, unlabelled: tuple[int | str | None, ...]
) -> Labels:
    """Number the label values of all splits.

    Whole numbers are class numbers into `names`; strings are names. Without `names`, the classes are the values
    found, sorted.

    Raises:
        DataError: a value is neither a class nor one of `unlabelled`.
    """
    values = {split: [_plain(value) for value in column.to_pylist()] for split, column in columns.items()}
    found = {value for column in values.values() for value in column} - set(unlabelled)
    _refuse_missing(values, unlabelled)
    if names is None:
        ordered = sorted(found, key=lambda value: (isinstance(value, str), value))
        names, classes = tuple(str(value) for value in ordered), {value: row for row, value in enumerate(ordered)}
    else:
        classes = {name: row for row, name in enumerate(names)} | dict(enumerate(range(len(names))))
    unknown = sorted((value for value in found if value not in classes), key=str)
    if unknown:
        rows = sum(column.count(unknown[0]) for column in values.values())
        raise DataError(
            f"label {unknown[0]!r} ({rows} rows) is no class of labels {list(names)}"
            + (f", nor are {unknown[1:6]}" if unknown[1:] else "")
            + "; add it to labels, or to unlabelled if such rows have no label"
        )
    classes |= dict.fromkeys(unlabelled, -1)
    return Labels({s: np.array([classes[v] for v in column], dtype=np.int64) for s, column in values.items()}, names)


def _plain(value: Any) -> int | str | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else str(value)
    return value if value is None or isinstance(value, int) else str(value)


def _refuse_missing(values: Mapping[str, list[Any]], unlabelled: tuple[int | str | None, ...]) -> None:
    for split, column in values.items():
        if None in column and None not in unlabelled:
            raise DataError(
                f"split {split!r}: {column.count(None)} rows have an empty label; "
                "add null to unlabelled to drop and count them"
            )
