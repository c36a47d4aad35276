"""Sentences that describe the results of a scan. The text of the sentences is not escaped."""

from collections.abc import Sequence

from aflite_assets.diagnostics.properties.artefacts import CONVERSION
from aflite_assets.scan.blind.records import ALL_SUBSETS, LEAST_GAIN, OVERLAP, BlindRule, BlindScores
from aflite_assets.scan.columns import COLUMN_KINDS, CueLine, columns_of, cue_lines, listed_cues
from aflite_assets.scan.cues import Cue, ScanFacts
from aflite_assets.scan.rules import PAIR_GAIN
from aflite_assets.scan.statistics.reach import NOT_FOUND
from aflite_assets.wording import counted

_CHANCE = "in balanced accuracy, where chance is 50 %"
_MOST_OVERLAP = "the most words of the question"
_OF_ANSWERS = "in balanced accuracy of single answers, where chance is 50 %"


def headline(result: ScanFacts) -> str:
    """Return the result of the scan in one sentence. For answers to questions, sentences on rules that pick answers
    come first.
    """
    blind = "" if result.blind is None else blind_sentence(result.blind)
    if blind and not result.tests_classes:
        return blind
    return " ".join(filter(None, [blind, cue_headline(result)]))


def blind_sentence(scores: BlindScores) -> str:
    """Return two sentences: how many right answers are found without the question, and how many are found by overlap
    with the question.
    """
    return " ".join(filter(None, [_alone_sentence(scores), overlap_sentence(scores)]))


def overlap_sentence(scores: BlindScores) -> str:
    """Return sentences on how many right answers are found by overlap with the question, or "" if no rule on overlap is
    reported.
    """
    rule = scores.overlap
    if rule is None:
        return ""
    reading = ", for example if the right passage is to be found" if rule.name == _MOST_OVERLAP else ""
    return f"Overlap with the question: {_found_by(rule)}. It may belong to the task{reading}."


def _alone_sentence(scores: BlindScores) -> str:
    overall = scores.named_overall
    models, rules = ([one for one in overall if one.is_model == side] for side in (True, False))
    shown = sorted([*models[:2], *rules[:1]], key=lambda one: -one.found)
    chance, of = f"chance {percent(scores.chance)}", counted(scores.questions, "question")
    if shown:
        found = f"{percent(shown[0].found)} of the right answers are found ({chance}) by {_picker(shown[0])}"
        named = " and ".join(counted(len(some), noun) for some, noun in ((rules, "rule"), (models, "model")) if some)
        said = f"Without the question {', '.join([found, *map(_found_by, shown[1:])])}; {named} in all, {of}."
        return " ".join(filter(None, [said, _part_sentence(scores)]))
    none = (
        "Without the question no rule or model is shown to find 5 points more right answers than chance; "
        f"{chance}, {of}"
    )
    return " ".join(filter(None, [f"{none}.", _part_sentence(scores)]))


def _part_sentence(scores: BlindScores) -> str:
    """Return a sentence on the strongest rule, or else model, that is reported in a part of the questions.

    A rule that is reported for all questions counts only if it gains at least `LEAST_GAIN` more in the part. Return ""
    if there is no such rule.
    """
    overall = {one.name: one.found - one.chance for one in scores.named_overall}
    of_parts = [
        one
        for one in scores.named
        if one.subset != ALL_SUBSETS
        and (one.name not in overall or one.found - one.chance >= overall[one.name] + LEAST_GAIN)
    ]
    if not of_parts:
        return ""
    one = max(of_parts, key=lambda each: (not each.is_model, each.found - each.chance))
    others = len({each.subset for each in of_parts}) - 1
    more = f"; {counted(others, 'more part')} {'has' if others == 1 else 'have'} such a rule" if others else ""
    found = f"{percent(one.found)} are found (chance {percent(one.chance)})"
    return f"In the part “{one.subset}” {found} by {_picker(one)}{more}."


def _found_by(rule: BlindRule) -> str:
    return f"{percent(rule.found)} by {_picker(rule)}"


def _picker(rule: BlindRule) -> str:
    return rule.name if rule.is_model else f"picking {rule.name}"


