"""The one-page HTML report: one self-contained file that makes no requests; numbers come from the tables."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, get_args

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from aflite_assets import text
from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts, FilteringFacts
from aflite_assets.analysis.filtering import ITERATIONS
from aflite_assets.analysis.inputs.learning_curve import SAMPLE_CURVE, WARMUP_CURVE
from aflite_assets.analysis.train_sets import in_order
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.figures.example_rows import png_or_jpeg_uri, shown_examples, shown_rows
from aflite_assets.reports.figures.interactive import curve_figure, plotly_script, script_json
from aflite_assets.reports.figures.model_figures import FORGETTABLE_KINDS, headline_pictures
from aflite_assets.reports.figures.representation_figures import means_text, scatter_caption
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.learning_curves import choice_text, curve_cautions, sample_cautions, sample_text
from aflite_assets.reports.page.row_browser import row_browser
from aflite_assets.reports.papers.published_tables import Kind, published_tables
from aflite_assets.reports.sentences import wording
from aflite_assets.reports.sentences.summary import cautions, findings, section_lines
from aflite_assets.reports.sentences.verdict import verdict_texts
from aflite_assets.reports.tables import listings
from aflite_assets.reports.tables.all_tables import SHOWN
from aflite_assets.reports.tables.published import paper_table
from aflite_assets.wording import counted, truncate

_TAG = re.compile(r"(<[^>]*>)")

MOST_BYTES = 15_000_000
"""Bytes of a page; the browser of rows shows as many rows as there is room for."""

_ROWS, _SHOWN_ROWS = "<!-- rows -->", "<!-- rows shown -->"
"""Marks that are replaced when the size of the rest is known; escaped text has no such marks."""

_SEED = 0
"""Seed of the draws of example rows and of the browser's rows."""


def render_report(
    analysis: Analysis, inputs: ReportInputs, pictures: Mapping[str, Picture], *, most_bytes: int = MOST_BYTES
) -> str:
    """Return the whole page as text; write it as UTF-8. `pictures`: those of `report_pictures`.

    Dataset text is escaped everywhere, and the content security policy lets no script run but those that the page
    itself carries, named by their hashes. `most_bytes`: of the page, as far as leaving out rows of the browser can do.
    """
    folder = files("aflite_assets.reports.page") / "scripts"
    *own, charts = ((folder / f"{name}.js").read_text(encoding="utf-8") for name in ("page", "rows", "charts"))
    scripts = [*own, plotly_script(), charts]
    values = _values(analysis, inputs, {name: _uri(one) for name, one in pictures.items()})
    template = _environment().get_template("report.html.j2")
    page = template.render(values, scripts=list(map(Markup, scripts)), policy=_content_security_policy(scripts))
    if not analysis.facts.filterings:
        return page
    browser = row_browser(analysis, inputs, budget=most_bytes - len(page.encode()), seed=_SEED)
    shown = _environment().get_template("top.html.j2").module.shown_rows(browser.shown)  # type: ignore[attr-defined]
    return page.replace(_SHOWN_ROWS, shown, 1).replace(_ROWS, browser.json, 1)


