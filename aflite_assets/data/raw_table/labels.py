"""Conversion of a source's label values to class numbers and class names."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.data.raw_table.values import as_text, as_texts, is_bytes, shown
from aflite_assets.errors import DataError
from aflite_assets.specs.core import LabelValue
from aflite_assets.wording import LONGEST_NAME, counted, did_you_mean, is_printable_name

MOST_CLASSES = 1_000
"""Largest number of distinct label values that is accepted unless the spec names the classes."""

_WHOLE_WITH_FRACTION = re.compile(r"(-?[0-9]+)\.0+")

LabelNames = tuple[str, ...] | Mapping[str, LabelValue | tuple[LabelValue, ...]]
"""Class names in class order, alone or each with the values that represent it in the source."""


@dataclass(frozen=True)
class Labels:
    """Class numbers (int64) by split, with -1 for unlabelled rows, and the class names in class order."""

    numbers: Mapping[str, np.ndarray]
    names: tuple[str, ...]


def label_text(value: LabelValue | float) -> str | None:
    """Return a label in the form that is used for comparison, or None for an empty label.

    For example, 1, 1.0, "1" and "1.0" all become "1".
    """
    text = as_text(value)
    whole = None if text is None else _WHOLE_WITH_FRACTION.fullmatch(text)
    return whole[1] if whole else text


def label_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return each value of a column in the form of `label_text`.

    Raises:
        DataError: values cannot be read as text.
    """
    return [label_text(value) for value in as_texts(column)]


def has_no_other(columns: Iterable[pa.ChunkedArray], values: Iterable[LabelValue]) -> bool:
    """Return True if all labels in the columns are empty or among the values.

    Raises:
        DataError: labels cannot be read as text.
    """
    known = {None, *map(label_text, values)}
    return all(known.issuperset(label_texts(column)) for column in columns)


def class_names(names: LabelNames) -> tuple[str, ...]:
    """Return the class names, in class order."""
    return tuple(names)


def class_of(names: LabelNames) -> dict[str, int]:
    """Return the class number of every text that represents a class in the source; null is left out.

    If `names` is a list, each class is represented by its name and, if no name is a whole number, also by its position
    ("0", "1", ...). If `names` is a mapping, each class is represented by the values that are mapped to it. The
    booleans "True" and "False" also represent two classes that are named true and false, yes and no, or 1 and 0. Case
    is ignored.

    Raises:
        DataError: two classes are represented by the same value.
    """
    return {text: number for text, number in _with_booleans(_claims(names)).items() if text is not None}


def read_labels(
    columns: Mapping[str, pa.ChunkedArray], *, names: LabelNames | None, unlabelled: tuple[LabelValue, ...]
) -> Labels:
    """Convert the label values of all splits to class numbers.

    Values are compared by their `label_text`, so 1, 1.0 and "1" are the same label. Empty values are null. With
    `names`, the allowed values are the texts that `class_of` returns, and null if `names` maps null to a class. Without
    `names`, the classes are the values in the data: whole numbers in numerical order, then texts in alphabetical order.

    Raises:
        DataError: a column does not contain single values; a value is neither a class nor in `unlabelled`, or is both;
            or two classes have the same value. Without `names`, more than `MOST_CLASSES` distinct values, or a value
            that cannot be printed, are errors too.
    """
    for split, column in columns.items():
        _require_single_values(split, column.type)
    values = {split: label_texts(column) for split, column in columns.items()}
    dropped = {label_text(value) for value in unlabelled}
    occurrences = Counter(value for column in values.values() for value in column if value not in dropped)
    known = _found_names(occurrences) if names is None else names
    claims = _claims({name: name for name in class_names(known)} if names is None else known)
    _refuse_dropped_classes(dropped, claims, class_names(known))
    if None in occurrences and None not in claims:
        _refuse_missing(values)
    numbers = _with_booleans(claims) | dict.fromkeys(dropped, -1)
    _refuse_unknown(occurrences, numbers, known)
    return Labels(
        {s: np.array([numbers[v] for v in column], dtype=np.int64) for s, column in values.items()}, class_names(known)
    )


def one_class_text(labels: np.ndarray, names: tuple[str, ...]) -> str:
    """Return a text with the name of the only class and the number of rows.

    `labels`: class numbers, which are all equal.
    """
    only = f"{shown(names[int(labels[0])])} in {counted(len(labels))}"
    return f"has only the class {only}, and filtering needs at least two classes"


def _claims(names: LabelNames) -> dict[str | None, int]:
    """Return every value that represents a class, as text."""
    claims: dict[str | None, int] = {}
    mapping: Mapping[str, Any] = names if isinstance(names, Mapping) else {name: name for name in names}
    for row, (name, values) in enumerate(mapping.items()):
        for value in map(label_text, values if isinstance(values, tuple) else (values,)):
            if claims.setdefault(value, row) != row:
                other = class_names(names)[claims[value]]
                raise DataError(
                    f"`labels` gives the value {shown(value)} to the classes {other!r} and {name!r}; remove it from "
                    "one of the two classes"
                )
    if isinstance(names, Mapping) or any(text is not None and _is_whole(text) for text in claims):
        return claims
    return claims | {str(row): row for row in range(len(names))}


