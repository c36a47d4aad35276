"""From label values as a source writes them to class numbers and names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.sources.values import as_text, as_texts
from aflite_assets.sources.wording import did_you_mean


@dataclass(frozen=True)
class Labels:
    """Class numbers int64 by split, -1 for unlabelled rows, and the classes' names in their order."""

    numbers: Mapping[str, np.ndarray]
    names: tuple[str, ...]


def read_labels(
    columns: Mapping[str, pa.ChunkedArray], *, names: tuple[str, ...] | None, unlabelled: tuple[int | str | None, ...]
) -> Labels:
    """Number the label values of all splits.

    Values are compared as text, so that 1, 1.0 and "1" are one label. With `names`, a value is one of them; where no
    name is a whole number, a whole number or a boolean counts the names from 0. Without `names`, the classes are the
    values found: whole numbers in their order, then texts in theirs. Empty values are null.

    Raises:
        DataError: a value is neither a class nor one of `unlabelled`.
    """
    values = {split: as_texts(_numbered(column, names)) for split, column in columns.items()}
    dropped = {as_text(value) for value in unlabelled}
    found = {value for column in values.values() for value in column} - dropped
    if None in found:
        _refuse_missing(values)
    if names is None:
        names = tuple(sorted((value for value in found if value is not None), key=_order))
    classes = _classes(names)
    unknown = sorted(value for value in found if value is not None and value not in classes)
    if unknown:
        rows = sum(column.count(unknown[0]) for column in values.values())
        raise DataError(
            f"label {unknown[0]!r} ({rows} rows) is no class of labels {list(names)}"
            + (f", nor are {unknown[1:6]}" if unknown[1:] else "")
            + (did_you_mean(unknown[0], names) or "; add it to labels, or to unlabelled if such rows have no label")
        )
    numbers: dict[str | None, int] = {}
    numbers.update(classes)
    numbers.update(dict.fromkeys(dropped, -1))
    return Labels({s: np.array([numbers[v] for v in column], dtype=np.int64) for s, column in values.items()}, names)


def _numbered(column: pa.ChunkedArray, names: tuple[str, ...] | None) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if names is not None and pa.types.is_boolean(column.type) else column


def _classes(names: tuple[str, ...]) -> dict[str, int]:
    positions = {} if any(map(_is_whole, names)) else {str(row): row for row in range(len(names))}
    return positions | {name: row for row, name in enumerate(names)}


def _order(value: str) -> tuple[bool, int, str]:
    return not _is_whole(value), int(value) if _is_whole(value) else 0, value


def _is_whole(value: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}", value) is not None


def _refuse_missing(values: Mapping[str, list[str | None]]) -> None:
    split, rows = next((split, column.count(None)) for split, column in values.items() if None in column)
    raise DataError(f"split {split!r}: {rows} rows have an empty label; add null to unlabelled to drop and count them")
