"""From a source's columns to the raw table's: inputs, source ids, group numbers. Labels are in `labels`."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import DataError
from aflite_assets.sources.images import IMAGE_TYPE
from aflite_assets.sources.specs import ColumnsSpec
from aflite_assets.sources.synthetic import list_column
from aflite_assets.sources.values import as_texts
from aflite_assets.sources.wording import did_you_mean

_INPUTS = ("features", "text", "image")
_NO_VALUE = "(empty)"


def require_columns(split: str, table: pa.Table, columns: ColumnsSpec) -> None:
    """Refuse a table that lacks a column which the spec names, or has it twice.

    Raises:
        DataError: names the field, the column and the nearest column there is.
    """
    known = table.column_names
    for field, column in _named(columns):
        if known.count(column) > 1:
            raise DataError(f"split {split!r} has {known.count(column)} columns named {column!r}; rename all but one")
        if column not in known:
            raise DataError(
                f"split {split!r} has no column {column!r} that columns.{field} names (it has {known})"
                + (did_you_mean(column, known) or "; correct the spec")
            )
    if all(getattr(columns, name) is None for name in _INPUTS):
        raise DataError(f"columns names no input (split {split!r} has {known}); set columns.text, image or features")


def _named(columns: ColumnsSpec) -> list[tuple[str, str]]:
    """Every column name of a spec beside the field that gives it."""
    named = []
    for field in ("label", "text", "text_pair", "image", "features", "id", "group", "attributes"):
        value = getattr(columns, field)
        names = value if isinstance(value, tuple) else (value,)
        named += [(field, name) for name in names if name is not None]
    return named


def input_columns(split: str, table: pa.Table, columns: ColumnsSpec) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The one kind of input of each row: `features` list<float32>, `image`, or `text` and perhaps `text_pair`.

    Raises:
        DataError: a text or image is missing, or features are ragged, no numbers, or not finite as float32.
    """
    if columns.features is not None:
        return {"features": list_column(_finite(split, _feature_matrix(split, table, columns.features)))}
    if columns.image is not None:
        return {"image": _image_column(split, columns.image, table[columns.image])}
    names = {"text": columns.text, "text_pair": columns.text_pair}
    return {field: _text_column(split, name, table[name]) for field, name in names.items() if name is not None}


def attribute_column(column: pa.ChunkedArray) -> pa.Array:
    """A column that only reports read, as text; a missing value is "(empty)"."""
    return pa.array([_NO_VALUE if value is None else value for value in as_texts(column)], pa.string())


def source_ids(split: str, table: pa.Table, name: str | None, inputs: Mapping[str, Any]) -> pa.Array:
    """The source's own ids as text, or without a column of them a hash of each row's inputs.

    Raises:
        DataError: an id is missing or stands twice in the split.
    """
    if name is None:
        contents = [_hashable(values) for values in inputs.values()]
        return pa.array([_content_hash(*row) for row in zip(*contents, strict=True)], pa.string())
    ids = as_texts(table[name])
    seen: set[str] = set()
    for row, value in enumerate(ids):
        if value is None or value in seen:
            problem = "is empty" if value is None else f"repeats {value!r}"
            raise DataError(
                f"split {split!r}: column {name!r} {problem} in row {row}; "
                "name a column of unique ids as columns.id, or none to use content hashes"
            )
        seen.add(value)
    return pa.array(ids, pa.string())


def group_numbers(tables: Mapping[str, pa.Table], name: str | None) -> dict[str, np.ndarray]:
    """Number the values of the group column over all splits, int64, in order of appearance; nothing without one.

    Raises:
        DataError: a row has no group.
    """
    if name is None:
        return {}
    numbers: dict[str | None, int] = {}
    by_split = {}
    for split, table in tables.items():
        groups = as_texts(table[name])
        if None in groups:
            raise DataError(
                f"split {split!r}: column {name!r} names no group in {groups.count(None)} rows "
                f"(first: row {groups.index(None)}); every row needs one"
            )
        by_split[split] = np.array([numbers.setdefault(group, len(numbers)) for group in groups], np.int64)
    return by_split


def _text_column(split: str, name: str, column: pa.ChunkedArray) -> pa.Array:
    values = column.to_pylist()
    if None in values:
        raise DataError(
            f"split {split!r}: column {name!r} has no text in {values.count(None)} rows "
            f"(first: row {values.index(None)}); fill them or drop them from the source"
        )
    return pa.array([value if isinstance(value, str) else str(value) for value in values], pa.string())


def _image_column(split: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type == IMAGE_TYPE:
        return column
    encoded = column
    if pa.types.is_struct(column.type) and column.type.get_field_index("bytes") >= 0:
        encoded = pc.struct_field(column, "bytes")
    if not (pa.types.is_binary(encoded.type) or pa.types.is_large_binary(encoded.type)) or encoded.null_count:
        raise DataError(
            f"split {split!r}: column {name!r} must hold an encoded image in every row, as bytes or as a struct with "
            f"bytes, but it holds {column.type} with {encoded.null_count} empty rows"
        )
    nothing = [pa.nulls(len(chunk), pa.string()) for chunk in encoded.chunks]
    images = [
        pa.StructArray.from_arrays([chunk.cast(pa.binary()), empty, empty], fields=list(IMAGE_TYPE))
        for chunk, empty in zip(encoded.chunks, nothing, strict=True)
    ]
    return pa.chunked_array(images, IMAGE_TYPE)


def _feature_matrix(split: str, table: pa.Table, names: str | tuple[str, ...]) -> np.ndarray:
    """Rows x width float32; what is missing is NaN, what float32 cannot hold infinite."""
    try:
        with np.errstate(over="ignore"):
            if isinstance(names, tuple):
                columns = [np.asarray(table[name].to_numpy(), np.float64) for name in names]
                return np.column_stack(columns).astype(np.float32)
            column = table[names].combine_chunks()
            width = _common_width(split, pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False))
            values = column.flatten().to_numpy(zero_copy_only=False)
            return values.astype(np.float32).reshape(len(column), width)
    except (ValueError, TypeError, pa.ArrowException) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"split {split!r}: columns.features {names!r} cannot be read as numbers ({error}); "
            "name one column of lists of numbers, or a list of number columns"
        ) from error


def _common_width(split: str, widths: np.ndarray) -> int:
    width = int(widths[0])
    other = np.flatnonzero(widths != width)
    if len(other):
        raise DataError(
            f"split {split!r}: row 0 has {width} features, but row {other[0]} has {widths[other[0]]}; "
            "every row must have the same number"
        )
    if width == 0:
        raise DataError(f"split {split!r}: the rows have no features; every row needs at least one")
    return width


def _finite(split: str, matrix: np.ndarray) -> np.ndarray:
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise DataError(
            f"split {split!r}: {(~finite).sum()} of {len(finite)} rows have features that are NaN or infinite "
            f"as float32 (first: row {np.flatnonzero(~finite)[0]}); replace or drop them in the source"
        )
    return matrix


def _hashable(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    if pa.types.is_struct(values.type):
        return [image["sha256"] or image["bytes"] for image in values.to_pylist()]
    if pa.types.is_list(values.type):
        return [row.tobytes() for row in values.flatten().to_numpy().reshape(len(values), -1)]
    return values.to_pylist()


def _content_hash(*values: str | bytes) -> str:
    """16 hexadecimal digits of a row's content; equal content gives equal digits."""
    digest = hashlib.sha256()
    for value in values:
        data = value if isinstance(value, bytes) else value.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]
