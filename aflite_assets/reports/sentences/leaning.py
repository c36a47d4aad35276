"""Sentences on whether models rely on (lean on) a property, shared by all parts of a report.

There are four answers: models rely on the property, models are not shown to rely on the property, the question is
undecided, or the property was not tested.
"""

import re
from collections.abc import Iterable, Sequence

from aflite_assets.analysis.rules.leaning import FEWEST_CARRIERS, PropertyLeaning, WhyUntold
from aflite_assets.reports.tables.cells import property_name
from aflite_assets.scan.columns import columns_of
from aflite_assets.scan.cues import UNSEEN, Cue
from aflite_assets.text import count, listed, short, signed_points
from aflite_assets.wording import counted

LEANS = "Models lean on it."
NOT_SHOWN = "Models are not shown to lean on it."
NOT_TESTED = "It was not tested whether models lean on it"
_FEW_TESTED = "at most three properties are tested, and declared ones come first"
UNSEEN_BY_MODELS = "Models cannot see it in a single row."

_LONGEST = 40
"""Largest number of characters in a name."""

_NAMED_BY_SCAN = frozenset({"word", "topic word", "length"})
"""Kinds of properties for which `_scan_name` returns the name that the scan uses."""

_UNTOLD: dict[WhyUntold, str] = {
    "few rows without the tie": "too few train rows remain once its tie to the classes is removed. Add train rows that "
    "have it, of other classes",
    "not trained": "the trainings needed for it are missing. Run the missing cells",
    "no test set": "no test row has it. Add test rows that have it",
}


def untold_text(one: PropertyLeaning) -> str:
    """Return the reason why it is undecided whether models rely on a property, followed by advice.

    The returned text has no full stop at its end. Returns "" if it was decided whether models rely on the property.
    """
    if one.why is None:
        return ""
    if one.why != "few carriers":
        return _UNTOLD[one.why]
    carriers = "no test row of another class has it" if not one.carriers else f"only {_others(one.carriers)} it"
    return (
        f"{carriers}, and {FEWEST_CARRIERS} are needed. Add test rows, or a challenge set in which it goes with other "
        "classes"
    )


def _others(carriers: int) -> str:
    return f"{counted(carriers, 'test row')} of other classes {'has' if carriers == 1 else 'have'}"


def is_about(cue: Cue, one: PropertyLeaning) -> bool:
    """Return True if `one` is a test of the cue, of the attribute or column that the cue comes from, or of a synonym of
    the cue. Nearly the same rows have a cue and its synonyms.
    """
    return is_test_of(cue, one) or (
        one.kind in _NAMED_BY_SCAN and _scan_name(one) in {each.name for each in cue.same_properties}
    )


def is_test_of(cue: Cue, one: PropertyLeaning) -> bool:
    """Return True if `one` is a test of the cue, or of the attribute or column that the cue comes from. A test of a
    synonym of the cue does not count.
    """
    if one.kind in ("attribute", "column"):
        # A pair of properties also reads another column, which may be part of the task.
        return {each.source for each in cue.properties} == {one.name}
    if one.kind in _NAMED_BY_SCAN:
        return _scan_name(one) in {each.name for each in cue.properties}
    return cue.name == one.name


def _scan_name(one: PropertyLeaning) -> str:
    """Return the name that the scan uses for a word or for a length.

    The name of a length does not include the bounds, such as "13 or more".
    """
    if one.kind != "length":
        return f"the word '{one.word}' ({one.name})"
    apart = re.fullmatch(r"difference in (\w+), (.+) less (.+)", one.name)
    return f"{apart[1]} of {apart[2]} less those of {apart[3]}" if apart else one.name.removeprefix("number of ")


def cue_leaning(cue: Cue, leanings: Iterable[PropertyLeaning], *, of_answers: bool = False, advise: bool = True) -> str:
    """Return sentences on whether models rely on a cue of the scan.

    `of_answers`: whether the rows are answers to questions. `advise`: whether to say how a cue can be tested.
    """
    about = [one for one in leanings if is_about(cue, one)]
    if leaning := [one for one in about if one.leans]:
        if any(is_test_of(cue, one) for one in leaning):
            return LEANS
        return f"Models lean on “{_scan_name(leaning[0])}”, which nearly the same rows have."
    if tested := sorted({one.evaluator for one in about if one.leans is False}):
        return f"{NOT_SHOWN[:-1]}; only {listed([f'“{name}”' for name in tested])} was tested."
    if (why := next(filter(None, map(untold_text, about)), "")) or about:
        return f"It cannot be told whether models lean on it{f': {why}' if why else ''}."
    return untested_text(cue, of_answers=of_answers, advise=advise)


