"""Totals of table columns: columns that add up to one number, such as 100, or to another column, in many rows.

Which columns are added is decided without the labels: neighbours in the file, columns with the same number of decimals,
and columns with a part of their names in common. The module `number_grids` tests whether a total is a multiple of 10.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.scan.properties.number_grids import MULTIPLES, is_multiple, place_value
from aflite_assets.scan.properties.records import Flags, PropertyInfo, flags_of, info_of

MOST_TOTALS = 60
"""Maximum number of totals that become properties; totals of many rows are chosen first."""

_SAMPLE = 2_000
"""Maximum number of rows on which columns with a total are looked for."""

_LEAST_SHARE = 0.01
"""Minimum share of the rows that have a total."""

_DOMINATES, _NEARBY = 3, 25
"""A total stands out if its rows outnumber those of each of the nearest totals by this factor; and the number of totals
on either side that it is compared with.
"""

_BESIDE = 0.1
"""Parts of a total were rounded if at least this share of its rows, beyond chance, is next to the total."""

_MORE_OFTEN = 1.3
"""Totals are multiples of a number more often than by chance if they are by this factor."""

_FEWEST_VALUES = 10
"""Minimum number of different values of a column that is added, and of different rows that have a total."""

_ALIKE = 0.2
"""Maximum share of one combination of values among the rows with a total; otherwise the values say it by themselves."""

_SAME_ROWS = 0.8
"""If at least this share of a total's rows has a total of fewer of its columns, the larger total is left out."""

_LONGEST, _MOST_RUNS = 60, 4_000
"""Maximum number of neighbours that are added, and of runs of neighbours in one sequence of columns."""

_DIGITS = 5
"""Number of significant decimal digits to which columns with many decimals are read."""

_SEPARATOR = re.compile(r"[\W_]+")
_NAMED = 3
"""If more neighbours are added, only the first and the last are named."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns that may be added. `values`: float64 of shape (sampled rows, columns), 0 for a missing value. `units`:
    the place value of the last decimal of each column. `is_exact`: whether the column has few decimals.
    """

    names: tuple[str, ...]
    values: np.ndarray
    units: np.ndarray
    is_exact: np.ndarray


@dataclass(frozen=True)
class _Total:
    """Columns `parts` that add up to `value`, or to the column `whole`, within `tolerance`."""

    parts: tuple[int, ...]
    whole: int | None
    value: float
    tolerance: float
    is_rounded: bool

    @property
    def columns(self) -> frozenset[int]:
        """All columns that the total reads."""
        return frozenset(self.parts if self.whole is None else (*self.parts, self.whole))


def total_flags(columns: Mapping[str, np.ndarray], *, declared: frozenset[str], fewest: int, rows: int) -> Flags:
    """Return a property for each total that stands out, and for multiples of 10 and the like among totals.

    Args:
        columns: numbers of each column, float64 of shape (rows,), NaN for a missing value. Missing values count as 0.
        declared: columns declared as not part of the task; a total of such columns only is declared too.
        fewest: minimum number of rows that have a total.
        rows: number of rows.
    """
    sampled = np.sort(np.random.default_rng(0).permutation(rows)[:_SAMPLE])
    read = _read(columns, sampled)
    return flags_of(_properties(columns, read, declared, fewest, rows), rows=rows)


def _read(columns: Mapping[str, np.ndarray], sampled: np.ndarray) -> _Columns:
    kept, units, exact = {}, [], []
    for name, values in columns.items():
        own = np.where(np.isfinite(values[sampled]), values[sampled], 0.0)
        different = np.unique(own)
        if len(different) < _FEWEST_VALUES:
            continue
        step = place_value(different)
        kept[name] = own
        exact.append(step is not None)
        units.append(step or 10.0 ** (np.floor(np.log10(np.quantile(np.abs(own), 0.9) or 1.0)) - _DIGITS + 1))
    values = np.column_stack([*kept.values()]) if kept else np.zeros((len(sampled), 0))
    return _Columns((*kept,), values, np.array(units), np.array(exact, dtype=bool))