def cue_headline(result: ScanFacts) -> str:
    """Return a sentence on the properties of rows that predict the label."""
    if not result.can_tell:
        grouped = result.units < result.rows
        of = f"{counted(result.rows)} in {counted(result.units, 'group')}" if grouped else counted(result.rows)
        units = "groups" if grouped else "rows"
        copies = " Near copies of a text are one group." if grouped else ""
        return (
            f"Cannot tell: of {of} no class has enough {units}, and enough {units} outside of it, to test a cue on "
            f"rows that it was not chosen on.{copies}"
        )
    tested = _tested(result)
    chance = _CHANCE if result.blind is None else _OF_ANSWERS
    artefacts, candidates = ([cue for cue in listed_cues(result) if cue.is_artefact is own] for own in (True, False))
    if of_answers := "" if result.blind is None else _answers_headline(result, result.blind, candidates):
        return of_answers
    if artefacts:
        more = f" and {_counted(candidates, 'candidate')}" if candidates else ""
        return f"Found {_counted(artefacts, 'artefact')}{more}; {chance}."
    if result.artefacts:
        return (
            f"Found {_counted(candidates, 'candidate')}, and artefacts that go with {_them(candidates)}: "
            f"{_described(result.artefacts[0])}; {chance}."
        )
    if result.is_spread and result.surface is not None:
        more = f" Found {_counted(candidates, 'candidate')}." if candidates else ""
        return (
            f"Artefacts tell the label together, but no single one does: {percent(result.surface.balanced)} balanced "
            f"accuracy, where chance is {percent(result.surface.chance)}.{more}"
        )
    if candidates:
        whose = "is" if len(candidates) == 1 else "are"
        return (
            f"Found {_counted(candidates, 'candidate', f' and {whose} yours to judge')}; {chance}. No artefact was "
            f"found among {tested}; {_can_be_there('one', result, result.reach_of_artefacts)}."
        )
    looked = f" Tested: {_kinds_text(result.kinds)}." if result.kinds else ""
    left = _can_be_there("a cue", result, result.reach)
    return f"Nothing found: none of {tested} tells a class by itself; {left}.{looked}"


def _tested(result: ScanFacts) -> str:
    of_answers = "" if result.blind is None else " of single answers"
    return f"the {result.properties:,} single properties{of_answers} that the scan knows"


def _can_be_there(noun: str, result: ScanFacts, reach: float) -> str:
    """Return a clause on cues that a scan without a finding does not exclude."""
    weak = f"one of less than {percent(reach)}" if reach < NOT_FOUND else "one of any strength"
    few = "with so few groups " if result.few_groups else ""
    return f"{noun} of another kind, or {few}{weak}, can still be there"


def _answers_headline(result: ScanFacts, blind: BlindScores, candidates: Sequence[Cue]) -> str:
    """Return a sentence for answers that counts overlap with the question separately. Return "" if the sentence for
    rows of any kind also fits the answers.
    """
    overlap = [cue for cue in candidates if OVERLAP in cue.kinds]
    alone = [cue for cue in candidates if OVERLAP not in cue.kinds]
    tested = _tested(result)
    if not overlap:
        if result.cues or result.is_spread or not (blind.named or blind.overlap):
            return ""
        return (
            f"None of {tested} tells the label by itself: what is found compares the answers to a question, or adds up "
            "many properties."
        )
    if result.artefacts and not result.own_artefacts:
        return ""
    sides = ((result.own_artefacts, "artefact"), (alone, "candidate"))
    found = [_counted(cues, noun) for cues, noun in sides if cues]
    compared = f"{counted(len(overlap), 'candidate')} of overlap with the question ({_described(overlap[0])})"
    if found:
        return f"Found {' and '.join(found)}, besides {compared}; {_OF_ANSWERS}."
    if result.is_spread:
        return ""
    left = _can_be_there("A cue", result, result.reach)
    return f"No artefact and no candidate found among {tested}, except {compared}; {_OF_ANSWERS}. {left}."


_KINDS = {
    "attribute": "columns",
    "blanks": "blanks",
    "column": "columns",
    CONVERSION: "converted units",
    "copies": "near copies",
    "date": "dates",
    "file format": "file formats",
    "habit": "habits of writing",
    "identifier": "ids",
    "image": "image content",
    "length": "lengths",
    "missing values": "missing values",
    "order": "the order of the file",
    "pair": "how the two texts compare",
    "position": "places among answers",
    "sentence order": "first and last sentences",
    "signs": "signs",
    "total": "totals of columns",
    "typography": "typography",
    "word group": "words",
    "words": "words",
}
"""Readable names of the kinds of properties, in the plural."""


def _kinds_text(kinds: Sequence[str]) -> str:
    named = list(dict.fromkeys(_KINDS.get(kind, kind) for kind in kinds))
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _them(cues: list[Cue]) -> str:
    return "it" if len(cues) == 1 else "them"


