"""Comparison of two published results of `analysis`.

A comparison lists changed numbers, rows that were kept in one result and removed in the other, and changed settings and
data.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval, separate_interval
from aflite_assets.analysis.rows.table import PREDICTIONS_FILE, ROWS_FILE, TEST_ROWS_FILE
from aflite_assets.analysis.rules.verdicts import FEWEST_ROWS, Claim, Side, judge
from aflite_assets.errors import DataError
from aflite_assets.scan.cues import ScanFacts, same_cue
from aflite_assets.text import value_text

Kind = Literal["setting", "data", "software"]


@dataclass(frozen=True)
class Version:
    """One published result of `analysis`: its name in messages, its folder, and the settings, data and software that
    produced it.

    `settings`, `data` and `software` map names to values; nested mappings are compared field by field. `scan`: the cues
    that the scan found, or None without a scan.
    """

    name: str
    folder: Path
    settings: Mapping[str, object]
    data: Mapping[str, object]
    software: Mapping[str, object]
    scan: ScanFacts | None = None


@dataclass(frozen=True)
class MovedCue:
    """A cue that differs between two results.

    Either only one result has the cue, or the 95 % intervals of its balanced accuracy (in [0, 1]) do not overlap. The
    cue has the name and class of the older result if both results have the cue.
    `old`, `new`: the balanced accuracy in the older and in the newer result, or None if the result lacks the cue.
    """

    name: str
    label: str
    is_artefact: bool
    old: float | None
    new: float | None

    @property
    def state(self) -> Literal["gone", "new", "weaker", "stronger"]:
        """The change of the cue in one word."""
        if self.old is None or self.new is None:
            return "new" if self.old is None else "gone"
        return "weaker" if self.new < self.old else "stronger"


@dataclass(frozen=True)
class MovedNumber:
    """One accuracy (in [0, 1], averaged over seeds) in both results, and the new value minus the old value in points.

    `rows`: number of compared test rows. If `paired` is True, only rows that both results have are compared. The 95 %
    interval is from `low` to `high`. `side` is "above" or "below" if the change is significant after adjustment for all
    compared numbers (Holm 1979).
    """

    evaluator: str
    representation: str | None
    train_set: str
    test_set: str
    rows: int
    paired: bool
    old: float
    new: float
    difference: float | None
    low: float | None
    high: float | None
    side: Side | None
    why: str | None


@dataclass(frozen=True)
class MovedRow:
    """One row that was kept in one result and removed in the other. `old` and `new` are "kept", "removed" or "not
    filtered".

    `text`: the row's first text, or None if the row has no text.
    """

    representation: str
    source_id: str
    split: str
    label: str
    text: str | None
    old: str
    new: str


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows of one filtering: rows in both results, rows in only one result, and rows that changed between
    kept and removed.
    """

    representation: str
    shared: int
    to_kept: int
    to_removed: int
    only_old: int
    only_new: int


@dataclass(frozen=True)
class Changed:
    """One difference between two results, in words: a setting, a property of the data or a software version."""

    kind: Kind
    name: str
    old: str
    new: str


@dataclass(frozen=True)
class VersionComparison:
    """Comparison of two results: the names of the results, every number that both results have, the rows of each
    filtering, and differences in settings, data and software.

    `single`: the number of accuracies that only one of the results has.
    """

    old: str
    new: str
    numbers: tuple[MovedNumber, ...]
    single: int
    counts: tuple[RowCounts, ...]
    rows: tuple[MovedRow, ...]
    changed: tuple[Changed, ...]
    cues: tuple[MovedCue, ...] = ()

    @property
    def moved(self) -> tuple[MovedNumber, ...]:
        """The numbers that changed significantly."""
        return tuple(one for one in self.numbers if one.side in ("above", "below"))

    @property
    def says_something(self) -> bool:
        """True if anything except the software differs."""
        return bool(self.moved or self.rows or self.cues or any(one.kind != "software" for one in self.changed))


class _Place(NamedTuple):
    evaluator: str
    representation: str | None
    train_set: str
    test_set: str


@dataclass(frozen=True, eq=False)
class _Tested:
    """All training runs of one evaluator on one train set: correctly predicted test rows per run, and the ids and
    groups of the rows.
    """

    right: list[np.ndarray]
    ids: list[str]
    groups: np.ndarray | None


