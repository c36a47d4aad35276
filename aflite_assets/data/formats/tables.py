"""Readers of single table files. Every value is kept as written. The package `raw_table` interprets the columns of
these tables.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa

from aflite_assets.data.formats.encoding_fit import Misfit, codec_of, misfit, open_text, starts_as
from aflite_assets.data.formats.row_places import line_of_row
from aflite_assets.errors import DataError
from aflite_assets.specs.encodings import UTF_8
from aflite_assets.specs.sources import TableFormat
from aflite_assets.wording import counted, quoted, quoted_list

if TYPE_CHECKING:
    from pyarrow import csv

# This is also the largest row that pyarrow's CSV reader accepts.
_CSV_BLOCK_BYTES = 64 * 2**20
_JSON_LINE_CHARACTERS = 64 * 2**20
_MOST_SHOWN = 30
_SHOWN = 80
_MOST_REPEATED = 5
_TOO_LONG = "has more than"
_SETTINGS = {"parquet": "`format`", "jsonl": "`format` and `encoding`"} | dict.fromkeys(
    ("csv", "tsv"), "`format`, `delimiter`, `quoted` and `encoding`"
)
_DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar"}


def read_table_file(form: TableFormat, path: Path) -> pa.Table:
    """Return the rows of one file; csv, tsv and jsonl are decompressed if their names end in .gz.

    All columns of csv and tsv are text ("007" stays "007"). In jsonl, missing keys become null, and a column with
    several kinds of values is read as text.

    Raises:
        DataError: the file is not in the source's format.
    """
    try:
        _require_encoding(form, path)
        match form.format:
            case "parquet":
                return _read_parquet(path)
            case "csv" | "tsv":
                try:
                    return _read_csv(form, path)
                except _UnevenRowError as error:
                    line = line_of_row(form, path, error.row)
                    raise _FileError(f"line {line}: {error}" if line else str(error), error.remedy) from error
            case "jsonl":
                return _read_jsonl(path, encoding=form.encoding)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError, pa.ArrowException) as error:
        raise _refusal(form, path, error) from error


class _FileError(ValueError):
    """An error in the content of a file, with a remedy."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(found)
        self.remedy = remedy


class _EncodingError(_FileError):
    """An error for a file that is not valid text in its encoding."""

    def __init__(self, why: Misfit) -> None:
        super().__init__(why.found, why.remedy)


def _require_encoding(form: TableFormat, path: Path) -> None:
    """Raise an error if a file is not valid text in the encoding given in the spec.

    For UTF-8, only the first block is checked, because the readers check the rest. If the encoding of the first block
    were wrong, the csv reader would print errors about uneven rows.
    """
    if form.format == "parquet" or (form.encoding == UTF_8 and starts_as(path, UTF_8, size=_CSV_BLOCK_BYTES)):
        return
    if (why := misfit(path, form.encoding)) is not None:
        raise _EncodingError(why)


def _refusal(form: TableFormat, path: Path, error: Exception) -> DataError:
    """Return an error with the file, its format and a remedy.

    A wrong encoding is reported in place of any other error.
    """
    reason, remedy = str(error)[:500], f"check the file, and {_SETTINGS[form.format]} in the spec"
    if "Empty CSV file" in reason and form.encoding == UTF_8:
        reason, remedy = "it is empty and has no header line", "write the data into it, or correct the path"
    if "straddling object" in reason:
        reason = f"a row {_TOO_LONG} {_CSV_BLOCK_BYTES} bytes, for example because a quote is never closed"
    if isinstance(error, _FileError):
        remedy = error.remedy
    elif form.format != "parquet" and _TOO_LONG not in reason:
        with suppress(OSError, pa.ArrowException):  # a file that cannot be read at all has an error of its own
            why = misfit(path, form.encoding)
            reason, remedy = (reason, remedy) if why is None else (why.found, why.remedy)
    refusal = DataError(f"{str(path)!r} cannot be read as {form.format}: {reason}; {remedy}")
    refusal.refuses = not isinstance(error, OSError)  # reading from the disk may succeed next time
    return refusal


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        _require_distinct(file.schema_arrow.names)
    return pq.read_table(path).replace_schema_metadata(None)


