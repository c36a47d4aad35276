"""Single annotators' labels as class numbers per row, from the dataset's own columns or from separate files.

`diagnostics.data_checks.annotators` measures the annotators' agreement.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.data.raw_table.columns import require_column
from aflite_assets.data.raw_table.labels import label_text, label_texts
from aflite_assets.data.raw_table.value_limits import check_texts
from aflite_assets.data.raw_table.values import as_texts, is_bytes, is_list, plain, shown
from aflite_assets.errors import DataError
from aflite_assets.specs.core import AnnotationsSpec, LabelValue
from aflite_assets.wording import did_you_mean

_LIST_VALUES = 2**31 - 1
"""Largest number of values in a list column, because Arrow numbers them with 32 bits."""

_UNKNOWN = -2

Key = tuple[str, ...]
"""Values of one row in the match columns, as text."""


@dataclass(frozen=True)
class LabelReader:
    """A reader of annotators' labels; `classes` contains the class number of every text that represents a class.

    Values are compared as text; empty values and those in `unlabelled` do not count as labels.
    """

    classes: Mapping[str, int]
    unlabelled: tuple[LabelValue, ...] = ()


@dataclass(frozen=True)
class _Cells:
    """The labels in one column as texts, including empty labels, and their row numbers (ascending int64)."""

    rows: np.ndarray
    texts: list[str | None]


@dataclass(frozen=True)
class _Labels:
    """Labels of annotators: `owners` contains the number of the row or key to which each label belongs, and `classes`
    its class number (both int64).
    """

    owners: np.ndarray
    classes: np.ndarray


@dataclass(frozen=True)
class _File:
    """One annotation file: the key of each of its rows, the number of this key in the dataset, and the annotators'
    labels.
    """

    keys: list[Key | None]
    matched: np.ndarray
    labels: _Labels


def why_left_out(annotations: AnnotationsSpec) -> str | None:
    """Return a message if a file of optional annotations is missing, or None if the annotations can be read."""
    missing = [] if annotations.required else [path for path in annotations.paths() if not path.is_file()]
    if not missing:
        return None
    return f"the labels of single annotators are left out: annotations file {str(missing[0])!r} does not exist"


def labels_from_columns(split: str, table: pa.Table, names: str | tuple[str, ...], *, reader: LabelReader) -> pa.Array:
    """Return the class numbers that annotators gave each row, list<int64>, in the order of the columns or the list.

    `names`: a column of lists or of single labels, or one column per annotator.

    Raises:
        DataError: a label is not a class.
    """
    labels = _read_labels(f"split {split!r}", table, names, reader, np.arange(table.num_rows))
    return _list_column(np.arange(table.num_rows), labels)


def labels_from_files(
    tables: Mapping[str, pa.Table],
    inputs: Mapping[str, Mapping[str, pa.Array | pa.ChunkedArray]],
    annotations: AnnotationsSpec,
    *,
    reader: LabelReader,
    complete: bool = True,
) -> dict[str, pa.Array]:
    """Return the annotators' class numbers for every split, from separate files.

    Rows of files and of the dataset match if the values of the given columns (the key) are equal. File rows with the
    same key contain labels by several annotators, in the files' order. File rows without a match, or with an empty
    value in their key, are left out. Dataset rows may share a key if their `inputs` are equal. With `complete=False`,
    the tables contain only the first rows, so files without any match are allowed.

    Raises:
        DataError: a column is missing, a file cannot be read, no file row has a match, rows with different inputs share
            a matched key, or a matched label is not a class.
    """
    keys = {split: _keys(f"split {split!r}", table, tuple(annotations.match)) for split, table in tables.items()}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(chain.from_iterable(keys.values()))) if key}
    rows = {split: _numbered(of_split, numbers) for split, of_split in keys.items()}
    files = [_read_file(path, annotations, numbers, reader) for path in annotations.paths()]
    matched = np.unique(np.concatenate([file.matched for file in files]))
    if complete and not len(matched):
        raise DataError(_no_match(annotations.match, numbers, [file.keys for file in files]))
    _require_same_inputs(rows, inputs, matched)
    owners = np.concatenate([file.labels.owners for file in files])
    labels = _Labels(owners, np.concatenate([file.labels.classes for file in files]))
    return {split: _list_column(of_split, labels) for split, of_split in rows.items()}


def _read_file(path: Path, annotations: AnnotationsSpec, numbers: Mapping[Key, int], reader: LabelReader) -> _File:
    table, place = read_table_file(annotations, path), f"annotation file {str(path)!r}"
    keys = _keys(place, table, tuple(annotations.match.values()))
    owners = _numbered(keys, numbers)
    labels = _read_labels(place, table, annotations.annotators, reader, owners)
    return _File(keys, owners[owners >= 0], labels)


def _read_labels(
    place: str, table: pa.Table, names: str | tuple[str, ...], reader: LabelReader, owners: np.ndarray
) -> _Labels:
    """Return the labels of all rows, ordered by row and then by column. `owners` assigns a number to each row; rows
    with a negative number are left out.
    """
    cells = [_cells(place, table, name) for name in ((names,) if isinstance(names, str) else names)]
    rows = np.concatenate([of_column.rows for of_column in cells])
    texts = [text for of_column in cells for text in of_column.texts]
    numbers: dict[str | None, int] = {None: -1}
    numbers.update((label_text(value), -1) for value in reader.unlabelled)
    numbers.update(reader.classes)
    classes = np.array([numbers.get(text, _UNKNOWN) for text in texts], np.int64)
    owned = owners[rows] >= 0
    _refuse_unknown(place, rows, texts, owned & (classes == _UNKNOWN), reader)
    order = np.argsort(rows, kind="stable")
    order = order[(owned & (classes >= 0))[order]]
    return _Labels(owners[rows[order]], classes[order])


def _cells(place: str, table: pa.Table, name: str) -> _Cells:
    require_column(place, Counter(table.column_names), name, field="annotations.annotators")
    column = plain(table[name])
    rows = np.arange(len(column))
    if is_list(column.type):
        rows = np.repeat(rows, pc.fill_null(pc.list_value_length(column), 0).to_numpy())
        column = plain(pc.list_flatten(column))
    if pa.types.is_nested(column.type) or is_bytes(column.type):
        raise DataError(
            f"{place}: column {name!r} has the type {shown(str(table[name].type))}, but an annotator's label is a "
            "text or a number; name a column of labels, a column of lists of labels, or one column per annotator"
        )
    check_texts(place, name, column, rows=rows)
    return _Cells(rows, label_texts(column))


def _refuse_unknown(
    place: str, rows: np.ndarray, texts: list[str | None], unknown: np.ndarray, reader: LabelReader
) -> None:
    if not unknown.any():
        return
    where: dict[str, list[int]] = {}
    for at in np.flatnonzero(unknown).tolist():
        where.setdefault(str(texts[at]), []).append(int(rows[at]))
    (value, first), *others = sorted(where.items())
    raise BadRowError(
        f"{place}: an annotator's label {shown(value)} ({len(set(first))} rows, first: row {min(first) + 1}) is not a "
        f"class in `labels` (known values: {[known[:80] for known in reader.classes][:20]})"
        + (f", nor are {[other[:80] for other, _ in others[:5]]}" if others else "")
        + did_you_mean(value[:200], reader.classes)
        + "; map the value to a class in `labels`, or add it to `unlabelled`",
        place=place,
        row=min(first),
    )


def _list_column(rows: np.ndarray, labels: _Labels) -> pa.Array:
    """Return, for each row number in `rows`, the list of the row's class numbers, in the order of the labels.

    For a negative row number, the list is empty.
    """
    order = np.argsort(labels.owners, kind="stable")
    owners = labels.owners[order]
    starts = np.searchsorted(owners, rows, side="left")
    lengths = np.searchsorted(owners, rows, side="right") - starts
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if offsets[-1] > _LIST_VALUES:
        raise DataError(
            f"{len(rows)} rows have {offsets[-1]} annotators' labels, but a split can contain at most {_LIST_VALUES}; "
            "add columns to `annotations.match` that distinguish the rows"
        )
    at = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, lengths)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(labels.classes[order][at], pa.int64()))


def _keys(place: str, table: pa.Table, names: tuple[str, ...]) -> list[Key | None]:
    """Return the key of each row (the texts in the match columns), or None for a row with an empty value."""
    columns = []
    for name in names:
        require_column(place, Counter(table.column_names), name, field="annotations.match")
        if pa.types.is_nested(plain(table[name]).type):
            raise DataError(
                f"{place}: column {name!r} has the type {shown(str(table[name].type))}, which `annotations.match` "
                "cannot compare; name a column of texts or numbers"
            )
        check_texts(place, name, table[name])
        columns.append(as_texts(table[name]))
    return [None if None in key else key for key in zip(*columns, strict=True)]


def _numbered(keys: list[Key | None], numbers: Mapping[Key, int]) -> np.ndarray:
    return np.array([-1 if key is None else numbers.get(key, -1) for key in keys], np.int64)


def _no_match(match: Mapping[str, str], keys: Iterable[Key], file_keys: Iterable[Iterable[Key | None]]) -> str:
    return (
        "annotations: no row of the files matches a row of the dataset; match compares the dataset's "
        f"{_example(match, keys)} with the files' {_example(match.values(), chain.from_iterable(file_keys))}; name "
        "columns that hold the same values"
    )


def _example(names: Iterable[str], keys: Iterable[Key | None]) -> str:
    key = next((key for key in keys if key is not None), None)
    if key is None:
        return f"{list(names)} (empty in every row)"
    return " and ".join(f"{name!r} (such as {shown(value)})" for name, value in zip(names, key, strict=True))


def _require_same_inputs(
    rows: Mapping[str, np.ndarray], inputs: Mapping[str, Mapping[str, Any]], matched: np.ndarray
) -> None:
    """Raise an error if rows with different inputs share a key in the files.

    If rows share a key, they also share their annotators' labels.
    """
    first: dict[int, tuple[str, int]] = {}
    for split, numbers in rows.items():
        for row in np.flatnonzero(np.isin(numbers, matched)).tolist():
            other, other_row = first.setdefault(int(numbers[row]), (split, row))
            same = all(values[row].equals(inputs[other][name][other_row]) for name, values in inputs[split].items())
            if not same:
                raise DataError(
                    f"annotations: row {other_row + 1} of split {other!r} and row {row + 1} of split {split!r} have "
                    "the same key but different inputs, so the labels in the files are ambiguous; add a column to "
                    "`annotations.match` that distinguishes such rows"
                )