def _properties(
    columns: Mapping[str, np.ndarray], read: _Columns, declared: frozenset[str], fewest: int, rows: int
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    least = max(_LEAST_SHARE, fewest / max(rows, 1)) * len(read.values)
    sequences = _sequences(read)
    totals = _minimal(_found(read, sequences, least), read)
    for total in totals:
        names = [read.names[one] for one in total.parts]
        whole = total.value if total.whole is None else columns[read.names[total.whole]]
        has = (np.abs(_sums(columns, names) - whole) <= total.tolerance) & (_given(columns, names) > 1)
        if has.sum() >= fewest:
            yield _info(total, read, declared), has
    for sequence in sequences:
        is_alike = read.is_exact[[*sequence]].all() and len(np.unique(read.units[[*sequence]])) == 1
        if is_alike and not any(total.columns <= set(sequence) for total in totals):
            yield from _multiples(columns, read, sequence, declared)


def _sums(columns: Mapping[str, np.ndarray], names: Iterable[str]) -> np.ndarray:
    return np.asarray(np.sum([np.nan_to_num(columns[name], nan=0.0) for name in names], axis=0))


def _given(columns: Mapping[str, np.ndarray], names: Iterable[str]) -> np.ndarray:
    """Return the number of columns of each row that are neither missing nor 0."""
    return np.asarray(np.sum([np.nan_to_num(columns[name], nan=0.0) != 0 for name in names], axis=0))


def _multiples(
    columns: Mapping[str, np.ndarray], read: _Columns, sequence: Sequence[int], declared: frozenset[str]
) -> Iterator[tuple[PropertyInfo, np.ndarray]]:
    """Yield the multiples of 5, 10 and 100 that totals are more often than by chance and more often than the parts."""
    step = float(read.units[sequence[0]])
    names, shown = [read.names[one] for one in sequence], _shown(sequence, read)
    totals, parts = _sums(columns, names), read.values[:, [*sequence]]
    for multiple in MULTIPLES:
        unit = multiple * step
        by_chance = max(1 / multiple, float(is_multiple(parts, unit, step).mean(axis=0).max()))
        has = is_multiple(totals, unit, step)
        if has.mean() >= _MORE_OFTEN * by_chance and len(np.unique(totals[has])) >= _FEWEST_VALUES:
            named = f"a multiple of {unit:g}"
            yield _named(f"{shown} add up to {named}", f"{shown} do not add up to {named}", names, declared), has


def _sequences(read: _Columns) -> list[tuple[int, ...]]:
    """Return the sequences of columns whose neighbours are added: all columns, columns with the same number of decimals
    and no negative value, and columns with the same first or last part of the name.
    """
    groups: dict[object, list[int]] = {}
    is_positive = np.asarray((read.values >= 0).all(axis=0))
    for place, name in enumerate(read.names):
        groups.setdefault("all", []).append(place)
        if is_positive[place]:
            unit = float(read.units[place]) if read.is_exact[place] else "many decimals"
            groups.setdefault(("decimals", unit), []).append(place)
        for part in _parts_of_name(name):
            groups.setdefault(part, []).append(place)
    return list(dict.fromkeys(tuple(own) for own in groups.values() if len(own) > 1))


def _parts_of_name(name: str) -> list[tuple[str, str]]:
    parts = _SEPARATOR.split(name.lower().strip())
    if len(parts) > 1:
        return [("first", parts[0]), ("last", parts[-1])]
    return [("first", name.lower().rstrip("0123456789"))]


def _found(read: _Columns, sequences: Sequence[tuple[int, ...]], least: float) -> Iterator[_Total]:
    """Yield the totals that stand out, totals of few columns first."""
    known: set[tuple[int, ...]] = set()
    by_length: dict[int, list[tuple[int, ...]]] = {}
    for sequence in sequences:
        for length in _lengths(len(sequence)):
            for start in range(len(sequence) - length + 1):
                run = sequence[start : start + length]
                if run not in known:
                    known.add(run)
                    by_length.setdefault(length, []).append(run)
    for _, runs in sorted(by_length.items()):
        for first in range(0, len(runs), 500):
            yield from _of_length(np.array(runs[first : first + 500]), read, least)


def _lengths(columns: int) -> list[int]:
    """Return the lengths of runs in a sequence, so that there are at most `_MOST_RUNS` runs, and the whole sequence."""
    longest = max(2, min(_LONGEST, columns, _MOST_RUNS // columns))
    return sorted({*range(2, longest + 1), columns})


def _of_length(runs: np.ndarray, read: _Columns, least: float) -> Iterator[_Total]:
    """Yield the totals of runs with the same number of columns. `runs`: int64 of shape (runs, columns)."""
    sums, given = np.zeros((2, len(read.values), len(runs)))
    for place in range(runs.shape[1]):
        sums += read.values[:, runs[:, place]]
        given += read.values[:, runs[:, place]] != 0
    for whole in (None, -1, 0) if runs.shape[1] > 2 else (None,):
        differences = sums if whole is None else sums - 2 * read.values[:, runs[:, whole]]
        differences = np.where(given > (1 if whole is None else 2), differences, np.nan)
        units, widths = _precision(runs, read)
        for one in np.flatnonzero(_narrowest(differences, least) <= 2 * widths + units / 2).tolist():
            total = _total(differences[:, one], runs[one], whole, float(units[one]), float(widths[one]), least)
            if total is not None and not _is_by_values(total, read):
                yield total


def _precision(runs: np.ndarray, read: _Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the place value of the last decimal of each run's total, and twice the standard deviation of its rounding.

    A column with few decimals is exact, so its place value matters only beside other such columns.
    """
    coarse = np.where(read.is_exact, 0.0, read.units)[runs].max(axis=1)
    units = np.where(coarse > 0, coarse, read.units[runs].min(axis=1))
    return units, 2 * np.sqrt((read.units[runs] ** 2).sum(axis=1) / 12)


def _narrowest(totals: np.ndarray, least: float) -> np.ndarray:
    """Return, for each column of totals, the width of the narrowest range that has at least `least` rows."""
    ordered = np.sort(totals, axis=0)  # NaN comes last
    more = int(np.ceil(least)) - 1
    return np.asarray(np.nan_to_num(ordered[more:] - ordered[: len(ordered) - more], nan=np.inf).min(axis=0))


def _total(
    totals: np.ndarray, run: np.ndarray, whole: int | None, unit: float, width: float, least: float
) -> _Total | None:
    """Return the total that stands out among the totals of a run of columns, exact if possible, or None."""
    counted = np.rint(totals[np.isfinite(totals)] / unit).astype(np.int64)
    different, counts = np.unique(counted, return_counts=True)
    rounding = int(np.ceil(width / unit - 1e-9))
    for around in (0, rounding):
        number = _standing_out(different, counts, around, least)
        if around == 0 and number is not None and _is_rounded(different, counts, number, rounding):
            continue
        if number is not None and (whole is None or number == 0):
            parts = tuple(one for place, one in enumerate(run.tolist()) if whole is None or place != whole % len(run))
            column = None if whole is None else int(run[whole])
            return _Total(parts, column, number * unit, (around + 0.5) * unit, around > 0)
    return None


def _standing_out(different: np.ndarray, counts: np.ndarray, around: int, least: float) -> int | None:
    """Return the total with the most rows if it has at least `least` rows and stands out from totals nearby.

    `different`: the totals in units, int64, ascending. `around`: rounding error in units.
    """
    ends = np.append(0, np.cumsum(counts))
    inside = ends[np.searchsorted(different, different + around, side="right")] - ends[
        np.searchsorted(different, different - around)
    ]  # fmt: skip
    best = int(np.argmax(inside))
    if around:
        within = np.flatnonzero(np.abs(different - different[best]) <= around)
        best = int(within[counts[within].argmax()])
    apart = np.abs(different - different[best]) > 2 * around
    nearby = np.abs(np.cumsum(apart) - np.cumsum(apart)[best]) <= _NEARBY
    others = int(inside[apart & nearby].max(initial=0))
    return int(different[best]) if inside[best] >= max(least, _DOMINATES * others) else None


def _is_rounded(different: np.ndarray, counts: np.ndarray, number: int, rounding: int) -> bool:
    """Return True if totals next to `number` are frequent too, so that its parts were rounded."""
    distances = np.abs(different - number)
    elsewhere = (distances > rounding) & (distances <= _NEARBY)
    expected = 2 * rounding * int(counts[elsewhere].max(initial=0))
    beside = int(counts[(distances > 0) & (distances <= rounding)].sum())
    return beside > expected + _BESIDE * int(counts[distances == 0].sum())


def _carriers(total: _Total, read: _Columns) -> np.ndarray:
    parts = read.values[:, list(total.parts)]
    difference = parts.sum(axis=1) - (total.value if total.whole is None else read.values[:, total.whole])
    return np.asarray((np.abs(difference) <= total.tolerance) & ((parts != 0).sum(axis=1) > 1))


def _is_by_values(total: _Total, read: _Columns) -> bool:
    """Return True if few combinations of values have the total, such as 8 and 8, so that the values say it all."""
    _, counts = np.unique(read.values[_carriers(total, read)][:, list(total.parts)], axis=0, return_counts=True)
    return len(counts) < _FEWEST_VALUES or counts.max() > _ALIKE * counts.sum()


def _minimal(found: Iterable[_Total], read: _Columns) -> list[_Total]:
    """Return the totals with the most rows. If nearly all rows of a total have a total of fewer of its columns, it is
    left out.
    """
    kept: list[tuple[_Total, np.ndarray]] = []
    for total in found:
        has = _carriers(total, read)
        if not any(one.columns < total.columns and other[has].mean() >= _SAME_ROWS for one, other in kept):
            kept.append((total, has))
    return [total for total, _ in sorted(kept, key=lambda one: -int(one[1].sum()))[:MOST_TOTALS]]


def _info(total: _Total, read: _Columns, declared: frozenset[str]) -> PropertyInfo:
    shown = _shown(total.parts, read)
    whole = f"{total.value:.10g}" if total.whole is None else read.names[total.whole]
    rounding = " (apart from rounding)" if total.is_rounded else ""
    names = [read.names[one] for one in sorted(total.columns)]
    return _named(f"{shown} add up to {whole}{rounding}", f"{shown} do not add up to {whole}", names, declared)


def _named(name: str, absent: str, columns: Sequence[str], declared: frozenset[str]) -> PropertyInfo:
    return info_of("total", name, absent=absent, declared=declared.issuperset(columns))


def _shown(parts: Sequence[int], read: _Columns) -> str:
    names = [read.names[one] for one in parts]
    if len(names) <= _NAMED:
        return f"columns {', '.join(names[:-1])} and {names[-1]}"
    if parts[-1] - parts[0] == len(parts) - 1:
        return f"columns {names[0]} to {names[-1]}"
    return f"columns {', '.join(names[:_NAMED])} … {names[-1]} ({len(names)} columns)"
