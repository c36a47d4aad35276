"""Text cells that are probably mistakes: cells with a NUL byte, and texts of 2 MB or more."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples

HUGE_BYTES = 2_000_000
"""Smallest size of a huge cell in bytes, which is longer than most books and than the input of any model."""

SHOWN_ROWS = 10


@dataclass(frozen=True)
class OddCells:
    """Cells of one column that contain a NUL byte, or that have at least `HUGE_BYTES` bytes.

    `row_ids`: ids of the first few rows with an odd cell. `largest`: size in bytes of the largest odd cell.
    """

    column: str
    rows: int
    row_ids: tuple[int, ...]
    largest: int


def nul_cells(examples: Examples) -> tuple[OddCells, ...]:
    """Return the text columns with cells that contain a NUL byte."""
    return tuple(_odd_cells(examples, lambda texts: pc.match_substring(texts, "\0")))


def huge_cells(examples: Examples) -> tuple[OddCells, ...]:
    """Return the text columns with cells of at least `HUGE_BYTES` bytes in UTF-8."""
    return tuple(_odd_cells(examples, lambda texts: pc.greater_equal(pc.binary_length(texts), HUGE_BYTES)))


def _odd_cells(examples: Examples, is_odd: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> Iterator[OddCells]:
    named = ("text", "text_pair", "source_id")
    for column in examples.table.column_names:
        if column not in named and not column.startswith("attribute."):
            continue
        texts = examples.table[column]
        rows = np.flatnonzero(pc.fill_null(is_odd(texts), False).to_numpy())
        if len(rows):
            largest = pc.max(pc.binary_length(texts.take(pa.array(rows)))).as_py()
            yield OddCells(column, len(rows), tuple(examples.row_ids[rows[:SHOWN_ROWS]].tolist()), largest)
