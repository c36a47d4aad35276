"""Differences in accuracy between training runs, as stated in a report, and the choice of the runs that are compared.
Some of the comparisons decide whether filtering helps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from aflite_assets.analysis import intervals
from aflite_assets.analysis.comparisons.natural_contrast import natural_contrast
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import Trainings
from aflite_assets.analysis.rules.verdicts import FEWEST_ROWS, FEWEST_RUNS, Bar, Claim, Family, Side, judge
from aflite_assets.analysis.scores import subsets
from aflite_assets.analysis.scores.accuracy import TOP, finished_rows, trained_right
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.scores.score_tables import Place, TestedOn, points, score_table
from aflite_assets.analysis.scores.subsets import Part, Subset
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.analysis.train_sets import compared_pairs, control_of, in_order, is_filtered_set, unweighted
from aflite_assets.studies import functions

Comparison = Literal["control", "transfer", "second phase", "ranking", "sample", "means"]


@dataclass(frozen=True, kw_only=True)
class Difference(Part):
    """Difference in accuracy between two sides (first minus second), in points, with the 95 % interval and the verdict.

    docs/analysis.md describes the comparisons and columns. The columns of a `Place` describe the first side. `against`:
    the train set of the second side. A column `against_*` holds a value of the second side, or None if both sides have
    the same value. `seeds`, `seeds_against`: numbers of finished training runs of the first and of the second side. The
    difference and its interval are None if a side has no result. `CrossedInterval` explains the fields from `groups` to
    `counts_training`; `Verdict` explains the fields from `side` to `simultaneous_low`. `label_mean`: on a challenge
    set, the difference averaged over gold labels. `beyond_natural`: in a decisive comparison, the gain on the challenge
    set minus the gain on natural rows.
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
        """True if the difference is used to decide whether filtering helps."""
        return self.family == "deciding"

    @property
    def found(self) -> bool:
        """True if the verdict is that the two sides differ."""
        return self.side in ("above", "below")

    @property
    def pair(self) -> tuple[str, str]:
        """Names of the two compared train sets."""
        return self.train_set, self.against


DIFFERENCES = TidyTable("differences", Difference)


def rows_of(test_set: TestSet, part: Subset | None = None) -> dict[str, Any]:
    """Return the columns of a `Place` that select a part of a test set, or the whole test set if `part` is None."""
    columns = {} if part is None else {"column": part.column, "category": part.category, "label": part.label}
    return {"test_set": test_set.name, "tested_on": "all" if test_set.challenge else "full", **columns}


def family_of(part: Subset) -> Family:
    """Return the family of comparisons whose p-values are adjusted together: whole test sets, or parts of test sets.

    Decisive comparisons form a separate family.
    """
    return "whole sets" if part.whole else "parts of sets"


def claim_on(
    first: Trainings, second: Trainings, test: TestSet, part: Subset, bar: Bar | None = None, *, deciding: bool = False
) -> Claim:
    """Compare the training runs of two sides on a part of a test set.

    There is no interval if a side has no training run or if the part has no row. The difference averaged over gold
    labels is computed only for challenge sets of rows. Natural test sets need no mean over gold labels because they are
    drawn like the train rows. Questions have no gold labels. Labels with fewer than `FEWEST_ROWS` rows are left out of
    the mean.
    """
    rows, family, chosen = int(part.mask.sum()), "deciding" if deciding else family_of(part), part.mask
    if not first or not second or not rows:
        return Claim(None, rows, family, bar)
    here, there = ([right[chosen] for right in side] for side in (first, second))
    groups = None if test.groups is None else test.groups[chosen]
    by_label = None
    if test.challenge and test.unit == "row":
        by_label = intervals.label_mean_interval(here, there, test.labels[chosen], groups, fewest=FEWEST_ROWS)
    return Claim(intervals.crossed_interval(here, there, groups), rows, family, bar, by_label)


def judged(
    data: BenchmarkData, compared: Iterable[tuple[Difference, Claim]], *, show_label_means: bool = False
) -> tuple[Difference, ...]:
    """Add the interval and the verdict to each difference, and return the differences in the given order."""
    pairs, found = list(compared), []
    verdicts = judge([claim for _, claim in pairs], smallest_effect=data.smallest_effect)
    for (one, claim), verdict in zip(pairs, verdicts, strict=True):
        columns: dict[str, float] = {}
        if show_label_means and (mean := claim.label_mean) is not None:
            columns = {"label_mean": mean.difference, "label_mean_low": mean.low, "label_mean_high": mean.high}
        if claim.contrast is not None:
            columns |= {"beyond_natural": claim.contrast.difference, "beyond_natural_p": claim.contrast.p_value}
        found.append(record_of(Difference, one, claim.interval, verdict, **columns))
    return tuple(found)


