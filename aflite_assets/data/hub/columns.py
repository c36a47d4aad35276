"""Conversion of columns with types of the library `datasets` to plain types: class names as text, images as bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


@dataclass(frozen=True)
class ColumnForm:
    """Settings for the conversion of columns; with `class_numbers`, classes are numbers instead of names.

    `read`: a function that takes the path of an image file and returns its bytes, or None if the file must not be read.
    """

    class_numbers: bool = False
    read: Callable[[str], bytes | None] = lambda address: None


def rows_at_once(schema: pa.Schema | None) -> int:
    """Return the number of rows to convert at a time; this number is smaller if the columns can contain images."""
    return 100 if schema is None or "binary" in str(schema) else 1_000


def plain_table(table: pa.Table, features: Mapping[str, Any], *, form: ColumnForm) -> pa.Table:
    """Return the rows with class numbers replaced by class names from `features`, and images as struct<bytes, path>.

    A class number without a name becomes text ("-1"), and null stays null.
    """
    columns = {
        name: _plain(_storage(table[name].combine_chunks()), features.get(name), form) for name in table.column_names
    }
    return pa.table(columns)


def _plain(values: pa.Array, feature: Any, form: ColumnForm) -> pa.Array:
    from datasets import ClassLabel, Image, LargeList, List

    match feature:
        case ClassLabel() if not form.class_numbers:
            # In the YAML of a card, the unquoted name `no` is a boolean.
            return _class_names(values, [str(name) for name in feature.names])
        case Image() if pa.types.is_struct(values.type):
            return _with_bytes(values, form.read)
        case List() | LargeList() if isinstance(feature.feature, ClassLabel) and not _is_fixed(values.type):
            # `take` makes the offsets begin at 0, which is required to build a list column with missing rows.
            values = values.take(pa.array(range(len(values)), pa.int64())) if values.offset else values
            names = _plain(values.values, feature.feature, form)
            return type(values).from_arrays(values.offsets, names, mask=values.is_null())
    return values


def _class_names(values: pa.Array, names: list[str]) -> pa.Array:
    numbers = _numbers(values)
    if numbers is None:
        return values
    named = pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, len(names)))
    class_names = pa.array(names, pa.string()).take(pc.if_else(named, numbers, 0))
    read = pc.if_else(named, class_names, numbers.cast(pa.string()))
    if not pa.types.is_string(values.type):
        return read
    # As in `datasets`, a text that equals a class name means that class, even if the name is a number.
    return pc.if_else(pc.is_in(values, pa.array(names, pa.string())), values, read)


def _numbers(values: pa.Array) -> pa.Array | None:
    """Return the values as whole numbers, or None if any value is not a whole number.

    Whole numbers may be written as text.
    """
    if pa.types.is_string(values.type):
        values = pc.if_else(pc.equal(values, ""), None, values)
    elif not pa.types.is_integer(values.type):
        return None
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _with_bytes(images: pa.Array, read: Callable[[str], bytes | None]) -> pa.Array:
    content, paths = pc.struct_field(images, "bytes"), pc.struct_field(images, "path")
    if pc.and_(content.is_null(), paths.is_valid()).true_count:
        named = zip(content.to_pylist(), paths.to_pylist(), strict=True)
        content = pa.array([data if data is not None or path is None else read(path) for data, path in named])
    return pa.StructArray.from_arrays(
        [content.cast(pa.binary()), paths.cast(pa.string())], fields=list(_IMAGE), mask=images.is_null()
    )


def _storage(values: pa.Array) -> pa.Array:
    """Convert matrix columns, which are an extension type of the library `datasets`, to plain lists."""
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind))
