"""The verdict on one filtering as a record that JSON holds without loss, from the evidence in a report's records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.differences import Difference, claim_on
from aflite_assets.analysis.comparisons.paired import paired_differences
from aflite_assets.analysis.inputs.cues import Cue, telling
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet, TestSet
from aflite_assets.analysis.intervals import CrossedInterval, contrast_interval, crossed_interval, group_codes, holm
from aflite_assets.analysis.rules.bias_excess import BiasExcess, bias_excess
from aflite_assets.analysis.rules.dataset_verdict import (
    Code,
    Comparison,
    DatasetVerdict,
    VerdictEvidence,
    dataset_verdict,
)
from aflite_assets.analysis.rules.verdicts import Shortfall, Side, Verdict, judge, lacking
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import control, headline_set
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.scores.subsets import whole_set
from aflite_assets.analysis.tidy import record_of

_GIVES_AWAY = 0.9
"""A candidate cue that stands with one class in so large a share of its rows may be a shortcut though it is a hint."""

_LEAST_MOVE = 0.05
"""A class whose share of the train rows changes by less is not named."""


@dataclass(frozen=True)
class StatedDifference:
    """Accuracy trained on filtered minus that trained on `against`, of one evaluator on a whole test set.

    `lacking`: what there is too little of to state the difference, or None if there is enough.
    """

    evaluator: str
    against: str
    test_set: str
    interval: CrossedInterval
    lacking: Shortfall | None


@dataclass(frozen=True)
class AgainstAllRows:
    """The evaluator of the primary comparison, trained on filtered against full; each field is judged by itself.

    `side`: the verdict on the primary test set, or None if there is none. `best`: the challenge set on which filtered
    beats its control and most surely full, with its points. `worse`: the other challenge sets on which full is better,
    with the points of filtered. `random_as_good`: those of the primary test set and `best` on which filtered is not
    shown to beat plain random rows; empty if these are the control.
    """

    side: Side | None
    best: tuple[str, float] | None
    worse: tuple[tuple[str, float], ...]
    random_as_good: tuple[str, ...]


@dataclass(frozen=True)
class FilteringVerdict:
    """The verdict on the dataset as filtered with one representation, and the numbers beside it.

    `moved_class`: the class whose share of the train rows changed most, with the shares before and after, in [0, 1];
    None if none changed by 5 points. `giveaway`: the most frequent candidate cue that is shown, is no proof of a
    shortcut and stands with one class almost alone. `on_natural`: filtered against full on the natural test set of
    headlines. `on_primary`, `on_primary_full`: filtered against its control and against full on the primary test set.
    All three are None without a result; `against_all_rows` is None without a primary comparison.
    """

    representation: str
    verdict: DatasetVerdict
    moved_class: tuple[str, float, float] | None
    giveaway: Cue | None
    on_natural: StatedDifference | None
    on_primary: StatedDifference | None = None
    on_primary_full: StatedDifference | None = None
    against_all_rows: AgainstAllRows | None = None


def filtering_verdicts(data: BenchmarkData) -> tuple[FilteringVerdict, ...]:
    """Return the verdict on every filtering, the most informative one first and the others in their order."""
    found = [_filtering_verdict(data, one) for one in data.filtered]
    strongest = min(found, key=lambda one: get_args(Code).index(one.verdict.code), default=None)
    return tuple(sorted(found, key=lambda one: one is not strongest))


def _filtering_verdict(data: BenchmarkData, filtered: FilteredSet) -> FilteringVerdict:
    name, verdict = filtered.representation, dataset_verdict_on(data, filtered)
    primary = verdict.evidence.primary
    evaluator = primary.evaluator if primary is not None else next(iter(judging(data).judges), "")
    trained = _Trained(data, name, evaluator)
    moved, giveaway = _moved_class(filtered, data.label_names), _giveaway(data.cues.get(name, ()))
    found = FilteringVerdict(name, verdict, moved, giveaway, trained.stated("full", headline_set(data.test_sets)))
    if primary is None:
        return found
    test = next(one for one in data.test_sets if one.name == primary.test_set)
    stated = [trained.stated(against, test) for against in (control(data, name), "full")]
    against_all_rows = _against_all_rows(trained, primary, verdict.evidence.comparisons)
    return replace(found, on_primary=stated[0], on_primary_full=stated[1], against_all_rows=against_all_rows)


def _moved_class(filtered: FilteredSet, label_names: Sequence[str]) -> tuple[str, float, float] | None:
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    labels, kept = train["label"].to_numpy(), train["kept"].to_numpy(zero_copy_only=False).astype(bool)
    if kept.all() or not kept.any():
        return None
    before, after = (np.bincount(some, minlength=len(label_names)) / len(some) for some in (labels, labels[kept]))
    label = int(np.abs(after - before).argmax())
    moved = abs(after[label] - before[label]) >= _LEAST_MOVE
    return (label_names[label], float(before[label]), float(after[label])) if moved else None


def _giveaway(cues: Sequence[Cue]) -> Cue | None:
    hints = (one for one in telling(cues) if one.shown and not one.counts and (one.class_share or 0) >= _GIVES_AWAY)
    return max(hints, key=lambda one: one.rows, default=None)


@dataclass(frozen=True)
class _Trained:
    """One evaluator, trained on filtered and on other train sets of one filtering, compared on whole test sets."""

    data: BenchmarkData
    representation: str
    evaluator: str

    def sides(self, against: str, test_set: TestSet) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return which rows each training on filtered, and each on `against`, got right."""
        right = partial(trained_right, self.data, self.evaluator, representation=self.representation, test_set=test_set)
        return right(train_set="filtered"), right(train_set=against)

    def stated(self, against: str, test: TestSet | None) -> StatedDifference | None:
        """Compare on one test set; None without a training of both, or a row."""
        if test is None or not len(test.row_ids) or not all(sides := self.sides(against, test)):
            return None
        interval, lacks = crossed_interval(*sides, test.groups), lacking(*sides, test.groups)
        return StatedDifference(self.evaluator, against, test.name, interval, lacks)

    def judged(self, against: str, *test_sets: str) -> list[tuple[str, CrossedInterval, Side | None]]:
        """Compare on these test sets, judged together; those without a result are left out."""
        tests = [one for one in self.data.test_sets if one.name in test_sets]
        claims = [claim_on(*self.sides(against, test), test, whole_set(test)) for test in tests]
        verdicts = judge(claims, smallest_effect=self.data.smallest_effect)
        return [
            (test.name, claim.interval, verdict.side)
            for test, claim, verdict in zip(tests, claims, verdicts, strict=True)
            if claim.interval is not None
        ]


