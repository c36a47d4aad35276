"""Sentences about sizes that were chosen from learning curves: the number of warm-up rows for encoders, and the size of
the sample of train rows.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from aflite_assets.analysis.inputs.learning_curve import CurvePoint, Flaw, SamplePoint, curve_flaw
from aflite_assets.studies.sample.specs.settings import StopRule
from aflite_assets.text import count, percent
from aflite_assets.wording import counted


def choice_text(points: Sequence[CurvePoint]) -> str:
    """Return one sentence on the chosen warm-up size and the total number of warm-up rows."""
    chosen, held_back = next(point.rows for point in points if point.chosen), points[0].held_back_rows
    spent = counted(chosen + held_back, "train row")
    return (
        f"By their learning curves, the encoders need a sample of {counted(chosen)}. With the {count(held_back)} "
        f"held-back rows that the curves are measured on, {spent} are spent on warm-up."
    )


def curve_cautions(points: Sequence[CurvePoint]) -> Iterator[str]:
    """Yield one caution for each learning curve that does not rise at first, or is not flat at the end."""
    for name, each in groupby(points, attrgetter("representation")):
        curve = list(each)
        texts: dict[Flaw | None, str] = {
            "no better than guessing": "no sample gave its encoder a higher accuracy than predicting only the most "
            f"frequent class ({percent(curve[0].most_frequent_class)} %), so the curve does not show how "
            "many rows it needs; train it longer, or set warmup.size to a number",
            "still rises": f"accuracy still rises at {count(curve[-1].rows)} rows, the largest sample, so its "
            "encoder may learn more from more rows; to use more, set warmup.size to a number",
        }
        if text := texts.get(curve_flaw(curve)):
            yield f"{name}: {text}"


def sample_text(points: Sequence[SamplePoint], stop: StopRule) -> str:
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
    first, flaw = points[0], curve_flaw(points)
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
