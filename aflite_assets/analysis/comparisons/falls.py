"""Falls in accuracy. The fall in accuracy from training on `full` to training on `filtered` is split into a sum of
terms. The fall in accuracy from natural rows to challenge rows is a single number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np

from aflite_assets.analysis import intervals
from aflite_assets.analysis.inputs.edited_copies import EditedCopies
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, label_weights
from aflite_assets.analysis.rules.leaning import LEAST_NAMED
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.scores.subsets import headline_set
from aflite_assets.analysis.tidy import TidyTable, record_of

Change = Literal["test rows", "fewer train rows", "class sizes", "which train rows"]
_CHANGES: Mapping[str, Change] = {"random": "fewer train rows", "filtered": "which train rows"}
"""Name of a change in a fall, by the train set after the change; the change to `random_matched` is "class sizes"."""


@dataclass(frozen=True)
class FallTerm:
    """One term of a fall in accuracy: the accuracy at the start or at the end (in [0, 1]), or one change with its
    interval.

    `difference`: the fall in accuracy caused by the change, in points, negative for a rise. The interval of
    `difference` is from `low` to `high`. `difference`, `low` and `high` are None if a result is missing. The intervals
    of one fall hold jointly at 95 % (Bonferroni). `after`: the train set of the model after the change. The changes add
    up to the accuracy at the start minus the accuracy at the end.
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
"""The terms of one fall of one evaluator on one test set, from `full` on all rows to `filtered` on its filtered test
rows.
"""


def fall_terms(data: BenchmarkData) -> Iterator[FallTerm]:
    """Yield the terms of every fall: start, changes and end. For each filtering, falls on natural test sets come before
    falls on challenge sets.
    """
    found = ((*falls(data, name), *challenge_steps(data, name)) for name in data.representations)
    return chain.from_iterable(chain.from_iterable(found))


def falls(data: BenchmarkData, representation: str) -> tuple[Fall, ...]:
    """Return one fall per evaluator, on the first filtered test set among "test", "validation" and the other natural
    sets.

    A fall is split into steps, and the first step uses the model trained on `full`. The model trained on `full` is
    tested first on all rows and then only on the filtered rows (change: choice of test rows). The next models are
    trained on `random` (change: fewer train rows), `random_matched` (change: class sizes) and `filtered` (change: which
    train rows). Models trained on `random`, `random_matched` and `filtered` are tested only on the filtered rows.
    Return an empty list if no natural test set was filtered.
    """
    return _falls_on(data, representation, headline_set(one for one in data.test_sets if representation in one.kept))


def challenge_steps(data: BenchmarkData, representation: str) -> tuple[Fall, ...]:
    """Return one fall per evaluator on all rows of the first challenge set.

    The changes are the changes in the docstring of `falls`, without the choice of test rows. Return an empty list if
    there is no challenge set. A model that relies on a shortcut fails on challenge sets.
    """
    return _falls_on(data, representation, next((one for one in data.test_sets if one.challenge), None))


def _falls_on(data: BenchmarkData, representation: str, test_set: TestSet | None) -> tuple[Fall, ...]:
    if test_set is None:
        return ()
    return tuple(tuple(_fall(data, representation, name, test_set)) for name in data.plain_evaluators)