def compare_versions(old: Version, new: Version, *, smallest_effect: float) -> VersionComparison:
    """Compare two results of `analysis` by their published files.

    Accuracies on whole test sets are compared on the rows that both results have. Rows are matched by their ids in the
    source. If fewer than half of the smaller test set's rows are in both results, the results are treated as
    independent samples. `smallest_effect`: the smallest difference, in points, that is reported as a difference.

    Raises:
        DataError: a result lacks a file that the comparison needs.
    """
    for one in (old, new):
        missing = [name for name in (ROWS_FILE, TEST_ROWS_FILE, PREDICTIONS_FILE) if not (one.folder / name).is_file()]
        if missing:
            raise DataError(
                f"the result {one.name} in {one.folder} lacks `{'`, `'.join(missing)}`; refresh the dataset first"
            )
    before, after = _tested(old.folder), _tested(new.folder)
    shared = [place for place in after if place in before]
    pairs = [(place, _claimed(before[place], after[place])) for place in shared]
    verdicts = judge([claim for _, (claim, _, _) in pairs], smallest_effect=smallest_effect)
    numbers = []
    for (place, (claim, paired, means)), verdict in zip(pairs, verdicts, strict=True):
        found = claim.interval
        difference, low, high = (None, None, None) if found is None else (found.difference, found.low, found.high)
        numbers.append(
            MovedNumber(
                *(*place, claim.test_rows, paired, *means),
                difference=difference,
                low=low,
                high=high,
                side=verdict.side,
                why=verdict.why,
            )
        )
    counts, rows = _rows_moved(old.folder, new.folder)
    kinds: tuple[tuple[Kind, Mapping[str, object], Mapping[str, object]], ...] = (
        ("setting", old.settings, new.settings),
        ("data", old.data, new.data),
        ("software", old.software, new.software),
    )
    changed = tuple(one for each in kinds for one in _changed(*each))
    single = len(before.keys() ^ after.keys())
    cues = tuple(_cues_moved(old.scan, new.scan))
    return VersionComparison(old.name, new.name, tuple(numbers), single, counts, rows, changed, cues)


def _cues_moved(old: ScanFacts | None, new: ScanFacts | None) -> Iterator[MovedCue]:
    """Compare the cues of two results. Cues that a stronger cue explains in both results are left out."""
    if old is None or new is None:
        return
    any_class = len(old.classes) == len(new.classes) == 2
    named, known_names = {(one.name, one.label): one for one in new.cues}, {(one.name, one.label) for one in old.cues}
    renamed = [one for key, one in named.items() if key not in known_names]
    pairs = [(cue, named.get((cue.name, cue.label)) or same_cue(cue, renamed, any_class=any_class)) for cue in old.cues]
    known = {there.number for _, there in pairs if there is not None}
    for here, there in [*pairs, *((None, cue) for cue in new.cues if cue.number not in known)]:
        found = [one for one in (here, there) if one is not None]
        if all(one.explained_by is not None for one in found):
            continue
        if here is None or there is None or here.high < there.low or there.high < here.low:
            balanced = [None if one is None else one.balanced for one in (here, there)]
            yield MovedCue(found[0].name, found[0].label, any(one.is_artefact for one in found), *balanced)


def _claimed(old: _Tested, new: _Tested) -> tuple[Claim, bool, tuple[float, float]]:
    """Compare one accuracy in two results.

    Return the claim to judge, True if the results are paired by row, and the mean accuracy in each result.
    """
    known = {name: place for place, name in enumerate(old.ids)}
    there = np.array([place for place, name in enumerate(new.ids) if name in known], dtype=np.int64)
    here = np.array([known[new.ids[place]] for place in there], dtype=np.int64)
    paired = len(here) >= max(FEWEST_ROWS, min(len(old.ids), len(new.ids)) / 2)
    interval: CrossedInterval | None = None
    if paired:
        sides = [one[there] for one in new.right], [one[here] for one in old.right]
        interval = crossed_interval(*sides, None if new.groups is None else new.groups[there])
        rows = len(here)
    else:
        sides, rows = (new.right, old.right), min(len(old.ids), len(new.ids))
        if rows >= FEWEST_ROWS:
            interval = separate_interval(*sides, (new.groups, old.groups))
    first, second = (float(np.mean(side)) for side in sides)
    return Claim(interval, rows, "whole sets"), paired, (second, first)