def _read_csv(form: TableFormat, path: Path) -> pa.Table:
    """Return the rows of a csv or tsv file; the first line contains the column names unless `form.names` is given."""
    from pyarrow import csv

    tabs, names = form.format == "tsv", form.names
    has_quotes = not tabs if form.quoted is None else form.quoted
    delimiter = form.delimiter or ("\t" if tabs else ",")
    parsing = csv.ParseOptions(
        delimiter=delimiter,
        quote_char='"' if has_quotes else False,
        newlines_in_values=has_quotes,
        ignore_empty_lines=True,
    )
    reading = csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, encoding=form.encoding)
    first = _first_line(path, parsing, reading)
    if any("\0" in value for value in first) and (why := misfit(path, form.encoding)) is not None:
        raise _EncodingError(why)
    _check_delimiter(first, delimiter)
    if names is not None and len(names) != len(first):
        raise _FileError(
            f"`names` has {len(names)} entries, but the first line has {len(first)} values "
            f"[{quoted_list(first, most=_MOST_SHOWN, length=_SHOWN)}]",
            "give one name per column",
        )
    columns = first if names is None else list(names)
    _require_distinct(columns)
    if names is not None:
        reading.column_names = names
    texts = csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False)
    try:
        return csv.read_csv(path, read_options=reading, parse_options=parsing, convert_options=texts)
    except pa.ArrowInvalid as error:
        if "columns, got" not in str(error):
            raise
        if (why := misfit(path, form.encoding)) is not None:
            raise _EncodingError(why) from error
        raise _first_uneven(path, parsing, reading, has_header=names is None) from error