def _counted(cues: Sequence[Cue], noun: str, more: str = "") -> str:
    strongest = _named_first(cues)
    which = "the strongest: " if strongest is cues[0] else "the strongest single property: "
    verb, which = ("tells", "") if len(cues) == 1 else ("tell", which)
    return f"{counted(len(cues), noun)} that {verb} the label{more} ({which}{_described(strongest)})"


def _named_first(cues: Sequence[Cue]) -> Cue:
    """Return the cue that a headline names: the strongest cue, or a single property that is nearly as strong as a pair.

    A pair of properties is a cue only if it is 5 points better than each of its properties. A single property that is
    within these 5 points of the strongest cue is easier to check than a pair, so it is named first.
    """
    strongest = cues[0]  # cues are in the scan's order, the strongest first
    least = round(strongest.balanced - PAIR_GAIN / 2, 6)
    return next((cue for cue in cues if len(cue.properties) < 2 and round(cue.balanced, 6) >= least), strongest)


def _described(cue: Cue) -> str:
    return f"“{cue.name}” for class “{cue.label}”, {percent(cue.balanced)}"


def cue_sentence(cue: Cue, remark: str) -> str:
    """Return a sentence that explains a cue's numbers, followed by the cue's remark from `remarks`."""
    said = (
        f"{percent(cue.share_of_class)} of the rows of “{cue.label}” carry it, against {percent(cue.share_of_rest)} of "
        f"the others; {percent(cue.precision)} of its {counted(cue.rows)} are “{cue.label}”, against "
        f"{percent(cue.base_rate)} of all rows."
    )
    end = "" if remark.endswith((".", "?")) else "."
    return f"{said} {remark[0].upper()}{remark[1:]}{end}" if remark else said


def remarks(result: ScanFacts) -> dict[int, str]:
    """Return the remark on each cue, by cue number.

    A remark consists of `purity_sentence` and the question on the cue's column. The remark is "" if the cue has neither
    a purity sentence nor a question.
    """
    questions = column_questions(result)
    parts = {cue.number: (purity_sentence(cue), questions.get(cue.number, "")) for cue in result.cues}
    return {number: ". ".join(filter(None, both)) for number, both in parts.items()}


_KNOWN_COLUMNS = frozenset({"identifier", CONVERSION})
"""Kinds of artefacts whose values existed before the label."""


MOST_QUESTIONS = 4
"""Maximum number of lines with a question about columns; the last of them refers to all other columns."""


def column_questions(result: ScanFacts) -> dict[int, str]:
    """Return questions on columns: were the values known before the label? Each key is the number of the column's
    first cue.

    Candidates come first, then artefacts. Declared columns, identifiers and unit conversions have no question.
    """
    asked: set[str] = set()
    questions: dict[int, str] = {}
    for cue in sorted((line.lead for line in cue_lines(result)), key=lambda one: one.is_artefact):
        columns = [name for name in columns_of(cue) if name not in asked]
        if columns and _is_asked(cue):
            if len(questions) == MOST_QUESTIONS:
                last = [*questions][-1]
                return {**questions, last: f"{questions[last]} Ask the same about every other column in the list."}
            questions[cue.number] = _known_before(columns)
            asked.update(columns)
    return questions


def column_question(cue: Cue) -> str:
    """Return the question on the columns of one cue: were the values known before the label? Return "" without one."""
    columns = columns_of(cue)
    return _known_before(columns) if columns and _is_asked(cue) else ""


def _is_asked(cue: Cue) -> bool:
    return not (cue.is_artefact and (cue.reason == "declared" or cue.kinds & _KNOWN_COLUMNS))


def _known_before(columns: Sequence[str]) -> str:
    named = " and ".join(f"“{name}”" for name in columns)
    if len(columns) == 1:
        return f"Was {named} known before the label was? If not, drop the column."
    return f"Were {named} known before the label was? Drop each column that was not."


MOST_OTHERS = 4
"""Maximum number of a column's other cues named in one line."""


def column_sentence(line: CueLine) -> str:
    """Return a remark that names the other cues of the column, or "" if there are no other cues."""
    others = [_of_column(cue, line.lead) for cue in line.others[:MOST_OTHERS]]
    if (beside := line.beside) is not None:
        nature = "an artefact" if beside.is_artefact else "a candidate"
        others.append(f"{_of_column(beside, line.lead)}, {nature}")
    more = f"; and {len(line.others) - MOST_OTHERS} more" if len(line.others) > MOST_OTHERS else ""
    return f"also in this column: {'; '.join(others)}{more}" if others else ""


