"""Values of a source's columns as text, the form in which labels, groups, ids and attributes are compared."""

import math
from typing import Any

import pyarrow as pa


def as_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Each value as text: 1 and 1.0 are both "1"; null, NaN and the empty string are None."""
    return [as_text(value) for value in column.to_pylist()]


def as_text(value: Any) -> str | None:
    """One value as text, by the same rules."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
