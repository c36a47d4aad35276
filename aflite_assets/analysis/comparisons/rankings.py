"""Two rankings of one representation compared: accuracy after training on what each of them kept."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.paired import interval_on, label_mean
from aflite_assets.analysis.inputs.records import BenchmarkData, RankingPair, TestSet
from aflite_assets.analysis.inputs.records import RankingOverlap as RankingOverlap  # also imported from here
from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules.verdicts import Bar, Claim, Family, Verdict, judge
from aflite_assets.analysis.scores.accuracy import Score, trained_right
from aflite_assets.analysis.scores.score_table import Place, score_table
from aflite_assets.analysis.scores.subsets import Subset, category_parts
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.analysis.train_sets import in_order, is_filtered_set

NOT_SHOWN = "no difference was shown"


@dataclass(frozen=True)
class RankingDifference:
    """Accuracy after training on what the first of two rankings kept, minus that after training on the second's.

    Both are of the same evaluator on the same test rows. `place` says of what, and is that of the first; `scores` has
    both accuracies. `train_set`, in `place`, is filtered, or filtered_<name> of both rankings. `interval`, in points,
    is None where a side has no finished training or no row is left.
    """

    pair: RankingPair
    place: Place
    scores: tuple[Score, Score]
    interval: CrossedInterval | None
    verdict: Verdict

    @property
    def test_rows(self) -> int:
        """Rows that both are tested on."""
        return self.scores[0].test_rows

    @property
    def seeds(self) -> tuple[int, int]:
        """Finished seeds of either side."""
        first, second = (0 if one.accuracy is None else one.accuracy.seeds for one in self.scores)
        return first, second

    @property
    def better(self) -> str | None:
        """The ranking on whose side the whole interval lies; None where it holds zero, or there is none."""
        if self.interval is None or self.interval.low <= 0 <= self.interval.high:
            return None
        return self.pair.rankings[0 if self.interval.difference > 0 else 1]

    @property
    def says(self) -> str:
        """Which ranking is better, in words, or that no difference was shown."""
        if self.interval is None:
            return "not run" if self.test_rows else "no rows"
        if self.better is None:
            return NOT_SHOWN
        if self.verdict.found:
            return f"{self.better} is better"
        return f"{self.better} was better here, no finding: {self.verdict.why}"


@cached_per_record
def ranking_differences(data: BenchmarkData) -> tuple[RankingDifference, ...]:
    """For every evaluator that was trained on a train set alone, at every size, on every test set and category.

    Verdicts are given over all of them together, whole sets and parts apart (`verdicts.judge`). None where no rankings
    are compared.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    found = [one for pair in data.rankings for one in _unjudged(data, pair)]
    verdicts = judge([claim for _, claim in found], smallest_effect=data.smallest_effect)
    return tuple(replace(one, verdict=verdict) for (one, _), verdict in zip(found, verdicts, strict=True))


def _unjudged(data: BenchmarkData, pair: RankingPair) -> Iterator[tuple[RankingDifference, Claim]]:
    names = (pair.representation, pair.against)
    cells = [cell for cell in data.cells if cell.representation in names and is_filtered_set(cell.train_set)]
    for evaluator in data.plain_evaluators:
        for train_set in in_order(cell.train_set for cell in cells if cell.evaluator == evaluator):
            for test_set in data.test_sets:
                yield from _compared(data, pair, evaluator, train_set, test_set)


def _compared(
    data: BenchmarkData, pair: RankingPair, evaluator: str, train_set: str, test_set: TestSet
) -> Iterator[tuple[RankingDifference, Claim]]:
    """On the whole test set, then on each of its categories."""
    names = (pair.representation, pair.against)
    first, second = (trained_right(data, evaluator, train_set, name, test_set) for name in names)
    everything = Subset(None, None, None, np.ones(len(test_set.row_ids), dtype=bool))
    for part in (everything, *category_parts(test_set)):
        places = [
            Place(
                name,
                evaluator,
                train_set,
                test_set.name,
                "all" if test_set.challenge else "full",
                part.column,
                part.category,
                part.label,
            )
            for name in names
        ]
        scores = (_score(data, places[0], len(part.mask)), _score(data, places[1], len(part.mask)))
        interval = interval_on(first, second, part.mask, test_set.groups)
        one = RankingDifference(pair, places[0], scores, interval, Verdict(None, "not judged"))
        bar: Bar | None = "took part in the filter" if test_set.pooled else None
        by_label = (
            label_mean(first, second, test_set, part.mask) if interval is not None and part.label is None else None
        )
        family: Family = "whole sets" if places[0].whole else "parts of sets"
        yield one, Claim(interval, int(part.mask.sum()), family, bar, label_mean=by_label)


def _score(data: BenchmarkData, place: Place, test_rows: int) -> Score:
    """Of a train set that one of the two rankings lacks there is none."""
    return score_table(data).get(place, Score("not run", None, None, test_rows, 0))


RANKING_OVERLAP = TidyTable("ranking_overlap", RankingOverlap)


def ranking_overlaps(data: BenchmarkData) -> tuple[RankingOverlap, ...]:
    """Return for every pair of rankings the overlap of the filtered sets, then of the earlier sizes that both had."""
    return tuple(one for pair in data.rankings for one in pair.overlaps)
