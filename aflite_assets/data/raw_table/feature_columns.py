"""Conversion of a source's columns to feature vectors, as one finite float32 matrix. The module `columns` converts
other kinds of inputs.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.data.raw_table.values import is_list, is_number, is_text, plain, shown
from aflite_assets.errors import DataError
from aflite_assets.wording import counted, quoted

_MOST_SHOWN, _NAME_LENGTH = 5, 80
_WHOLE = 2.0**24
"""Number up to which float32 represents every whole number."""
_MOST_ROUNDED = 0.01
"""Largest rounding error of a train column, as a share of the column's standard deviation."""
_NOISE = 1e-12
"""Share of a number below which differences are the rounding errors of float64."""
_REMEDY = "name one column of lists of numbers, or a list of number columns"


def feature_matrix(split: str, table: pa.Table, names: str | tuple[str, ...]) -> np.ndarray:
    """Return the features, rows x width float32, all finite.

    `names` is either one column of lists (of any Arrow list type; all lists have the same length), or one column per
    feature. The values true and false become 1 and 0. Numbers may be written as text if each feature has a column, but
    not in lists.

    Raises:
        DataError: values are not numbers, lists differ in length, or a row has a number that is missing, NaN, or beyond
            float32. A DataError is also raised if float32 rounds away the differences between a train column's values.
    """
    try:
        with np.errstate(over="ignore"):
            matrix = _of_columns(split, table, names) if isinstance(names, tuple) else _of_lists(split, table, names)
    except pa.ArrowException as error:
        raise DataError(
            f"split {split!r}: the columns {shown(names)} in `columns.features` cannot be read as numbers "
            f"({shown(str(error))}); {_REMEDY}"
        ) from error
    return _require_finite(split, table, names, matrix)


def _of_columns(split: str, table: pa.Table, names: tuple[str, ...]) -> np.ndarray:
    matrix = np.empty((table.num_rows, len(names)), np.float32)
    for number, name in enumerate(names):
        column = plain(table[name])
        if is_text(column.type):
            column = _from_text(split, name, column)
        if not (is_number(column.type) or pa.types.is_null(column.type)):
            raise DataError(
                f"split {split!r}: the column {name!r} in `columns.features` has the type {shown(str(column.type))} "
                "instead of numbers; "
                + (f"write features: {shown(name)}, without brackets" if is_list(column.type) else _REMEDY)
            )
        matrix[:, number] = _float32(column).to_numpy()
        if split == "train":
            _require_differences(name, column.cast(pa.float64(), safe=False).to_numpy(), matrix[:, number])
    return matrix


def _require_differences(name: str, values: np.ndarray, rounded: np.ndarray) -> None:
    """Raise an error if the numbers of a train column are too large, compared with their differences, for float32.

    Numbers up to `_WHOLE` are not checked.
    """
    if not len(values) or not np.isfinite(rounded).all() or np.abs(values).max() <= _WHOLE:
        return
    if (
        np.abs(values - rounded).max() <= _MOST_ROUNDED * values.std()
        or np.ptp(values) <= _NOISE * np.abs(values).max()
    ):
        return
    raise DataError(
        f"split 'train': the column {name!r} in `columns.features` has {len(np.unique(values)):,} different numbers "
        f"from {values.min():.15g} to {values.max():.15g}, but features are stored as float32, in which only "
        f"{len(np.unique(rounded)):,} of them differ; subtract a constant from the column in the source, such as its "
        "smallest number, or leave the column out"
    )


