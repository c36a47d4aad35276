"""Reading one file of rows and columns as its format, every value as it was written; nothing is guessed or cached."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.sources.source_specs import TableSource

# Also the longest row that pyarrow's CSV reader takes.
_CSV_BLOCK_BYTES = 64 * 2**20


def read_table_file(source: TableSource, path: Path) -> pa.Table:
    """The rows of one file.

    CSV columns are text, whatever they look like ("007" stays "007"). JSON lines may lack keys (null), and a column
    of mixed kinds of values is read as text.

    Raises:
        DataError: the file is not what the source's format says.
    """
    try:
        match source.format:
            case "parquet":
                return _read_parquet(path)
            case "csv":
                return _read_csv(path, delimiter=source.delimiter, quoted=source.quoted)
            case "jsonl":
                return _read_jsonl(path)
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise DataError(
            f"{str(path)!r} cannot be read as {source.format}: {str(error)[:500]}; "
            "check the file, and format, delimiter and quoted in the spec"
        ) from error


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(path).replace_schema_metadata(None)


def _read_csv(path: Path, *, delimiter: str, quoted: bool) -> pa.Table:
    from pyarrow import csv

    form = csv.ParseOptions(
        delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted, ignore_empty_lines=True
    )
    reading = csv.ReadOptions(block_size=_CSV_BLOCK_BYTES)
    with csv.open_csv(path, read_options=reading, parse_options=form) as stream:
        names = stream.schema.names
    texts = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return csv.read_csv(path, read_options=reading, parse_options=form, convert_options=texts)


def _read_jsonl(path: Path) -> pa.Table:
    with path.open(encoding="utf-8") as stream:
        rows = [_json_row(number, line) for number, line in enumerate(stream, 1) if line.strip()]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _json_column([row.get(name) for row in rows]) for name in names})


def _json_row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError(f"line {number} holds {type(row).__name__}, not an object of columns")
    return row


def _json_column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])
