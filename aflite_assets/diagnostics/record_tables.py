"""Helpers for several statistics: tables from records, numbers for values, and masks for splits."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def table_of(records: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return a table with one row per record; a record has one value per field, and None becomes null."""
    columns = list(zip(*records, strict=True)) if records else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def factorize(values: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Return a number per row (int64, equal for equal values), and the value to which each number belongs.

    Values are numbered from 0 in order of appearance; null counts as a value.
    """
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def content_codes(contents: Iterable[bytes | memoryview | pa.Buffer | None]) -> np.ndarray:
    """Return a number (int64) per text or bytes value: equal numbers for equal bytes, and -1 for a missing value.

    Values are numbered from 0 in order of appearance. Values are compared by 128 bits of a hash, because Arrow's own
    numbering fails for more than 2 GiB of different texts.
    """
    digests = [None if content is None else hashlib.blake2b(content, digest_size=16).digest() for content in contents]
    numbers = pa.array(digests, pa.binary(16)).dictionary_encode().indices
    return pc.fill_null(numbers, -1).to_numpy().astype(np.int64)


def text_codes(texts: pa.ChunkedArray) -> np.ndarray:
    """Return a number per text of a column, as defined by `content_codes`."""
    return content_codes(text.as_buffer() for text in texts)


def split_masks(table: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each split's name and the bool mask of its rows, in order of appearance."""
    codes, splits = factorize(table["split"])
    for code, split in enumerate(splits.to_pylist()):
        yield split, codes == code
