"""What a fall in accuracy from full to filtered is made of: terms that add up, each with its interval."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from aflite_assets.reports.cached_per_record import cached_per_record
from aflite_assets.reports.inputs.records import BenchmarkData, TestSet, Unit
from aflite_assets.reports.intervals import CONFIDENCE, CrossedInterval, chosen_interval, crossed_interval
from aflite_assets.reports.scores.groups import cells_of, control, headline_split
from aflite_assets.reports.tables.cells import NOTHING, difference_cell
from aflite_assets.reports.tables.long_form import LongForm, Record
from aflite_assets.reports.tables.paired import finished_trainings
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell
from aflite_assets.reports.text import percent

Change = Literal["test rows", "fewer train rows", "class sizes", "which train rows"]


@dataclass(frozen=True)
class FallStep:
    """Changing `what` alone, which comes to the train set `after`, and the fall in accuracy that it makes, in points.

    `fall` is None where a result is missing. The intervals of one fall's steps are joint: all of them hold at 95 %
    together (Bonferroni).
    """

    what: Change
    after: str
    fall: CrossedInterval | None


@dataclass(frozen=True)
class Fall:
    """One evaluator on one natural test set, from full on all rows to filtered on the filtered rows.

    `start` and `end` are mean accuracies in [0, 1], None without a result. The steps add up to their difference.
    `unit`: what is right or wrong, as in `TestSet`.
    """

    representation: str
    evaluator: str
    test_set: str
    start: float | None
    end: float | None
    steps: tuple[FallStep, ...]
    unit: Unit = "row"

    @property
    def complete(self) -> bool:
        """Whether every step has a result."""
        return all(step.fall is not None for step in self.steps)


@cached_per_record
def falls(data: BenchmarkData, representation: str) -> tuple[Fall, ...]:
    """A fall per evaluator, on the natural test set "test", else "validation", else the first that was filtered.

    The path: the model trained on full, asked about all rows and about the filtered rows alone (the choice of test
    rows); then, on the filtered rows, trained on random (fewer train rows), on random_matched (class sizes), and on
    filtered (which train rows). Empty where no natural test set was filtered.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    natural = [one for one in data.test_sets if not one.challenge and representation in one.kept]
    name = headline_split([one.name for one in natural])
    if name is None or not data.plain_evaluators:
        return ()
    test_set = next(one for one in natural if one.name == name)
    return tuple(_fall(data, representation, evaluator, test_set) for evaluator in data.plain_evaluators)


def _fall(data: BenchmarkData, representation: str, evaluator: str, test_set: TestSet) -> Fall:
    kept = test_set.kept[representation]
    path = list(dict.fromkeys(("full", "random", control(data, representation), "filtered")))
    trained = {
        name: finished_trainings(
            data, cells_of(data, evaluator, name, None if name == "full" else representation), test_set
        )
        for name in path
    }
    confidence = 1 - (1 - CONFIDENCE) / len(path)
    asked_any = bool(kept.any())
    choice = (
        chosen_interval(trained["full"], kept, test_set.groups, confidence=confidence)
        if trained["full"] and asked_any
        else None
    )
    groups = None if test_set.groups is None else test_set.groups[kept]
    steps = [FallStep("test rows", "full", choice)]
    for before, after in pairwise(path):
        first, second = ([rows[kept] for rows in trained[name]] for name in (before, after))
        between = (
            crossed_interval(first, second, groups, confidence=confidence) if first and second and asked_any else None
        )
        steps.append(FallStep(_change(after), after, between))
    end = _mean([rows[kept] for rows in trained["filtered"]])
    return Fall(representation, evaluator, test_set.name, _mean(trained["full"]), end, tuple(steps), test_set.unit)


def _change(after: str) -> Change:
    changes: dict[str, Change] = {"random": "fewer train rows", "filtered": "which train rows"}
    return changes.get(after, "class sizes")


def _mean(trained: list[np.ndarray]) -> float | None:
    return float(np.mean([rows.mean() for rows in trained])) if trained and len(trained[0]) else None


def fall_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """A table per representation that filtered natural test rows: a row per evaluator, a column per term."""
    return tuple(
        _table(name, found)
        for name in data.representations
        if (found := falls(data, name)) and any(fall.start is not None for fall in found)
    )


def _table(representation: str, found: tuple[Fall, ...]) -> Table:
    steps = [Column(Heading(step.what)) for step in found[0].steps]
    ends = [Column(Heading(text, ("%",)), line=True) for text in ("full on all rows", "filtered on filtered rows")]
    return Table(
        f"falls_{representation}",
        found[0].test_set,
        f"Terms of each fall on {found[0].test_set}, in points, representation {representation}",
        ("evaluator",),
        (ends[0], *steps, ends[1]),
        tuple(Row((fall.evaluator,), (_end(fall.start), *map(_term, fall.steps), _end(fall.end))) for fall in found),
        "They add up from the first accuracy to the last. In brackets the joint 95 % interval: all terms of a fall "
        "hold together. Test rows: the same model, asked about the filtered rows alone. Fewer train rows: random in "
        "place of full. Class sizes: random_matched in its place. Which train rows: filtered in place of that.",
    )


def _term(step: FallStep) -> TableCell:
    """The change that the step makes: what falls is below zero."""
    if step.fall is None:
        return difference_cell(None)
    return difference_cell(
        replace(step.fall, difference=-step.fall.difference, low=-step.fall.high, high=-step.fall.low)
    )


def _end(share: float | None) -> TableCell:
    return NOTHING if share is None else TableCell(percent(share), value=share, strong=True)


def _records(data: BenchmarkData) -> Iterator[Record]:
    for name in data.representations:
        for fall in falls(data, name):
            for step in fall.steps:
                where = {"representation": name, "evaluator": fall.evaluator, "test_set": fall.test_set}
                numbers = {} if step.fall is None else {one: getattr(step.fall, one) for one in _NUMBERS}
                yield where | {"change": step.what, "after": step.after} | numbers


_NUMBERS = ("difference", "low", "high", "counts_training")
FALLS = LongForm("falls", ("representation", "evaluator", "test_set", "change", "after", *_NUMBERS), _records)
"""By how many points the accuracy falls with each change."""
