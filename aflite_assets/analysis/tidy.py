"""Conversion of records to plain JSON, and to tidy Arrow tables and back. A tidy table has one row per record.

A table's columns are the fields of its record, in their order and with their types. The tables in Parquet files always
match the records in the code.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
from pydantic_core import to_jsonable_python

from aflite_assets.errors import DataError, InvalidInputError

SCHEMA_VERSION = 1
"""Version that increases if a column is deleted or changes its meaning or type. New columns and tables do not change
it.
"""

VERSION_KEY = b"aflite.schema_version"

Record = TypeVar("Record")
Record_co = TypeVar("Record_co", covariant=True)

_TYPES: Mapping[object, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def record_of(kind: type[Record], *sources: object, **values: Any) -> Record:
    """Build a record from `values`. Fields that `values` lacks are taken from attributes of `sources` with the same
    names.

    If several sources have an attribute, the last source is used.
    """
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    copied = {name: getattr(source, name) for source in sources for name in names if hasattr(source, name)}
    return kind(**copied | values)


@dataclass(frozen=True)
class TidyTable(Generic[Record_co]):
    """A tidy table: its name, which is also the name of its file in `tables/`, and the dataclass of its rows.

    The type of a field is str, int, float, bool, a Literal of texts, or a tuple of values of one such type. Any field
    may be None, which becomes null in the table. A tuple of pairs becomes a map column. `derived` names properties of
    the dataclass that become columns after its fields; derived columns are recomputed when the table is read.
    """

    name: str
    record: type[Record_co]
    derived: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the schema version in the metadata. Raises InvalidInputError if a field has an
        unsupported type.
        """
        hints = get_type_hints(self.record)
        hints |= {name: get_type_hints(getattr(self.record, name).fget)["return"] for name in self.derived}
        names = (*self._fields, *self.derived)
        columns = [(name, _arrow_type(hints[name], f"{self.name}.{name}")) for name in names]
        return pa.schema(columns, {VERSION_KEY: str(SCHEMA_VERSION).encode()})

    @property
    def _fields(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self.record))  # type: ignore[arg-type]

    def to_arrow(self, records: Iterable[object]) -> pa.Table:
        """Return an Arrow table with one row per record. If there are no records, the table still has its columns."""
        return pa.Table.from_pylist(list(map(self.as_row, records)), self.schema)

    def as_row(self, record: object) -> dict[str, Any]:
        """Return the values of one record by column."""
        return {name: getattr(record, name) for name in self.schema.names}

    def from_arrow(self, table: pa.Table) -> tuple[Record_co, ...]:
        """Return the rows as records. Columns of a later version are ignored, and missing columns are None.

        Raises DataError if the table was written with another schema version.
        """
        version = int((table.schema.metadata or {}).get(VERSION_KEY, b"0"))
        if version != SCHEMA_VERSION:
            raise DataError(
                f"table {self.name!r} has schema version {version}, but this code reads version {SCHEMA_VERSION}; "
                "materialise `analysis` again"
            )
        make: Any = self.record
        known = table.select([name for name in self._fields if name in table.column_names])
        missing = dict.fromkeys(self._fields)
        rows = ({name: tuple(v) if isinstance(v, list) else v for name, v in row.items()} for row in known.to_pylist())
        return tuple(make(**missing | row) for row in rows)


def _arrow_type(hint: object, where: str) -> pa.DataType:
    inner = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        kinds = {_arrow_type(one, where) for one in inner if one is not NoneType}
        if len(kinds) == 1:
            return kinds.pop()
    if get_origin(hint) is Literal and all(isinstance(one, str) for one in inner):
        return pa.string()
    if get_origin(hint) is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        pair = get_args(inner[0])
        if get_origin(inner[0]) is tuple and len(pair) == 2 and Ellipsis not in pair:
            return pa.map_(*(_arrow_type(one, where) for one in pair))
        return pa.list_(_arrow_type(inner[0], where))
    if hint in _TYPES:
        return _TYPES[hint]
    raise InvalidInputError(
        f"the type of field {where} is {hint}; use str, int, float, bool, or a tuple of one of these"
    )


JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


def to_json(value: object) -> JsonValue:
    """Convert a value to types that JSON can hold, with NaN and infinity as None.

    Raises InvalidInputError if the value has a type that cannot be converted.
    """
    return cast(JsonValue, to_jsonable_python(value, inf_nan_mode="null", fallback=_plain))


def _plain(value: object) -> object:
    match value:
        case np.generic() | np.ndarray():
            return value.tolist()
        case Mapping():
            return dict(value)
        case PurePath():
            return str(value)
    raise InvalidInputError(
        f"a value of type {type(value).__name__} cannot be written as JSON: {value!r:.200}; convert the value to text"
    )
