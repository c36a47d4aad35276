"""Conversion of a table of statistics to metrics. The names of the metrics are the same in every run."""

import math
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.tracking.mlflow_values import METRICS_PER_BATCH, accepted_part, digest_of

MOST_METRICS = METRICS_PER_BATCH
"""Largest number of metrics from one table, which is also MLflow's limit per request.

Larger tables are summarized: the least, mean and largest value of each column are logged.
"""

_SUMMARY = "over rows"
"""Part of a metric's name in place of a row's name, if the metric is the least, mean or largest value of a column over
all rows of a table.

For example, the metric `words/over rows.mean.score` is the mean of the column `score` of the table `words`. The name
stays as it is, so that the metrics of old and new runs can be compared.
"""

_NULL = "none"


def table_name(title: str) -> str:
    """Return the name of a table, made from its title; for example, "Words over the line" gives
    `words_over_the_line`.
    """
    return accepted_part(title.lower().replace(" ", "_"))


def table_metrics(title: str, table: pa.Table) -> Mapping[str, float]:
    """Return every number of a table as a metric `<table>/<row>.<column>`. NaN, infinity and null are left out.

    The name of a row consists of its leading text columns, or of the first column if it contains whole numbers. Further
    columns with texts, truth values or whole numbers are added to the names until all names are distinct. If names are
    still equal, the row's number, counted from 0, is added. The values in a name are joined by dots, and each has at
    most 60 characters (see `accepted_part`); null becomes "none". Columns that are part of the name, and columns with
    texts or truth values, are not logged as metrics.

    If a table has more than `MOST_METRICS` numbers, only three numbers of each column are metrics: its smallest value,
    its mean and its largest value. Their names are `<table>/over rows.<least, mean or most>.<column>`.
    """
    keys, rows = _row_names(table)
    numeric = [name for name in table.column_names if name not in keys and _is_number(table.schema.field(name).type)]
    prefix = table_name(title)
    if len(numeric) * table.num_rows > MOST_METRICS:
        named = {
            f"{prefix}/{_SUMMARY}.{what}.{accepted_part(column)}": value
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
    """Return the columns that form the names of rows, and a unique name for each row."""
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
    # A hash distinguishes the text "none" from null.
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
