"""Report of `aflite fix` as lines for a terminal and as JSON. Text of the dataset is escaped."""

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass

from aflite_assets.command_line.terminal import escaped, indented, table, truncate_escaped
from aflite_assets.fixing.comparison import ComparedCue, is_mended, left_artefacts
from aflite_assets.scan.columns import columns_of, listed_cues
from aflite_assets.scan.cues import Cue, ScanResult
from aflite_assets.scan.remedies import EFFECTS, Way, remedies_of
from aflite_assets.scan.sentences import percent, surface_sentence
from aflite_assets.wording import counted

MOST_SHOWN = 12
"""Cues that were not to be mended of which the table has a line; JSON has all."""

_MOST_NEW = 3
"""New cues that the sentence about them names; the table has more."""
_NAME, _LABEL = 50, 16
_NEXT_OF_QUESTIONS = "Next: scan the copy and mend what it names, or rewrite the answers yourself."


@dataclass(frozen=True, eq=False)
class Fixed:
    """The result of `aflite fix`: scans of the original and of the copy, sentences on the changes, and the written
    files.

    `notes`: sentences on the limits of the cleaned copy. `asked`: numbers of the cues that the user chose to remove.
    `by`: the remedy that the user chose, or None for the default. `is_weighted`: whether the copy has weights. For a
    copy with weights, `after` contains the cues of `before`, measured with the weights.
    """

    before: ScanResult
    after: ScanResult
    compared: Sequence[ComparedCue]
    phrases: Sequence[str]
    written: str
    notes: Sequence[str]
    asked: Set[int]
    by: Way | None = None
    is_weighted: bool = False


def chosen_lines(cues: Sequence[Cue]) -> list[str]:
    """Return a line for each chosen cue, which names the cue before anything is written.

    The same number can belong to another cue in a scan of another file, or with other options.
    """
    return [f"Taking cue {cue.number + 1}: {_called(cue)}, {percent(cue.balanced)}." for cue in cues]


def fixed_lines(fixed: Fixed) -> list[str]:
    """Return the report as lines for a terminal. The first line states whether the cues were removed."""
    lines = [escaped(sentence) for sentence in headline(fixed)]
    lines += ["", "Changed:", *(line for phrase in fixed.phrases for line in indented(escaped(phrase)))]
    after = "with weights" if fixed.is_weighted else counted(fixed.after.rows)
    lines += ["", f"Before ({counted(fixed.before.rows)} scanned) and after ({after}):"]
    lines += [*_table(fixed.compared), ""]
    for name, result in (("Before", fixed.before), ("After", fixed.after)):
        sentence = surface_sentence(result)
        lines += [f"{name}: {sentence[0].lower()}{sentence[1:]}"] if sentence else []
    lines += [escaped(note) for note in fixed.notes]
    return [*lines, escaped(f"Written: {fixed.written}.")]


def headline(fixed: Fixed) -> list[str]:
    """Return a text for each cue that the user chose, and sentences on cues that are left or new in the copy."""
    compared = fixed.compared
    chosen = [one for one in compared if one.is_chosen and one.before is not None]
    sentences = []
    for one in chosen:
        if one.before is not None and one.before.number in fixed.asked:
            said = _chosen_sentence(one, fixed.is_weighted)
            sentences.append(" ".join(filter(None, [said, _column_sentence(one.before, fixed)])))
    left = next((one for one in chosen if one.change != "gone"), None)
    if left is not None:
        sentences.append(_next_step(left, fixed) if fixed.before.blind is None else _NEXT_OF_QUESTIONS)
    return [*sentences, left_sentence(fixed), *_new_sentence(fixed)]


def _next_step(left: ComparedCue, fixed: Fixed) -> str:
    """Return sentences on the remedy that did not remove a cue, and on the next step, which is another one."""
    assert left.before is not None
    remedies = remedies_of(left.before)
    if fixed.is_weighted:
        return f"Tried: weights. Next: begin again from the original with --by {remedies[0]}."
    tried = remedies[0] if fixed.by is None or fixed.by == "weights" else fixed.by
    untried = [one for one in remedies if one != tried]
    start = f"Tried: --by {tried}, which {EFFECTS[tried]}."
    if tried != "rebalance":
        more = f", or begin again from the original with --by {untried[0]}" if untried else ""
        return f"{start} Next: scan the copy and mend what it names{more}."
    if untried:
        return f"{start} Next: begin again from the original with --by {untried[0]}, which {EFFECTS[untried[0]]}."
    if left.after is None or left.after.name == left.before.name:
        return f"{start} Next: collect rows of other classes that have the cue; the same choice would leave it again."
    return (
        f"{start} The cue was balanced at one limit, and “{left.after.name}” remains. Next: rebalance the copy by what "
        f"remains (aflite fix COPY --cue {left.after.number + 1} --to ANOTHER_FOLDER). If too few rows are left for "
        "that, collect rows of every class over the whole range."
    )


def left_sentence(fixed: Fixed) -> str:
    """Return a sentence on the cues that a scan of the copy still finds.

    The sentence does not mention cues that a stronger cue explains.
    """
    place = "with the weights" if fixed.is_weighted else "in the copy"
    artefacts = left_artefacts(fixed.after)
    candidates = [cue for cue in listed_cues(fixed.after) if not cue.is_artefact]
    new = {one.after.number for one in fixed.compared if one.change == "new" and one.after is not None}
    found = [_counted(cues, noun, new) for cues, noun in ((artefacts, "artefact"), (candidates, "candidate")) if cues]
    if fixed.after.is_spread and not artefacts:
        found.insert(0, "all artefacts together, none of which tells the label alone")
    if not found:
        return f"No cue is left {place}."
    do = "Mend the artefacts too." if artefacts else "Candidates are yours to judge." if candidates else ""
    return f"Left {place}: {'; '.join(found)}. {do}".rstrip()


