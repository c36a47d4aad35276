"""What a small sample costs, in sentences: models trained on all train rows against those trained on the sample."""

from aflite_assets.analysis.comparisons.samples import SampleCost, sample_costs
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.wording import interval_points
from aflite_assets.text import listed, one_line


def sample_cost_sentences(data: BenchmarkData) -> tuple[str, ...]:
    """One per evaluator: where all train rows are better than the sample, where worse, and where neither is shown."""
    costs = sample_costs(data)
    return tuple(
        _sentence(evaluator, [one for one in costs if one.evaluator == evaluator])
        for evaluator in dict.fromkeys(one.evaluator for one in costs)
    )


def _sentence(evaluator: str, costs: list[SampleCost]) -> str:
    said = [
        f"{words} on {listed([f'{one_line(one.test_set)} ({interval_points(one.interval)} points)' for one in each])}"
        for words, side in (("better", "above"), ("worse", "below"), ("not shown to differ", None))
        if (each := [one for one in costs if (one.verdict.side if one.verdict.found else None) == side])
    ]
    return f"{one_line(evaluator)}, trained on all train rows instead of the sample, is {'; '.join(said)}."
