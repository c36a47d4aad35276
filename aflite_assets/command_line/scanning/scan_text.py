"""A scan's result as lines for a terminal and as JSON. Text of the dataset is escaped."""

import json
from collections.abc import Mapping, Sequence

from aflite_assets.command_line.scanning.blind_text import blind_lines, blind_record
from aflite_assets.command_line.scanning.example_rows import carrier_rows
from aflite_assets.command_line.terminal import escaped, indented, table, truncate_escaped
from aflite_assets.scan.cues import Cue, ScanResult, surface_cues
from aflite_assets.scan.cut_off import cut_off_advice
from aflite_assets.scan.remedies import advice, advised, remedies_in
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.sentences import (
    elsewhere_sentences,
    headline,
    percent,
    purity_sentence,
    reach_sentence,
    surface_sentence,
)
from aflite_assets.text import one_line
from aflite_assets.wording import counted, truncate

MOST_SHOWN = 12
"""Cues of one kind that are printed; JSON and the page have all."""

MOST_EXAMPLES = 2
"""Texts that are shown of a cue."""

_NAME, _LABEL, _EXAMPLE = 54, 16, 120


def result_lines(
    result: ScanResult,
    understood: Sequence[str],
    *,
    fix: str,
    scan: str = "aflite scan FILE",
    rows: ScanRows | None = None,
) -> list[str]:
    """Return the lines of a result; the first line states the finding.

    `fix`: the start of the command that fixes a cue, shown below each artefact. `scan`: the command of this scan.
    `rows`: the scanned rows, for examples.
    """
    lines = [escaped(headline(result)), ""]
    lines += [escaped(line) for line in understood]
    lines.append(f"{_classes(result)} in {counted(result.rows)}; {result.properties:,} properties tested.")
    examples = {} if rows is None else _example_texts(result, rows)
    advices = {cue.number: advice(result, cue, fix) for cue in result.cues if cue.number in advised(result)}
    for number, text in ({} if rows is None else _cut_off(result, rows, fix)).items():
        advices[number] = text
        examples.pop(number, None)  # they show how texts begin
    lines += ["", *blind_lines(result.blind, scan)]
    lines += [
        *_section("Artefacts, which are no part of any task", result.own_artefacts, advices, examples),
    ]
    candidates = _by_itself(result.candidates)
    lines += _section("Candidates, which may be part of the task: judge them yourself", candidates, examples=examples)
    if candidates and result.blind is None:  # candidates of answers are not rewritten
        lines += [escaped(f"If one of them is no part of the task: {fix} --cue N --to NEW_FOLDER"), ""]
    followers = [cue for cue in result.cues if cue.explained_by is not None and cue not in result.own_artefacts]
    lines += _section("Cues that tell nothing more beside a stronger one", followers, advices)
    lines += [line for line in (surface_sentence(result), reach_sentence(result)) if line]
    return [*lines, *(escaped(note) for note in result.notes)]


def _classes(result: ScanResult) -> str:
    shown = [f"{truncate_escaped(one.name, _LABEL)} {one.rows:,}" for one in result.classes[:6]]
    more = f" and {len(result.classes) - 6} more classes" if len(result.classes) > 6 else ""
    return f"Classes: {', '.join(shown)}{more}"


def _by_itself(cues: Sequence[Cue]) -> list[Cue]:
    return [cue for cue in cues if cue.explained_by is None]


def _example_texts(result: ScanResult, rows: ScanRows) -> dict[int, list[str]]:
    """Return the shortest texts with each cue and its class, by cue number."""
    found = {}
    chosen = carrier_rows(result, rows, most=MOST_EXAMPLES)
    for cue in result.cues:
        sources = {one.source for one in cue.properties} & rows.texts.keys()
        for source in sources if len(sources) == 1 else ():
            texts = [rows.texts[source][row] or "" for row in chosen.get(cue.number, ())]
            found[cue.number] = [f"“{truncate(one_line(text), _EXAMPLE)}”" for text in texts]
    return found


def _cut_off(result: ScanResult, rows: ScanRows, fix: str) -> dict[int, str]:
    told = advised(result)
    found = {cue.number: cut_off_advice(result, cue, rows, fix) for cue in result.cues if cue.number in told}
    return {number: text for number, text in found.items() if text}


def _section(
    title: str,
    cues: Sequence[Cue],
    advices: Mapping[int, str] | None = None,
    examples: Mapping[int, Sequence[str]] | None = None,
) -> list[str]:
    if not cues:
        return []
    head = ("", "property", "class", "rows", "of class", "of others", "precision", "base", "balanced accuracy")
    rows = [head, *(_row(cue) for cue in cues[:MOST_SHOWN])]
    lines = table(rows, numbers=(0, 3, 4, 5, 6, 7))
    printed = [f"{title}:", lines[0]]
    for cue, line in zip(cues, lines[1:], strict=False):
        printed += [line, *(line for text in _details(cue) for line in indented(f"   {escaped(text)}"))]
        printed += [f"     {escaped(text)}" for text in (examples or {}).get(cue.number, ())]
        printed += (
            [f"     {escaped(line)}" for line in advices[cue.number].split("\n")]
            if advices and cue.number in advices
            else []
        )
    if len(cues) > MOST_SHOWN:
        printed.append(f"  and {len(cues) - MOST_SHOWN} more, in --json and --html")
    return [*printed, ""]


def _row(cue: Cue) -> tuple[str, ...]:
    interval = f"{percent(cue.balanced)} [{100 * cue.low:.0f}, {100 * cue.high:.0f}]"
    return (
        str(cue.number + 1),
        truncate_escaped(cue.name, _NAME),
        truncate_escaped(cue.label, _LABEL),
        f"{cue.rows:,}",
        percent(cue.share_of_class),
        percent(cue.share_of_rest),
        percent(cue.precision),
        percent(cue.base_rate),
        interval,
    )


def _details(cue: Cue) -> list[str]:
    details = []
    if len(cue.name) > _NAME:
        details.append(cue.name)
    if cue.reason == "declared":
        details.append("declared to be no part of the task")
    if cue.explained_by is not None:
        details.append(f"goes with cue {cue.explained_by + 1}")
    if cue.synonyms:
        more = f" and {len(cue.synonyms) - 4} more" if len(cue.synonyms) > 4 else ""
        details.append(f"nearly the same rows: {'; '.join(cue.synonyms[:4])}{more}")
    if remark := purity_sentence(cue):
        details.append(remark)
    return [*details, *elsewhere_sentences(cue)]


def result_json(result: ScanResult, understood: Sequence[str], *, scanned: Mapping[str, object]) -> str:
    """Return the whole result as ASCII JSON, which is safe to print on a terminal.

    `scanned`: the file, the options and a hash of the content, for `aflite fix --scan`.
    """
    cues = surface_cues(result.cues).to_pylist()
    for record, cue in zip(cues, result.cues, strict=True):
        record["remark"] = purity_sentence(cue)
        record["elsewhere"] = [vars(one) for one in cue.elsewhere]
        record["remedies"] = list(remedies_in(result, cue))
    content = {
        **scanned,
        "verdict": result.verdict,
        "headline": headline(result),
        "understood": list(understood),
        "rows": result.rows,
        "units": result.units,
        "properties": result.properties,
        "classes": [vars(one) for one in result.classes],
        "blind": None if result.blind is None else blind_record(result.blind),
        "surface": None if result.surface is None else vars(result.surface),
        "cues": cues,
        "notes": list(result.notes),
    }
    return json.dumps(content, indent=1, allow_nan=False)
