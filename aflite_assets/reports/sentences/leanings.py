"""Properties on which models lean, and falls on challenge sets, in sentences; the verdict's line is in `verdict`."""

from collections.abc import Sequence

from aflite_assets.analysis.comparisons.challenge_falls import ChallengeFall
from aflite_assets.analysis.rules.leaning import PropertyLeaning, WhyUntold
from aflite_assets.reports.tables.cells import bounds, property_name
from aflite_assets.text import listed, percent, short, signed_points

_LONGEST = 40
_MOST_NAMED = 2

_WHY: dict[WhyUntold, str] = {
    "few carriers": "too few test rows have a value that points to another class than their own",
    "few rows without the tie": "too few train rows are left if it goes with no class",
    "not trained": "the trainings that would tell it are missing",
    "no test set": "no test row has it",
}


def leaning_text(one: PropertyLeaning) -> str:
    """Say that models lean on a property, and how that was shown, in one sentence without the full stop."""
    reasons = {"declared": ", declared irrelevant", "artefact": ", an artefact by nature", None: ""}
    text = f"models lean on {property_name(one)}{reasons[one.reason]}"
    if one.fallen_on is None and one.pull is not None and one.untied is not None:
        text += f": “{one.evaluator}” follows it to wrong classes {signed_points(one.pull)} points more often, and"
        text += f" {signed_points(one.untied)} after training on rows in which it goes with no class"
    if one.fallen_on is not None and one.fall is not None:
        where = f"on “{short(one.fallen_on, _LONGEST)}”, in which it goes with no class or another one"
        return f"{text}: {where}, it costs “{one.evaluator}” {signed_points(one.fall)} points"
    if one.broken_on is None or one.loss is None:
        return text
    return f"{text}. On “{short(one.broken_on, _LONGEST)}” it misleads, which costs {signed_points(one.loss)} points"


def judgement_text(one: PropertyLeaning) -> str:
    """Say whose it is to say whether the property belongs to the task, and how to say so."""
    if one.kind in ("attribute", "column"):
        how = f"if not, add `irrelevant: [{short(one.name, _LONGEST)}]` to the file"
    else:
        how = "a challenge set in which it goes with no class would show its price"
    return f"Whether they should is yours to say: {how}"


def untold_text(leanings: Sequence[PropertyLeaning]) -> str:
    """Say of which candidates it cannot be told whether models lean on them; empty if of none."""
    untold = ((property_name(one), _WHY[one.why]) for one in leanings if one.why is not None)
    return ". ".join(f"Whether models lean on {name} cannot be told: {why}" for name, why in untold)


def alike_text(falls: Sequence[ChallengeFall]) -> str:
    """Name the paired challenge sets that an evaluator cannot tell apart; empty if there are none."""
    pairs = {(one.evaluator, *sorted((one.test_set, other))) for one in falls for other in one.alike}
    texts = [
        f"“{evaluator}” is right on the same rows of “{short(first, _LONGEST)}” and “{short(second, _LONGEST)}”"
        for evaluator, first, second in sorted(pairs)
    ]
    return f"{listed(texts, _MOST_NAMED)}, so it cannot tell them apart" if texts else ""


def falls_text(falls: Sequence[ChallengeFall]) -> str:
    """Name the falls of the evaluator that falls furthest on a challenge set; empty if no fall is to be named."""
    named = sorted((one for one in falls if one.named), key=lambda one: -one.fall)
    if not named:
        return ""
    first, parts = named[0], []
    for one in (one for one in named if one.evaluator == first.evaluator):
        points = f"{signed_points(-one.fall)} points, 95 % {bounds(-one.high, -one.low)}"
        parts.append(f"{percent(one.challenge)} % of “{short(one.test_set, _LONGEST)}” ({points})")
    natural = f"“{first.evaluator}” is right on {percent(first.natural)} % of “{short(first.natural_set, _LONGEST)}”"
    why = "another source, harder rows, other labels or a shortcut"
    return f"{natural}, but on {listed(parts, _MOST_NAMED)}: {why}"
