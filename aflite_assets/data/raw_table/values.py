"""Conversion of values to text, the form in which labels, groups, ids and attributes are compared."""

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import DataError

_SHOWN = 200


def as_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return each value as text: 1 and 1.0 both become "1"; null, NaN and the empty string become None.

    Dates and times are written in ISO 8601; lists and structs are written as in Python.

    Raises:
        DataError: values cannot be converted to text (such as structs with a repeated name), or a text is not UTF-8.
    """
    try:
        return [as_text(value) for value in _in_python(column).to_pylist()]
    except (ValueError, ArithmeticError, LookupError, pa.ArrowException) as error:
        raise DataError(
            f"a column of the type {shown(str(column.type))} cannot be read as text ({shown(str(error))}); convert "
            "the column to text in the source, or name another column"
        ) from error


def as_text(value: Any) -> str | None:
    """Return one value as text, by the same rules as `as_texts`."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return str(int(value))
    return str(value)


def shown(value: object) -> str:
    """Return a value for an error message, with control characters escaped and long values cut."""
    if value is None:
        return "null"
    text = value if isinstance(value, str) else str(value)
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}... ({len(text):,} characters)"


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column's values without dictionary, run-end or extension encoding."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    if pa.types.is_dictionary(kind):
        return plain(_decoded(column))
    if pa.types.is_run_end_encoded(kind):
        return plain(pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type))
    return column


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a dictionary array, using 64-bit offsets for text and bytes.

    With 32-bit offsets, a chunk with over 2 GiB of repeated values would be decoded into garbage.
    """
    kind = column.type.value_type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        kind = pa.large_string() if pa.types.is_string(kind) else pa.large_binary()
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)


def is_number(kind: pa.DataType) -> bool:
    """Return True if a column's values are numbers; true and false count as 1 and 0."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return True if a column's values are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Return True if a column's values are bytes of any length."""
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return True if a column's values are lists."""
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def _in_python(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert the column to a type whose values Python can represent."""
    if isinstance(column.type, pa.UuidType):
        return column
    column = plain(column)
    kind = column.type
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return _without_zero_fractions(_temporal_text(column))
    return column


def _temporal_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dates and times to text with Arrow.

    Python supports neither years after 9999 nor unknown time zones.
    """
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return column.cast(pa.timestamp(column.type.unit)).cast(pa.string())


def _without_zero_fractions(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
