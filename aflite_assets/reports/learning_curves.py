"""Sizes that learning curves chose, in sentences: warm-up rows for encoders, a sample of the train rows."""

from collections.abc import Iterator, Sequence

from aflite_assets.analysis.inputs.learning_curve import CurvePoint, SamplePoint, curve_flaw
from aflite_assets.specs.sample import StopRule
from aflite_assets.text import count, percent
from aflite_assets.wording import counted


def choice_text(points: Sequence[CurvePoint]) -> str:
    """One sentence: what was chosen and how many rows are spent in all."""
    chosen, held_back = next(point.rows for point in points if point.chosen), points[0].held_back_rows
    return (
        f"By their learning curves the encoders need a sample of {counted(chosen, 'row')}; with the {count(held_back)} "
        f"held-back rows that tell so, {counted(chosen + held_back, 'train row')} are spent on warm-up."
    )


def curve_cautions(points: Sequence[CurvePoint]) -> Iterator[str]:
    """What must be known before elbows are trusted; nothing about a curve that rises and flattens."""
    for name in dict.fromkeys(point.representation for point in points):
        curve = [point for point in points if point.representation == name]
        flaw = curve_flaw(curve)
        if flaw == "no better than guessing":
            yield (
                f"{name}: no sample taught its encoder more than the most frequent class gives "
                f"({percent(curve[0].most_frequent_class)} %), so the curve does not say how many rows it needs; train "
                "it longer, or set warmup.size to a number"
            )
        elif flaw == "still rises":
            yield (
                f"{name}: accuracy still rises at {count(curve[-1].rows)} rows, the largest sample; its "
                "encoder may learn more from more rows: set warmup.size to a number to spend them"
            )


def sample_text(points: Sequence[SamplePoint], stop: StopRule) -> str:
    """What was chosen, by which rule, how many rows told so, and what they cannot tell."""
    rule = {
        "flat": "no larger one that was tried is better by more than noise",
        "falls": "the next larger one is not better",
    }[stop]
    largest = "it is the largest that could be tried, and the accuracy still rises"
    chosen = _chosen(points)
    return (
        f"A sample of {counted(chosen.rows, 'train row')} is filtered: {largest if chosen is points[-1] else rule}. "
        f"That was asked of {counted(chosen.held_back_rows, 'held-back train row')}, which tell accuracies to about "
        f"±{_noise(chosen)} points. They are drawn like the train rows: where a shortcut gives labels away, "
        "fewer rows look enough than the task needs."
    )


def sample_cautions(points: Sequence[SamplePoint]) -> Iterator[str]:
    """What must be known before the sample is trusted; nothing where the curve rises and then stops."""
    flaw = curve_flaw(points)
    if flaw == "no better than guessing":
        yield (
            f"no sample taught the model more than the most frequent class gives "
            f"({percent(points[0].most_frequent_class)} %), so the curve does not say how many rows are enough; train "
            "sample.model longer, or raise sample.start"
        )
    elif flaw == "still rises":
        yield (
            f"accuracy still rises at {count(points[-1].rows)} rows, the largest sample, so a larger one may teach "
            "more; raise sample.most (the trainings so far are found again)"
        )
    elif flaw == "never rises":
        yield (
            f"no larger sample that was tried is better by more than noise than {count(points[0].rows)} rows, the "
            f"smallest: {counted(points[0].held_back_rows, 'held-back row')} tell accuracies to about "
            f"±{_noise(points[0])} points. Compare full with sampled in the report; lower sample.start to see "
            "the curve rise"
        )


def _chosen(points: Sequence[SamplePoint]) -> SamplePoint:
    return next(point for point in points if point.chosen)


def _noise(point: SamplePoint) -> str:
    """Half of the interval, in points."""
    return percent((point.interval_high - point.interval_low) / 2)
