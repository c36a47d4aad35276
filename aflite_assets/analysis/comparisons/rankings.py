"""Two rankings of one representation compared: accuracy after training on what each kept, and how alike that is."""

from collections.abc import Iterator
from itertools import product

from aflite_assets.analysis.comparisons.differences import Difference, claim_on, rows_of
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.records import RankingOverlap as RankingOverlap  # also imported from here
from aflite_assets.analysis.rules.verdicts import Claim
from aflite_assets.analysis.scores.accuracy import Score, trained_right
from aflite_assets.analysis.scores.score_table import Place, score_table
from aflite_assets.analysis.scores.subsets import category_parts, whole_set
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.analysis.train_sets import in_order, is_filtered_set


def compared_rankings(data: BenchmarkData) -> Iterator[tuple[Difference, Claim]]:
    """Compare every evaluator that was trained on a train set alone, at every size, on every test set and category."""
    for pair, evaluator in product(data.rankings, data.plain_evaluators):
        names = (pair.representation, pair.against)
        mine = [cell for cell in data.cells if cell.representation in names and cell.evaluator == evaluator]
        train_sets = in_order(cell.train_set for cell in mine if is_filtered_set(cell.train_set))
        for train_set, test_set in product(train_sets, data.test_sets):
            first, second = (trained_right(data, evaluator, train_set, name, test_set) for name in names)
            for part in (whole_set(test_set), *category_parts(test_set)):
                place = Place(pair.representation, evaluator, train_set, **rows_of(test_set, part))
                claim = claim_on(first, second, test_set, part, "took part in the filter" if test_set.pooled else None)
                one = Difference(
                    comparison="ranking",
                    **place._asdict(),
                    against_representation=pair.against,
                    against=train_set,
                    test_rows=claim.test_rows,
                    seeds=_seeds(score_table(data).get(place)),
                    seeds_against=_seeds(score_table(data).get(place._replace(representation=pair.against))),
                )
                yield one, claim


def _seeds(score: Score | None) -> int:
    return 0 if score is None or score.accuracy is None else score.accuracy.seeds


RANKING_OVERLAP = TidyTable("ranking_overlap", RankingOverlap)


def ranking_overlaps(data: BenchmarkData) -> tuple[RankingOverlap, ...]:
    """Return for every pair of rankings the overlap of the filtered sets, then of the earlier sizes that both had."""
    return tuple(one for pair in data.rankings for one in pair.overlaps)