Lack = Literal[
    "set not available", "no challenge set", "collected adversarially", "same make", "nothing learnt", "not trained"
]


def differences(data: BenchmarkData) -> Iterator[Difference]:
    """Yield every difference that a report states. `verdicts.judge` adjusts the p-values of all differences of one kind
    together.
    """
    yield from paired_differences(data)
    yield from _transfer(data)
    for compared in [*functions("analysis.differences"), _rankings]:
        yield from judged(data, compared(data))
    yield from _means(data)


@lru_cache(maxsize=1)
def deciding_lack(data: BenchmarkData) -> Lack | None:
    """Return the reason why no comparison can decide whether filtering helps, or None if at least one comparison can.

    A decisive comparison uses a whole challenge set that was not collected adversarially. The evaluator of a decisive
    comparison learnt something and belongs to another model family than the filter. The decisive comparisons are fixed
    before any model is trained on filtered rows.
    """
    challenges = [one for one in data.test_sets if one.challenge]
    if not challenges:
        return "set not available" if data.missing_sets else "no challenge set"
    if all(one.collected == "adversarially" for one in challenges):
        return "collected adversarially"
    if not data.plain_evaluators:
        return "not trained"
    judges = judging(data).judges
    if not judges:
        return "nothing learnt"
    return None if any(may_decide(data, name, one) for name in judges for one in data.representations) else "same make"


def may_decide(data: BenchmarkData, evaluator: str, representation: str) -> bool:
    """Return True if the evaluator learnt something and belongs to another model family than the filter."""
    found = judging(data)
    return evaluator in found.judges and representation not in found.made_of.get(evaluator, ())


@lru_cache(maxsize=1)
def paired_differences(data: BenchmarkData) -> tuple[Difference, ...]:
    """Compare `filtered` and the train sets of earlier iterations with their controls, for every evaluator and test
    set.

    Natural test sets are compared on all rows and on the filtered rows. Challenge sets are compared as a whole and for
    each of `compared_parts`. `filtered` and `random` are compared only on whole test sets and without a verdict,
    because their class shares differ. `weighted` is compared with the unweighted rows and with the control, on whole
    test sets and without a verdict. `verdicts.judge` adjusts the p-values of all representations together.
    """
    found = (one for name in data.representations for one in _paired(data, name))
    return judged(data, found, show_label_means=True)


def _paired(data: BenchmarkData, representation: str) -> Iterator[tuple[Difference, Claim]]:
    pairs = _pairs(data.train_sets_of(representation))
    for evaluator, (pair, barred), test_set in product(data.evaluators, pairs.items(), data.test_sets):
        first, second = (trained_right(data, evaluator, name, representation, test_set) for name in pair)
        train_set, against = pair
        other: dict[str, Any] = {"against": against, "seeds": len(first), "seeds_against": len(second)}
        whole = Place(representation, evaluator, train_set, **rows_of(test_set))
        is_control = barred is None
        is_judged = is_control and train_set == "filtered" and test_set.challenge
        decides = is_judged and may_decide(data, evaluator, representation) and evaluator in data.plain_evaluators
        for place, part in _tested(whole, test_set, by_part=is_control):
            one = Difference(comparison="control", **place._asdict(), test_rows=int(part.mask.sum()), **other)
            bars: dict[Bar, bool] = {
                "took part in the filter": test_set.pooled,
                "collected adversarially": test_set.collected == "adversarially",
                "few filter runs": 0 < len(set(data.filter_runs.values())) < FEWEST_RUNS,
                # the filter chose these test rows and the train rows, so a gain only shows that both are alike
                "chosen by the filter": place.tested_on == "filtered",
            }
            bar = barred or next((name for name, holds in bars.items() if holds), None)
            claim = claim_on(first, second, test_set, part, bar, deciding=decides and part.whole)
            if claim.family == "deciding" and claim.interval is not None:
                contrast = natural_contrast(data, place, against, test_set)
                claim = replace(claim, contrast=contrast, needs_contrast=test_set.collected is None)
            yield one, claim


def _pairs(names: Sequence[str]) -> dict[tuple[str, str], Bar | None]:
    """Map each compared pair of train sets to the reason why the pair gets no verdict. The reason is None if the second
    train set is the control of the first.
    """
    pairs: dict[tuple[str, str], Bar | None] = {
        (name, against): None if against == control_of(name, names) else "not the control"
        for name, against in compared_pairs(names)
        if against not in ("full", "sampled")
    }
    weights = [("weighted", against) for against in (unweighted(names), control_of("filtered", names))]
    return pairs | {pair: "about weights" for pair in weights if set(pair) <= set(names)}


