"""Precision and recall of the removed rows with respect to a planted shortcut.

A row counts as planted if its attribute has one of the values that the dataset's YAML file names. The functions take
the rows table of a filtered set (see `kept_vs_removed`) and the examples that include its rows.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.record_tables import columns_of, ratio, split_masks, table_of
from aflite_assets.errors import InvalidInputError

_COUNTS = [
    ("rows", pa.int64()),
    ("planted_rows", pa.int64()),
    ("removed_rows", pa.int64()),
    ("removed_planted_rows", pa.int64()),
    ("precision", pa.float64()),
    ("precision_by_chance", pa.float64()),
    ("recall", pa.float64()),
    ("recall_by_chance", pa.float64()),
]
_REMOVED = pa.schema([("split", pa.string()), ("attribute", pa.string()), ("values", pa.string()), *_COUNTS])
_BY_ITERATION = pa.schema([("attribute", pa.string()), ("iteration", pa.int64()), *_COUNTS])


def planted_removed(rows: pa.Table, examples: Examples, planted: Mapping[str, Collection[str]]) -> pa.Table:
    """Compute precision and recall of all removed rows, per attribute and split.

    Args:
        rows: the filtered set's rows.
        examples: rows that include all of `rows`, with a column `attribute.<name>` for each name in `planted`.
        planted: for each attribute, the values (as text) of planted rows.

    Returns:
        A table with the columns `split`, `attribute`, `values` (joined by commas), `rows`, `planted_rows`,
        `removed_rows`, `removed_planted_rows`, `precision`, `precision_by_chance`, `recall` and `recall_by_chance`.
        `precision` is the share of planted rows among the removed rows, and `precision_by_chance` is their share among
        all rows. `recall` is the share of the planted rows that were removed, and `recall_by_chance` is the share of
        all rows that were removed. Shares are in [0, 1], or null if there are no rows.

    Raises:
        InvalidInputError: the examples lack an attribute.
        DataError: a row of `rows` is not among the examples.
    """
    records = []
    for attribute, values in planted.items():
        carriers = _carriers(rows, examples, attribute, values)
        removed = ~rows["kept"].to_numpy().astype(bool)
        for split, inside in split_masks(rows):
            records.append((split, attribute, ", ".join(values), *_shares(inside, carriers, removed)))
    return table_of(records, _REMOVED)


def planted_by_iteration(rows: pa.Table, examples: Examples, planted: Mapping[str, Collection[str]]) -> pa.Table:
    """Compute precision and recall of the rows that each iteration removed.

    Only train rows that entered the iteration are counted.

    Returns:
        A table with one row per attribute and per iteration that removed train rows. The columns are `attribute`,
        `iteration` and the counts and shares of `planted_removed`. `rows` and `planted_rows` count rows that entered
        the iteration.

    Raises:
        InvalidInputError: the examples lack an attribute.
        DataError: a row of `rows` is not among the examples.
    """
    train = rows.filter(pc.equal(rows["split"], "train"))
    removed_in = pc.fill_null(train["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    iterations = np.unique(removed_in[~train["kept"].to_numpy().astype(bool)]).tolist()
    records: list[tuple[Any, ...]] = []
    for attribute, values in planted.items():
        carriers = _carriers(train, examples, attribute, values)
        for iteration in iterations:
            shares = _shares(removed_in >= iteration, carriers, removed_in == iteration)
            records.append((attribute, iteration, *shares))
    return table_of(records, _BY_ITERATION)


def _carriers(rows: pa.Table, examples: Examples, attribute: str, values: Collection[str]) -> np.ndarray:
    column = f"attribute.{attribute}"
    if column not in examples.table.column_names:
        known = [
            name.removeprefix("attribute.") for name in examples.table.column_names if name.startswith("attribute.")
        ]
        raise InvalidInputError(
            f"`planted` names the attribute {attribute!r}, but the rows have the attributes {known}; correct `planted`"
        )
    column_values = columns_of(examples, [column], rows["row_id"].to_numpy())[column].cast(pa.string())
    return pc.is_in(column_values, value_set=pa.array(list(values), pa.string())).to_numpy().astype(bool)


def _shares(inside: np.ndarray, planted: np.ndarray, removed: np.ndarray) -> tuple[Any, ...]:
    rows, having = int(inside.sum()), int((inside & planted).sum())
    gone, both = int((inside & removed).sum()), int((inside & removed & planted).sum())
    return rows, having, gone, both, ratio(both, gone), ratio(having, rows), ratio(both, having), ratio(gone, rows)
