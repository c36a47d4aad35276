"""Helpers for several statistics: tables from records, numbers for values, masks for splits, class shares and bins."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.errors import InvalidInputError

BINS = 8
"""Largest number of bins for a numeric property."""


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


def first_rows(row_ids: np.ndarray, most: int = 10) -> tuple[int, ...]:
    """Return the first few row ids as plain integers."""
    return tuple(row_ids[:most].tolist())


def floats(values: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers as float64, with NaN for null."""
    return pc.fill_null(values.cast(pa.float64()), float("nan")).to_numpy()


def ratio(part: float, whole: float) -> float | None:
    """Return `part / whole`, or None if `whole` is 0."""
    return float(part) / float(whole) if whole else None


def columns_of(examples: Examples, columns: Sequence[str], row_ids: np.ndarray) -> pa.Table:
    """Return some columns of the rows with the given ids; selecting whole rows would copy images and features.

    Raises:
        DataError: a row is not among the examples.
    """
    narrow = Examples(examples.table.select(["row_id", *columns]), examples.label_names)
    return narrow.select(row_ids).table.select(columns)


def draw_sample(positions: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return all positions, or an ascending random sample of `most` of them."""
    return positions if len(positions) <= most else np.sort(rng.choice(positions, most, replace=False))


def random_rows(labels: np.ndarray, sizes_of: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw random rows, as many of each class as in `sizes_of` (bool per row); return a bool per row."""
    drawn = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels[sizes_of]):
        rows = np.flatnonzero(labels == label)
        drawn[rng.choice(rows, int((labels[sizes_of] == label).sum()), replace=False)] = True
    return drawn


def check_lengths(**arrays: np.ndarray) -> None:
    """Check that all arrays have one entry per row.

    Raises:
        InvalidInputError: the arrays have different lengths.
    """
    lengths = [len(array) for array in arrays.values()]
    if len(set(lengths)) > 1:
        *first, last = (f"`{name}`" for name in arrays)
        raise InvalidInputError(
            f"{', '.join(first)} and {last} have lengths {lengths}; give each of them one entry per row"
        )


def split_masks(table: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each split's name and the bool mask of its rows, in order of appearance."""
    codes, splits = factorize(table["split"])
    for code, split in enumerate(splits.to_pylist()):
        yield split, codes == code


def class_shares_moved(before: np.ndarray, after: np.ndarray, *, classes: int) -> np.ndarray:
    """Return the change of each class's share between two sets of rows, in percentage points.

    Args:
        before: class numbers of the first set's rows, int, in [0, classes).
        after: class numbers of the second set's rows.
        classes: number of classes.

    Returns:
        One float64 per class, in [-100, 100]; negative if the share decreased. The changes of all classes sum to 0.

    Raises:
        InvalidInputError: one of the sets has no rows, so class shares are undefined.
    """
    return 100 * (_shares("after", after, classes) - _shares("before", before, classes))


def _shares(name: str, labels: np.ndarray, classes: int) -> np.ndarray:
    if not len(labels):
        raise InvalidInputError(f"`{name}` has no rows, so its class shares are undefined; give at least one row")
    if labels.min() < 0 or labels.max() >= classes:
        raise InvalidInputError(
            f"`{name}` has class numbers from {labels.min()} to {labels.max()}, but `classes` is {classes}; give the "
            "number of classes of the whole dataset"
        )
    return np.bincount(labels, minlength=classes) / len(labels)


def bin_edges(values: np.ndarray) -> np.ndarray:
    """Return the upper edges of all bins except the last bin; edges are quantiles, and there are at most `BINS` bins.

    NaN is ignored.
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(0)
    edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    return np.asarray(edges[edges < known.max()])


def binned(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the name of each value's bin, such as "at most 4", "over 4 to 9" or "over 9"; the name for NaN is "none".

    The names are texts of dtype object.
    """
    if not len(edges):
        return np.where(np.isnan(values), "none", "any").astype(object)
    texts = [f"{edge:.6g}" for edge in edges]
    between = [f"over {low} to {high}" for low, high in pairwise(texts)]
    names = np.array([f"at most {texts[0]}", *between, f"over {texts[-1]}", "none"], dtype=object)
    return np.asarray(names[np.where(np.isnan(values), len(names) - 1, np.searchsorted(edges, values, side="left"))])
