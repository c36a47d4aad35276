"""Which rows belong together: group numbers from one column, or from several that rows share values of."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aflite_assets.data.raw_table.values import as_texts
from aflite_assets.errors import DataError


def group_numbers(tables: Mapping[str, pa.Table], names: str | tuple[str, ...] | None) -> dict[str, np.ndarray]:
    """Group numbers over all splits, int64, in order of appearance; nothing without a column.

    With one column, rows of one value are a group. With several, rows that share a value, also one row's in the first
    column and another's in the second, and rows that are linked so through others: no text of a group stands in
    another.

    Raises:
        DataError: a row has no value.
    """
    if names is None:
        return {}
    columns = (names,) if isinstance(names, str) else names
    numbers: dict[str, int] = {}
    codes = {
        split: np.column_stack([_numbered(split, name, table[name], numbers) for name in columns])
        for split, table in tables.items()
    }
    groups = _linked(np.concatenate(list(codes.values())), values=len(numbers))
    ends = np.cumsum([len(part) for part in codes.values()])
    return dict(zip(codes, np.split(groups, ends[:-1]), strict=True))


def _numbered(split: str, name: str, column: pa.ChunkedArray, numbers: dict[str, int]) -> np.ndarray:
    values = as_texts(column)
    if None in values:
        raise DataError(
            f"split {split!r}: column {name!r} names no group in {values.count(None)} rows "
            f"(first: row {values.index(None)}); every row needs one"
        )
    return np.array([numbers.setdefault(value, len(numbers)) for value in values if value is not None], np.int64)


def _linked(codes: np.ndarray, *, values: int) -> np.ndarray:
    """The group of each row from its value numbers, rows x columns."""
    if codes.shape[1] == 1:
        return codes[:, 0]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = np.repeat(codes[:, 0], codes.shape[1] - 1)
    others = codes[:, 1:].reshape(-1)
    links = coo_array((np.ones(len(first), bool), (first, others)), shape=(values, values))
    component = connected_components(links, directed=False)[1][codes[:, 0]]
    appearance, inverse = np.unique(component, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(appearance))[inverse].astype(np.int64)
