"""What a fall or rise in accuracy from full to filtered is made of: terms that add up, each with its interval."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet, Unit
from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, chosen_interval, crossed_interval
from aflite_assets.analysis.scores.accuracy import Score, trained_right
from aflite_assets.analysis.scores.groups import control, headline_split
from aflite_assets.analysis.scores.score_table import Place, score_table
from aflite_assets.analysis.tidy import TidyTable

Change = Literal["test rows", "fewer train rows", "class sizes", "which train rows"]


@dataclass(frozen=True)
class FallStep:
    """Changing `what` alone, which comes to the train set `after`, and the fall in accuracy that it makes.

    `fall`: in points, a rise under 0; None where a result is missing. The intervals of one fall's steps are joint: all
    of them hold at 95 % together (Bonferroni).
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


@dataclass(frozen=True)
class Headline:
    """A fall with the scores behind it.

    `full`: trained and tested on full. `random`: trained on random, tested on full. `filtered`: trained and tested on
    filtered.
    """

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    fall: Fall


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """Return one comparison per evaluator, on the test set of `falls`; empty if no natural test set was filtered."""
    found = []
    for fall in falls(data, representation):
        full = Place(representation, fall.evaluator, "full", fall.test_set, "full")
        places = full, full._replace(train_set="random"), full._replace(train_set="filtered", tested_on="filtered")
        before, fewer, after = (score_table(data)[place] for place in places)
        found.append(Headline(representation, fall.evaluator, fall.test_set, before, fewer, after, fall))
    return tuple(found)


def _fall(data: BenchmarkData, representation: str, evaluator: str, test_set: TestSet) -> Fall:
    kept = test_set.kept[representation]
    path = list(dict.fromkeys(("full", "random", control(data, representation), "filtered")))
    trained = {name: trained_right(data, evaluator, name, representation, test_set) for name in path}
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


@dataclass(frozen=True)
class FallTerm:
    """One term of a fall: the accuracy at its `start` or `end`, in [0, 1], or a `change` with its joint interval.

    `difference`, `low`, `high`: by how many points the accuracy falls with the change; a rise is under 0. `after`: the
    train set that the change comes to.
    """

    representation: str
    evaluator: str
    test_set: str
    change: Literal["start", "end"] | Change
    after: str
    accuracy: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    counts_training: bool | None = None


FALLS = TidyTable("falls", FallTerm)


def fall_terms(data: BenchmarkData) -> Iterator[FallTerm]:
    """The terms of every fall, in their order: the start, the changes, the end."""
    for name in data.representations:
        for fall in falls(data, name):
            where = (name, fall.evaluator, fall.test_set)
            yield FallTerm(*where, "start", "full", fall.start)
            for step in fall.steps:
                numbers = {} if step.fall is None else {one: getattr(step.fall, one) for one in _NUMBERS}
                yield FallTerm(*where, step.what, step.after, **numbers)
            yield FallTerm(*where, "end", "filtered", fall.end)


_NUMBERS = ("difference", "low", "high", "counts_training")