def _tested(whole: Place, test_set: TestSet, *, by_part: bool) -> Iterator[tuple[Place, Subset]]:
    """Yield the test rows on which training runs are compared: first the whole test set, then each part."""
    for part in subsets.compared_parts(test_set) if by_part else [subsets.whole_set(test_set)]:
        yield whole._replace(**rows_of(test_set, part)), part
    if whole.representation in test_set.kept:
        yield whole._replace(tested_on="filtered"), Subset(None, None, None, test_set.kept[str(whole.representation)])


def _transfer(data: BenchmarkData) -> Iterator[Difference]:
    """Compare pairs of train sets on challenge sets, before and after evaluators are fine-tuned on the same challenge
    sets.
    """
    tests = {one.name: one for one in data.test_sets if one.challenge}
    tuned = [
        (name, one.start, tests[each]) for name, one in data.fine_tuned.items() for each in one.sets if each in tests
    ]
    compared = dict.fromkeys((evaluator, test_set) for *both, test_set in tuned for evaluator in both)
    for representation, (evaluator, test_set) in product(data.representations, compared):
        for pair in compared_pairs(data.train_sets_of(representation)):
            cells = (data.cells_of(evaluator, name, representation) for name in pair)
            first, second = (finished_rows(each, test_set) for each in cells)
            claim = claim_on(first, second, test_set, subsets.whole_set(test_set))
            place = Place(representation, evaluator, pair[0], test_set.name)
            other = {"against": pair[1], "test_rows": claim.test_rows}
            yield record_of(Difference, place, claim.interval, comparison="transfer", **other)


def _rankings(data: BenchmarkData) -> Iterator[tuple[Difference, Claim]]:
    """Compare two rankings for every evaluator, every train set size, every test set and every category."""
    for pair, evaluator in product(data.rankings.values(), data.plain_evaluators):
        names = (pair.representation, pair.against)
        mine = [cell for cell in data.cells if cell.representation in names and cell.evaluator == evaluator]
        train_sets = in_order(cell.train_set for cell in mine if is_filtered_set(cell.train_set))
        for train_set, test_set in product(train_sets, data.test_sets):
            first, second = (trained_right(data, evaluator, train_set, name, test_set) for name in names)
            cells = (data.cells_of(evaluator, train_set, name) for name in names)
            seeds = zip(("seeds", "seeds_against"), (len(finished_rows(each, test_set)) for each in cells), strict=True)
            other: dict[str, Any] = {"against_representation": pair.against, "against": train_set, **dict(seeds)}
            for part in (subsets.whole_set(test_set), *subsets.category_parts(test_set)):
                place = Place(pair.representation, evaluator, train_set, **rows_of(test_set, part))
                claim = claim_on(first, second, test_set, part, "took part in the filter" if test_set.pooled else None)
                yield Difference(comparison="ranking", **place._asdict(), test_rows=claim.test_rows, **other), claim


def _means(data: BenchmarkData) -> Iterator[Difference]:
    """Yield the difference of means for each compared pair of scores, if the table of scores has both means."""
    scores = score_table(data)
    for first, second in _compared_places(data):
        if first in scores and second in scores:
            yield Difference(
                comparison="means",
                **first._asdict(),
                against=second.train_set,
                against_tested_on=None if first.tested_on == second.tested_on else second.tested_on,
                test_rows=scores[first].test_rows,
                difference=points(scores[first], scores[second]),
            )


def _compared_places(data: BenchmarkData) -> Iterator[tuple[Place, Place]]:
    """Yield the pairs of scores whose means are compared without an interval.

    On natural sets, the first entry of a pair is tested on all rows. If the natural set was filtered, the second entry
    is tested on the filtered rows. Pairs on challenge sets come last.
    """
    for place in score_table(data):
        if place.tested_on == "filtered" and place.top == 1:
            yield place._replace(tested_on="full"), place
    for test_set, name in product([one for one in data.test_sets if not one.challenge], data.representations):
        tested_on: TestedOn = "filtered" if name in test_set.kept else "full"
        for evaluator, top in product(data.plain_evaluators, (1, TOP)):
            there = Place(name, evaluator, "filtered", test_set.name, tested_on, top=top)
            yield there._replace(train_set="full", tested_on="full"), there
    parts = [(one, part) for one in data.test_sets if one.challenge for part in subsets.zero_shot_subsets(one)]
    for name in data.representations:
        pairs = compared_pairs(data.train_sets_of(name))
        for evaluator, pair, (test_set, part) in product(data.plain_evaluators, pairs, parts):
            first, second = (Place(name, evaluator, each, **rows_of(test_set, part)) for each in pair)
            yield first, second
            if part.whole:
                yield first._replace(top=TOP), second._replace(top=TOP)
