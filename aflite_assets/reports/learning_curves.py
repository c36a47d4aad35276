"""Sentences about the number of warm-up rows that was chosen from learning curves of encoders."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from aflite_assets.analysis.inputs.learning_curve import CurvePoint, Flaw, curve_flaw
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