def _require_distinct(columns: Sequence[str]) -> None:
    """Raise an error if columns have equal names, because a repeated name is ambiguous."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(columns, 1):
        places.setdefault(name, []).append(place)
    repeated = {name: same for name, same in places.items() if len(same) > 1}
    if not repeated:
        return
    named = [
        f"columns {_listed(same)} {f'share the name {quoted(name, _SHOWN)}' if name.strip() else 'have no name'}"
        for name, same in list(repeated.items())[:_MOST_REPEATED]
    ]
    more = f", and {len(repeated) - len(named)} more names occur twice" if len(repeated) > len(named) else ""
    empty = ", or remove the delimiter at the end of each line" if any(not name.strip() for name in repeated) else ""
    raise _FileError(
        f"{'; '.join(named)} (counted from 1){more}", f"give every column of the file a different name{empty}"
    )


def _listed(numbers: list[int]) -> str:
    shown = [str(number) for number in numbers[:_MOST_SHOWN]]
    more = [f"{len(numbers) - len(shown)} more"] if len(numbers) > len(shown) else []
    *first, last = shown + more
    return f"{', '.join(first)} and {last}"


class _UnevenRowError(_FileError):
    """A row with more or fewer values than columns; `row` is counted from 0, without the header."""

    def __init__(self, found: str, remedy: str, row: int) -> None:
        super().__init__(found, remedy)
        self.row = row


def _first_uneven(
    path: Path, form: "csv.ParseOptions", reading: "csv.ReadOptions", *, has_header: bool
) -> _UnevenRowError:
    from pyarrow import csv

    found: list[Any] = []

    def note(row: Any) -> str:
        found.append(row)
        return "skip"

    lenient = _lenient(form, note)
    csv.read_csv(
        path,
        # Only the single-threaded reader counts rows.
        read_options=csv.ReadOptions(
            block_size=reading.block_size,
            column_names=reading.column_names,
            encoding=reading.encoding,
            use_threads=False,
        ),
        parse_options=lenient,
    )
    first = found[0]
    lines = first.text.rstrip("\r\n").splitlines() or [""]
    more = f" and {counted(len(lines) - 1, 'line')} more" if len(lines) > 1 else ""
    return _UnevenRowError(
        f"{first.actual_columns} values where there are {first.expected_columns} columns: {lines[0][:200]!r}{more}",
        _uneven_remedy(
            lines, first.actual_columns - first.expected_columns, form, is_cut=_ends_within(path, first.text)
        ),
        first.number - 1 - has_header,
    )


def _ends_within(path: Path, row: str) -> bool:
    """Return True if a file ends in row `row` without a line break, as if the writing had been interrupted."""
    ending = row.rstrip("\r\n").encode()
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(ending)))
        return bool(ending) and file.read() == ending


def _uneven_remedy(lines: list[str], surplus: int, form: "csv.ParseOptions", *, is_cut: bool) -> str:
    if surplus < 0 and is_cut:
        return "the file ends within this row, so its writing may have stopped: write it again, or correct the row"
    if len(lines) > 1:
        return (
            "an unclosed quote joins several lines into one row: close it, or set `quoted: false` if quotes "
            "enclose nothing"
        )
    if surplus == 1 and lines[0].endswith(form.delimiter):
        return "end rows without the delimiter, or name a last column in the first line"
    if surplus > 0 and form.quote_char is not False:
        return "enclose values that hold the delimiter in double quotes, and double the quotes in them"
    return "correct the row, or set `delimiter` and `quoted` to match the file"


def _first_line(path: Path, form: "csv.ParseOptions", reading: "csv.ReadOptions") -> list[str]:
    """Return the values of the first line.

    Later lines with a different number of values are detected when the whole file is read.
    """
    from pyarrow import csv

    lenient = _lenient(form, lambda row: "skip")
    with csv.open_csv(path, read_options=reading, parse_options=lenient) as stream:
        return list(stream.schema.names)


def _lenient(form: "csv.ParseOptions", on_uneven: Callable[[Any], str]) -> "csv.ParseOptions":
    from pyarrow import csv

    return csv.ParseOptions(
        delimiter=form.delimiter,
        quote_char=form.quote_char,
        newlines_in_values=form.newlines_in_values,
        ignore_empty_lines=True,
        invalid_row_handler=on_uneven,
    )


def _check_delimiter(first: list[str], delimiter: str) -> None:
    """Raise an error if the first line contains a common delimiter but not the expected one."""
    likely = [mark for mark in _DELIMITERS if mark != delimiter and mark in first[0]]
    if len(first) == 1 and likely:
        setting = f"set `delimiter: {json.dumps(likely[0])}`"
        remedy = {"\t": f"try `format: tsv`, or {setting}"}.get(likely[0], setting)
        raise _FileError(
            f"with {_DELIMITERS.get(delimiter, repr(delimiter))} as the delimiter, the file has a single column "
            f"{first[0][:200]!r}, but {_DELIMITERS[likely[0]]} seems to be the delimiter",
            remedy,
        )


def _read_jsonl(path: Path, *, encoding: str) -> pa.Table:
    with open_text(path, codec_of(path, encoding), newline="\n") as stream:
        rows = [_json_row(number, line) for number, line in _lines(stream) if line.strip()]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _json_column([row.get(name) for row in rows]) for name in names})


def _lines(stream: TextIO) -> Iterator[tuple[int, str]]:
    for number in count(1):
        line = stream.readline(_JSON_LINE_CHARACTERS + 1)
        if len(line) > _JSON_LINE_CHARACTERS:
            raise ValueError(f"line {number} {_TOO_LONG} {_JSON_LINE_CHARACTERS} characters")
        if not line:
            return
        yield number, line


def _json_row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_distinct_keys)
    except _FileError as error:
        raise _FileError(f"line {number}: {error}", error.remedy) from error
    except ValueError as error:
        raise _FileError(f"line {number} is not valid JSON ({error})", _json_remedy(number, line)) from error
    if not isinstance(row, dict):
        remedy = _json_remedy(number, line)
        raise _FileError(
            f"line {number} contains a value of type {type(row).__name__} instead of an object with the columns as "
            "keys",
            remedy,
        )
    if "\\ud" in line.lower():
        _check_pairs(number, row)
    return row


def _json_remedy(number: int, line: str) -> str:
    if number == 1 and line.lstrip().startswith("["):
        return (
            "the file seems to be one list: write an object per line, without brackets around and commas between them"
        )
    if line.rstrip().endswith("},"):
        return "leave out the comma at the end of each line"
    return 'write one object per line, as in {"text": "...", "label": "..."}'


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _FileError(f"the key {quoted(twice, _SHOWN)} occurs twice", "keep only one of the two keys")
    return values


def _check_pairs(number: int, row: dict[str, Any]) -> None:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"line {number} contains half of a surrogate pair, which is not valid text ({error})"
        ) from error


def _json_column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])
