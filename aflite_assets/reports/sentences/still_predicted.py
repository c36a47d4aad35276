"""Whether the train rows that filtering kept are still predicted, and why: what the folder's card says of them."""

from aflite_assets.analysis.filtering import StillPredicted
from aflite_assets.reports.sentences.wording import stop_text
from aflite_assets.text import count, percent


def still_predicted_sentence(still: StillPredicted) -> str:
    """How many kept train rows are still predicted, and what left them there.

    "59.8 % of kept rows are still predicted every time: target_size stopped the filter. ..."
    """
    if not still.rows:
        return "No train row was kept."
    unscored = _unscored_text(still)
    threshold = f"the threshold of {still.threshold:g}"
    if not still.over:
        return f"{'Every' if not unscored else 'Every other'} kept train row is under {threshold}.{unscored}"
    over = f"{percent(still.over / still.rows)} % of kept train rows ({count(still.over)} of {count(still.rows)})"
    if not still.every_time:
        return f"{over} are still predicted at or over {threshold}: {_why(still)}.{unscored}"
    every = f"{percent(still.every_time / still.rows)} % of kept rows are still predicted every time: {_why(still)}."
    return f"{every} {over} are at or over {threshold}.{unscored}"


def _unscored_text(still: StillPredicted) -> str:
    if not still.unscored:
        return ""
    return f" {count(still.unscored)} of {count(still.rows)} were never held out, so nothing is known of them."


def _why(still: StillPredicted) -> str:
    if still.stop_reason == "target_size":
        return "target_size stopped the filter"
    if still.stop_reason == "chance":
        return "the filter stopped because " + stop_text(still.stop_reason)
    if still.selection == "gumbel":
        return "with selection gumbel the threshold ends the filter and does not choose rows"
    if still.remove == "groups":
        return "whole groups leave, by the mean of their rows"
    return "the last pass, with classifiers of its own, found them among what was left"
