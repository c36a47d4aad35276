"""What becomes of one evaluator's accuracy from full to filtered, in scores and in a sentence."""

from collections.abc import Mapping
from dataclasses import replace

from aflite_assets.analysis.comparisons.falls import Change, FallStep
from aflite_assets.analysis.comparisons.headlines import Headline
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.text import listed, percent, signed_points

_CHANGES: Mapping[Change, str] = {
    "test rows": "as the filtered test rows alone are asked",
    "fewer train rows": "with fewer train rows",
    "class sizes": "with the class sizes of filtered",
    "which train rows": "with which train rows were kept",
}


def headline_sentence(headline: Headline) -> str:
    """The comparison in words, with what the fall is made of, or why there is none."""
    where, fall = f"{headline.evaluator} on {headline.test_set}", headline.fall
    missing = [name for name in ("full", "random", "filtered") if getattr(headline, name).accuracy is None]
    if fall.start is None or fall.end is None:
        return f"{where}: nothing to compare yet, because there is no result for {listed(missing)}."
    text = (
        f"{where}: trained and tested on full it is right on {percent(fall.start)} % of the {fall.unit}s; trained and "
        f"tested on filtered it {_changes(100 * (fall.start - fall.end))}, to {percent(fall.end)} %."
    )
    unknown = [step.after for step in fall.steps if step.fall is None]
    if unknown:
        return f"{text} Without a result for {unknown[0]} it is open what this is made of."
    return f"{text} Step by step, in points: {'. Then '.join(_step_text(step) for step in fall.steps)}."


def _step_text(step: FallStep) -> str:
    if step.fall is None:
        return "is unknown"
    after = f" ({step.after})" if step.what in ("fewer train rows", "class sizes") else ""
    change = replace(step.fall, difference=-step.fall.difference, low=-step.fall.high, high=-step.fall.low)
    return f"{signed_points(change.difference)} ({bounds_text(change)}) {_CHANGES[step.what]}{after}"


def _changes(drop: float) -> str:
    if round(drop, 1) == 0:
        return "does not change"
    return f"{'falls' if drop > 0 else 'rises'} by {signed_points(abs(drop))} points"
