"""The verdict on one filtering, computed from the records of a report. The verdict is a record that can be stored as
JSON without loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.differences import Difference, claim_on, paired_differences
from aflite_assets.analysis.comparisons.leanings import best_skill, property_leanings
from aflite_assets.analysis.filtering import removed_by_class
from aflite_assets.analysis.inputs.cues import RemovedCue, telling
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet, TestSet
from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules import dataset_verdict as rules
from aflite_assets.analysis.rules.bias_excess import BiasExcess, bias_excess
from aflite_assets.analysis.rules.dataset_verdict import Comparison, DatasetVerdict
from aflite_assets.analysis.rules.verdicts import Shortfall, Side, Verdict, judge, lacking
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.scores.subsets import headline_set, whole_set
from aflite_assets.analysis.tidy import record_of
from aflite_assets.scan.cues import ALL_TOGETHER, UNSEEN, ScanFacts

_GIVES_AWAY = 0.9
"""A cue may be a shortcut if at least this share of its rows has the same class."""

_SEEN = 0.05
"""Difference in points below which the mean over rows and the mean over gold labels are printed as the same number."""

_LEAST_MOVE = 0.05
"""A class is named if its share of the train rows changes by at least this number."""


@dataclass(frozen=True)
class StatedDifference:
    """Gain in accuracy of an evaluator from training on `filtered` instead of `against`, on a whole test set.

    `lacking`: the quantity (rows, groups or seeds) that is too small for a decision, or None. `by_label` is True if the
    difference is a mean over gold labels and differs from the mean over rows.
    """

    evaluator: str
    against: str
    test_set: str
    interval: CrossedInterval
    lacking: Shortfall | None
    by_label: bool = False


@dataclass(frozen=True)
class AgainstAllRows:
    """Comparison of training on `filtered` with training on `full`, for the evaluator of the leading comparison
    (`VerdictEvidence.leading`).

    P-values are not adjusted across the fields of the record. `side`: the verdict on the test set of the leading
    comparison. `best`: among the challenge sets on which `filtered` beats both `full` and its control, the set with the
    highest lower bound of the gain over `full`. `worse`: challenge sets on which `full` is better, except the set of
    the leading comparison. `best` and `worse` hold the names of sets with the differences in points.
    `random_as_good`: the sets on which `filtered` is not shown to beat `random`. Only the set of the leading
    comparison and `best` are tested against `random`.
    """

    side: Side | None
    best: tuple[str, float] | None
    worse: tuple[tuple[str, float], ...]
    random_as_good: tuple[str, ...]


@dataclass(frozen=True)
class FilteringVerdict:
    """The verdict on the dataset that follows from one filtering, with the numbers that support the verdict.

    `moved_class`: the class whose share of the train rows changed most, with the shares before and after filtering, in
    [0, 1]. `moved_class` is None if no share changed by 5 points. `giveaway`: among the cues that occur almost only in
    rows of one class, the cue that occurs most often in the removed rows. `on_natural`: `filtered` compared with
    `full`, on the natural test set that the report's summary uses. `on_first`, `on_first_full`: `filtered` compared
    with its control and with `full`, on the challenge set of the first decisive comparison; None without a result.
    `against_all_rows` is None without a decisive comparison.
    """

    representation: str
    verdict: DatasetVerdict
    moved_class: tuple[str, float, float] | None
    giveaway: RemovedCue | None
    on_natural: StatedDifference | None
    on_first: StatedDifference | None
    on_first_full: StatedDifference | None
    against_all_rows: AgainstAllRows | None

    @property
    def better_than_all_rows(self) -> str:
        """Name of the challenge set on which `filtered` beats its control and `full`, or "" without such a set."""
        leading, whole = self.verdict.evidence.leading, self.against_all_rows
        if leading is None or whole is None:
            return ""
        if whole.side == "above" and leading.verdict.side == "above":
            return leading.test_set
        return "" if whole.best is None else whole.best[0]

    @property
    def prefers_all_rows(self) -> bool:
        """True if `full` beats `filtered` on the set of the leading comparison, and no set is better served by
        `filtered`.
        """
        whole = self.against_all_rows
        return whole is not None and whole.side == "below" and whole.best is None


def filtering_verdicts(data: BenchmarkData) -> tuple[FilteringVerdict, ...]:
    """Return one verdict per filtering: the most informative verdict first, then the remaining verdicts in the order of
    the filterings.
    """
    found = [_filtering_verdict(data, one) for one in data.filtered]
    strongest = min(found, key=lambda one: get_args(rules.Code).index(one.verdict.code), default=None)
    return tuple(sorted(found, key=lambda one: one is not strongest))


def _filtering_verdict(data: BenchmarkData, filtered: FilteredSet) -> FilteringVerdict:
    name, verdict = filtered.representation, dataset_verdict_on(data, filtered)
    comparisons = verdict.evidence.comparisons
    evaluator = comparisons[0].evaluator if comparisons else next(iter(judging(data).judges), "")
    test = next((one for one in data.test_sets if comparisons and one.name == comparisons[0].test_set), None)
    trained, leading = _Trained(data, name, evaluator), verdict.evidence.leading
    hints = (one for one in telling(data.cues.get(name, ())) if one.shown and (one.class_share or 0) >= _GIVES_AWAY)
    return FilteringVerdict(
        name,
        verdict,
        moved_class=_moved_class(filtered, data.label_names),
        giveaway=max(hints, key=lambda one: one.rows, default=None),
        on_natural=trained.stated("full", headline_set(data.test_sets)),
        on_first=trained.stated(data.control(name), test),
        on_first_full=trained.stated("full", test),
        against_all_rows=None if leading is None else _against_all_rows(data, name, leading, comparisons),
    )


def _moved_class(filtered: FilteredSet, label_names: Sequence[str]) -> tuple[str, float, float] | None:
    classes = removed_by_class(filtered, len(label_names))
    moves = [abs(one.share_after - one.share_before) for one in classes]
    if max(moves) < _LEAST_MOVE or all(one.removed == one.rows for one in classes):
        return None
    most = classes[moves.index(max(moves))]
    return label_names[most.label], most.share_before, most.share_after


@dataclass(frozen=True)
class _Trained:
    """One evaluator, trained on `filtered` and on other train sets of one filtering, and compared on whole test
    sets.
    """

    data: BenchmarkData
    representation: str
    evaluator: str

    def sides(self, against: str, test_set: TestSet) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the correct predictions (bool per row) of each training run on `filtered`, and of each run on
        `against`.
        """
        names, where = ("filtered", against), (self.representation, test_set)
        first, second = (trained_right(self.data, self.evaluator, name, *where) for name in names)
        return first, second

    def stated(self, against: str, test: TestSet | None) -> StatedDifference | None:
        """Compare `filtered` with the train set `against` on one test set.

        Return None if one of the train sets has no training run or if the test set has no rows.
        """
        if test is None or not len(test.row_ids) or not all(sides := self.sides(against, test)):
            return None
        claim, lacks = claim_on(*sides, test, whole_set(test)), lacking(*sides, test.groups)
        assert claim.interval is not None  # there are training runs and rows
        assert claim.estimate is not None
        by_label = abs(claim.estimate.difference - claim.interval.difference) >= _SEEN
        return StatedDifference(self.evaluator, against, test.name, claim.estimate, lacks, by_label)

    def judged(self, against: str, *test_sets: str) -> list[tuple[str, CrossedInterval, Side | None]]:
        """Compare `filtered` with the train set `against` on the named test sets, and adjust the p-values of all
        differences together.

        Test sets without a result are left out.
        """
        tests = [one for one in self.data.test_sets if one.name in test_sets]
        claims = [claim_on(*self.sides(against, test), test, whole_set(test)) for test in tests]
        verdicts = judge(claims, smallest_effect=self.data.smallest_effect)
        return [
            (test.name, claim.interval, verdict.side)
            for test, claim, verdict in zip(tests, claims, verdicts, strict=True)
            if claim.interval is not None
        ]


