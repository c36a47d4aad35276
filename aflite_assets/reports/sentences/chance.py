"""Cautions on comparisons with a model that is only at chance on a challenge set."""

from aflite_assets.analysis.comparisons.filtering_verdict import StatedDifference
from aflite_assets.analysis.scores.judges import Judging
from aflite_assets.text import percent, short

_LONGEST = 40
"""Largest number of characters in a name."""


def chance_text(judging: Judging, stated: StatedDifference) -> str:
    """Return a sentence on a comparison on a challenge set on which the model trained on all rows is only at chance.

    If the model is better than chance on natural rows, the fall to chance is the finding. Otherwise the comparison
    shows little. Return "" if the difference is significant, or if the model is better than chance on the set.
    """
    margins = {(one.evaluator, one.test_set): one for one in judging.challenge_margins}
    over = margins.get((stated.evaluator, stated.test_set))
    if over is None or not stated.interval.low <= 0 <= stated.interval.high:
        return ""
    right = f"{percent(over.accuracy)} %"
    if over.too_few:
        return (
            f" After training on all rows, its accuracy there is not distinguishable from {over.rival} "
            f"({right}; too few {over.too_few})."
        )
    if not over.at_chance:
        return ""
    natural = next((one for one in judging.margins if one.evaluator == stated.evaluator), None)
    if natural is None or not natural.beaten:
        return f" After training on all rows, it is at chance there ({right}), so this comparison shows little."
    able = f"right on {percent(natural.accuracy)} % of “{short(natural.test_set, _LONGEST)}”"
    mends = "filtering is not shown to mend that fall."
    return f" After training on all rows, it is at chance there ({right}), but {able}; {mends}"
