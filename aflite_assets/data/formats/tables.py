"""Reading one table file in its format, every value as written. What columns mean is decided in `raw_table`."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TableFormat

# Also the longest row that pyarrow's CSV reader takes.
_CSV_BLOCK_BYTES = 64 * 2**20
_JSON_LINE_CHARACTERS = 64 * 2**20
_DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}


def read_table_file(form: TableFormat, path: Path) -> pa.Table:
    """The rows of one file.

    The columns of csv and tsv are text, whatever they look like ("007" stays "007"). JSON lines may lack keys (null),
    and a column of mixed kinds of values is read as text.

    Raises:
        DataError: the file is not what the source's format says.
    """
    try:
        match form.format:
            case "parquet":
                return _read_parquet(path)
            case "csv" | "tsv":
                tabs = form.format == "tsv"
                quoted = not tabs if form.quoted is None else form.quoted
                return _read_csv(path, delimiter=form.delimiter or ("\t" if tabs else ","), quoted=quoted)
            case "jsonl":
                return _read_jsonl(path)
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        reason = str(error)[:500]
        if "straddling object" in reason:
            reason = f"a row has more than {_CSV_BLOCK_BYTES} bytes, as where a quote is never closed"
        refusal = DataError(
            f"{str(path)!r} cannot be read as {form.format}: {reason}; "
            "check the file, and format, delimiter and quoted in the spec"
        )
        refusal.refuses = not isinstance(error, OSError)  # a disk may do better next time
        raise refusal from error


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
    _check_delimiter(names, delimiter)
    texts = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return csv.read_csv(path, read_options=reading, parse_options=form, convert_options=texts)


def _check_delimiter(names: list[str], delimiter: str) -> None:
    """Refuse a file that would be one column, whose name holds what must be the delimiter."""
    likely = [mark for mark in _DELIMITERS if mark != delimiter and mark in names[0]]
    if len(names) == 1 and likely:
        raise ValueError(
            f"with {_DELIMITERS.get(delimiter, repr(delimiter))} as delimiter it has one column {names[0][:200]!r}, "
            f"which {_DELIMITERS[likely[0]]} seems to separate; set delimiter: {json.dumps(likely[0])}"
        )


def _read_jsonl(path: Path) -> pa.Table:
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        rows = [_json_row(number, line) for number, line in _lines(stream) if line.strip()]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _json_column([row.get(name) for row in rows]) for name in names})


def _lines(stream: TextIO) -> Iterator[tuple[int, str]]:
    for number in count(1):
        line = stream.readline(_JSON_LINE_CHARACTERS + 1)
        if len(line) > _JSON_LINE_CHARACTERS:
            raise ValueError(f"line {number} has more than {_JSON_LINE_CHARACTERS} characters")
        if not line:
            return
        yield number, line


def _json_row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError(f"line {number} holds {type(row).__name__}, not an object of columns")
    if "\\ud" in line.lower():
        _check_pairs(number, row)
    return row


def _check_pairs(number: int, row: dict[str, Any]) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"line {number} holds half of a character pair, which is no text ({error})") from error


def _json_column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])
