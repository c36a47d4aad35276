"""The comparison that every filtering of a dataset is judged by, or the reason why there is none."""

from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import control
from aflite_assets.analysis.scores.judges import beats_majority, judging

Lack = Literal["set not available", "took part in the filter", "nothing learnt", "not trained"]


@dataclass(frozen=True)
class PrimaryComparison:
    """The evaluator and the test set whose comparison with the control is judged by itself, for each representation.

    `chosen`: the two, or None if there is no such evaluator or set. `passed_over`: evaluators that come before the
    chosen one and have no result of filtered or of its control. `lack`: the reason why a representation has no primary
    comparison, if it has none.
    """

    chosen: tuple[str, str] | None
    passed_over: tuple[str, ...]
    lack: Lack


@cached_per_record
def primary_comparison(data: BenchmarkData) -> PrimaryComparison:
    """Choose the primary comparison of a dataset.

    The one given, else the first of `judges.Judging.judges`, on the first challenge set, or without one on the first
    split that did not enter the filter's pool, which shares the shortcuts of its data. Evaluators without a finished
    training of filtered and of its control come last. Before them come those that get no more of that set than its
    largest class, whatever they are trained on: what they have not learnt to do no train set makes better or worse.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    if data.primary is not None:
        gone = data.primary[1] in data.missing_sets
        return PrimaryComparison(data.primary, (), "set not available" if gone else "not trained")
    free = sorted((one for one in data.test_sets if not one.pooled), key=lambda one: not one.challenge)
    able = judging(data).judges if free else ()
    if not able:
        trained = data.test_sets and data.plain_evaluators
        lack: Lack = "nothing learnt" if free else "took part in the filter"
        return PrimaryComparison(None, (), lack if trained else "not trained")
    missing = {name: _without_result(data, name, free[0]) for name in able}
    best = [name for name in able if missing[name] == min(missing.values())]
    chosen = next((name for name in best if beats_majority(data, name, free[0])), best[0])
    passed_over = [name for name in able[: able.index(chosen)] if missing[name] > missing[chosen]]
    return PrimaryComparison((chosen, free[0].name), tuple(passed_over), "not trained")


def _without_result(data: BenchmarkData, evaluator: str, test_set: TestSet) -> int:
    """Count the representations whose filtered or control has no finished training."""
    pairs = [(name, ("filtered", control(data, name))) for name in data.representations]
    return sum(
        not all(trained_right(data, evaluator, train_set, name, test_set) for train_set in both) for name, both in pairs
    )
