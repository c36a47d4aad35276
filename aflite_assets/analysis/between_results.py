"""Differences of two published analyses: accuracies, cues, and rows on the other side of a filter. No words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.analysis import read_analysis
from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval
from aflite_assets.analysis.rows.table import PREDICTIONS_FILE, ROWS_FILE, TEST_ROWS_FILE
from aflite_assets.scan.cues import Cue, ScanFacts

CueState = Literal["gone", "new", "weaker", "stronger", "as before"]


@dataclass(frozen=True)
class AccuracyChange:
    """One accuracy in both results, in [0, 1], and the difference of the second from the first, in points.

    `paired`: whether both were tested on the same rows, so that the interval is that of paired differences.
    """

    evaluator: str
    representation: str | None
    train_set: str
    test_set: str
    first: float
    second: float
    difference: CrossedInterval
    paired: bool

    @property
    def moved(self) -> bool:
        """Whether the 95 % interval of the difference leaves out zero."""
        return self.difference.low > 0 or self.difference.high < 0


@dataclass(frozen=True)
class CueChange:
    """A cue of either scan with its balanced accuracy in [0, 1], None where it was not found.

    `state` is "weaker" or "stronger" only where the two 95 % intervals have no point in common.
    """

    name: str
    label: str
    is_artefact: bool
    first: float | None
    second: float | None
    state: CueState


@dataclass(frozen=True)
class SideChange:
    """How many rows that both filters had were kept by the one and removed by the other.

    `shared`: rows that both filters had; `kept`: of these, kept by both. `returned`: removed at first and kept now;
    `left`: kept at first and removed now.
    """

    representation: str
    shared: int
    kept: int
    returned: int
    left: int


@dataclass(frozen=True)
class Differences:
    """The differences of two analyses; `verdicts`: the code that says most in each, None where nothing was filtered."""

    verdicts: tuple[str | None, str | None]
    accuracies: tuple[AccuracyChange, ...]
    cues: tuple[CueChange, ...]
    sides: tuple[SideChange, ...]

    @property
    def moved(self) -> tuple[AccuracyChange, ...]:
        """The accuracies that moved beyond their intervals, the furthest first."""
        return tuple(
            sorted((one for one in self.accuracies if one.moved), key=lambda one: -abs(one.difference.difference))
        )

    @property
    def changed_cues(self) -> tuple[CueChange, ...]:
        """The cues that are not as before."""
        return tuple(one for one in self.cues if one.state != "as before")


def between_results(first: Path, second: Path) -> Differences:
    """Compare two folders of the asset `analysis`.

    Rows are the same if their source ids, inputs and labels are; accuracies on other rows are compared unpaired.

    Raises:
        DataError: either was written by another version of this code.
    """
    before, after = read_analysis(first), read_analysis(second)
    codes = [one.verdicts[0].verdict.code if one.verdicts else None for one in (before, after)]
    return Differences(
        (codes[0], codes[1]),
        tuple(_accuracies(first, second)),
        _cues(before.scan, after.scan),
        tuple(_sides(first, second)),
    )


def _accuracies(first: Path, second: Path) -> Iterator[AccuracyChange]:
    """Compare every model, train set and test set that both have."""
    (tests, trained), (other_tests, other_trained) = _trained(first), _trained(second)
    for cell in trained:
        if cell not in other_trained:
            continue
        test_set = cell[3]
        rows, others = tests[test_set], other_tests[test_set]
        same = rows.names == others.names
        one, other = trained[cell], other_trained[cell]
        if same:
            interval = crossed_interval(other, one, rows.groups)
        else:
            interval = _unpaired(crossed_interval(other, None, others.groups), crossed_interval(one, None, rows.groups))
        evaluator, representation, train_set, _ = cell
        before, after = float(np.mean(one)), float(np.mean(other))
        yield AccuracyChange(evaluator, representation, train_set, test_set, before, after, interval, same)


def _unpaired(second: CrossedInterval, first: CrossedInterval) -> CrossedInterval:
    """Return the difference of two means of different rows, from the interval of each."""
    gap = second.difference - first.difference
    half = float(np.hypot((second.high - second.low) / 2, (first.high - first.low) / 2))
    return CrossedInterval(
        gap,
        max(-100.0, gap - half),
        min(100.0, gap + half),
        float("nan"),
        min(second.degrees_of_freedom, first.degrees_of_freedom),
        (second.trainings[0], first.trainings[0]),
        second.groups + first.groups,
        second.effective_groups + first.effective_groups,
        second.counts_training and first.counts_training,
    )


@dataclass(frozen=True)
class _TestRows:
    names: tuple[str, ...]
    groups: np.ndarray | None


_Cell = tuple[str, str | None, str, str]


def _trained(folder: Path) -> tuple[Mapping[str, _TestRows], Mapping[_Cell, list[np.ndarray]]]:
    """Return the rows of each test set, and what each training got right there, in their order."""
    rows = pq.read_table(folder / TEST_ROWS_FILE)
    tests: dict[str, _TestRows] = {}
    places: dict[str, pa.Array] = {}
    for name in rows["test_set"].unique().to_pylist():
        own = rows.filter(pc.equal(rows["test_set"], name))
        columns = [own[column].to_pylist() for column in ("row_id", "source_id", "text", "text_pair", "label")]
        groups = own["group"]
        tests[name] = _TestRows(
            tuple(map(repr, zip(*columns, strict=True))), None if groups.null_count else groups.to_numpy()
        )
        places[name] = own["test_row"].combine_chunks()
    right: dict[_Cell, list[np.ndarray]] = {}
    table = pq.read_table(folder / PREDICTIONS_FILE)
    keys = ["evaluator", "representation", "train_set", "seed"]
    for training in table.select(keys).group_by(keys).aggregate([]).to_pylist():
        chosen = table
        for key, value in training.items():
            column = chosen[key]
            chosen = chosen.filter(pc.is_null(column) if value is None else pc.equal(column, value))
        for test_set, order in places.items():
            at = pc.index_in(order, value_set=chosen["test_row"].combine_chunks())
            if not at.null_count and len(order):
                cell = (training["evaluator"], training["representation"], training["train_set"], test_set)
                right.setdefault(cell, []).append(chosen["correct"].to_numpy()[at.to_numpy()])
    return tests, dict(sorted(right.items(), key=lambda one: tuple(map(str, one[0]))))


def _cues(first: ScanFacts | None, second: ScanFacts | None) -> tuple[CueChange, ...]:
    """Compare the cues that no stronger one explains, by property and class."""
    if first is None or second is None:
        return ()
    before, after = ({(one.name, one.label): one for one in each.cues} for each in (first, second))
    shown = dict.fromkeys(key for each in (before, after) for key, one in each.items() if one.explained_by is None)
    return tuple(_cue_change(before.get(key), after.get(key)) for key in shown)


def _cue_change(first: Cue | None, second: Cue | None) -> CueChange:
    known = second or first
    assert known is not None
    state: CueState = "as before"
    if first is None or second is None:
        state = "new" if first is None else "gone"
    elif second.low > first.high:
        state = "stronger"
    elif second.high < first.low:
        state = "weaker"
    balanced = [None if one is None else one.balanced for one in (first, second)]
    return CueChange(known.name, known.label, known.is_artefact, balanced[0], balanced[1], state)


def _sides(first: Path, second: Path) -> Iterator[SideChange]:
    """Compare who was kept by each representation that filtered in both."""
    before, after = (pq.read_table(folder / ROWS_FILE) for folder in (first, second))
    names: Sequence[str] = before["representation"].unique().to_pylist()
    for name in names:
        one, other = (table.filter(pc.equal(table["representation"], name)) for table in (before, after))
        if not len(other):
            continue
        kept, other_kept = _kept(one), _kept(other)
        shared = kept.keys() & other_kept.keys()
        both = sum(kept[row] and other_kept[row] for row in shared)
        returned = sum(not kept[row] and other_kept[row] for row in shared)
        left = sum(kept[row] and not other_kept[row] for row in shared)
        yield SideChange(name, len(shared), both, returned, left)


def _kept(table: pa.Table) -> dict[str, bool]:
    """Return by row whether it was kept; a row is known by its number, its place in the source and its inputs."""
    known = [name for name in ("row_id", "source_id", "text", "text_pair", "label") if name in table.column_names]
    filtered = table.filter(pc.not_equal(table["status"], "not filtered"))
    rows = zip(*(filtered[name].to_pylist() for name in known), strict=True)
    return {repr(row): bool(kept) for row, kept in zip(rows, filtered["kept"].to_pylist(), strict=True)}