def _fall(data: BenchmarkData, representation: str, evaluator: str, test_set: TestSet) -> Iterator[FallTerm]:
    chosen = representation in test_set.kept
    rows = test_set.kept[representation] if chosen else np.ones(len(test_set.labels), dtype=bool)
    where: dict[str, Any] = {"representation": representation, "evaluator": evaluator, "test_set": test_set.name}
    path = list(dict.fromkeys(("full", "random", data.control(representation), "filtered")))
    trained = {name: trained_right(data, evaluator, name, representation, test_set) for name in path}
    kept = {name: [right[rows] for right in each] for name, each in trained.items()}
    groups = None if test_set.groups is None else test_set.groups[rows]
    confidence = 1 - (1 - CONFIDENCE) / (len(path) - (not chosen))  # Bonferroni, for the number of changes
    yield FallTerm(**where, change="start", after="full", accuracy=_mean(trained["full"]))
    if chosen:
        full = trained["full"] if rows.any() else []
        choice = intervals.chosen_interval(full, rows, test_set.groups, confidence=confidence) if full else None
        yield record_of(FallTerm, choice, **where, change="test rows", after="full")
    for before, after in pairwise(path):
        complete = kept[before] and kept[after] and rows.any()
        sides = kept[before], kept[after], groups
        gap = intervals.crossed_interval(*sides, confidence=confidence) if complete else None
        yield record_of(FallTerm, gap, **where, change=_CHANGES.get(after, "class sizes"), after=after)
    yield FallTerm(**where, change="end", after="filtered", accuracy=_mean(kept["filtered"]))


def _mean(trained: list[np.ndarray]) -> float | None:
    return float(np.mean([rows.mean() for rows in trained])) if trained and len(trained[0]) else None


ALIKE = 0.99
"""Two paired sets count as alike for an evaluator if, for at least this share of the paired rows, both predictions are
correct or both are wrong.
"""


@dataclass(frozen=True)
class ChallengeFall:
    """The fall in accuracy of an evaluator trained on `full`, from natural rows to a challenge set.

    docs/analysis.md describes the columns. The accuracies are averaged over gold labels, in [0, 1]; falls and their
    95 % intervals are in points. If the set's rows are edited copies, `copies_of` names the natural set of their
    originals, and `originals` is the accuracy on the originals; otherwise these and the columns `paired_*` are None.
    """

    evaluator: str
    natural_set: str
    test_set: str
    natural: float
    challenge: float
    fall: float
    low: float
    high: float
    p_value: float
    alike: tuple[str, ...] = ()
    copies_of: str | None = None
    originals: float | None = None
    paired_fall: float | None = None
    paired_low: float | None = None
    paired_high: float | None = None

    @property
    def named(self) -> bool:
        """True if the fall is significant and large enough to be named in a report."""
        return self.fall >= LEAST_NAMED and self.low > 0

    @property
    def edited(self) -> bool:
        """True if only the edits can explain the fall, because accuracy also falls from the originals to their copies:
        significantly, and by enough to be named.
        """
        fall, low = self.paired_fall, self.paired_low
        return fall is not None and low is not None and fall >= LEAST_NAMED and low > 0


CHALLENGE_FALLS = TidyTable("challenge_falls", ChallengeFall, derived=("named", "edited"))


def fallen_sets(falls: Iterable[ChallengeFall]) -> list[str]:
    """Return the names of the challenge sets on which a model has a fall that a report names, each name once."""
    return list(dict.fromkeys(one.test_set for one in falls if one.named))


def fair_sets(data: BenchmarkData) -> list[TestSet]:
    """Return the challenge sets that were not collected adversarially.

    Adversarial sets are left out because they hold rows on which other models failed.
    """
    return [one for one in data.test_sets if one.challenge and one.collected != "adversarially"]


