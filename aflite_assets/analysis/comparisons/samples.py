"""What a small sample costs: models trained on all train rows against those trained on the sample."""

from dataclasses import dataclass

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.paired import label_mean
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval
from aflite_assets.analysis.rules.verdicts import Bar, Claim, Verdict, judge
from aflite_assets.analysis.scores.accuracy import trained_right


@dataclass(frozen=True)
class SampleCost:
    """Accuracy after training on full minus that after training on sampled, of one evaluator on a whole test set."""

    evaluator: str
    test_set: str
    interval: CrossedInterval
    verdict: Verdict


@cached_per_record
def sample_costs(data: BenchmarkData) -> tuple[SampleCost, ...]:
    """For every evaluator that was trained on both, on every whole test set; judged together (`verdicts.judge`).

    Raises:
        DataError: predictions do not fit their test sets.
    """
    if data.sample_curve is None:
        return ()
    found: list[tuple[str, str, CrossedInterval, Claim]] = []
    for evaluator in data.plain_evaluators:
        for test_set in data.test_sets:
            full, sampled = (
                trained_right(data, evaluator, name, data.representations[0], test_set) for name in ("full", "sampled")
            )
            if full and sampled and len(test_set.row_ids):
                interval = crossed_interval(full, sampled, test_set.groups)
                bar: Bar | None = "took part in the filter" if test_set.pooled else None
                by_label = label_mean(full, sampled, test_set)
                claim = Claim(interval, len(test_set.row_ids), "whole sets", bar, label_mean=by_label)
                found.append((evaluator, test_set.name, interval, claim))
    verdicts = judge([claim for *_, claim in found], smallest_effect=data.smallest_effect)
    return tuple(
        SampleCost(evaluator, test_set, interval, verdict)
        for (evaluator, test_set, interval, _), verdict in zip(found, verdicts, strict=True)
    )
