"""The verdict on one filtering as a record: what its sentences state, as plain values that JSON holds without loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.paired import label_mean
from aflite_assets.analysis.comparisons.verdict_evidence import dataset_verdict_on
from aflite_assets.analysis.inputs.cues import Cue, telling
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval
from aflite_assets.analysis.rules.dataset_verdict import Code, Comparison, DatasetVerdict, Shortfall
from aflite_assets.analysis.rules.enough import lacking
from aflite_assets.analysis.rules.verdicts import Claim, Side, judge
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import control, headline_split
from aflite_assets.analysis.scores.judges import judging

_GIVES_AWAY = 0.9
"""A candidate cue that stands with one class in so large a share of its rows may be a shortcut though it is a hint."""

_LEAST_MOVE = 0.05
"""A class whose share of the train rows changes by less is not named."""

_STRONGEST_FIRST: tuple[Code, ...] = (
    "shortcut_found_helps",
    "shortcut_found_harms",
    "shortcut_found",
    "learnable_no_shortcut_shown",
    "class_balance_only",
    "nothing_found",
    "cannot_tell",
)


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
    with the points of filtered. `random_as_good`: of the primary test set and `best`, those on which filtered is not
    shown to beat plain random rows, if the control is another train set.
    """

    side: Side | None
    best: tuple[str, float] | None
    worse: tuple[tuple[str, float], ...]
    random_as_good: tuple[str, ...]


@dataclass(frozen=True)
class FilteringVerdict:
    """The verdict on the dataset as filtered with one representation, and the numbers beside it.

    `moved_class`: the class whose share of the train rows changed most, with the shares before and after, in [0, 1];
    None if no share changed by 5 points. `giveaway`: of the candidate cues that are shown and no proof of a shortcut
    the most frequent one that stands with one class almost alone. `on_natural`: filtered against full on the natural
    test set of headlines; `on_primary`: filtered against its control, and `on_primary_full` against full, where the
    primary comparison is made. Each of them is None without a result, and `against_all_rows` is None without a primary
    comparison.
    """

    representation: str
    verdict: DatasetVerdict
    moved_class: tuple[str, float, float] | None
    giveaway: Cue | None
    on_natural: StatedDifference | None
    on_primary: StatedDifference | None
    on_primary_full: StatedDifference | None
    against_all_rows: AgainstAllRows | None


def filtering_verdicts(data: BenchmarkData) -> tuple[FilteringVerdict, ...]:
    """Return the verdict on every filtering, the one that says most first and the others in their order.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    found = [_filtering_verdict(data, one) for one in data.filtered]
    strongest = min(found, key=lambda one: _STRONGEST_FIRST.index(one.verdict.code), default=None)
    return tuple(sorted(found, key=lambda one: one is not strongest))


def _filtering_verdict(data: BenchmarkData, filtered: FilteredSet) -> FilteringVerdict:
    name = filtered.representation
    verdict = dataset_verdict_on(data, filtered)
    primary = verdict.evidence.primary
    evaluator = primary.evaluator if primary is not None else next(iter(judging(data).judges), None)
    natural = headline_split([one.name for one in data.test_sets if not one.challenge])
    here, plainly, whole = None, None, None
    if primary is not None:
        trained = _Trained(data, name, primary.evaluator)
        here = trained.stated(control(data, name), primary.test_set)
        plainly = trained.stated("full", primary.test_set)
        whole = _against_all_rows(trained, primary, verdict.evidence.comparisons)
    return FilteringVerdict(
        name,
        verdict,
        _moved_class(filtered, data.label_names),
        _giveaway(data.cues.get(name, ())),
        None if evaluator is None or natural is None else _Trained(data, name, evaluator).stated("full", natural),
        here,
        plainly,
        whole,
    )


def _moved_class(filtered: FilteredSet, label_names: Sequence[str]) -> tuple[str, float, float] | None:
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    labels, kept = train["label"].to_numpy(), train["kept"].to_numpy(zero_copy_only=False).astype(bool)
    if kept.all() or not kept.any():
        return None
    shares = [
        (float((labels == label).mean()), float((labels[kept] == label).mean())) for label in range(len(label_names))
    ]
    moves = [(after - before, label) for label, (before, after) in enumerate(shares)]
    move, label = max(moves, key=lambda pair: abs(pair[0]))
    return None if abs(move) < _LEAST_MOVE else (label_names[label], *shares[label])


def _giveaway(cues: Sequence[Cue]) -> Cue | None:
    pure = (
        cue
        for cue in telling(cues)
        if cue.shown and not cue.counts and cue.class_share is not None and cue.class_share >= _GIVES_AWAY
    )
    return max(pure, key=lambda cue: cue.rows, default=None)


@dataclass(frozen=True)
class _Trained:
    """One evaluator trained on the train sets of one filtering, compared on whole test sets."""

    data: BenchmarkData
    representation: str
    evaluator: str

    def sides(self, against: str, test_set: str) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray | None] | None:
        """Rows right after training on filtered and on `against`, with their groups; None without both or any row."""
        test = next((one for one in self.data.test_sets if one.name == test_set), None)
        if test is None or not len(test.row_ids):
            return None
        first, second = (
            trained_right(self.data, self.evaluator, name, self.representation, test) for name in ("filtered", against)
        )
        return (first, second, test.groups) if first and second else None

    def stated(self, against: str, test_set: str) -> StatedDifference | None:
        sides = self.sides(against, test_set)
        if sides is None:
            return None
        return StatedDifference(self.evaluator, against, test_set, crossed_interval(*sides), lacking(*sides))

    def judged(self, against: str, test_sets: Sequence[str]) -> dict[str, tuple[CrossedInterval, Side | None]]:
        """Compare with `against` on these sets, judged together; sets without a result are left out."""
        found: dict[str, tuple[CrossedInterval, Claim]] = {}
        for test in self.data.test_sets:
            sides = self.sides(against, test.name) if test.name in test_sets else None
            if sides is not None:
                interval, by_label = crossed_interval(*sides), label_mean(sides[0], sides[1], test)
                found[test.name] = interval, Claim(interval, len(test.row_ids), "whole sets", label_mean=by_label)
        verdicts = judge([claim for _, claim in found.values()], smallest_effect=self.data.smallest_effect)
        return {name: (found[name][0], verdict.side) for name, verdict in zip(found, verdicts, strict=True)}


def _against_all_rows(trained: _Trained, primary: Comparison, comparisons: Sequence[Comparison]) -> AgainstAllRows:
    won = [
        one.test_set
        for one in comparisons
        if one.challenge and one.evaluator == primary.evaluator and one.verdict.side == "above"
    ]
    others = [one.name for one in trained.data.test_sets if one.challenge and one.name != primary.test_set]
    _, side = trained.judged("full", (primary.test_set,)).get(primary.test_set, (None, None))
    above = [
        (gap.low, name, gap.difference) for name, (gap, on) in trained.judged("full", won).items() if on == "above"
    ]
    best = max(above)[1:] if above else None
    asked = dict.fromkeys((primary.test_set, *(best or ())[:1]))
    plain = asked if control(trained.data, trained.representation) != "random" else {}
    as_good = [name for name in plain for _, on in trained.judged("random", (name,)).values() if on != "above"]
    worse = [(name, gap.difference) for name, (gap, on) in trained.judged("full", others).items() if on == "below"]
    return AgainstAllRows(side, best, tuple(worse), tuple(as_good))
