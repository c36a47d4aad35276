"""Falls and rises in accuracy from full to filtered, as terms that add up, each with its interval."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, chosen_interval, crossed_interval
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import control, headline_set
from aflite_assets.analysis.tidy import TidyTable

Change = Literal["test rows", "fewer train rows", "class sizes", "which train rows"]
_CHANGES: Mapping[str, Change] = {"random": "fewer train rows", "filtered": "which train rows"}
"""Changes by the train set that they come to; the change to random_matched is "class sizes"."""


@dataclass(frozen=True)
class FallTerm:
    """One term of a fall: the accuracy at its `start` or `end`, in [0, 1], or a `change` with its joint interval.

    `difference`, `low`, `high`: by how many points the accuracy falls with the change; a rise is under 0, and all are
    None if a result is missing. The intervals of one fall hold at 95 % together (Bonferroni). `after`: the train set
    that the change comes to. The changes add up to the difference of start and end.
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
Fall = tuple[FallTerm, ...]
"""The terms of one evaluator on one natural test set, from full on all rows to filtered on the filtered rows."""


def fall_terms(data: BenchmarkData) -> Iterator[FallTerm]:
    """Yield the terms of every fall: the start, the changes, the end."""
    return chain.from_iterable(fall for name in data.representations for fall in falls(data, name))


def falls(data: BenchmarkData, representation: str) -> tuple[Fall, ...]:
    """Return a fall per evaluator, on the filtered natural test set "test", else "validation", else the first.

    The path: the model trained on full, tested on all rows and on the filtered rows alone (the choice of test rows);
    then, on the filtered rows, trained on random (fewer train rows), on random_matched (class sizes), and on filtered
    (which train rows). Empty if no natural test set was filtered.
    """
    test_set = headline_set(one for one in data.test_sets if representation in one.kept)
    if test_set is None:
        return ()
    return tuple(tuple(_fall(data, representation, name, test_set)) for name in data.plain_evaluators)


def _fall(data: BenchmarkData, representation: str, evaluator: str, test_set: TestSet) -> Iterator[FallTerm]:
    rows, where = test_set.kept[representation], (representation, evaluator, test_set.name)
    path = list(dict.fromkeys(("full", "random", control(data, representation), "filtered")))
    trained = {name: trained_right(data, evaluator, name, representation, test_set) for name in path}
    kept = {name: [right[rows] for right in each] for name, each in trained.items()}
    groups = None if test_set.groups is None else test_set.groups[rows]
    confidence = 1 - (1 - CONFIDENCE) / len(path)
    full = trained["full"] if rows.any() else []
    choice = chosen_interval(full, rows, test_set.groups, confidence=confidence) if full else None
    yield FallTerm(*where, "start", "full", _mean(trained["full"]))
    yield FallTerm(*where, "test rows", "full", *_numbers(choice))
    for before, after in pairwise(path):
        complete = kept[before] and kept[after] and rows.any()
        change = crossed_interval(kept[before], kept[after], groups, confidence=confidence) if complete else None
        yield FallTerm(*where, _CHANGES.get(after, "class sizes"), after, *_numbers(change))
    yield FallTerm(*where, "end", "filtered", _mean(kept["filtered"]))


def _numbers(change: CrossedInterval | None) -> tuple[Any, ...]:
    return (None, change.difference, change.low, change.high, change.counts_training) if change is not None else ()


def _mean(trained: list[np.ndarray]) -> float | None:
    return float(np.mean([rows.mean() for rows in trained])) if trained and len(trained[0]) else None
