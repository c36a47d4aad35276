"""Sentences on drops in accuracy from natural rows to challenge rows, on what was edited in challenge sets of edited
copies, and on paired sets that get the same predictions.
"""

from collections.abc import Sequence

from aflite_assets.analysis.comparisons.edited_copies import SetEdit
from aflite_assets.analysis.comparisons.falls import ChallengeFall
from aflite_assets.reports.tables.cells import bounds, edit_name
from aflite_assets.text import listed, percent, short, signed_points

MOST_NAMED, LONGEST = 2, 40
"""Largest number of names in a list, and largest number of characters in a name."""

MOST_EDITS = 3
"""Largest number of edits that a sentence names."""


def alike_text(falls: Sequence[ChallengeFall]) -> str:
    """Name the paired sets that an evaluator cannot distinguish, or return an empty string if there are none."""
    pairs = {(one.evaluator, *sorted((one.test_set, other))) for one in falls for other in one.alike}
    texts = [
        f"“{evaluator}” is right on the same rows of “{short(first, LONGEST)}” and “{short(second, LONGEST)}”"
        for evaluator, first, second in sorted(pairs)
    ]
    return f"{listed(texts, MOST_NAMED)}, so it cannot tell them apart" if texts else ""


def falls_text(falls: Sequence[ChallengeFall], edits: Sequence[SetEdit] = ()) -> str:
    """Describe the drops in accuracy of the evaluator with the largest drop on a challenge set.

    If the rows of a set are edited copies of natural rows, a sentence names what was edited. Return an empty string if
    there are no drops.
    """
    named = sorted((one for one in falls if one.named), key=lambda one: -one.fall)
    if not named:
        return ""
    first, parts = named[0], []
    mine = [one for one in named if one.evaluator == first.evaluator]
    for one in mine:
        points = f"{signed_points(-one.fall)} points, 95 % {bounds(-one.high, -one.low)}"
        parts.append(f"{percent(one.challenge)} % of “{short(one.test_set, LONGEST)}” ({points})")
    right = f"is right on {percent(first.natural)} % of “{short(first.natural_set, LONGEST)}”"
    natural = f"as means over the classes, “{first.evaluator}” {right}, but on {listed(parts, MOST_NAMED)}"
    copies = [one for one in mine if one.copies_of is not None]
    others = [f"“{short(one.test_set, LONGEST)}”" for one in mine if one.copies_of is None]
    where = f"on {listed(others, MOST_NAMED)}, " if copies else ""
    why = f": {where}another source, harder rows, other labels or a shortcut" if others else ""
    return ". ".join([f"{natural}{why}", *(copies_text(one, edits) for one in copies[:MOST_NAMED])])


def copies_text(one: ChallengeFall, edits: Sequence[SetEdit]) -> str:
    """Return a sentence, without a full stop, on a drop on a challenge set of edited copies: whether harder rows can
    explain it, and what was edited.
    """
    copied = (
        f"The rows of “{short(one.test_set, LONGEST)}” are copies of rows of “{short(one.copies_of or '', LONGEST)}”"
    )
    named = edits_text(edits, one.test_set)
    shown = f": {named}" if named else ""
    same = one.copies_of == one.natural_set and round(one.originals or 0.0, 3) == round(one.natural, 3)
    right = f"“{one.evaluator}” is right on {percent(one.originals or 0.0)} % of their originals"
    if one.edited:
        beside = "" if same else f", and {right}"
        so = "so harder rows cannot explain the fall; what was edited does"
        return f"{copied} with edits{beside}, {so}{shown}"
    return f"{copied} with edits, but {right}, so the edits are not shown to cause the fall{shown}"


def edits_text(edits: Sequence[SetEdit], test_set: str) -> str:
    """Name the most frequent edits of a challenge set with their shares of the pairs, or return "" without edits.

    An example is "the word “not” of “claim” (added in 62.0 % of the pairs)".
    """
    own = [one for one in edits if one.test_set == test_set][:MOST_EDITS]
    return listed([f"{edit_name(one)} ({_how(one)})" for one in own])


def _how(one: SetEdit) -> str:
    if not one.more and not one.less:
        return f"changed in {percent(one.differs)} % of the pairs"
    verbs = ("higher", "lower") if one.kind == "column" else ("added", "taken out")
    shares = zip(verbs, (one.more, one.less), strict=True)
    said = sorted(((share, f"{verb} in {percent(share)} %") for verb, share in shares if share), reverse=True)
    return f"{', '.join(text for _, text in said)} of the pairs"
