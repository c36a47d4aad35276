"""Tables from records, numbers for values, masks for splits: what the statistics here share. No statistics."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def table_of(records: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """A table with one row per record; a record has one value per field, None for null."""
    columns = list(zip(*records, strict=True)) if records else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def codes_of(values: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """A number per row (int64, equal for equal values, null being a value) and the value each one stands for.

    Values are numbered from 0 in order of appearance.
    """
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def split_masks(table: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
    """Each split's name and the mask (rows, bool) of its rows, in order of appearance."""
    codes, splits = codes_of(table["split"])
    for code, split in enumerate(splits.to_pylist()):
        yield split, codes == code
