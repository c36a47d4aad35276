"""Detection of a label column and a text column that seem to be swapped. The data checks also use `seem_swapped`."""

from collections.abc import Mapping

import pyarrow as pa

from aflite_assets.data.raw_table.labels import LabelNames, label_text, label_texts
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec

FEWEST_CLASSES = 20
"""Labels with at most this many classes never seem to be swapped with texts."""

MOST_ROWS_PER_CLASS = 3.0
"""Largest mean number of rows per class at which the classes may be texts, because texts are rarely repeated."""

LABELS_PER_TEXT = 5
"""Smallest ratio of distinct labels to distinct texts for which the columns may be swapped."""


def seem_swapped(rows: int, *, labels: int, texts: int) -> bool:
    """Return True if the numbers of distinct labels and distinct texts suggest that the two columns are swapped.

    `rows`: total number of rows.
    """
    many = labels > FEWEST_CLASSES and rows <= MOST_ROWS_PER_CLASS * labels
    return many and 0 < LABELS_PER_TEXT * texts <= labels


def swapped_hint(tables: Mapping[str, pa.Table], columns: ColumnsSpec, names: LabelNames | None) -> str | None:
    """Return a hint for unknown labels if a text column looks like the label column, or else None."""
    for field, name in (("text", columns.text), ("text_pair", columns.text_pair)):
        texts = set() if name is None else _distinct(tables, name)
        if names is None:
            rows = sum(table.num_rows for table in tables.values())
            holds = seem_swapped(rows, labels=len(_distinct(tables, columns.label)), texts=len(texts))
        else:
            holds = bool(texts) and texts <= _values(names)
        if holds:
            return (
                f"`columns.{field}` and `columns.label` seem to be swapped: {name!r} has {len(texts)} distinct values "
                f"and {columns.label!r} has texts; swap the two names"
            )
    return None


def _distinct(tables: Mapping[str, pa.Table], name: str) -> set[str | None]:
    """Return the distinct values of a column, in the form of `label_text`; lists or unreadable values give an empty
    result.
    """
    columns = [table[name] for table in tables.values() if not pa.types.is_nested(table[name].type)]
    try:
        return {value for column in columns for value in label_texts(column) if value is not None}
    except DataError:  # the first error, about the labels, is reported instead
        return set()


def _values(names: LabelNames) -> set[str | None]:
    """Return all values that represent a class."""
    if not isinstance(names, Mapping):
        return {label_text(name) for name in names}
    listed = (values if isinstance(values, tuple) else (values,) for values in names.values())
    return {label_text(value) for values in listed for value in values}
