"""Selection of table rows by position with little copying, because memory-mapped images may be larger than the
memory.
"""

import numpy as np
import pyarrow as pa

_RUN_BYTES = 4096
"""Cost, in rows, of one more chunk in each column; runs shorter than this are copied instead."""

_TAKE_BYTES = 2**30
"""Largest number of bytes for Arrow's `take`.

`take` first gathers a column as one array, and an array of text or bytes can contain 2 GiB.
"""


def rows_at(table: pa.Table, positions: np.ndarray) -> pa.Table:
    """Return the rows at these positions (int64, from 0), in the given order.

    If positions are ascending and contain long runs, the result consists of slices of the table, which copy nothing.
    """
    if not len(positions):
        return table.slice(0, 0)
    gaps = np.flatnonzero(np.diff(positions) != 1) + 1
    if not len(gaps):
        return table if len(positions) == table.num_rows else table.slice(int(positions[0]), len(positions))
    if (np.diff(positions) < 1).any():
        return _reordered(table, positions)
    if len(gaps) * _RUN_BYTES < table.nbytes * (len(positions) / table.num_rows):
        starts, lengths = positions[np.r_[0, gaps]], np.diff(np.r_[0, gaps, len(positions)])
        columns = [_slices(column, starts, lengths) for column in table.columns]
        return pa.Table.from_arrays(columns, schema=table.schema)
    return table.filter(_mask(table, positions))


def _slices(column: pa.ChunkedArray, starts: np.ndarray, lengths: np.ndarray) -> pa.ChunkedArray:
    """Return slices for runs of rows; Arrow's own `slice` would search all chunks for every run."""
    begins = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])
    slices = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        number = int(np.searchsorted(begins, start, side="right")) - 1
        while length:
            part = column.chunk(number).slice(start - int(begins[number]), length)
            slices.append(part)
            start, length, number = start + len(part), length - len(part), number + 1
    return pa.chunked_array(slices, column.type)


def _reordered(table: pa.Table, positions: np.ndarray) -> pa.Table:
    chosen, order = np.unique(positions, return_inverse=True)
    part = table.filter(_mask(table, chosen))
    if len(order) < 2 or part.nbytes * (len(order) / len(chosen)) < _TAKE_BYTES:
        return part.take(order)
    half = len(order) // 2
    return pa.concat_tables([_reordered(part, order[:half]), _reordered(part, order[half:])])


def _mask(table: pa.Table, positions: np.ndarray) -> pa.Array:
    mask = np.zeros(table.num_rows, bool)
    mask[positions] = True
    return pa.array(mask)
