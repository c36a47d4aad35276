"""Accuracy by the value of an attribute, on natural test rows and on challenge sets, of models trained on all rows.

If a challenge set has more rows with some value, a fall there may only show that rows with this value are harder. Rows
with the value are therefore compared with the other rows of their classes in each set.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.comparisons.falls import fair_sets, fall_interval
from aflite_assets.analysis.inputs.records import AttributeValues, BenchmarkData, TestSet
from aflite_assets.analysis.intervals import CONFIDENCE
from aflite_assets.analysis.rules.leaning import FEWEST_CARRIERS, FEWEST_IN_CLASS, LEAST_NAMED
from aflite_assets.analysis.scores.accuracy import Score, correct_rows, score, trained_right
from aflite_assets.analysis.scores.subsets import headline_set
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.p_values import holm

MOST_VALUES = 8
"""An attribute with at most this many values is always compared. Of an attribute with more values, which is compared
only if the scan names it or models may lean on it, this many values with the most natural test rows are compared.
"""


@dataclass(frozen=True, kw_only=True)
class AttributeAccuracy(Score):
    """Mean accuracy of an evaluator trained on `full`, on the rows of a test set with one `value` of an attribute.

    `set_rows`: number of rows of the test set. `difference`: in points, the accuracy on these rows minus the accuracy
    on the other rows of the same class, averaged over classes, with its 95 % interval and p-value; None if fewer than
    `FEWEST_CARRIERS` rows of either kind can be compared. `below_in_all`: whether the difference is negative in every
    class.
    """

    evaluator: str
    attribute: str
    value: str
    test_set: str
    set_rows: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    below_in_all: bool | None = None

    @property
    def place(self) -> tuple[str, str, str]:
        """The evaluator, the attribute and the value."""
        return self.evaluator, self.attribute, self.value

    @property
    def harder(self) -> bool:
        """True if the rows are harder than the other rows of their classes: significantly so, by at least
        `LEAST_NAMED` points, and in every class.
        """
        significant = self.difference is not None and self.high is not None and self.high < 0
        return significant and -(self.difference or 0.0) >= LEAST_NAMED and bool(self.below_in_all)


ATTRIBUTE_ACCURACIES = TidyTable("attribute_accuracies", AttributeAccuracy, derived=("harder",))


def attribute_accuracies(data: BenchmarkData) -> Iterator[AttributeAccuracy]:
    """Yield the accuracies by attribute, evaluator, value and test set: the natural test set of the report's summary
    and every challenge set by row that has the attribute and was not collected adversarially.
    """
    natural = headline_set(data.test_sets)
    if natural is None or natural.unit != "row":
        return
    named = named_attributes(data)
    for attribute in data.attributes:
        shown = _compared_values(attribute, natural) if attribute.few or attribute.name in named else []
        by_row = [natural, *(one for one in fair_sets(data) if one.unit == "row")]
        sets = [one for one in by_row if one.name in attribute.values]
        for evaluator in data.judging_evaluators if len(shown) > 1 else ():
            for value in shown:
                yield from (_accuracy(data, evaluator, attribute, value, one) for one in sets)


def named_attributes(data: BenchmarkData) -> frozenset[str]:
    """Return the attributes that the scan names in a cue, or that models may lean on."""
    cues = () if data.scan is None else data.scan.cues
    of_scan = {one.source for cue in cues for one in cue.properties}
    return frozenset(of_scan | {one.of.name for one in data.leanings if one.of.kind == "attribute"})


def _compared_values(attribute: AttributeValues, natural: TestSet) -> list[str]:
    """Return the most frequent values on natural test rows, in alphabetical order, without very rare ones."""
    counts = Counter(attribute.values.get(natural.name, np.array([], dtype=object)).tolist())
    return sorted(value for value, rows in counts.most_common(MOST_VALUES) if rows >= FEWEST_CARRIERS)


def _accuracy(
    data: BenchmarkData, evaluator: str, attribute: AttributeValues, value: str, test_set: TestSet
) -> AttributeAccuracy:
    inside = np.asarray(attribute.values[test_set.name] == value)
    cells = data.cells_of(evaluator, "full", None)
    whole = score([correct_rows(cell, test_set) for cell in cells], inside, test_set.groups)
    place = {"evaluator": evaluator, "attribute": attribute.name, "value": value, "test_set": test_set.name}
    right = trained_right(data, evaluator, "full", "", test_set)
    return record_of(AttributeAccuracy, whole, **place, set_rows=len(inside), **_difference(right, inside, test_set))


def _difference(right: Sequence[np.ndarray], inside: np.ndarray, test_set: TestSet) -> dict[str, float | bool]:
    """Return the fields of an `AttributeAccuracy` that compare the chosen rows with the other rows of their classes, or
    nothing if there are too few rows or no training run.
    """
    labels = test_set.labels
    sides = [~inside, inside]
    numbers = [np.bincount(labels[side], minlength=len(test_set.label_names)) for side in sides]
    compared = np.flatnonzero(np.minimum(*numbers) >= FEWEST_IN_CLASS)
    sides = [side & np.isin(labels, compared) for side in sides]
    codes = None if test_set.groups is None else [test_set.groups[side] for side in sides]
    if not right or min(side.sum() for side in sides) < FEWEST_CARRIERS:
        return {}
    if codes is not None and min(len(np.unique(each)) for each in codes) < 2:
        return {}
    others, own = (
        ([one[side] for one in right], labels[side], None if codes is None else codes[place])
        for place, side in enumerate(sides)
    )
    fall = fall_interval(others, own)
    mean = np.mean(right, axis=0)
    below = all(
        mean[sides[1] & (labels == each)].mean() < mean[sides[0] & (labels == each)].mean() for each in compared
    )
    return {
        "difference": -fall.difference,
        "low": -fall.high,
        "high": -fall.low,
        "p_value": fall.p_value,
        "below_in_all": below,
    }


def harder_everywhere(found: Sequence[AttributeAccuracy], natural_set: str) -> list[list[AttributeAccuracy]]:
    """Return the values with harder rows in the natural test set, and in every challenge set in which the difference is
    known. The p-values on natural rows are adjusted together (Holm).

    Each entry holds the records of one evaluator and value, the natural test set first. A value is returned for the
    evaluator with the largest difference, and values with large differences come first.
    """
    tested = [one for one in found if one.test_set == natural_set and one.p_value is not None]
    adjusted = holm([one.p_value for one in tested if one.p_value is not None])
    here = [one for one, p in zip(tested, adjusted, strict=True) if one.harder and p <= 1 - CONFIDENCE]
    harder: dict[tuple[str, str], list[AttributeAccuracy]] = {}
    for one in sorted(here, key=lambda each: each.difference or 0.0):
        there = [other for other in found if other.place == one.place and other.test_set != natural_set]
        known = [other for other in there if other.difference is not None]
        if all(other.harder for other in known):
            harder.setdefault((one.attribute, one.value), [one, *known])
    return list(harder.values())
