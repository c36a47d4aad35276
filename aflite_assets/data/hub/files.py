"""Reading of table files in a hub repository, with values as written; reading can stop after the first rows."""

import gzip
import io
import json
import shutil
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal

import pyarrow as pa

from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.data.hub.columns import ColumnForm, plain_table, rows_at_once
from aflite_assets.data.hub.repository import HubRepository
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TableFormat

_FORMATS: dict[str, Literal["parquet", "csv", "tsv", "jsonl"]] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


@dataclass(frozen=True)
class HubFile:
    """A file in a hub repository, with its format."""

    repository: HubRepository
    path: str
    form: TableFormat
    columns: ColumnForm

    @property
    def compressed(self) -> bool:
        """True if the file is compressed with gzip."""
        return self.path.lower().endswith(".gz")

    def tables(self, *, rows: int | None) -> Iterator[pa.Table]:
        """Yield the file's rows, or only its first rows without downloading the rest.

        Raises:
            DataError: the content does not match the file's name.
        """
        # `datasets` is not used: it would convert "007" to 7, "NA" to null, and texts in JSON to dates, and it would
        # infer types from the first rows that later rows can contradict.
        try:
            if self.form.format == "parquet":
                yield from self._parquet(rows)
            else:
                yield self._text(rows)
        except (DataError, EOFError, ValueError, pa.ArrowException, gzip.BadGzipFile, zlib.error) as error:
            reason = str(error.__cause__ or error)[:500]
            raise DataError(
                f"{self.repository.place}: the file {self.path!r} at commit {self.repository.commit} cannot be read "
                f"as {self.form.format}: {reason}; name other files in `source.splits`, or another `revision`"
            ) from None

    def _parquet(self, rows: int | None) -> Iterator[pa.Table]:
        import pyarrow.parquet as pq

        with self._open(rows) as stream, pq.ParquetFile(stream) as file:
            features = _features(file.schema_arrow)
            left = rows
            for batch in file.iter_batches(batch_size=rows_at_once(file.schema_arrow)):
                table = pa.Table.from_batches([batch]).slice(0, left)
                yield plain_table(table, features, form=self.columns)
                left = None if left is None else left - table.num_rows
                if left == 0:
                    return

    def _text(self, rows: int | None) -> pa.Table:
        with TemporaryDirectory() as folder, self._open(rows) as stream:
            plain: Any = gzip.GzipFile(fileobj=stream) if self.compressed else stream
            copy = Path(folder) / "rows"
            with io.BufferedReader(plain) as lines, copy.open("wb") as out:
                if self.form.format == "jsonl" and _starts_list(lines):
                    _write_lines(lines, out)
                elif rows is None:
                    shutil.copyfileobj(lines, out)
                else:
                    header = self.form.format != "jsonl"
                    out.writelines(_first_records(lines, rows + header, quoted=self._is_quoted()))
            return read_table_file(self.form, copy).slice(0, rows)

    def _open(self, rows: int | None) -> IO[bytes]:
        if rows is None:
            return self.repository.download([self.path])[0].open("rb")
        opened: IO[bytes] = self.repository.open(self.path)
        return opened

    def _is_quoted(self) -> bool:
        return self.form.format == "csv" if self.form.quoted is None else self.form.quoted


def hub_file(repository: HubRepository, path: str, *, columns: ColumnForm) -> HubFile:
    """Return the file with a given path, whose suffix determines its format.

    Raises:
        DataError: the suffix is not supported.
    """
    form = form_of(path)
    if form is None:
        raise DataError(
            f"{repository.place}: the file {path!r} has none of the suffixes {', '.join(_FORMATS)} (with or without "
            ".gz); name other files, or a split of the hub (a name without a dot)"
        )
    return HubFile(repository, path, TableFormat(format=form), columns)


def form_of(path: str) -> Literal["parquet", "csv", "tsv", "jsonl"] | None:
    """Return the format that belongs to a file's name, or None if the format is not supported."""
    return _FORMATS.get(PurePosixPath(path.lower().removesuffix(".gz")).suffix)


def file_tables(files: Iterable[HubFile], *, rows: int | None) -> Iterator[pa.Table]:
    """Yield the rows of several files, one file after the other; `rows` limits the total number of rows."""
    left = rows
    for file in files:
        for table in file.tables(rows=left):
            yield table
            left = None if left is None else left - table.num_rows
        if left == 0:
            return


def _features(schema: pa.Schema) -> dict[str, Any]:
    """Return the column types that the library `datasets` stored in a Parquet file.

    The result is empty if another program wrote the file.
    """
    if b"huggingface" not in (schema.metadata or {}):
        return {}
    from datasets import Features

    return dict(Features.from_arrow_schema(schema))


def _starts_list(lines: io.BufferedReader) -> bool:
    return lines.peek(1_000).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _write_lines(lines: io.BufferedReader, out: IO[bytes]) -> None:
    """Write the rows of one JSON list as JSON lines."""
    out.writelines(json.dumps(row).encode() + b"\n" for row in json.loads(lines.read()))


def _first_records(lines: Iterable[bytes], count: int, *, quoted: bool) -> Iterator[bytes]:
    """Yield the lines of the first non-empty records; quoted values may contain line breaks."""
    inside = False
    for line in lines:
        yield line
        inside ^= quoted and line.count(b'"') % 2 == 1
        count -= bool(line.strip()) and not inside
        if count <= 0:
            return