def _new_sentence(fixed: Fixed) -> list[str]:
    """Return a sentence that names the new cues of the copy, the strongest first, or nothing if no cue is new."""
    new = [one.named for one in fixed.compared if one.change == "new"]
    if not new:
        return []
    named = [f"{_called(cue)} ({'artefact' if cue.is_artefact else 'candidate'})" for cue in new[:_MOST_NEW]]
    more = [f"and {len(new) - _MOST_NEW} more, listed below"] if len(new) > _MOST_NEW else []
    return [
        f"New after the fix, which may have exposed {'it' if len(new) == 1 else 'them'}: {', '.join(named + more)}."
    ]


def _counted(cues: Sequence[Cue], noun: str, new: Set[int]) -> str:
    count = sum(cue.number in new for cue in cues)
    which, strongest = "" if len(cues) == 1 else "the strongest ", cues[0]
    return (
        f"{counted(len(cues), noun)}{f' ({count} new)' if count else ''}, {which}{_called(strongest)}, "
        f"{percent(strongest.balanced)}"
    )


def _chosen_sentence(one: ComparedCue, is_weighted: bool) -> str:
    assert one.before is not None
    start = f"Cue {one.before.number + 1} is {one.change}: {_called(one.before)}"
    if one.after is None and is_weighted:
        return f"{start} told the label with {percent(one.before.balanced)}, and does not with the weights."
    if one.after is None:
        return f"{start} told the label with {percent(one.before.balanced)}, and a scan of the copy does not find it."
    return (
        f"{start} told the label with {percent(one.before.balanced)}, and in the copy with "
        f"{percent(one.after.balanced)} (“{one.after.name}”)."
    )


def _column_sentence(cue: Cue, fixed: Fixed) -> str:
    """Return a sentence on the cues that were not chosen, but share the column of a chosen cue.

    The result is "" if all cues of the column were chosen.
    """
    by_change: dict[str, list[int]] = {}
    for one in fixed.compared:
        own = one.before is not None and columns_of(one.before) == columns_of(cue)
        if own and one.is_chosen and one.named.number not in fixed.asked:
            state = "gone too" if one.change == "gone" else one.change
            by_change.setdefault(state, []).append(one.named.number + 1)
    told = [f"{_numbered(numbers)} {state}" for state, numbers in by_change.items()]
    named = " and ".join(f"“{name}”" for name in columns_of(cue))
    return f"All cues of {named} were mended together: {', '.join(told)}." if told else ""


def _numbered(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"cue {numbers[0]} is"
    return f"cues {', '.join(map(str, numbers[:-1]))} and {numbers[-1]} are"


def _called(cue: Cue) -> str:
    return f"“{cue.name}” for class “{cue.label}”"


def _table(compared: Sequence[ComparedCue]) -> list[str]:
    chosen = [one for one in compared if one.is_chosen]
    others = [one for one in compared if not one.is_chosen and (one.change == "new" or _is_by_itself(one))]
    head = ("", "property", "class", "before", "after", "")
    lines = table([head, *(_row(one) for one in [*chosen, *others[:MOST_SHOWN]])], numbers=(0,))
    more = [f"  and {len(others) - MOST_SHOWN} more, in --json"] if len(others) > MOST_SHOWN else []
    return [*lines, *more]


def _is_by_itself(one: ComparedCue) -> bool:
    return any(cue is not None and cue.explained_by is None for cue in (one.before, one.after))


def _row(one: ComparedCue) -> tuple[str, ...]:
    return (
        "new" if one.before is None else str(one.before.number + 1),
        truncate_escaped(one.named.name, _NAME),
        truncate_escaped(one.named.label, _LABEL),
        _accuracy(one.before),
        _accuracy(one.after),
        one.change if one.is_chosen or one.change == "new" else _change_beside(one),
    )


def _change_beside(one: ComparedCue) -> str:
    """Describe the change of a cue that was not chosen.

    A cue that was not chosen is never called "gone", because a scan of a smaller copy may miss a weak cue.
    """
    return "not found in these rows" if one.change == "gone" else f"{one.change} (not asked for)"


def _accuracy(cue: Cue | None) -> str:
    return "not found" if cue is None else f"{percent(cue.balanced)} [{100 * cue.low:.0f}, {100 * cue.high:.0f}]"


def fixed_json(fixed: Fixed) -> str:
    """Return the report as ASCII JSON, which is safe to print on a terminal."""
    content = {
        "mended": is_mended(fixed.compared, fixed.after),
        "headline": headline(fixed),
        "changes": list(fixed.phrases),
        "rows": {"before": fixed.before.rows, "after": fixed.after.rows},
        "is_weighted": fixed.is_weighted,
        "cues": [_record(one) for one in fixed.compared],
        "notes": list(fixed.notes),
        "written": fixed.written,
    }
    return json.dumps(content, indent=1, allow_nan=False)


def _record(one: ComparedCue) -> dict[str, object]:
    return {
        "cue": None if one.before is None else one.before.number,
        "name": one.named.name,
        "label": one.named.label,
        "is_chosen": one.is_chosen,
        "is_artefact": one.named.is_artefact,
        "change": one.change,
        "before": _numbers(one.before),
        "after": _numbers(one.after),
    }


def _numbers(cue: Cue | None) -> dict[str, object] | None:
    if cue is None:
        return None
    return {"name": cue.name, "rows": cue.rows, "balanced": cue.balanced, "low": cue.low, "high": cue.high}