def _against_all_rows(
    data: BenchmarkData, representation: str, first: Comparison, comparisons: Sequence[Comparison]
) -> AgainstAllRows:
    trained = _Trained(data, representation, first.evaluator)
    mine = [one for one in comparisons if one.evaluator == first.evaluator]
    won = [one.test_set for one in mine if one.verdict.side == "above"]
    others = [one.name for one in data.test_sets if one.challenge and one.name != first.test_set]
    side = next((side for *_, side in trained.judged("full", first.test_set)), None)
    above = [(gap.low, name, gap.difference) for name, gap, on in trained.judged("full", *won) if on == "above"]
    best = max(above)[1:] if above else None
    worse = [(name, gap.difference) for name, gap, on in trained.judged("full", *others) if on == "below"]
    has_plain = data.control(representation) != "random"
    plain = dict.fromkeys((first.test_set, *(best or ())[:1])) if has_plain else {}
    as_good = [name for one in plain for name, _, on in trained.judged("random", one) if on != "above"]
    return AgainstAllRows(side, best, tuple(worse), tuple(as_good))


def dataset_verdict_on(data: BenchmarkData, filtered: FilteredSet) -> DatasetVerdict:
    """Return the verdict on the dataset for the filtering with one representation (`rules.dataset_verdict`).

    The decisive comparison that `report.primary` names comes first. The remaining decisive comparisons are ordered by
    significance, and those without a verdict come last.
    """
    deciding = [one for one in paired_differences(data) if one.deciding]
    mine = [one for one in deciding if one.representation == filtered.representation]
    surely = {one: 1.0 if one.adjusted_p is None else one.adjusted_p for one in mine}
    first = data.primary
    mine.sort(key=lambda o: ((o.evaluator, o.test_set) != first, not o.found, o.side is None, surely[o]))
    shown = tuple(_comparison(data, one) for one in mine), property_leanings(data), best_skill(data)
    return rules.dataset_verdict(rules.VerdictEvidence(starting_excess(filtered), *shown, artefacts_seen(data.scan)))