def _values(analysis: Analysis, inputs: ReportInputs, pictures: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    """Return what the template shows, but the scripts."""
    facts, verdicts = analysis.facts, verdict_texts(analysis)
    trained_on = in_order(train_set for one in facts.filterings for train_set in one.train_sets)
    narrow = {name: _uri(one)["uri"] for name, one in headline_pictures(analysis, narrow=True).items()}
    headlines = {name: {**pictures[name], "narrow": uri} for name, uri in narrow.items()}
    return {
        "facts": facts,
        "scatters": inputs.scatter_features is not None,
        "all_checks": analysis.checks,
        "verdicts": verdicts,
        "lines": section_lines(analysis),
        "questions": facts.split_questions,
        "browser_options": _browser_options(facts),
        "rows_mark": Markup(_ROWS),
        "shown_rows_mark": Markup(_SHOWN_ROWS),
        "findings": findings(analysis),
        "cautions": cautions(analysis),
        "tables": {kind: make(analysis) for kind, make in SHOWN.items()},
        "checks": listings.check_table(analysis.checks),
        "papers": {
            kind: [paper_table(one) for one in published_tables(facts.published) if one.kind == kind]
            for kind in get_args(Kind)
        },
        "sections": [
            _section(analysis, inputs, facts.filtering[one.representation])
            | {
                "headline": _pictures_of(one.representation, headlines),
                "pictures": _pictures_of(one.representation, pictures),
            }
            for one in verdicts
        ],
        "evidence": [listings.evidence_table(one, inputs.source) for one in inputs.evidence],
        "provenance": listings.settings_table("Provenance", facts.provenance),
        "glossary": wording.GLOSSARY,
        "warmup": _warmup(analysis, pictures),
        "sample": _sample(analysis, pictures),
        "train_sets": {name: wording.train_set_meaning(name) for name in trained_on},
        "forgotten": {name: one for name, one in pictures.items() if name.startswith(FORGETTABLE_KINDS)},
        "maps": [one for name, one in pictures.items() if name.startswith("data_map.")],
        "curves": pictures["filtering_curves"],
    }


def _section(analysis: Analysis, inputs: ReportInputs, filtering: FilteringFacts) -> dict[str, Any]:
    """Return what the template shows of one representation, but its pictures."""
    name = filtering.representation
    rows, iterations = inputs.rows_of(name), analysis.of(ITERATIONS, name)
    return {
        "filtered": filtering,
        "answers": any(one.unit == "question" for one in analysis.facts.test_sets),
        "iterations": listings.iteration_table(name, iterations),
        "settings": listings.settings_table(f"Settings of filtering, representation {name}", filtering.settings),
        "curve": Markup(script_json(curve_figure(iterations))),
        "scatter_caption": scatter_caption([one for one in analysis.headlines if one.representation == name]),
        "similarities": _similarities(inputs, name, rows),
        "examples": [
            (side, shown_examples(inputs.examples, rows, kept=kept, seed=_SEED, source=inputs.source))
            for side, kept in (("Kept", True), ("Removed", False))
        ],
    }


def _pictures_of(representation: str, pictures: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the pictures of one representation by their names without it."""
    within = f".{representation}."
    return {name.replace(within[:-1], "", 1): one for name, one in pictures.items() if within in f"{name}."}


def _browser_options(facts: DatasetFacts) -> dict[str, object]:
    """Return what the browser's filters offer."""
    return {
        "filterings": facts.representations,
        "labels": facts.label_names,
        "splits": list(dict.fromkeys(split for one in facts.filterings for split in one.splits)),
        "iterations": max((len(one.cutoffs) - 1 for one in facts.filterings), default=0),
        "outside": any(one.rows_left_alone for one in facts.filterings),
        "suspected": any(one.suspected_labels for one in facts.filterings),
        "trainings": [one.name for one in facts.weak_trainings],
    }


def _warmup(analysis: Analysis, pictures: Mapping[str, object]) -> dict[str, object] | None:
    """Return the learning curves that chose the warm-up rows; None if a size was given."""
    points = analysis.of(WARMUP_CURVE)
    if not points:
        return None
    texts = {"choice": choice_text(points), "cautions": list(curve_cautions(points))}
    return texts | {"picture": pictures["warmup_curve"], "table": listings.curve_table(points)}


def _sample(analysis: Analysis, pictures: Mapping[str, object]) -> dict[str, object] | None:
    """Return the curve that chose the sample of the train rows; None if all are filtered."""
    points, stop = analysis.of(SAMPLE_CURVE), analysis.facts.sample_stop
    if stop is None:
        return None
    texts = {"choice": sample_text(points, stop), "cautions": list(sample_cautions(points)), "stop": stop}
    return texts | {"picture": pictures["sample_curve"], "table": listings.sample_tables(analysis)[0]}


def _uri(picture: Picture) -> dict[str, str]:
    return {"uri": png_or_jpeg_uri(picture.png), "alt": picture.alt}


def _similarities(inputs: ReportInputs, name: str, rows: pa.Table) -> list[dict[str, Any]]:
    """Return per class compared its name, means in words, the kept and removed images shown, and its picture's key."""
    with_images = 2 if inputs.examples.modality == "image" else 0
    return [
        {
            "label": blocks[0].label_name,
            "means": means_text(blocks),
            "shown": len(blocks[0].row_ids),
            "images": [
                (one.side.capitalize(), shown_rows(inputs.examples, rows, one.row_ids, inputs.source))
                for one in blocks[:with_images]
            ],
            "picture": f"similarity.{blocks[0].label}",
        }
        for blocks in inputs.similarities.get(name, ())
    ]


def _content_security_policy(scripts: Sequence[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode("ascii") for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("aflite_assets.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: text.printable(value) if type(value) is str else value,  # Markup is no plain str
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": text.count,
        "counted": counted,
        "truncate_text": lambda value, length=text.MAX_SHOWN_CHARACTERS: truncate(value, length),
        "defined": with_definitions,
        "term_id": term_id,
        "sentence": lambda said: f"{said[:1].upper()}{said[1:].rstrip('.')}.",
        "heading": lambda name: truncate(text.one_line(name), 60),
        "stop": wording.stop_text,
    }
    return environment


def term_id(term: str) -> str:
    """Return the id of a term's entry in the glossary of the page."""
    return "term-" + re.sub(r"[^a-z]+", "-", term.lower())


def with_definitions(shown: str) -> Markup:
    """Return the text, safe to show and escaped unless it is markup, where each term links to its definition once.

    A term that is part of a longer one ("representation bias") is no term by itself there; what stands inside a link or
    code is left alone.
    """
    pieces = _TAG.split(str(shown if isinstance(shown, Markup) else escape(text.printable(shown))))
    terms, pattern = _terms()
    seen: set[str] = set()
    opened = 0

    def linked(found: re.Match[str]) -> str:
        term = terms[found["term"].lower()]
        if term in seen:
            return found[0]
        seen.add(term)
        meaning = escape(wording.GLOSSARY[term])
        return f'<a class="term" href="#{term_id(term)}" title="{meaning}"><dfn>{found[0]}</dfn></a>'

    for place, piece in enumerate(pieces):
        if place % 2 and piece.strip("</>").split(" ")[0] in ("a", "code", "button"):
            opened += -1 if piece.startswith("</") else 1
        elif place % 2 == 0 and opened < 1:
            pieces[place] = pattern.sub(linked, piece)
    return Markup("".join(pieces))


@cache
def _terms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return terms by their escaped small letters, and the pattern of them: whole words, singular or with a plain s."""
    terms = {str(escape(term)).lower(): term for term in wording.GLOSSARY}
    longest_first = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True))
    return terms, re.compile(rf"(?<![\w&#-])(?P<term>{longest_first})s?(?![\w_-])", re.IGNORECASE)
