"""Records of properties. Yes-or-no properties are stored in a sparse matrix, and numeric properties as columns
of bins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aflite_assets.diagnostics.properties.artefacts import Reason, reason_of

MOST_BINS = 512
"""Maximum number of bins of a number, cut at its quantiles; ranges begin and end at the edges of bins."""

MISSING_BIN = -1
"""The bin of a row without the number."""


@dataclass(frozen=True)
class PropertyInfo:
    """Name and kind of a property.

    `name`: a readable name, such as "long dash (text)". `absent`: the name of the negation, such as "no long dash
    (text)". `reason`: why the property is not part of the task, or None if it may be part of the task. `source`: the
    column or text of the property. `compares`: the names of the first and the second text, if the property is the
    difference of their word counts; otherwise empty.
    """

    kind: str
    name: str
    absent: str
    reason: Reason | None
    source: str = ""
    compares: tuple[str, ...] = ()

    @property
    def is_artefact(self) -> bool:
        """Whether the property is an artefact, which cannot be part of the task."""
        return self.reason is not None


def info_of(
    kind: str,
    name: str,
    *,
    absent: str = "",
    source: str = "",
    declared: bool = False,
    compares: tuple[str, ...] = (),
) -> PropertyInfo:
    """Return the record of a property; `reason` follows from the property's kind or the dataset file."""
    return PropertyInfo(kind, name, absent or f"not: {name}", reason_of(kind, declared=declared), source, compares)


@dataclass(frozen=True, eq=False)
class Flags:
    """Yes-or-no properties. `present`: scipy csc_array of ones, float32, shape (rows, properties)."""

    infos: tuple[PropertyInfo, ...]
    present: Any


@dataclass(frozen=True, eq=False)
class Number:
    """A numeric property of every row.

    `values`: float64 of shape (rows,), NaN for a missing value. `codes`: int32, the bin of each row, or `MISSING_BIN`.
    `lows` and `highs`: the smallest and the largest value in each bin. `written`: function that formats a value as a
    date or as a whole number.
    """

    info: PropertyInfo
    codes: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    is_date: bool = False

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.lows)


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of unordered values.

    `codes`: int32, the position of each row's value in `values`, or `MISSING_BIN` for a missing or rare value.
    `values`: the values in readable form.
    """

    info: PropertyInfo
    codes: np.ndarray
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Properties:
    """All properties of the rows. In every matrix and column, the rows are in the order of `ScanRows`."""

    flags: Flags
    numbers: tuple[Number, ...] = field(default=())
    categories: tuple[Categories, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.flags.infos) + len(self.numbers) + len(self.categories)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the properties, sorted."""
        numbers, columns = (one.info for one in self.numbers), (one.info for one in self.categories)
        return tuple(sorted({info.kind for info in (*self.flags.infos, *numbers, *columns)}))


def number_of(info: PropertyInfo, values: np.ndarray, *, is_date: bool = False) -> Number | None:
    """Divide the values of a number into at most `MOST_BINS` bins at their quantiles. Return None if all values are
    equal.
    """
    known = np.isfinite(values)
    different = np.unique(values[known])
    if len(different) < 2:
        return None
    if len(different) > MOST_BINS:
        shares = np.arange(1, MOST_BINS) / MOST_BINS
        uppers = np.unique(np.append(np.quantile(values[known], shares, method="inverted_cdf"), different[-1]))
    else:
        uppers = different
    codes = np.full(len(values), MISSING_BIN, dtype=np.int32)
    codes[known] = np.searchsorted(uppers, values[known], side="left")
    firsts = np.searchsorted(different, uppers[:-1], side="right")
    return Number(info, codes, different[np.append(0, firsts)], uppers, is_date)


def flags_of(columns: Iterable[tuple[PropertyInfo, np.ndarray]], *, rows: int) -> Flags:
    """Collect yes-or-no columns (bool of shape (rows,)) in a sparse matrix. Constant columns are left out."""
    from scipy.sparse import csc_array

    infos, indices, ends = [], [], [0]
    for info, has in columns:
        where = np.flatnonzero(has)
        if 0 < len(where) < rows:
            infos.append(info)
            indices.append(where)
            ends.append(ends[-1] + len(where))
    flat = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int64)
    data = np.ones(len(flat), dtype=np.float32)
    return Flags(tuple(infos), csc_array((data, flat, np.array(ends)), shape=(rows, len(infos))))


def joined(parts: Sequence[Flags], *, rows: int) -> Flags:
    """Join several collections of yes-or-no properties into one collection."""
    from scipy.sparse import csc_array, hstack

    kept = [part for part in parts if part.infos]
    if not kept:
        return Flags((), csc_array((rows, 0), dtype=np.float32))
    return Flags(
        tuple(info for part in kept for info in part.infos), csc_array(hstack([part.present for part in kept]))
    )
