"""The HTML report: one self-contained page that makes no requests.

All numbers on the page are from the tables of the analysis.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, get_args

from jinja2 import Environment
from markupsafe import Markup, escape

from aflite_assets import text
from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.facts import FilteringFacts
from aflite_assets.analysis.filtering import ITERATIONS
from aflite_assets.analysis.inputs.learning_curve import WARMUP_CURVE
from aflite_assets.analysis.train_sets import in_order
from aflite_assets.reports.figures import (
    drawing,
    example_rows,
    filtering_figures,
    model_figures,
    representation_figures,
)
from aflite_assets.reports.figures.accuracy_bars import AccuracyBars, screen_bars
from aflite_assets.reports.figures.cue_rows import cue_rows
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.learning_curves import choice_text, curve_cautions
from aflite_assets.reports.page.attachments import Attachment, attachments, attachments_json
from aflite_assets.reports.page.markdown import template_environment
from aflite_assets.reports.page.row_browser import row_browser
from aflite_assets.reports.page.study import study_sections
from aflite_assets.reports.sentences import summary, verdict, wording
from aflite_assets.reports.sentences.finding_cues import column_advice
from aflite_assets.reports.sentences.first_screen import first_screen
from aflite_assets.reports.sentences.leaning import cue_leaning
from aflite_assets.reports.sentences.versions import comparison_line, row_lines
from aflite_assets.reports.tables import all_tables, cue_tables, listings
from aflite_assets.reports.tables.published import Kind, paper_table, published_tables
from aflite_assets.reports.tables.version_tables import version_tables
from aflite_assets.scan.cues import Cue
from aflite_assets.scan.marking import marked_text
from aflite_assets.scan.sentences import cue_sentence, remarks
from aflite_assets.wording import counted, truncate

MOST_BYTES = 2_000_000
"""Largest size of a page in bytes. The row browser shows as many rows as fit."""

MOST_CUES = 6
"""Largest number of cues for which rows are shown on the page."""

_ROWS, _SHOWN_ROWS = "<!-- rows -->", "<!-- rows shown -->"
"""Placeholders that are replaced once the size of the rest of the page is known. Escaped text cannot contain them."""

_SEED = 0  # seed for drawing example rows and rows of the row browser


def render_report(
    analysis: Analysis, inputs: ReportInputs, pictures: Mapping[str, drawing.Picture], *, most_bytes: int = MOST_BYTES
) -> str:
    """Return the whole page as text, to be written as UTF-8.

    Dataset text is escaped everywhere. The page's content security policy allows only its own scripts, identified by
    their hashes. `pictures`: the result of `report_pictures`. `most_bytes`: size limit of the page. If the page would
    be larger, rows of the row browser are left out.
    """
    folder = files("aflite_assets.reports.page") / "scripts"
    scripts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in ("page", "rows", "charts", "details")]
    values = _values(analysis, inputs, pictures)
    values["study_sections"] = list(study_sections(analysis, _environment(), values))
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii") for script in scripts]
    template = _environment().get_template("report.html.j2")
    page = template.render(values, scripts=list(map(Markup, scripts)), hashes=hashes)
    if not analysis.facts.filterings:
        return page
    rows, shown = row_browser(analysis, inputs, budget=most_bytes - len(page.encode()), seed=_SEED)
    said = _environment().get_template("top.html.j2").module.shown_rows(shown)  # type: ignore[attr-defined]
    return page.replace(_SHOWN_ROWS, said, 1).replace(_ROWS, rows, 1)


def _values(analysis: Analysis, inputs: ReportInputs, drawn: Mapping[str, drawing.Picture]) -> dict[str, Any]:
    facts, verdicts = analysis.facts, verdict.verdict_texts(analysis)
    first = first_screen(analysis, from_files=inputs.from_files, versions=inputs.versions)
    first_bars, attached = screen_bars(analysis, first), attachments(analysis, inputs, drawn)
    pictures = {name: _uri(one) for name, one in drawn.items()}
    published = published_tables(facts.published)
    trained_on = in_order(train_set for one in facts.filterings for train_set in one.train_sets)
    for name, one in model_figures.headline_pictures(analysis, narrow=True).items():
        pictures[name]["narrow"] = _uri(one)["uri"]
    return {
        "facts": facts,
        "first": first,
        "first_rows": cue_rows(inputs, first.cues, first.leaning),
        "first_bars": first_bars,
        "scatters": inputs.scatter_features is not None,
        "all_checks": analysis.checks,
        "verdicts": verdicts,
        "lines": summary.section_lines(analysis) | _lines(analysis, first_bars, attached),
        "attached": attached,
        "details_json": Markup(filtering_figures.script_json(attachments_json(attached))),
        "rows_placeholder": Markup(_ROWS),
        "shown_rows_placeholder": Markup(_SHOWN_ROWS),
        "findings": summary.findings(analysis),
        "cautions": summary.cautions(analysis),
        "tables": {kind: make(analysis) for kind, make in all_tables.SHOWN.items()},
        "cues": _cues(analysis, inputs),
        "browsed_cues": [(cue_tables.rows_place(one), one) for one in cue_tables.browsed_cues(analysis)],
        "checks": listings.check_table([one for one in analysis.checks if one.applies], title="Checks that apply"),
        "skipped_checks": listings.check_table(
            [one for one in analysis.checks if not one.applies], title="Skipped checks"
        ),
        "papers": {kind: [paper_table(one) for one in published if one.kind == kind] for kind in get_args(Kind)},
        "sections": [_section(analysis, inputs, facts.filtering[one.representation], pictures) for one in verdicts],
        "listings": {table.name: table for table in listings.CURVE_TABLE.tables(analysis)},
        "provenance": listings.settings_table("Provenance", facts.provenance),
        "versions": [(comparison_line(one), row_lines(one), version_tables(one)) for one in inputs.versions],
        "glossary": wording.GLOSSARY,
        "curve_texts": _curve_texts(analysis),
        "train_sets": {name: wording.train_set_meaning(name) for name in trained_on},
        "maps": [one for name, one in pictures.items() if name.startswith("data_map.")],
        "all_pictures": pictures,
    }


def _cues(analysis: Analysis, inputs: ReportInputs) -> list[tuple[Cue, str, tuple[example_rows.ExampleRow, ...]]]:
    """Return the cues to show on the page.

    Each cue comes with a sentence on its numbers and a few rows that have the cue.
    """
    if analysis.scan is None or not analysis.facts.filterings:
        return []
    rows, found = inputs.rows_of(analysis.facts.filterings[0].representation), []
    is_asked = any(column_advice(analysis, one) for one in analysis.verdicts[:1])  # the first screen asks already
    known, said = set(rows["row_id"].to_pylist()), remarks(analysis.scan, asks=not is_asked)
    for one in cue_tables.shown_cues(analysis.scan)[:MOST_CUES]:
        own = [row for row in inputs.cue_rows.get(one.number, ()) if row in known]
        shown = example_rows.shown_rows(
            inputs.examples, rows, own, inputs.source, shown_text=_highlighting(one, analysis)
        )
        leaning = cue_leaning(one, analysis.of(LEANINGS), of_answers=bool(analysis.facts.split_questions))
        found.append((one, f"{cue_sentence(one, said[one.number])} {leaning}", shown))
    return found


def _highlighting(cue: Cue, analysis: Analysis) -> Callable[[str, str], str]:
    """Return a function that highlights the part of a text that has the cue."""
    named = analysis.facts.text_columns
    return lambda column, text: marked_text(text, cue, named.get(column, column))


def _section(
    analysis: Analysis, inputs: ReportInputs, filtering: FilteringFacts, pictures: Mapping[str, dict[str, str]]
) -> dict[str, Any]:
    """Return the template's data for one representation.

    The names of pictures in the data do not contain the representation.
    """
    name, examples, source = filtering.representation, inputs.examples, inputs.source
    rows, within = inputs.rows_of(name), f".{name}."
    return {
        "filtered": filtering,
        "settings": listings.settings_table(f"Settings of filtering, representation {name}", filtering.settings),
        "curve": Markup(filtering_figures.script_json(filtering_figures.curve_figure(analysis.of(ITERATIONS, name)))),
        "curve_says": filtering_figures.curve_says(analysis.of(ITERATIONS, name)),
        "scatter_caption": representation_figures.scatter_caption(analysis, name),
        "examples": [
            (side, example_rows.shown_examples(examples, rows, kept=side == "Kept", seed=_SEED, source=source))
            for side in ("Kept", "Removed")
        ],
        "pictures": {each.replace(within[:-1], "", 1): one for each, one in pictures.items() if within in f"{each}."},
    }


def _curve_texts(analysis: Analysis) -> dict[str, tuple[str, Sequence[str]]]:
    warmup = analysis.of(WARMUP_CURVE)
    return {"warmup_curve": (choice_text(warmup), list(curve_cautions(warmup)))} if warmup else {}


def _lines(analysis: Analysis, bars: AccuracyBars | None, attached: Sequence[Attachment]) -> dict[str, str]:
    """Return one sentence on the results for each section that begins with pictures, by section."""
    names = [one.representation for one in analysis.facts.filterings]
    said = [filtering_figures.curve_says(analysis.of(ITERATIONS, name)) for name in names]
    tables = sum(one.table is not None for one in attached)
    return {
        "filtering": " ".join(said[:1]) or "No iteration was run.",
        "models": "No evaluator was trained." if bars is None else bars.says,
        "details": f"{counted(tables, 'table')} and {counted(len(attached) - tables, 'picture')}, shown on demand.",
    }


def _by_group(attached: Sequence[Attachment]) -> list[tuple[str, list[tuple[int, Attachment]]]]:
    """Return the attachments by group.

    Each attachment comes with its position in `attached`. The groups are in the order in which their first attachments
    occur.
    """
    found: dict[str, list[tuple[int, Attachment]]] = {}
    for number, one in enumerate(attached):
        found.setdefault(one.group, []).append((number, one))
    return list(found.items())


def _uri(picture: drawing.Picture) -> dict[str, str]:
    return {"uri": example_rows.png_or_jpeg_uri(picture.png), "alt": picture.alt}


@cache
def _environment() -> Environment:
    environment = template_environment(text.printable)
    environment.filters |= {
        "counted": counted,
        "truncate_text": lambda value, length=text.MAX_SHOWN_CHARACTERS: truncate(value, length),
        "defined": with_definitions,
        "term_id": term_id,
        "sentence": lambda said: f"{said[:1].upper()}{said[1:].rstrip('.')}.",
        "heading": text.short,
        "stop": wording.stop_text,
        "by_group": _by_group,
    }
    return environment


def term_id(term: str) -> str:
    """Return the HTML id of a term's entry in the page's glossary."""
    return "term-" + re.sub(r"[^a-z]+", "-", term.lower())


def with_definitions(shown: str) -> Markup:
    """Link the first occurrence of each glossary term in a text to the glossary.

    Terms inside links and code are left unchanged. A plain string is escaped, but a `Markup` object is not.
    """
    terms, pattern = _terms()
    seen: set[str] = set()

    def linked(found: re.Match[str]) -> str:
        term = terms.get((found["term"] or "").lower())
        if term is None or term in seen:
            return found[0]
        seen.add(term)
        meaning = escape(wording.GLOSSARY[term])
        return f'<a class="term" href="#{term_id(term)}" title="{meaning}"><dfn>{found[0]}</dfn></a>'

    return Markup(pattern.sub(linked, shown if isinstance(shown, Markup) else escape(text.printable(shown))))


@cache
def _terms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the glossary terms by their escaped lower-case form, and a regular expression for these terms.

    The regular expression skips tags, links, code and buttons.
    """
    terms = {str(escape(term)).lower(): term for term in wording.GLOSSARY}
    longest_first = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True))
    left_alone = r"<(?P<tag>a|code|button)\b.*?</(?P=tag)>|<[^>]*>"
    term = rf"(?<![\w&#-])(?P<term>{longest_first})s?(?![\w_-])"
    return terms, re.compile(f"{left_alone}|{term}", re.IGNORECASE | re.DOTALL)