def _of_column(cue: Cue, lead: Cue) -> str:
    whose = "" if cue.label == lead.label else f" for class “{cue.label}”"
    pure = f"; {percent(cue.tested_precision)} of the tested carriers are of this class" if purity_sentence(cue) else ""
    return f"“{cue.name}”{whose} (cue {cue.number + 1}, {percent(cue.balanced)}{pure})"


PURE_COLUMN, PURE = 0.90, 0.95
"""Minimum share of a cue's tested rows that have its class, at which a remark is printed.

The minimum is lower for columns, because values of columns are often written after the label was known.
"""

_PURER = 4
"""Other classes must be this many times rarer among rows with the cue than among all rows."""


def purity_sentence(cue: Cue) -> str:
    """Return a remark if nearly all rows with a candidate cue have one class. Otherwise return "".

    The share of the class is measured on held-out rows. There is no remark if the share is high only because the class
    is large.
    """
    others, of_column = 1 - cue.tested_precision, cue.kinds <= COLUMN_KINDS
    if (
        cue.is_artefact
        or cue.tested_precision < (PURE_COLUMN if of_column else PURE)
        or others * _PURER > 1 - cue.base_rate
    ):
        return ""
    start = f"nearly every carrier is of one class ({percent(cue.tested_precision)} of the tested ones)"
    if of_column:
        return start
    if cue.kinds == {"words"}:
        return f"{start}: were labels made from this word?"
    return f"{start}: how did these rows come about?"


def surface_sentence(result: ScanFacts) -> str:
    """Return a sentence on how well all artefacts together predict the label, or "" if there is no artefact."""
    one = result.surface
    if one is None:
        return ""
    return (
        f"Surface alone, all artefacts in one linear model of all classes: {percent(one.balanced)} balanced accuracy "
        f"[{percent(one.low)}, {percent(one.high)}], chance {percent(one.chance)}."
    )


_UNIT = " balanced accuracy"
_NOTICEABLE = 0.02
"""Difference of two strengths from which on both are named."""


def reach_sentence(result: ScanFacts) -> str:
    """Return sentences on the weakest cues that a scan of these rows finds, or "" if no class was tested."""
    classes = result.tested_classes
    if not classes:
        return ""
    artefacts, candidates = (
        [one.reach_of_artefacts for one in classes],
        [one.detectable or NOT_FOUND for one in classes],
    )
    if max(abs(one - other) for one, other in zip(artefacts, candidates, strict=True)) < _NOTICEABLE:
        missed = f"a cue {_missed([one.reach for one in classes])}"
    else:
        artefact, candidate = _missed(artefacts), _missed(candidates)
        unit = _UNIT if _UNIT in candidate else ""
        missed = f"an artefact {artefact.replace(unit, '')} and a candidate {candidate}"
    groups = f" in {counted(result.units, 'group')}" if result.few_groups else ""
    few = " Rows of a group are alike, so with so few groups only stronger cues can be found." if groups else ""
    return (
        f"With {counted(result.rows)}{groups}, {missed} can be missed.{few} A cue that is not among the tested "
        "properties is not detected at all."
    )


def _missed(reaches: Sequence[float]) -> str:
    """Return a phrase on the strength of cues that can be missed; `reaches` has a number per class."""
    best, worst = min(reaches), max(reaches)
    if best >= NOT_FOUND:
        return "of any strength"
    if worst >= NOT_FOUND:
        return f"of less than {percent(best)}{_UNIT} (in some classes of any strength)"
    ends = percent(best) if percent(best) == percent(worst) else f"{100 * best:.0f} to {percent(worst)}"
    by_class = "" if percent(best) == percent(worst) else " (by class)"
    return f"of less than {ends}{_UNIT}{by_class}"


def elsewhere_sentences(cue: Cue) -> list[str]:
    """Return a sentence on the cue's strength in each set except the scanned set. Sets that are too small to measure
    the cue's strength are left out.
    """
    told = {
        "holds": "it holds on",
        "reversed": "it is reversed on",
        "gone": "it tells nothing on",
        "weaker": "it tells less on",
    }
    return [
        f"{told[one.state]} “{one.name}”: {percent(one.balanced)} [{percent(one.low or 0)}, {percent(one.high or 0)}]"
        for one in cue.elsewhere
        if one.state in told and one.balanced is not None
    ]


def percent(share: float) -> str:
    """Return a share in [0, 1] as a whole percentage."""
    return f"{100 * share:.0f} %"
