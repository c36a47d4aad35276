"""The comparison that every filtering of a dataset is judged by, or the reason why there is none."""

from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.comparisons.paired import free_sets, passed_over, primary_comparison
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.judges import judging

Lack = Literal["set not available", "took part in the filter", "nothing learnt", "not trained"]


@dataclass(frozen=True)
class PrimaryComparison:
    """The evaluator and test set of the primary comparison, both None if there is none.

    `passed_over`: evaluators that come first and have no result of filtered or of its control. `lack`: why a filtering
    has no such comparison, if it has none.
    """

    evaluator: str | None
    test_set: str | None
    passed_over: tuple[str, ...]
    lack: Lack


def primary(data: BenchmarkData) -> PrimaryComparison:
    """Choose the primary comparison of a dataset (`paired.primary_comparison`).

    Raises:
        DataError: predictions do not fit their test sets.
    """
    evaluator, test_set = primary_comparison(data) or (None, None)
    return PrimaryComparison(evaluator, test_set, passed_over(data), _lack(data))


def _lack(data: BenchmarkData) -> Lack:
    if data.primary is not None and data.primary[1] in data.missing_sets:
        return "set not available"
    if data.primary is None and data.test_sets and data.plain_evaluators:
        if not free_sets(data):
            return "took part in the filter"
        if not judging(data).judges:
            return "nothing learnt"
    return "not trained"
