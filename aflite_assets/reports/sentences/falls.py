"""Sentences on drops in accuracy from natural rows to challenge rows, and on paired challenge sets that get the same
predictions.
"""

from collections.abc import Sequence

from aflite_assets.analysis.comparisons.falls import ChallengeFall
from aflite_assets.reports.tables.cells import bounds
from aflite_assets.text import listed, percent, short, signed_points

MOST_NAMED, LONGEST = 2, 40
"""Largest number of names in a list, and largest number of characters in a name."""


def alike_text(falls: Sequence[ChallengeFall]) -> str:
    """Name the paired challenge sets that an evaluator cannot distinguish, or return an empty string if there are
    none.
    """
    pairs = {(one.evaluator, *sorted((one.test_set, other))) for one in falls for other in one.alike}
    texts = [
        f"“{evaluator}” is right on the same rows of “{short(first, LONGEST)}” and “{short(second, LONGEST)}”"
        for evaluator, first, second in sorted(pairs)
    ]
    return f"{listed(texts, MOST_NAMED)}, so it cannot tell them apart" if texts else ""


def falls_text(falls: Sequence[ChallengeFall]) -> str:
    """Describe the drops in accuracy of the evaluator with the largest drop on a challenge set.

    Return an empty string if there are no drops.
    """
    named = sorted((one for one in falls if one.named), key=lambda one: -one.fall)
    if not named:
        return ""
    first, parts = named[0], []
    for one in (one for one in named if one.evaluator == first.evaluator):
        points = f"{signed_points(-one.fall)} points, 95 % {bounds(-one.high, -one.low)}"
        parts.append(f"{percent(one.challenge)} % of “{short(one.test_set, LONGEST)}” ({points})")
    right = f"is right on {percent(first.natural)} % of “{short(first.natural_set, LONGEST)}”"
    natural = f"as means over the classes, “{first.evaluator}” {right}"
    why = "another source, harder rows, other labels or a shortcut"
    return f"{natural}, but on {listed(parts, MOST_NAMED)}: {why}"
