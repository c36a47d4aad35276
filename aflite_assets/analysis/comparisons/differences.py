"""A difference between trainings on the same test rows: its record, which is a row of a tidy table, and its claim."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import Trainings, crossed_interval, label_mean_interval
from aflite_assets.analysis.rules.verdicts import FEWEST_ROWS, Bar, Claim, Family, Side, judge
from aflite_assets.analysis.scores.accuracies import TestedOn
from aflite_assets.analysis.scores.subsets import Part, Subset
from aflite_assets.analysis.tidy import TidyTable

Comparison = Literal["control", "transfer", "second phase", "ranking", "sample", "means"]


@dataclass(frozen=True, kw_only=True)
class Difference(Part):
    """Accuracy of one side minus that of the other, in points, with its 95 % interval and its verdict.

    `comparison`: "control" has filtered, or weighted, against its control and other rows of its size; "transfer" the
    same of evaluators fine-tuned on challenge sets; "second phase" evaluators that went on against what they started
    from or went on with; "ranking" filtered sets of two rankings; "sample" full against its sample; "means" the plain
    difference of two `accuracies`, without an interval. The first side is `evaluator` trained on `train_set` of
    `representation`, tested on the `tested_on` rows of a test set or the part that `column`, `category` and `label`
    name; the other is `against_evaluator` trained on `against` of `against_representation`, tested on the
    `against_tested_on` rows, each None if it is the same. `top`: as in `Place`. `seeds`, `seeds_against`: finished
    trainings. Without a result on either side all numbers are None. `groups` to `counts_training`: as in
    `CrossedInterval`; `side` to `simultaneous_low`: as in `Verdict`. `label_mean` with its bounds: on a challenge set
    the same difference as mean over gold labels. `beyond_natural` with its p-value: by how much a deciding difference
    exceeds that on natural rows (`natural_contrast`).
    """

    comparison: Comparison
    representation: str | None = None
    evaluator: str
    train_set: str
    tested_on: TestedOn
    against_representation: str | None = None
    against_evaluator: str | None = None
    against: str
    against_tested_on: TestedOn | None = None
    test_set: str
    column: str | None = None
    category: str | None = None
    label: str | None = None
    top: int = 1
    test_rows: int | None = None
    seeds: int | None = None
    seeds_against: int | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    degrees_of_freedom: float | None = None
    groups: int | None = None
    effective_groups: float | None = None
    counts_training: bool | None = None
    side: Side | None = None
    why: str | None = None
    family: Family | None = None
    adjusted_p: float | None = None
    simultaneous_low: float | None = None
    label_mean: float | None = None
    label_mean_low: float | None = None
    label_mean_high: float | None = None
    beyond_natural: float | None = None
    beyond_natural_p: float | None = None

    @property
    def deciding(self) -> bool:
        """Whether it is one of those that decide whether filtering helps."""
        return self.family == "deciding"

    @property
    def found(self) -> bool:
        """Whether a difference was found."""
        return self.side in ("above", "below")

    @property
    def pair(self) -> tuple[str, str]:
        """The two train sets."""
        return self.train_set, self.against


DIFFERENCES = TidyTable("differences", Difference)


def rows_of(test_set: TestSet, part: Subset | None = None) -> dict[str, Any]:
    """Return the columns that name a part of a test set, or the whole."""
    columns = {} if part is None else {"column": part.column, "category": part.category, "label": part.label}
    return {"test_set": test_set.name, "tested_on": "all" if test_set.challenge else "full", **columns}


def numbers_of(claim: Claim, *, show_label_means: bool = False) -> dict[str, Any]:
    """Return the columns that a claim fills, with or without the mean over gold labels."""
    numbers = {} if claim.interval is None else vars(claim.interval)
    columns = {name: value for name, value in numbers.items() if name != "trainings"}
    if show_label_means and (by_label := claim.label_mean) is not None:
        columns |= {"label_mean": by_label.difference, "label_mean_low": by_label.low, "label_mean_high": by_label.high}
    if claim.contrast is not None:
        columns |= {"beyond_natural": claim.contrast.difference, "beyond_natural_p": claim.contrast.p_value}
    return columns


def family_of(part: Subset, *, deciding: bool = False) -> Family:
    """Return what a difference on these rows is judged with."""
    if deciding:
        return "deciding"
    return "whole sets" if part.whole else "parts of sets"


def claim_on(
    first: Trainings, second: Trainings, test: TestSet, part: Subset, bar: Bar | None = None, *, deciding: bool = False
) -> Claim:
    """Compare the trainings of two sides on a part of a test set.

    There is no interval without a training of both sides and a row. Only challenge sets of rows have a mean over gold
    labels: natural sets are drawn as the train rows are, and questions have no labels. Gold labels with fewer than
    `FEWEST_ROWS` rows are left out of it, unless all have fewer.
    """
    rows, family, chosen = int(part.mask.sum()), family_of(part, deciding=deciding), part.mask
    if not first or not second or not rows:
        return Claim(None, rows, family, bar)
    here, there = ([right[chosen] for right in side] for side in (first, second))
    groups = None if test.groups is None else test.groups[chosen]
    weighed = test.challenge and test.unit == "row"
    by_label = label_mean_interval(here, there, test.labels[chosen], groups, fewest=FEWEST_ROWS) if weighed else None
    return Claim(crossed_interval(here, there, groups), rows, family, bar, by_label)


def judged(
    data: BenchmarkData, compared: Iterable[tuple[Difference, Claim]], *, show_label_means: bool = False
) -> tuple[Difference, ...]:
    """Return the differences with the numbers of their claims and their verdicts, which are given together."""
    pairs = list(compared)
    verdicts = judge([claim for _, claim in pairs], smallest_effect=data.smallest_effect)
    return tuple(
        replace(one, **numbers_of(claim, show_label_means=show_label_means), **vars(verdict))
        for (one, claim), verdict in zip(pairs, verdicts, strict=True)
    )
