"""Sentences on rows that are harder because of the value of an attribute, and not because a cue misleads."""

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.attributes import ATTRIBUTE_ACCURACIES, AttributeAccuracy, harder_everywhere
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, fallen_sets
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.rules.leaning import LEAST_NAMED
from aflite_assets.reports.tables.cells import bounds
from aflite_assets.text import listed, percent, short, signed_points
from aflite_assets.wording import counted

_LONGEST, _MOST_SETS, _MORE = 40, 2, 0.05


def harder_sentences(analysis: Analysis) -> list[str]:
    """Return a text on each attribute value with harder rows in the natural test set and in every challenge set.

    Attributes that models lean on are left out, because there a misleading cue can be the reason.
    """
    natural = analysis.facts.headline_set
    found = analysis.of(ATTRIBUTE_ACCURACIES)
    leant = {one.name for one in analysis.of(LEANINGS) if one.leans and one.kind == "attribute"}
    harder = harder_everywhere([one for one in found if one.attribute not in leant], natural)
    return [_text(analysis, records) for records in harder]


def attributes_line(analysis: Analysis) -> str:
    """Return the line of the section on attributes: the strongest sentence, or the number of attributes."""
    if said := harder_sentences(analysis):
        return said[0]
    found = analysis.of(ATTRIBUTE_ACCURACIES)
    names = {one.attribute for one in found}
    return f"{counted(len(names), 'attribute')}; rows of no value are shown to be harder everywhere."


def _text(analysis: Analysis, records: list[AttributeAccuracy]) -> str:
    first = records[0]
    value = f"{short(first.attribute, _LONGEST)} = “{short(first.value, _LONGEST)}”"
    where = "everywhere" if len(records) > 1 else f"on “{short(first.test_set, _LONGEST)}” too"
    gaps = [
        f"{signed_points(-(one.difference or 0.0))} points {_interval(one)} on “{short(one.test_set, _LONGEST)}”"
        for one in records
    ]
    said = (
        f"Rows with {value} are harder {where}. Compared with other rows of their classes, “{first.evaluator}” is "
        f"right on them less often, by {listed(gaps, _MOST_SETS)}."
    )
    return " ".join(filter(None, [said, _more_at_the_fall(analysis, first)]))


def _interval(one: AttributeAccuracy) -> str:
    return bounds(*(None if end is None else -end for end in (one.high, one.low)))


def _more_at_the_fall(analysis: Analysis, first: AttributeAccuracy) -> str:
    """Return a sentence on a challenge set that has more such rows and on which models fall, or "".

    The fall may come from harder rows as far as these rows are no harder in the challenge set than in the natural one.
    Sets whose fall only edits of natural rows can explain are left out.
    """
    falls = analysis.of(CHALLENGE_FALLS)
    edited = {one.test_set for one in falls if one.edited}
    fallen = [name for name in fallen_sets(falls) if name not in edited]
    own = {one.test_set: one for one in analysis.of(ATTRIBUTE_ACCURACIES) if one.place == first.place}
    for one in (own[name] for name in fallen if name in own):
        if one.accuracy is None or first.accuracy is None or _share(one) < _share(first) + _MORE:
            continue
        here, there = (f"“{short(name, _LONGEST)}”" for name in (first.test_set, one.test_set))
        is_alike = 100 * (first.accuracy - one.accuracy) < LEAST_NAMED
        so = (
            "so the fall there may come from harder rows"
            if is_alike
            else "so harder rows do not explain the whole fall"
        )
        shares = f"They are {percent(_share(one))} % of {there}, against {percent(_share(first))} % of {here}"
        right = f"“{first.evaluator}” is right on {percent(one.accuracy)} % of them there"
        return f"{shares}. {right}, and on {percent(first.accuracy)} % of them here, {so}."
    return ""


def _share(one: AttributeAccuracy) -> float:
    return one.test_rows / one.set_rows if one.set_rows else 0.0