def untested_text(cue: Cue, *, of_answers: bool = False, advise: bool = True) -> str:
    """Return sentences on why it was not tested whether models rely on a cue, and on how to have it tested.

    `of_answers`: whether the rows are answers to questions. `advise`: whether to say how.
    """
    if of_answers:
        return f"{NOT_TESTED}, because the rows are answers to questions."
    if cue.kinds & UNSEEN:
        return UNSEEN_BY_MODELS
    if cue.reason == "declared":
        return f"{NOT_TESTED}, because at most three properties are tested."
    if "image" in cue.kinds:
        return f"{NOT_TESTED}, because the look of an image is usually its content."
    why = "a feature column is tested only if it is declared" if cue.kinds == {"column"} else _FEW_TESTED
    return f"{NOT_TESTED}, because {why}.{f' {_how_to_test(cue)}' if advise else ''}"


def _how_to_test(cue: Cue) -> str:
    if not (columns := columns_of(cue)):
        return "To have it tested, add an attribute that states which rows have the cue, and declare it irrelevant."
    named = ", ".join(short(name, _LONGEST) for name in columns)
    start = "To have it tested" if cue.is_artefact else "If it is no part of the task"
    return f"{start}, add `irrelevant: [{named}]` to the dataset's file and run again."


def leanings_line(tested: Sequence[PropertyLeaning]) -> str:
    """Return a line that counts the candidate properties by the result of the test.

    An example is "Of 3 candidates, models lean on 1 and are not shown to lean on 1; for 1 it cannot be told".
    """
    if not tested:
        return "It was not tested for any property whether models lean on it"
    leant, not_shown = (sum(one.leans is answer for one in tested) for answer in (True, False))
    said = []
    if leant or not_shown:
        verbs = [f"lean on {count(leant)}"] if leant else []
        verbs += [f"are not shown to lean on {count(not_shown)}"] if not_shown else []
        said.append(f"models {' and '.join(verbs)}")
    if untold := len(tested) - leant - not_shown:
        said.append(f"for {count(untold)} it cannot be told")
    return f"Of {counted(len(tested), 'candidate')}, {'; '.join(said)}"


def constructed_loss_text(one: PropertyLeaning) -> str:
    """Return a clause on the accuracy that a model loses on the constructed challenge set `one.fallen_on`.

    For example, the clause is "“svm” falls by 35.3 points on “clean”, where it is not tied to the class".
    """
    points, where = signed_points(one.fall or 0.0), f"on “{short(one.fallen_on or '', _LONGEST)}”"
    if one.fall_of == "contradicting rows":
        return (
            f"{where}, “{one.evaluator}” is right {points} points less often where it misleads than where it does not"
        )
    return f"“{one.evaluator}” falls by {points} points {where}, where it is not tied to the class"


def leaning_text(one: PropertyLeaning) -> str:
    """Return sentences on a property that models rely on, with the measured effect, but without the last full stop."""
    reasons = {"declared": ", declared irrelevant", "artefact": ", an artefact by nature", None: ""}
    text = f"models lean on {property_name(one)}{reasons[one.reason]}"
    if one.fallen_on is None and one.pull is not None and one.untied is not None:
        text += f": “{one.evaluator}” follows it to wrong classes {signed_points(one.pull)} points more often, and"
        text += f" {signed_points(one.untied)} after training on rows in which it goes with no class"
    if one.fallen_on is not None and one.fall is not None:
        return f"{text}: {constructed_loss_text(one)}"
    if one.broken_on is None or one.loss is None:
        return text
    return f"{text}. On “{short(one.broken_on, _LONGEST)}” it misleads, which costs {signed_points(one.loss)} points"


def judgement_text(one: PropertyLeaning) -> str:
    """Return a sentence on how the user can decide and declare whether a property belongs to the task."""
    if one.kind in ("attribute", "column"):
        how = f"if not, add `irrelevant: [{short(one.name, _LONGEST)}]` to the file"
    else:
        how = "a challenge set in which it is as frequent in every class would show what it costs"
    return f"You decide whether they should: {how}"


def mending(one: PropertyLeaning, name: str) -> str:
    """Return advice on fixing data in which models rely on an artefact, without a full stop at the end.

    `name`: the name of the property to write in the advice.
    """
    if one.kind == "column":
        return f"leave out {name}, which models should not see"
    if one.kind == "attribute":
        return (
            f"rebalance the rows, or collect others, so that {name} is as frequent in every class. Models do not read "
            "an attribute, so leaving it out changes nothing"
        )
    return f"take {name} out of the rows if you can, or collect rows in which it is as frequent in every class"
