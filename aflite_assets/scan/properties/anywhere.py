"""Properties that rows of any kind can have: the position in the file, the id, the source file, and having a near
copy.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

import numpy as np

from aflite_assets.diagnostics.numbers import as_numbers
from aflite_assets.scan.properties.images import path_parts
from aflite_assets.scan.properties.records import Flags, Number, PropertyInfo, flags_of, info_of, number_of
from aflite_assets.scan.properties.tables import pattern_flags, trailing_numbers
from aflite_assets.scan.rows import ScanRows

_STEPS = (2, 3, 4, 5, 10)
"""Periods, in rows, of files in which classes or sources alternate."""


def order_properties(rows: ScanRows) -> tuple[list[Flags], list[Number]]:
    """Return the row number in the file, and its remainders, as properties. Return no properties if the file is sorted
    by label.
    """
    if rows.ordered_by_reader or is_sorted_by_label(rows):
        return [], []
    place = number_of(info_of("order", "row number in the file (from 1)"), rows.order + 1)
    return [flags_of(_turns(rows), rows=len(rows))], [] if place is None else [place]


def _turns(rows: ScanRows) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    for step in _STEPS:
        for rest in range(step if step > 2 else 1):
            name = f"row number in the file is {rest} modulo {step}"
            absent = f"row number in the file is not {rest} modulo {step}"
            yield info_of("order", name, absent=absent), (rows.order + 1) % step == rest


def is_sorted_by_label(rows: ScanRows) -> bool:
    """Return True if the rows of each class are adjacent in the file."""
    scanned = np.flatnonzero(rows.scanned)
    labels = rows.labels[scanned[np.argsort(rows.order[scanned], kind="stable")]]
    return bool((np.diff(labels) != 0).sum() + 1 == len(np.unique(labels)))


def id_properties(rows: ScanRows, *, fewest: int) -> tuple[list[Flags], list[Number]]:
    """Return the number and the pattern of each id as properties.

    For image files, the properties come from the file name and the folder, without the name of the class.
    """
    if rows.ids is None:
        return [], []
    ids = list(rows.ids)
    if rows.images is not None:
        return _path_properties(rows, fewest)
    values = as_numbers(ids)
    values = trailing_numbers(ids) if values is None else values
    found = number_of(info_of("identifier", "id"), values)
    patterns = pattern_flags(ids, "id", "identifier", declared=False, fewest=fewest)
    return [flags_of(patterns, rows=len(rows))], [] if found is None else [found]


def _path_properties(rows: ScanRows, fewest: int) -> tuple[list[Flags], list[Number]]:
    names = (*rows.label_names, "")
    parts = [path_parts(path or "", names[label]) for path, label in zip(rows.ids or (), rows.labels, strict=True)]
    files = [PurePath(file).stem for _, file in parts]
    for label in rows.label_names:  # names such as cat_12.jpg contain the class on purpose
        files = [_without(file, label) for file in files]
    flags = [
        flags_of(pattern_flags(values, name, "file format", declared=False, fewest=fewest), rows=len(rows))
        for name, values in (("folder", [folder for folder, _ in parts]), ("file name", files))
    ]
    found = number_of(info_of("identifier", "number in the file name"), trailing_numbers(files))
    return flags, [] if found is None else [found]


def _without(file: str, label: str) -> str:
    """Return a file name without the name of a class. Digits inside a longer number are not the name of a class."""
    if not label.isdigit():
        return file.replace(label, "")
    return re.sub(rf"(?<!\d){re.escape(label)}(?!\d)", "", file)


def file_flags(rows: ScanRows, *, fewest: int) -> Flags:
    """Return a property for each source file with at least `fewest` rows: whether a row comes from this file."""
    return flags_of(_files(rows, fewest), rows=len(rows))


def _files(rows: ScanRows, fewest: int) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    if rows.files is None:
        return
    different, codes, counts = np.unique(np.array(rows.files, dtype=object), return_inverse=True, return_counts=True)
    for place in np.flatnonzero(counts >= fewest):
        file = PurePath(str(different[place])).name
        yield info_of("file format", f"file = {file}", absent=f"file other than {file}"), codes == place


def copy_flags(has_copy: np.ndarray) -> Flags:
    """Return one property: whether there is a near copy of a row among the other rows.

    `has_copy`: bool of shape (rows,).
    """
    info = info_of("copies", "has a near copy among the rows", absent="has no near copy among the rows")
    return flags_of([(info, has_copy)], rows=len(has_copy))