def challenge_falls(data: BenchmarkData) -> tuple[ChallengeFall, ...]:
    """Return the falls of the evaluators that can judge filtering, grouped by evaluator, with the largest fall first.

    Test sets of questions are left out because questions have no gold labels. Test sets that are too small for a
    verdict are left out.
    """
    natural = headline_set(data.test_sets)
    if natural is None or not _is_enough(natural):
        return ()
    sets = [one for one in fair_sets(data) if _is_enough(one)]
    copies = {one.test_set: one for one in data.copies}
    found: list[ChallengeFall] = []
    for evaluator in judging(data).judges:
        before = trained_right(data, evaluator, "full", "", natural)
        right = {one: trained_right(data, evaluator, "full", "", one) for one in sets}
        for one, after in right.items() if before else ():
            if len(after) == len(before):
                alike = tuple(other.name for other in sets if _is_alike(one, other, after, right[other]))
                interval = fall_interval((before, natural.labels, natural.groups), (after, one.labels, one.groups))
                sides = _weighed(before, natural.labels), _weighed(after, one.labels)
                here, there = (float(np.mean(side)) for side in sides)
                numbers = {"natural": here, "challenge": there, "fall": interval.difference}
                place = {"evaluator": evaluator, "natural_set": natural.name, "test_set": one.name}
                pairs = _from_originals(data, evaluator, copies[one.name], one, after) if one.name in copies else {}
                alike += (copies[one.name].natural_set,) if pairs.pop("is_alike", False) else ()
                found.append(record_of(ChallengeFall, interval, **place, **numbers, alike=alike, **pairs))
    largest: dict[str, float] = {}
    for each in found:
        largest[each.evaluator] = max(each.fall, largest.get(each.evaluator, each.fall))
    return tuple(sorted(found, key=lambda each: (-largest[each.evaluator], each.evaluator, -each.fall)))


def _is_enough(one: TestSet) -> bool:
    groups = len(np.unique(intervals.group_codes(one.groups, len(one.labels))))
    return one.unit == "row" and len(one.labels) >= FEWEST_ROWS and groups >= FEWEST_GROUPS


def _is_alike(one: TestSet, other: TestSet, first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    if one is other or not np.array_equal(one.labels, other.labels) or len(first) != len(second):
        return False
    return _same_rows(first, second) >= ALIKE


def _same_rows(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> float:
    """Return the share of the pairs on which both predictions are correct or both are wrong, mean over trainings."""
    return float(np.mean([np.mean(a == b) for a, b in zip(first, second, strict=True)]))


def _from_originals(
    data: BenchmarkData, evaluator: str, copies: EditedCopies, one: TestSet, after: Sequence[np.ndarray]
) -> dict[str, Any]:
    """Return the columns of a `ChallengeFall` on the originals of edited copies, and whether the evaluator is right on
    the same pairs (`is_alike`). Return {} if the originals are not tested.

    Each training run predicts both rows of a pair, so the interval is computed from the differences of the pairs.
    """
    natural = next((each for each in data.test_sets if each.name == copies.natural_set), None)
    whole = [] if natural is None else trained_right(data, evaluator, "full", "", natural)
    before = [right[copies.originals] for right in whole]
    if len(before) != len(after):
        return {}
    sides = _weighed(before, one.labels), _weighed(after, one.labels)
    gaps = [own - other for own, other in zip(*sides, strict=True)]
    paired = intervals.crossed_interval(gaps, None, one.groups)
    return {
        "copies_of": copies.natural_set,
        "originals": float(np.mean(sides[0])),
        "paired_fall": paired.difference,
        "paired_low": paired.low,
        "paired_high": paired.high,
        "is_alike": _same_rows(before, after) >= ALIKE,
    }


Asked = tuple[Sequence[np.ndarray], np.ndarray, np.ndarray | None]
"""Correct predictions of each training run on the rows of a test set, with the gold labels and the groups."""


def fall_interval(natural: Asked, challenge: Asked) -> CrossedInterval:
    """Return the accuracy on natural rows minus the accuracy on challenge rows, in points.

    The accuracies on natural and on challenge rows are averaged over gold labels.
    """
    sides = [_weighed(*each[:2]) for each in (natural, challenge)]
    nothing = [[np.zeros(len(rows)) for rows in side] for side in sides]
    return intervals.contrast_interval(sides, nothing, (natural[2], challenge[2]))


def _weighed(right: Sequence[np.ndarray], labels: np.ndarray) -> list[np.ndarray]:
    """Multiply correct predictions by weights, so that the mean over rows equals the mean over gold labels."""
    weights = label_weights(labels)
    return [one * weights for one in right]