def _against_all_rows(trained: _Trained, primary: Comparison, comparisons: Sequence[Comparison]) -> AgainstAllRows:
    mine = [one for one in comparisons if one.challenge and one.evaluator == primary.evaluator]
    won = [one.test_set for one in mine if one.verdict.side == "above"]
    others = [one.name for one in trained.data.test_sets if one.challenge and one.name != primary.test_set]
    side = next((side for *_, side in trained.judged("full", primary.test_set)), None)
    above = [(gap.low, name, gap.difference) for name, gap, on in trained.judged("full", *won) if on == "above"]
    best = max(above)[1:] if above else None
    worse = [(name, gap.difference) for name, gap, on in trained.judged("full", *others) if on == "below"]
    has_plain = control(trained.data, trained.representation) != "random"
    plain = dict.fromkeys((primary.test_set, *(best or ())[:1])) if has_plain else {}
    as_good = [name for one in plain for name, _, on in trained.judged("random", one) if on != "above"]
    return AgainstAllRows(side, best, tuple(worse), tuple(as_good))


def dataset_verdict_on(data: BenchmarkData, filtered: FilteredSet) -> DatasetVerdict:
    """Return the verdict on the dataset as filtered once (`rules.dataset_verdict`)."""
    comparisons = _comparisons(data, filtered.representation)
    primary = next((one for one in comparisons if one.verdict.family == "primary"), None)
    cues = tuple(cue for cue in data.cues.get(filtered.representation, ()) if cue.counts and cue.shown)
    return dataset_verdict(VerdictEvidence(starting_excess(filtered), cues, comparisons, primary))


def starting_excess(filtered: FilteredSet) -> BiasExcess | None:
    """Return how far the pool's first bias is over that of shuffled labels; None in results of earlier versions."""
    if filtered.chance is None or filtered.first_scores is None:
        return None
    pool = filtered.rows.filter(pa.array(filtered.pool))
    places = pc.index_in(pool["row_id"], value_set=filtered.first_scores["row_id"].combine_chunks())
    scored = pc.is_valid(places)
    pool = pool.filter(scored)
    if not pool.num_rows:
        return None
    scores = filtered.first_scores["predictability"].take(places.filter(scored)).to_numpy()
    groups = pool["group"].to_numpy() if "group" in pool.column_names else None
    return bias_excess(scores, pool["label"].to_numpy(), filtered.chance, groups)


def _comparisons(data: BenchmarkData, representation: str) -> tuple[Comparison, ...]:
    """Compare filtered with its control on the whole sets outside the pool, for models trained on a train set alone."""
    sides, able = (representation, "filtered", control(data, representation)), judging(data).judges
    tests = {one.name: one for one in data.test_sets if not one.pooled}
    found = [
        one
        for one in paired_differences(data)
        if (one.representation, *one.pair) == sides
        and one.whole
        and one.tested_on != "filtered"
        and one.evaluator in data.plain_evaluators
        and one.test_set in tests
    ]
    asked = [one for one in found if one.tested_on == "all" and one.evaluator in able]
    contrasts = {one: gap for one in asked if (gap := _beyond_natural(data, one, tests[one.test_set])) is not None}
    adjusted = dict(zip(contrasts, holm([gap.p_value for gap in contrasts.values()]), strict=True))
    return tuple(
        record_of(
            Comparison,
            one,
            challenge=one.tested_on == "all",
            verdict=record_of(Verdict, one),
            groups=one.effective_groups or 0.0,
            seeds=min(one.seeds or 0, one.seeds_against or 0),
            beyond_natural=(contrasts[one].difference, adjusted[one]) if one in contrasts else None,
            unit=tests[one.test_set].unit,
            label_mean=_label_mean(one),
            may_judge=one.evaluator in able,
        )
        for one in found
    )


def _label_mean(one: Difference) -> tuple[float, float, float] | None:
    if one.label_mean is None or one.label_mean_low is None or one.label_mean_high is None:
        return None
    return one.label_mean, one.label_mean_low, one.label_mean_high


def _beyond_natural(data: BenchmarkData, one: Difference, here: TestSet) -> CrossedInterval | None:
    """Contrast the gain of filtered over its control on a challenge set with that on the dataset's own test rows.

    Those are rows outside the pool if there are any, because a challenge set is outside it too.
    """
    there = headline_set(test for test in data.test_sets if not test.pooled) or headline_set(data.test_sets)
    if there is None:
        return None
    first, second = (
        [trained_right(data, one.evaluator, train_set, str(one.representation), test) for test in (here, there)]
        for train_set in one.pair
    )
    complete = all(right[0] and len(right[0]) == len(right[1]) for right in (first, second))
    if not complete or min(len(np.unique(group_codes(one.groups, len(one.row_ids)))) for one in (here, there)) < 2:
        return None
    return contrast_interval(first, second, (here.groups, there.groups))
