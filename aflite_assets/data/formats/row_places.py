"""Conversion of row numbers to places in files for error messages, which count rows and lines from 1.

Elsewhere in the program and in reports, rows are counted from 0.
"""

import csv
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.formats.encoding_fit import codec_of, open_text
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TableFormat, TableSource

_FILES, _IMAGES = b"aflite.files", b"aflite.images"
_LONGEST_CELL = 2**30
"""Largest number of characters of a cell; the readers' own limits are smaller."""


class BadRowError(DataError):
    """An error in one row.

    `place`: the name of the split or file in the message, such as "split 'train'". `row`: the row number, counted from
    0.
    """

    def __init__(self, message: str, *, place: str, row: int) -> None:
        super().__init__(message)
        self.place, self.row = place, int(row)

    def __reduce__(self) -> tuple[Any, ...]:
        # A stage's child process sends its error to the run; exceptions are otherwise restored without keywords.
        return partial(BadRowError, place=self.place, row=self.row), self.args, self.__dict__


def line_of_row(form: TableFormat, path: Path, row: int) -> int | None:
    """Return the line (from 1) on which a row (from 0) begins.

    Return None for an unreadable file or a format without lines.
    """
    return _line({"path": str(path), **_written(form)}, row)


def with_files(table: pa.Table, source: TableSource, rows: Sequence[tuple[str, int]]) -> pa.Table:
    """Return the table with a note in its metadata: the path and number of rows of each file that it was read from, and
    the folder of the images that it names.
    """
    files = [{"path": path, "rows": count, **_written(source)} for path, count in rows]
    folder = {} if source.images is None else {_IMAGES: source.images}
    return table.replace_schema_metadata({_FILES: json.dumps(files), **folder})


def files_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the note that `with_files` added; it is empty for a table that was not read from files."""
    noted = (table.schema.metadata or {}).get(_FILES)
    return [] if noted is None else json.loads(noted)


def folder_of_images(table: pa.Table) -> str | None:
    """Return the folder of images from the note that `with_files` added, or None if there is none."""
    noted = (table.schema.metadata or {}).get(_IMAGES)
    return None if noted is None else noted.decode()


def _written(form: TableFormat) -> dict[str, Any]:
    named = ("format", "delimiter", "quoted", "header", "encoding")
    return {name: getattr(form, name) for name in named}


@contextmanager
def naming_lines(tables: Mapping[str, pa.Table]) -> Iterator[None]:
    """Add the file and, if known, the line to the message of a `BadRowError` that the `with` block raises.

    `tables`: the table of each split that the error may be about.

    Raises:
        BadRowError: the block raised this error. The message now contains the file and the line.
    """
    try:
        yield
    except BadRowError as error:
        split = next((split for split in tables if error.place == f"split {split!r}"), None)
        where = None if split is None else _in_file(tables[split], error.row)
        if where is None:
            raise
        raise BadRowError(f"{error} ({where})", place=error.place, row=error.row) from error


def _in_file(table: pa.Table, row: int) -> str | None:
    """Return a text such as `row 5 is line 6 of 'train.csv'`; return None if the table was not read from files."""
    within = row
    for file in files_of(table):
        if within < file["rows"]:
            line = _line(file, within)
            found = f"row {within + 1}" if line is None else f"line {line}"
            return f"rows count from 1: row {row + 1} is {found} of {file['path']!r}"
        within -= file["rows"]
    return None


def places_in_files(table: pa.Table) -> pa.Table | None:
    """Return the place of each row of a table: columns `file` (path), `file_row` (from 0) and `line` (from 1).

    The numbers are int64; `line` is null for a format without lines. Return None if the table was not read from files.
    """
    noted = files_of(table)
    if not noted or sum(file["rows"] for file in noted) != table.num_rows:
        return None
    files = np.repeat(np.arange(len(noted), dtype=np.int32), [file["rows"] for file in noted])
    lines = [_lines(file, 0, file["rows"]) for file in noted]
    known = [
        pa.array(found, pa.int64())
        if found is not None and len(found) == file["rows"]
        else pa.nulls(file["rows"], pa.int64())
        for found, file in zip(lines, noted, strict=True)
    ]
    return pa.table(
        {
            "file": pa.DictionaryArray.from_arrays(pa.array(files), pa.array([file["path"] for file in noted])),
            "file_row": np.concatenate([np.arange(file["rows"], dtype=np.int64) for file in noted]),
            "line": pa.chunked_array(known, pa.int64()),
        }
    )


def _line(file: Mapping[str, Any], row: int) -> int | None:
    """Return the line (from 1) on which a row begins.

    Return None for a format without lines or a changed file.
    """
    found = _lines(file, row, 1)
    return found[0] if found else None


def _lines(file: Mapping[str, Any], first: int, count: int) -> list[int] | None:
    """Return the lines on which `count` rows begin, starting with row `first`.

    Return None for a format without lines or an unreadable file.
    """
    path, form = Path(file["path"]), file["format"]
    if form == "parquet":
        return None
    # By default, Python's reader refuses cells larger than 128 kB, which are valid here.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    try:
        codec = codec_of(path, file["encoding"])
        if form == "jsonl":
            with open_text(path, codec, errors="replace", newline="\n") as stream:
                return _some(first, count, (number for number, line in enumerate(stream, 1) if line.strip()))
        skipped = first + (1 if file["header"] else 0)
        quoted = form == "csv" if file["quoted"] is None else file["quoted"]
        with open_text(path, codec, errors="replace", newline="" if quoted else None) as stream:
            if not quoted:
                return _some(skipped, count, (number for number, line in enumerate(stream, 1) if line.strip("\n")))
            delimiter = file["delimiter"] or ("\t" if form == "tsv" else ",")
            return _some(skipped, count, _record_lines(csv.reader(stream, delimiter=delimiter)))
    except (OSError, EOFError, zlib.error, csv.Error):
        return None


def _record_lines(reader: Any) -> Iterator[int]:
    """Yield the line on which each record begins; quoted values may span several lines."""
    before = 0
    for record in reader:
        if record:
            yield before + 1
        before = reader.line_num


def _some(first: int, count: int, lines: Iterator[int]) -> list[int]:
    return list(islice(lines, first, first + count))
