"""Size limits for single texts and images, and conversion of their columns to Arrow types with 32-bit offsets."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.data.raw_table.values import is_text, plain

LARGEST_TEXT = 16 * 2**20
"""Largest number of bytes of one text: about 3 million words, more than any model reads.

A longer text is a mistake in the source, such as an unclosed quote, and would be copied into every report that shows
its row.
"""

LARGEST_IMAGE = 256 * 2**20
"""Largest number of bytes of one encoded image: more than a photograph, less than the 2 GiB of a Parquet page."""

_CHUNK_BYTES = 2**31 - 1
"""Largest number of bytes in an array with 32-bit offsets."""


def check_texts(place: str, name: str, column: pa.ChunkedArray, *, rows: np.ndarray | None = None) -> None:
    """Raise an error if a text in a column is larger than `LARGEST_TEXT` bytes or not UTF-8.

    Columns of other types are accepted. The texts are read only after their lengths have been checked. `rows`: the row
    number of each value, int64; needed only if rows have several values.

    Raises:
        DataError: a text is too large or not UTF-8; the message names `place`, column and row.
    """
    if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
        check_sizes(place, name, column, LARGEST_TEXT, rows=rows)
    column = plain(column)
    if not is_text(column.type):
        return
    check_sizes(place, name, column, LARGEST_TEXT, rows=rows)
    start = 0
    for chunk in column.chunks:
        try:
            chunk.validate(full=True)
        except pa.ArrowInvalid as error:
            row = start + _first_undecodable(chunk)
            row = row if rows is None else int(rows[row])
            raise BadRowError(
                f"{place}: column {name!r} contains bytes that are not UTF-8 in row {row + 1}; save the source's text "
                "as UTF-8",
                place=place,
                row=row,
            ) from error
        start += len(chunk)


def check_sizes(
    place: str, name: str, column: pa.ChunkedArray, largest: int, *, rows: np.ndarray | None = None
) -> None:
    """Raise an error if a column of texts or bytes contains a value larger than `largest` bytes.

    Only the lengths of the values are read.

    Raises:
        DataError: a value is too large; the message names `place`, column, row and size.
    """
    start = 0
    for chunk in column.chunks:
        sizes = _sizes(chunk)
        over = np.flatnonzero(sizes > largest)
        if len(over):
            row = start + int(over[0])
            row = row if rows is None else int(rows[row])
            raise BadRowError(
                f"{place}: the value in column {name!r}, row {row + 1}, has {int(sizes[over[0]]) / 2**20:,.1f} MiB, "
                f"but at most {largest // 2**20} MiB are allowed; shorten the value or delete the row in the source "
                "(in a csv file, an unclosed quote joins many rows into one value)",
                place=place,
                row=row,
            )
        start += len(chunk)


def narrow(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert a column without nulls to the type `kind`, `pa.string()` or `pa.binary()`, without copying its contents.

    Chunks larger than 2 GiB, which only 64-bit offsets allow, are split.
    """
    if column.type == kind:
        return column
    wide = pa.large_string() if kind == pa.string() else pa.large_binary()
    pieces = [piece for chunk in column.chunks for piece in _narrow(chunk.cast(wide), kind)]
    return pa.chunked_array(pieces, kind)


def _narrow(chunk: pa.Array, kind: pa.DataType) -> Iterator[pa.Array]:
    if not len(chunk):
        return
    _, offset_bytes, contents = chunk.buffers()
    contents = pa.py_buffer(b"") if contents is None else contents
    offsets = np.frombuffer(offset_bytes, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
    start = 0
    while start < len(chunk):
        stop = int(np.searchsorted(offsets, offsets[start] + _CHUNK_BYTES, side="right")) - 1
        inside = (offsets[start : stop + 1] - offsets[start]).astype(np.int32)
        part = contents.slice(int(offsets[start]), int(inside[-1]))
        yield pa.Array.from_buffers(kind, stop - start, [None, pa.py_buffer(inside), part])
        start = stop


def _sizes(chunk: pa.Array) -> np.ndarray:
    """Return the size of every value in bytes, int64; null has the size 0."""
    kind = chunk.type
    if pa.types.is_dictionary(kind):
        sizes = pa.array(_sizes(chunk.dictionary)).take(chunk.indices)
    elif pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # A view is 16 bytes, of which the first four are the cell's length.
        views = np.frombuffer(chunk.buffers()[1], np.int32).reshape(-1, 4)[:, 0]
        present = pc.is_valid(chunk).to_numpy(zero_copy_only=False)
        return np.where(present, views[chunk.offset : chunk.offset + len(chunk)], 0).astype(np.int64)
    else:
        sizes = pc.binary_length(chunk)
    return pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False).astype(np.int64)


def _first_undecodable(chunk: pa.Array) -> int:
    for row, value in enumerate(chunk):
        try:
            value.as_py()
        except UnicodeDecodeError:
            return row
    return 0
