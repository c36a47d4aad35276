"""Falls and rises in accuracy from full to filtered, as terms that add up, each with its interval."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet, Unit
from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, chosen_interval, crossed_interval
from aflite_assets.analysis.scores.accuracy import Score, trained_right
from aflite_assets.analysis.scores.groups import control, headline_set
from aflite_assets.analysis.scores.score_table import Place, score_table
from aflite_assets.analysis.tidy import TidyTable

Change = Literal["test rows", "fewer train rows", "class sizes", "which train rows"]
_CHANGES: Mapping[str, Change] = {"random": "fewer train rows", "filtered": "which train rows"}
"""Changes by the train set that they come to; the change to random_matched is "class sizes"."""


@dataclass(frozen=True)
class FallStep:
    """Changing `what` alone, which comes to the train set `after`, and the fall in accuracy that it makes.

    `fall`: in points, a rise under 0; None if a result is missing. The intervals of one fall's steps are joint: all of
    them hold at 95 % together (Bonferroni).
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


@dataclass(frozen=True)
class Headline:
    """A fall with its scores: trained and tested on full; trained on random, tested on full; both on filtered."""

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    fall: Fall


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """Return one comparison per evaluator, on the test set of `falls`; empty if no natural test set was filtered."""
    scores, found = score_table(data), []
    for fall in falls(data, representation):
        full = Place(representation, fall.evaluator, "full", fall.test_set, "full")
        after = full._replace(train_set="filtered", tested_on="filtered")
        three = scores[full], scores[full._replace(train_set="random")], scores[after]
        found.append(Headline(representation, fall.evaluator, fall.test_set, *three, fall))
    return tuple(found)


@lru_cache(maxsize=16)  # one per representation: its terms and its headlines ask
def falls(data: BenchmarkData, representation: str) -> tuple[Fall, ...]:
    """Return a fall per evaluator, on the filtered natural test set "test", else "validation", else the first.

    The path: the model trained on full, tested on all rows and on the filtered rows alone (the choice of test rows);
    then, on the filtered rows, trained on random (fewer train rows), on random_matched (class sizes), and on filtered
    (which train rows). Empty if no natural test set was filtered.
    """
    test_set = headline_set(one for one in data.test_sets if representation in one.kept)
    if test_set is None:
        return ()
    return tuple(_fall(data, representation, name, test_set) for name in data.plain_evaluators)


def _fall(data: BenchmarkData, representation: str, evaluator: str, test_set: TestSet) -> Fall:
    rows = test_set.kept[representation]
    path = list(dict.fromkeys(("full", "random", control(data, representation), "filtered")))
    trained = {name: trained_right(data, evaluator, name, representation, test_set) for name in path}
    kept = {name: [right[rows] for right in each] for name, each in trained.items()}
    groups = None if test_set.groups is None else test_set.groups[rows]
    confidence = 1 - (1 - CONFIDENCE) / len(path)
    full = trained["full"] if rows.any() else []
    choice = chosen_interval(full, rows, test_set.groups, confidence=confidence) if full else None
    steps = [FallStep("test rows", "full", choice)]
    for before, after in pairwise(path):
        complete = kept[before] and kept[after] and rows.any()
        change = crossed_interval(kept[before], kept[after], groups, confidence=confidence) if complete else None
        steps.append(FallStep(_CHANGES.get(after, "class sizes"), after, change))
    start, end = _mean(trained["full"]), _mean(kept["filtered"])
    return Fall(representation, evaluator, test_set.name, start, end, tuple(steps), test_set.unit)


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
    """Yield the terms of every fall, in their order: the start, the changes, the end."""
    for fall in (fall for name in data.representations for fall in falls(data, name)):
        where = (fall.representation, fall.evaluator, fall.test_set)
        yield FallTerm(*where, "start", "full", fall.start)
        for step in fall.steps:
            one = step.fall
            numbers = (None, *(() if one is None else (one.difference, one.low, one.high, one.counts_training)))
            yield FallTerm(*where, step.what, step.after, *numbers)
        yield FallTerm(*where, "end", "filtered", fall.end)