def _tested(folder: Path) -> dict[_Place, _Tested]:
    """Return the finished training runs by evaluator, train set and test set.

    A training run without predictions for some rows of a test set is left out for this test set.
    """
    tests = pq.read_table(folder / TEST_ROWS_FILE, columns=["test_row", "test_set", "row_id", "source_id", "group"])
    names = np.array(tests["test_set"].to_pylist(), object)
    ids = _ids(tests)
    found: dict[_Place, _Tested] = {}
    for (evaluator, representation, train_set), right in _trainings(folder, tests):
        for test_set in dict.fromkeys(names):
            rows = np.flatnonzero(names == test_set)
            if np.isnan(right[rows]).any():
                continue
            place = _Place(evaluator, representation, train_set, test_set)
            if place not in found:
                groups = tests["group"].take(rows)
                codes = None if groups.null_count else groups.to_numpy()
                found[place] = _Tested([], [ids[row] for row in rows], codes)
            found[place].right.append(right[rows])
    return found


def _trainings(folder: Path, tests: pa.Table) -> Iterator[tuple[tuple[str, str | None, str], np.ndarray]]:
    """Yield evaluator, representation, train set and correctly predicted rows of each training run.

    The value of a row is NaN if the row was not tested.
    """
    predictions = pq.read_table(folder / PREDICTIONS_FILE)
    place = pc.index_in(predictions["test_row"], value_set=tests["test_row"].combine_chunks()).to_numpy()
    correct = predictions["correct"].to_numpy()
    columns = [predictions[name] for name in ("evaluator", "representation", "train_set", "seed")]
    codes = np.zeros(len(place), dtype=np.int64)
    for column in columns:
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * max(len(coded.dictionary), 1) + coded.indices.to_numpy()
    _, firsts, own = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(own, kind="stable")
    for number, lines in enumerate(np.split(order, np.cumsum(np.bincount(own))[:-1]) if len(order) else ()):
        right = np.full(tests.num_rows, np.nan)
        right[place[lines]] = correct[lines]
        evaluator, representation, train_set = (column[int(firsts[number])].as_py() for column in columns[:3])
        yield (evaluator, representation, train_set), right


def _ids(table: pa.Table) -> list[str]:
    """Return the rows' ids in their source, each followed by a number that counts repeats of the same id."""
    repeats: Counter[str] = Counter()
    ids = []
    for source_id, row_id in zip(table["source_id"].to_pylist(), table["row_id"].to_pylist(), strict=True):
        name = f"row {row_id}" if source_id is None else str(source_id)
        repeats[name] += 1
        ids.append(f"{name}\n{repeats[name]}")
    return ids


def _rows_moved(old: Path, new: Path) -> tuple[tuple[RowCounts, ...], tuple[MovedRow, ...]]:
    before, after = _statuses(old), _statuses(new)
    counts, moved = [], []
    for representation in (one for one in after if one in before):
        here, there = before[representation], after[representation]
        shared = [name for name in there if name in here]
        rows = [
            MovedRow(representation, name.partition("\n")[0], *there[name][:3], here[name][3], there[name][3])
            for name in shared
            if here[name][3] != there[name][3]
        ]
        to_kept, to_removed = (sum(one.new == status for one in rows) for status in ("kept", "removed"))
        alone = len(here) - len(shared), len(there) - len(shared)
        counts.append(RowCounts(representation, len(shared), to_kept, to_removed, *alone))
        moved += rows
    return tuple(counts), tuple(moved)


def _statuses(folder: Path) -> dict[str, dict[str, tuple[str, str, str | None, str]]]:
    """Return split, label, text and status of each row, by representation and id."""
    names = ["representation", "row_id", "source_id", "split", "label", "status"]
    texts = [name for name in ("text",) if name in pq.read_schema(folder / ROWS_FILE).names]
    table = pq.read_table(folder / ROWS_FILE, columns=[*names, *texts])
    if not texts:
        table = table.append_column("text", pa.nulls(table.num_rows, pa.string()))
    found: dict[str, dict[str, tuple[str, str, str | None, str]]] = {}
    for representation in pc.unique(table["representation"]).to_pylist():
        own = table.filter(pc.equal(table["representation"], representation))
        facts = zip(*(own[name].to_pylist() for name in ("split", "label", "text", "status")), strict=True)
        found[representation] = dict(zip(_ids(own), facts, strict=True))
    return found


def _changed(kind: Kind, old: Mapping[str, object], new: Mapping[str, object], above: str = "") -> Iterator[Changed]:
    """Yield the differences between two mappings.

    A field that only one mapping has is reported as one difference, even if the field is a mapping itself.
    """
    for name in dict.fromkeys([*old, *new]):
        here, there = old.get(name), new.get(name)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            yield from _changed(kind, here, there, f"{above}{name}.")
        else:
            before, after = (_words(side[name]) if name in side else "not set" for side in (old, new))
            if before != after:
                yield Changed(kind, f"{above}{name}", before, after)


def _words(value: object) -> str:
    return "set" if isinstance(value, Mapping) and value else value_text(value)