def _with_booleans(claims: dict[str | None, int]) -> dict[str | None, int]:
    folded = {text.lower(): number for text, number in claims.items() if text is not None}
    for true, false in (("true", "false"), ("yes", "no"), ("1", "0")):
        if true in folded and false in folded:
            return {"True": folded[true], "False": folded[false], **claims}
    return claims


def _found_names(counts: Counter[str | None]) -> tuple[str, ...]:
    names = tuple(sorted((value for value in counts if value is not None), key=_order))
    if len(names) > MOST_CLASSES:
        raise DataError(
            f"the label column has {len(names):,} distinct values in {counts.total():,} rows (such as "
            f"{names[0][:80]!r}), so it seems to contain ids, texts or measurements instead of classes; set "
            "`columns.label` to another column, or list these values in `labels` if each is a class"
        )
    bad = [name for name in names if not is_printable_name(name)]
    if bad:
        raise DataError(
            f"label {shown(bad[0])} ({counts[bad[0]]} rows) cannot be printed as a name because it is blank, longer "
            f"than {LONGEST_NAME} characters or contains control characters; set `labels` to a mapping of names to "
            "the source's values: {name: value, ...}"
        )
    _refuse_unlike_names(names)
    return names


def _refuse_unlike_names(names: tuple[str, ...]) -> None:
    """Raise an error if values in the data do not look like the classes of one dataset."""
    words = [name for name in names if not _is_whole(name)]
    alike = Counter(name.strip().casefold() for name in names).most_common(1)
    if alike and alike[0][1] > 1:
        both = [name for name in names if name.strip().casefold() == alike[0][0]]
        raise DataError(
            f"the labels {', '.join(map(shown, both))} differ in case or spaces only; write these labels alike in the "
            "source, or set `labels` to a mapping of names to values: {name: [value, value], ...}"
        )
    if words and names[0].startswith("-") and _is_whole(names[0]):
        raise DataError(
            f"the label {names[0]!r} is a number, but other labels are names such as {shown(words[0])}; add "
            f"{names[0]} to `unlabelled` if such rows have no label, or list all classes in `labels`"
        )


def _order(value: str) -> tuple[bool, int, str]:
    return not _is_whole(value), int(value) if _is_whole(value) else 0, value


def _is_whole(value: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}", value) is not None


def _require_single_values(split: str, kind: pa.DataType) -> None:
    if pa.types.is_nested(kind) or is_bytes(kind) or pa.types.is_fixed_size_binary(kind):
        raise DataError(
            f"split {split!r}: the label column has the type {shown(str(kind))}, but a label is a single text or "
            "number; set `columns.label` to another column (`columns.annotators` is for several annotators' labels)"
        )


def _refuse_dropped_classes(dropped: set[str | None], claims: dict[str | None, int], names: tuple[str, ...]) -> None:
    both = [value for value in claims if value in dropped]
    if both:
        raise DataError(
            f"the value {shown(both[0])} represents the class {names[claims[both[0]]]!r} in `labels` and is also in "
            "`unlabelled`; remove the value from one of the two (in a list of labels, the numbers from 0 represent "
            "the classes too)"
        )


def _refuse_missing(values: Mapping[str, list[str | None]]) -> None:
    split, column = next((split, column) for split, column in values.items() if None in column)
    rows, first = column.count(None), column.index(None)
    remedy = "set `unlabelled: [null]` to drop and count these rows"
    if rows == len(column):
        remedy = "correct `columns.label`, or label the rows in the source"
    raise BadRowError(
        f"split {split!r}: {rows:,} of {counted(len(column))} have an empty label (first: row {first + 1}); {remedy}",
        place=f"split {split!r}",
        row=first,
    )


def _refuse_unknown(counts: Counter[str | None], numbers: dict[str | None, int], names: LabelNames) -> None:
    unknown = sorted(value for value in counts if value is not None and value not in numbers)
    if not unknown:
        return
    classes = str(dict(names) if isinstance(names, Mapping) else list(names))[:500]
    near = did_you_mean(unknown[0][:LONGEST_NAME], class_of(names) if isinstance(names, Mapping) else names)
    raise DataError(
        f"label {shown(unknown[0])} ({counts[unknown[0]]} rows) is not one of the classes in `labels`, {classes}"
        + (f", nor are {', '.join(map(shown, unknown[1:6]))}" if unknown[1:] else "")
        + (f" (values found: {', '.join(sorted(map(shown, counts))[:20])})" if isinstance(names, Mapping) else "")
        + (near or "; add the value to `labels`, or to `unlabelled` if such rows have no label")
    )
