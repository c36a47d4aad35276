"""Sentences about the sample: how its size was chosen, and what it costs."""

from collections.abc import Iterator, Sequence

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.inputs.learning_curve import Flaw
from aflite_assets.reports.sentences.comparisons import by_evaluator, of_kind
from aflite_assets.reports.sentences.wording import interval_points
from aflite_assets.studies.sample.analysis.curve import SamplePoint, sample_flaw
from aflite_assets.text import count, listed, one_line, percent
from aflite_assets.wording import counted


def sample_text(points: Sequence[SamplePoint], stop: str) -> str:
    """Return sentences on the chosen sample: the rule by which it was chosen, the number of rows, and the limits of the
    choice.
    """
    chosen = next(point for point in points if point.chosen)
    reason = "the next larger one is not better"
    if chosen is points[-1]:
        reason = "it is the largest that could be tried, and the accuracy still rises"
    elif stop == "flat":
        reason = "no larger one that was tried is better by more than noise"
    return (
        f"A sample of {counted(chosen.rows, 'train row')} is filtered: {reason}. This was measured on "
        f"{counted(chosen.held_back_rows, 'held-back train row')}, so accuracies are known to about "
        f"±{_noise(chosen)} points. These rows are drawn like the train rows, so if a shortcut gives labels away, "
        "the sample may be smaller than the task needs."
    )


def sample_cautions(points: Sequence[SamplePoint]) -> tuple[str, ...]:
    """Return cautions about the sample.

    The result is empty if the learning curve of the sample rises at first and is flat at the end.
    """
    first, flaw = points[0], sample_flaw(points)
    texts: dict[Flaw, str] = {
        "no better than guessing": "no sample gave the model a higher accuracy than predicting only the most "
        f"frequent class ({percent(first.most_frequent_class)} %), so the curve does not show how many rows "
        "are enough; train sample.model longer, or raise sample.start",
        "still rises": f"accuracy still rises at {count(points[-1].rows)} rows, the largest sample, so a larger one "
        "may teach more; raise sample.most (trainings made so far are reused)",
        "never rises": f"no larger sample is better by more than noise than {count(first.rows)} rows, the smallest "
        f"sample: with {counted(first.held_back_rows, 'held-back row')}, accuracies are known to about "
        f"±{_noise(first)} points. Compare full with sampled in the report; lower sample.start to see the "
        "curve rise",
    }
    return (texts[flaw],) if flaw else ()


def _noise(point: SamplePoint) -> str:
    return percent((point.interval_high - point.interval_low) / 2)


def sample_cost_sentences(analysis: Analysis) -> Iterator[str]:
    """Yield one sentence per evaluator on the cost of training on a sample of the train rows.

    The sentence names the test sets on which training on all train rows is better or worse than training on the sample.
    """
    for evaluator, costs in by_evaluator(of_kind(analysis, "sample")).items():
        found: dict[str, list[str]] = {"better": [], "worse": [], "not shown to differ": []}
        for one in costs:
            side = {"above": "better", "below": "worse"}.get(one.side or "", "not shown to differ")
            found[side].append(f"{one_line(one.test_set)} ({interval_points(one)} points)")
        said = "; ".join(f"{side} on {listed(sets)}" for side, sets in found.items() if sets)
        yield f"{one_line(evaluator)}, trained on all train rows instead of the sample, is {said}."


PART = sample_cost_sentences
