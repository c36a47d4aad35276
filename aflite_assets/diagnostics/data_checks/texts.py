"""Texts that say nothing: empty, or white space alone."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.tables import split_masks

SHOWN_ROWS = 10


@dataclass(frozen=True)
class EmptyTexts:
    """Rows of one split whose text in one column is empty; `row_ids` are the first few in row order."""

    column: str
    split: str
    rows: int
    row_ids: tuple[int, ...]


def empty_texts(examples: Examples) -> tuple[EmptyTexts, ...]:
    """Per text column and split that has some, the rows whose text is empty or white space alone."""
    found = []
    for column in [name for name in ("text", "text_pair") if name in examples.table.column_names]:
        empty = _is_empty(examples.table[column])
        for split, inside in split_masks(examples.table):
            row_ids = examples.row_ids[empty & inside]
            if len(row_ids):
                found.append(EmptyTexts(column, split, len(row_ids), tuple(row_ids[:SHOWN_ROWS].tolist())))
    return tuple(found)


def _is_empty(texts: pa.ChunkedArray) -> np.ndarray:
    """Bool, one per row; a row without a text is not counted."""
    empty: np.ndarray = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(texts), ""), False).to_numpy()
    return empty