def artefacts_seen(scan: ScanFacts | None) -> tuple[str, ...]:
    """Return the names of artefacts that predict the label and are visible in a single row, the strongest first.

    If only all artefacts together predict the label, return `ALL_TOGETHER`. Artefacts that are explained by a stronger
    cue are left out.
    """
    if scan is None:
        return ()
    seen = [one for one in scan.artefacts if one.explained_by is None and not UNSEEN & one.kinds]
    return tuple(one.name for one in seen) or ((ALL_TOGETHER,) if scan.is_spread and not scan.artefacts else ())


def starting_excess(filtered: FilteredSet) -> BiasExcess | None:
    """Return the representation bias at the start of filtering minus the bias for shuffled labels.

    Return None if the bias, or the bias for shuffled labels, is missing.
    """
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
    probability = pool["label_probability"].to_numpy() if filtered.chance.class_probability is not None else None
    return bias_excess(scores, pool["label"].to_numpy(), filtered.chance, groups, label_probability=probability)


def _comparison(data: BenchmarkData, one: Difference) -> Comparison:
    test = next(each for each in data.test_sets if each.name == one.test_set)
    estimate: dict[str, Any] = {}
    if one.label_mean is not None:
        estimate = {"difference": one.label_mean, "low": one.label_mean_low, "high": one.label_mean_high}
    return record_of(
        Comparison,
        one,
        **estimate,
        verdict=record_of(Verdict, one),
        groups=one.effective_groups or 0.0,
        all_groups=one.groups,
        seeds=min(one.seeds or 0, one.seeds_against or 0),
        unit=test.unit,
        constructed=test.collected == "constructed",
    )