def _from_text(split: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Parse numbers written as text; an empty text is a missing number."""
    texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid as error:
        row, value = next((row, text) for row, text in enumerate(texts.to_pylist()) if not _is_number(text))
        raise BadRowError(
            f"split {split!r}: the column {name!r} in `columns.features` cannot be read as numbers, because row "
            f"{row + 1} has the value {shown(value)}; {_number_remedy(str(value))}",
            place=f"split {split!r}",
            row=row,
        ) from error


def _number_remedy(text: str) -> str:
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+", text):
        return f"write numbers with a decimal point, as in {text.replace(',', '.')}"
    return "write a number there, or drop the row or the column; a missing number is not filled in"


def _is_number(text: str | None) -> bool:
    try:
        pa.array([text], pa.large_string()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _of_lists(split: str, table: pa.Table, name: str) -> np.ndarray:
    column = plain(table[name])
    if not is_list(column.type):
        raise DataError(
            f"split {split!r}: the column {name!r} in `columns.features` has the type {shown(str(column.type))} "
            f"instead of lists of numbers; {_REMEDY}"
            + (
                " (a list written as text is not parsed: store it as a list, or as columns)"
                if _looks_listed(column)
                else ""
            )
        )
    width = _common_width(split, column)
    matrix = np.empty((len(column), width), np.float32)
    start = 0
    for chunk in column.chunks:
        values = plain(pa.chunked_array([chunk.flatten()]))
        if not (is_number(values.type) or pa.types.is_null(values.type)):
            raise DataError(
                f"split {split!r}: the column {name!r} in `columns.features` contains lists of "
                f"{shown(str(values.type))} instead of lists of numbers; {_REMEDY}"
            )
        matrix[start : start + len(chunk)] = _float32(values).to_numpy().reshape(len(chunk), width)
        start += len(chunk)
    return matrix


def _looks_listed(column: pa.ChunkedArray) -> bool:
    """Return True if the first value of a text column looks like a list in JSON or Python."""
    return is_text(column.type) and len(column) > 0 and str(column[0].as_py()).lstrip().startswith(("[", "("))


def _float32(values: pa.ChunkedArray) -> pa.ChunkedArray:
    # The cast is unsafe, so that an integer above 2^24 is rounded like any other number and not refused.
    return values.cast(pa.float32(), safe=False)


def _common_width(split: str, column: pa.ChunkedArray) -> int:
    """Return the common length of the lists in all rows; a missing list has the length 0."""
    widths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    width = int(widths[0])
    other = np.flatnonzero(widths != width)
    if len(other):
        raise BadRowError(
            f"split {split!r}: row 1 has {width} features, but row {other[0] + 1} has {widths[other[0]]}; give every "
            "row the same number of features",
            place=f"split {split!r}",
            row=other[0],
        )
    if width == 0:
        raise DataError(f"split {split!r}: the rows have no features; give every row at least one feature")
    return width


def _require_finite(split: str, table: pa.Table, names: str | tuple[str, ...], matrix: np.ndarray) -> np.ndarray:
    finite = np.isfinite(matrix)
    if finite.all():
        return matrix
    bad_rows = np.flatnonzero(~finite.all(axis=1))
    row = int(bad_rows[0])
    column = int(np.flatnonzero(~finite[row])[0])
    counts = (~finite).sum(axis=0)
    bad_columns = np.flatnonzero(counts)
    shown_columns = [f"{_column(names, int(bad))} in {counted(int(counts[bad]))}" for bad in bad_columns[:_MOST_SHOWN]]
    more = f" and {len(bad_columns) - len(shown_columns)} more columns" if len(bad_columns) > _MOST_SHOWN else ""
    raise BadRowError(
        f"split {split!r}: {len(bad_rows)} of {len(finite)} rows have features that are missing, NaN or infinite as "
        f"float32: {', '.join(shown_columns)}{more} (first: row {row + 1}, {_column(names, column)} with the value "
        f"{shown(_value(table, names, row, column))}); replace these values or delete the rows in the source",
        place=f"split {split!r}",
        row=row,
    )


def _column(names: str | tuple[str, ...], column: int) -> str:
    """Return a description of a feature: the name of its column, or its number in a column of lists."""
    return f"column {quoted(names[column], _NAME_LENGTH)}" if isinstance(names, tuple) else f"column {column} (from 0)"


def _value(table: pa.Table, names: str | tuple[str, ...], row: int, column: int) -> object:
    """Return the value as it is in the source."""
    if isinstance(names, tuple):
        return table[names[column]][row].as_py()
    return table[names][row].as_py()[column]
