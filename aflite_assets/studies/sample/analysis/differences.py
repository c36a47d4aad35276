"""Differences between models trained on all train rows and on the sample."""

from collections.abc import Iterator
from itertools import product

from aflite_assets.analysis.comparisons.differences import Difference, claim_on, rows_of
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rules.verdicts import Bar, Claim
from aflite_assets.analysis.scores import subsets
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.score_tables import Place


def sample_costs(data: BenchmarkData) -> Iterator[tuple[Difference, Claim]]:
    """Compare `full` with `sampled` on whole test sets, for every evaluator that was trained on `full` and on
    `sampled`.
    """
    if data.studies.get("train_sample") is None:
        return
    names, representation = ("full", "sampled"), data.representations[0]
    for evaluator, test_set in product(data.plain_evaluators, data.test_sets):
        full, sampled = (trained_right(data, evaluator, name, representation, test_set) for name in names)
        bar: Bar | None = "took part in the filter" if test_set.pooled else None
        claim = claim_on(full, sampled, test_set, subsets.whole_set(test_set), bar)
        if claim.interval is not None:
            place = Place(representation, evaluator, "full", **rows_of(test_set))._asdict()
            yield Difference(comparison="sample", **place, against="sampled"), claim


PART = sample_costs
