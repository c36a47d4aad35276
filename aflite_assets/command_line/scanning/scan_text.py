"""A scan's result as lines for a terminal and as JSON. Text of the dataset is escaped."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.command_line.scanning.blind_text import blind_lines, blind_record
from aflite_assets.command_line.scanning.example_rows import carrier_rows
from aflite_assets.command_line.terminal import escaped, indented, table, truncate_escaped
from aflite_assets.scan.columns import CueLine, columns_of, cue_lines
from aflite_assets.scan.cues import Cue, ScanResult, surface_cues
from aflite_assets.scan.cut_off import cut_off_advice
from aflite_assets.scan.remedies import advice, advised, candidate_advice, remedies_in
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.sentences import (
    column_questions,
    column_sentence,
    elsewhere_sentences,
    headline,
    percent,
    purity_sentence,
    reach_sentence,
    remarks,
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
    """Return the result of a scan as lines for a terminal. The first line states the finding.

    `fix`: the beginning of the `aflite fix` command, which is shown below each artefact. `scan`: the command line that
    repeats the scan.
    `rows`: the scanned rows, from which examples are shown.
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
    lines += [text for one in cue_sections(result, fix) for text in _section(one, result, advices, examples)]
    lines += [line for line in (surface_sentence(result), reach_sentence(result)) if line]
    return [*lines, *(escaped(note) for note in result.notes)]


def _classes(result: ScanResult) -> str:
    shown = [f"{truncate_escaped(one.name, _LABEL)} {one.rows:,}" for one in result.classes[:6]]
    more = f" and {len(result.classes) - 6} more classes" if len(result.classes) > 6 else ""
    return f"Classes: {', '.join(shown)}{more}"


@dataclass(frozen=True)
class CueSection:
    """A list of cues, with a title and the lines to print.

    `command`: the command that removes one of the cues, or "".
    """

    title: str
    lines: tuple[CueLine, ...]
    command: str = ""


def cue_sections(result: ScanResult, fix: str) -> list[CueSection]:
    """Return three lists of cues: artefacts, candidates, and cues that a stronger cue explains.

    Lists without cues are left out.

    `fix`: the beginning of the `aflite fix` command that removes a cue.
    """
    lines, own = cue_lines(result), {cue.number for cue in result.own_artefacts}
    artefacts = tuple(line for line in lines if line.lead.number in own)
    candidates = tuple(line for line in lines if line.is_by_itself and not line.lead.is_artefact)
    followers = tuple(line for line in lines if not line.is_by_itself and line.lead.number not in own)
    command = candidate_advice(result, [line.lead for line in candidates], fix)
    sections = [
        CueSection("Artefacts, which are no part of any task", artefacts),
        CueSection("Candidates, which may be part of the task: judge them yourself", candidates, command),
        CueSection("Cues that tell nothing more beside a stronger one", followers),
    ]
    return [section for section in sections if section.lines]


def _example_texts(result: ScanResult, rows: ScanRows) -> dict[int, list[str]]:
    """Map each cue number to the shortest texts of rows that have the cue and its class."""
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
    section: CueSection,
    result: ScanResult,
    advices: Mapping[int, str],
    examples: Mapping[int, Sequence[str]],
) -> list[str]:
    head = ("", "property", "class", "rows", "of class", "of others", "precision", "base", "balanced accuracy")
    questions = column_questions(result)
    shown = section.lines[:MOST_SHOWN]
    lines = table([head, *(_row(one.lead) for one in shown)], numbers=(0, 3, 4, 5, 6, 7))
    printed = [f"{section.title}:", lines[0]]
    for one, line in zip(shown, lines[1:], strict=True):
        number = one.lead.number
        details = [*_details(one), questions.get(number, "")]
        printed += [line, *(line for text in details if text for line in indented(escaped(text), spaces=5))]
        printed += [f"     {escaped(text)}" for text in examples.get(number, ())]
        told = (advices[cue.number] for cue in one.cues if cue.number in advices)
        printed += [f"     {escaped(text)}" for text in next(told, "").split("\n") if text]
    if len(section.lines) > MOST_SHOWN:
        printed.append(f"  and {len(section.lines) - MOST_SHOWN} more, in --json and --html")
    if section.command:
        printed += ["", *map(escaped, section.command.split("\n"))]
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


def _details(line: CueLine) -> list[str]:
    cue, details = line.lead, []
    if len(cue.name) > _NAME:
        details.append(cue.name)
    if cue.reason == "declared":
        details.append("declared to be no part of the task")
    if cue.explained_by is not None:
        details.append(f"goes with cue {cue.explained_by + 1}")
    if cue.synonyms:
        more = f" and {len(cue.synonyms) - 4} more" if len(cue.synonyms) > 4 else ""
        details.append(f"nearly the same rows: {'; '.join(cue.synonyms[:4])}{more}")
    return [*details, column_sentence(line), *elsewhere_sentences(cue), purity_sentence(cue)]


def result_json(result: ScanResult, understood: Sequence[str], *, scanned: Mapping[str, object]) -> str:
    """Return the whole result as ASCII JSON, which is safe to print on a terminal.

    `scanned`: the file, the options and a hash of the file's content, which `aflite fix --scan` reads.
    """
    cues, said = surface_cues(result.cues).to_pylist(), remarks(result)
    listed_at = {cue.number: line.lead.number for line in cue_lines(result) for cue in line.cues}
    for record, cue in zip(cues, result.cues, strict=True):
        record["remark"] = said[cue.number]
        record["columns"] = list(columns_of(cue))
        record["listed_at"] = listed_at[cue.number]
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
