"""Cleaned copies of table files. A copy has the format of the original, which is one of CSV, TSV, JSON lines and
Parquet.
"""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.formats.encoding_fit import codec_of
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.errors import DataError
from aflite_assets.fixing.weighting import WEIGHT_COLUMN
from aflite_assets.specs.sources import TableFormat

_UTF_8_MARK = b"\xef\xbb\xbf"
_BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class TableChange:
    """Changes of a table. Columns that no field names stay unchanged.

    `texts`: for each column to change, the change of its texts, including texts in lists. `dropped`: columns to leave
    out. `rows`: positions of the kept rows, int64, in the new order; None for all rows. `weights`: values of the new
    column `WEIGHT_COLUMN`, float64, one per row of all files; None to add no column.
    """

    texts: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    rows: np.ndarray | None = None
    weights: np.ndarray | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether the table can be copied without changes."""
        return not self.texts and not self.dropped and self.rows is None and self.weights is None


def write_table(form: TableFormat, sources: Sequence[Path], to: Path, change: TableChange) -> None:
    """Write the rows of one or more files into one file of the same format.

    Values of unchanged columns stay equal. CSV and TSV files keep the delimiter, encoding, line ends and byte order
    mark; values are quoted if necessary. JSON lines without a change stay identical.

    Raises:
        DataError: a file does not match its declared format, or the changed rows cannot be written in this format.
    """
    if len(sources) == 1 and change.changes_nothing:
        to.write_bytes(sources[0].read_bytes())
        return
    tables = [read_table_file(form, source) for source in sources]  # also checks files of JSON lines
    if change.weights is not None:
        _require_no_weights(tables, sources)
    match form.format:
        case "parquet":
            _write_parquet(sources, to, change)
        case "jsonl":
            _write_jsonl(form, sources, to, change)
        case _:
            _write_csv(form, sources[0], _as_written(_changed(_joined(tables, sources), change), change), to)


def _require_no_weights(tables: Sequence[pa.Table], sources: Sequence[Path]) -> None:
    for table, source in zip(tables, sources, strict=True):
        if WEIGHT_COLUMN in table.column_names:
            raise DataError(
                f"{source.name!r} already has a column {WEIGHT_COLUMN!r}, and the weights are written to a column of "
                "this name; rename or remove the column"
            )


def _joined(tables: Sequence[pa.Table], sources: Sequence[Path]) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        named = ", ".join(repr(source.name) for source in sources)
        raise DataError(
            f"the files {named} cannot be joined into one table ({error}); give all files the same columns"
        ) from error


def _changed(table: pa.Table, change: TableChange) -> pa.Table:
    for name, edit in change.texts.items():
        column = table[name]
        values = [_edited(value, edit) for value in column.to_pylist()]
        place = table.column_names.index(name)
        kind = pa.string() if pa.types.is_dictionary(column.type) else column.type
        table = table.set_column(place, table.schema.field(place).with_type(kind), pa.chunked_array([values], kind))
    table = table.drop_columns([name for name in table.column_names if name in change.dropped])
    if change.weights is not None:
        table = table.append_column(WEIGHT_COLUMN, pa.array(change.weights))
    return table if change.rows is None else table.take(pa.array(change.rows))


def _edited(value: Any, edit: Callable[[str], str]) -> Any:
    """Change a text, or each text in a list, and return the result. Values that are neither texts nor lists are
    returned unchanged.
    """
    if isinstance(value, list):
        return [_edited(one, edit) for one in value]
    return edit(value) if isinstance(value, str) else value


def _as_written(table: pa.Table, change: TableChange) -> pa.Table:
    """Return the table with weights as texts, because all columns of a CSV file are texts."""
    if change.weights is None:
        return table
    texts = pa.chunked_array([[f"{weight:g}" for weight in table[WEIGHT_COLUMN].to_pylist()]], pa.string())
    return table.set_column(table.column_names.index(WEIGHT_COLUMN), WEIGHT_COLUMN, texts)


def _write_parquet(sources: Sequence[Path], to: Path, change: TableChange) -> None:
    import pyarrow.parquet as pq

    table = _changed(_joined([pq.read_table(source) for source in sources], sources), change)
    if (change.dropped or change.weights is not None) and table.schema.metadata:
        # The pandas metadata describes other columns than the file now has.
        kept = {key: value for key, value in table.schema.metadata.items() if key != b"pandas"}
        table = table.replace_schema_metadata(kept)
    first = pq.ParquetFile(sources[0]).metadata
    compression = first.row_group(0).column(0).compression.lower() if first.num_row_groups else "snappy"
    pq.write_table(table, to, compression="none" if compression == "uncompressed" else compression)


def _write_jsonl(form: TableFormat, sources: Sequence[Path], to: Path, change: TableChange) -> None:
    lines: list[str] = []
    for source in sources:
        with source.open(encoding=codec_of(source, form.encoding), newline="\n") as stream:
            lines += [line.rstrip("\r\n") for line in stream if line.strip()]
    kept = list(range(len(lines))) if change.rows is None else change.rows.tolist()
    with to.open("w", encoding=_written_encoding(form, sources[0]), newline="\n") as stream:
        stream.writelines(f"{_changed_line(lines[row], change, row)}\n" for row in kept)


def _changed_line(line: str, change: TableChange, place: int) -> str:
    row: dict[str, Any] = json.loads(line)
    new = {
        name: _edited(value, change.texts[name]) if name in change.texts else value
        for name, value in row.items()
        if name not in change.dropped
    }
    if change.weights is not None:
        new[WEIGHT_COLUMN] = float(change.weights[place])
    return line if new == row else json.dumps(new, ensure_ascii=False)


def _write_csv(form: TableFormat, source: Path, table: pa.Table, to: Path) -> None:
    """Write the table and read it back, to detect values that the format cannot represent."""
    has_quotes = form.format == "csv" if form.quoted is None else form.quoted
    settings: dict[str, Any] = {
        "delimiter": form.delimiter or ("\t" if form.format == "tsv" else ","),
        "lineterminator": _line_end(source, form),
        "quoting": csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
        "quotechar": '"' if has_quotes else None,
    }
    try:
        with to.open("w", encoding=_written_encoding(form, source), newline="") as stream:
            writer = csv.writer(stream, **settings)
            if form.header:
                writer.writerow(table.column_names)
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
        written = read_table_file(form.model_copy(update={"names": _names(form, table)}), to)
    except (csv.Error, UnicodeEncodeError) as error:
        raise DataError(_unwritable(source, form, str(error))) from error
    if not written.equals(table):
        raise DataError(_unwritable(source, form, "the written copy differs from the table when read back"))


def _names(form: TableFormat, table: pa.Table) -> tuple[str, ...] | None:
    return None if form.names is None else tuple(table.column_names)


def _unwritable(source: Path, form: TableFormat, why: str) -> str:
    return (
        f"a cleaned copy of {source.name!r} cannot be written as {form.format} in {form.encoding} ({why}); save the "
        "original as CSV in UTF-8 with quotes, or as JSON lines or Parquet, and fix the saved file"
    )


def _line_end(source: Path, form: TableFormat) -> str:
    with source.open(encoding=codec_of(source, form.encoding), newline="") as stream:
        return "\r\n" if "\r\n" in stream.read(_BLOCK) else "\n"


def _written_encoding(form: TableFormat, source: Path) -> str:
    """Return the encoding of the copy, with a byte order mark if the original file has one."""
    with source.open("rb") as stream:
        return "utf-8-sig" if stream.read(3) == _UTF_8_MARK else form.encoding
