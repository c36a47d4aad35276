"""The numbers of a table of statistics as metrics, under names that do not change from run to run. Nothing is logged
here.
"""

import math
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.tracking.mlflow_values import METRICS_PER_BATCH, accepted_part, digest_of

MOST_METRICS = METRICS_PER_BATCH
"""Most numbers of a table that each become a metric: the most that MLflow accepts in one request. A larger table has
summaries instead.
"""

_NULL = "none"


def table_name(title: str) -> str:
    """Return a table's name from its title: "Words over the line" gives words_over_the_line."""
    return accepted_part(title.lower().replace(" ", "_"))


def table_metrics(title: str, table: pa.Table) -> Mapping[str, float]:
    """Return every number of a table as `<table>/<row>.<column>`; NaN, infinite and null values are left out.

    A row is named by its leading text columns, or by the first column if that column contains whole numbers. Further
    columns of text, truth values or whole numbers are added until no two rows share a name. If these columns do not
    suffice, the row is named by its number, counted from 0. The values in the name are joined by dots; each has at most
    60 characters of A-z, 0-9, "_", "-" and spaces (see `accepted_part`; null is "none"). Values in a row's name are not
    logged as metrics, and neither are texts and truth values.

    For a table with more than `MOST_METRICS` numbers, the metrics are `<table>/over rows.<least, mean or
    most>.<column>`.
    """
    keys, rows = _row_names(table)
    numeric = [name for name in table.column_names if name not in keys and _is_number(table.schema.field(name).type)]
    prefix = table_name(title)
    if len(numeric) * table.num_rows > MOST_METRICS:
        named = {
            f"{prefix}/over rows.{what}.{accepted_part(column)}": value
            for column in numeric
            for what, value in _summaries(table[column]).items()
        }
    else:
        named = {
            f"{prefix}/{row}.{accepted_part(column)}": value
            for column in numeric
            for row, value in zip(rows, table[column].to_pylist(), strict=True)
        }
    return {name: float(value) for name, value in named.items() if value is not None and math.isfinite(value)}


def _row_names(table: pa.Table) -> tuple[list[str], list[str]]:
    """Return the columns that name a row, and a unique name per row."""
    kinds = {field.name: field.type for field in table.schema}
    names = list(kinds)
    texts = list(takewhile(lambda name: _is_text(kinds[name]), names))
    for count in range(max(len(texts), 1), len(names) + 1):
        keys = names[:count]
        if pa.types.is_floating(kinds[keys[-1]]):
            break
        rows = _joined(table, keys)
        if len(set(rows)) == table.num_rows:
            return keys, rows
    numbered = zip(_joined(table, texts), range(table.num_rows), strict=True)
    return texts, [f"{row}.{number}".removeprefix(".") for row, number in numbered]


def _joined(table: pa.Table, keys: list[str]) -> list[str]:
    if not keys:
        return [""] * table.num_rows
    parts = [[_named(value) for value in table[key].to_pylist()] for key in keys]
    return [".".join(row) for row in zip(*parts, strict=True)]


def _named(value: Any) -> str:
    if value is None:
        return _NULL
    # The text "none" is no null, and so it is told apart by a hash, as texts are that cannot stand as they are.
    return accepted_part(str(value)) if value != _NULL else f"{_NULL}_{digest_of(_NULL)[:8]}"


def _summaries(column: pa.ChunkedArray) -> dict[str, float | None]:
    values = column.cast(pa.float64())
    finite = values.filter(pc.fill_null(pc.is_finite(values), False))
    ends = pc.min_max(finite).as_py()
    return {"least": ends["min"], "mean": pc.mean(finite).as_py(), "most": ends["max"]}


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


__all__ = ["MOST_METRICS", "table_metrics", "table_name"]
