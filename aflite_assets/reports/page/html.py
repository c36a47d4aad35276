"""The one-page HTML report: one self-contained file that makes no requests; numbers come from the tables."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import get_args

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from aflite_assets import text
from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts, FilteringFacts
from aflite_assets.analysis.filtering import ITERATIONS
from aflite_assets.analysis.inputs.learning_curve import SAMPLE_CURVE, WARMUP_CURVE
from aflite_assets.analysis.inputs.similarity import SIMILARITIES
from aflite_assets.analysis.train_sets import in_order
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.figures.example_rows import png_or_jpeg_uri, shown_examples, shown_rows
from aflite_assets.reports.figures.interactive import DRAW_SCRIPT, curve_figure, plotly_script, script_json
from aflite_assets.reports.figures.model_figures import FORGETTABLE_KINDS, headline_pictures
from aflite_assets.reports.figures.representation_figures import means_text, scatter_caption
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.learning_curves import choice_text, curve_cautions, sample_cautions, sample_text
from aflite_assets.reports.page.row_browser import row_browser
from aflite_assets.reports.page.terms import term_id, with_definitions
from aflite_assets.reports.papers.published_tables import published_tables
from aflite_assets.reports.papers.record import Kind
from aflite_assets.reports.sentences import wording
from aflite_assets.reports.sentences.summary import findings, section_lines
from aflite_assets.reports.sentences.verdict import verdict_texts
from aflite_assets.reports.sentences.warnings import cautions
from aflite_assets.reports.tables.all_tables import SHOWN
from aflite_assets.reports.tables.listings import (
    check_table,
    curve_table,
    evidence_table,
    iteration_table,
    sample_tables,
    settings_table,
)
from aflite_assets.reports.tables.published import paper_table
from aflite_assets.wording import counted, truncate

_TEMPLATES = (
    "report.html.j2",
    "top.html.j2",
    "table.html.j2",
    "filtering.html.j2",
    "pictures.html.j2",
    "warmup.html.j2",
    "report.css",
)


MOST_BYTES = 15_000_000
"""Of a page; the browser of rows shows as many as there is room for."""

_ROWS, _SHOWN_ROWS = "<!-- rows -->", "<!-- rows shown -->"
"""Filled in when the size of the rest is known; escaped text has no such marks."""


def render_report(
    analysis: Analysis,
    inputs: ReportInputs,
    *,
    pictures: Mapping[str, Picture] | None = None,
    seed: int = 0,
    most_bytes: int = MOST_BYTES,
) -> str:
    """The whole page as text; write it as UTF-8. `seed` draws the example rows and those of the browser.

    `pictures`: those of `report_pictures`, which are drawn if they are not given.

    Dataset text is escaped everywhere, and the content security policy lets no script run but those that
    the page itself carries, named by their hashes. `most_bytes`: so many the page has at most, as far as leaving out
    rows of the browser can do it.

    Raises:
        DataError: predictions do not fit their test sets, or rows do not fit the examples.
    """
    if pictures is None:
        pictures = report_pictures(analysis, inputs)
    page = _without_rows(analysis, inputs, pictures, seed)
    if not analysis.facts.filterings:
        return page
    browser = row_browser(analysis, inputs.rows, budget=most_bytes - len(page.encode()), seed=seed)
    shown = _environment().get_template("top.html.j2").module.shown_rows(browser.shown)  # type: ignore[attr-defined]
    return page.replace(_SHOWN_ROWS, shown, 1).replace(_ROWS, browser.json, 1)


def _without_rows(analysis: Analysis, inputs: ReportInputs, pictures: Mapping[str, Picture], seed: int) -> str:
    facts = analysis.facts
    narrow = headline_pictures(analysis, narrow=True)
    scripts = (_own_script("page.js"), _own_script("rows.js"), plotly_script(), DRAW_SCRIPT)
    verdicts = verdict_texts(analysis)
    places = {one.representation: place for place, one in enumerate(verdicts)}
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            facts=facts,
            scatters=inputs.scatter_features is not None,
            all_checks=analysis.checks,
            verdicts=verdicts,
            lines=section_lines(analysis),
            questions=analysis.facts.split_questions,
            browser_options=_browser_options(analysis.facts),
            rows_mark=Markup(_ROWS),
            shown_rows_mark=Markup(_SHOWN_ROWS),
            findings=findings(analysis),
            cautions=cautions(analysis),
            tables={kind: make(analysis) for kind, make in SHOWN.items()},
            checks=check_table(analysis.checks),
            papers={
                kind: [paper_table(one) for one in published_tables(facts.published) if one.kind == kind]
                for kind in get_args(Kind)
            },
            sections=[
                _section(analysis, inputs, filtering, seed)
                | {
                    "headline": _headline(pictures, narrow, filtering.representation),
                    "pictures": _pictures_of(pictures, filtering.representation),
                }
                for filtering in sorted(facts.filterings, key=lambda one: places[one.representation])
            ],
            evidence=[evidence_table(one, inputs.source) for one in inputs.evidence],
            provenance=settings_table("Provenance", facts.provenance),
            glossary=wording.GLOSSARY,
            warmup=_warmup(analysis, pictures),
            sample=_sample(analysis, pictures),
            train_sets={name: wording.train_set_meaning(name) for name in _shown_train_sets(facts)},
            forgotten={name: _uri(one) for name, one in pictures.items() if name.startswith(FORGETTABLE_KINDS)},
            maps=[_uri(one) for name, one in pictures.items() if name.startswith("data_map.")],
            curves=_uri(pictures["filtering_curves"]),
            scripts=[Markup(script) for script in scripts],
            policy=_content_security_policy(scripts),
        )
    )


def _section(analysis: Analysis, inputs: ReportInputs, filtering: FilteringFacts, seed: int) -> dict[str, object]:
    """What the template shows of one representation."""
    name = filtering.representation
    rows, iterations = inputs.rows_of(name), analysis.of(ITERATIONS, name)
    headlines = [one for one in analysis.headlines if one.representation == name]
    return {
        "filtered": filtering,
        "answers": any(one.unit == "question" for one in analysis.facts.test_sets),
        "iterations": iteration_table(name, iterations),
        "settings": settings_table(f"Settings of filtering, representation {name}", filtering.settings),
        "curve": Markup(script_json(curve_figure(iterations))),
        "scatter_caption": scatter_caption(headlines),
        "similarities": _similarities(analysis, inputs, name),
        "examples": [
            (side, shown_examples(inputs.examples, rows, kept=kept, seed=seed, source=inputs.source))
            for side, kept in (("Kept", True), ("Removed", False))
        ],
    }


def _shown_train_sets(facts: DatasetFacts) -> tuple[str, ...]:
    return in_order(train_set for one in facts.filterings for train_set in one.train_sets)


def _pictures_of(pictures: Mapping[str, Picture], representation: str) -> dict[str, dict[str, str]]:
    """The pictures of one representation, by their kind (and class number), as data URIs with their alternatives."""
    return {
        kind + rest.removeprefix(representation): _uri(picture)
        for (kind, _, rest), picture in ((name.partition("."), picture) for name, picture in pictures.items())
        if rest == representation or rest.startswith(f"{representation}.")
    }


def _headline(
    wide: Mapping[str, Picture], narrow: Mapping[str, Picture], representation: str
) -> dict[str, dict[str, str]]:
    """The overview and the falls as data URIs, wide and narrow, with their alternatives; of what there is."""
    return {
        name.partition(".")[0]: {**_uri(wide[name]), "narrow": png_or_jpeg_uri(picture.png)}
        for name, picture in narrow.items()
        if name.partition(".")[2] == representation
    }


def _browser_options(facts: DatasetFacts) -> dict[str, object]:
    """What the browser's filters offer."""
    return {
        "filterings": facts.representations,
        "labels": facts.label_names,
        "splits": list(dict.fromkeys(split for one in facts.filterings for split in one.splits)),
        "iterations": max((len(one.cutoffs) - 1 for one in facts.filterings), default=0),
        "outside": any(one.rows_left_alone for one in facts.filterings),
        "suspected": any(one.suspected_labels for one in facts.filterings),
        "trainings": [one.name for one in facts.weak_trainings],
    }


@cache
def _own_script(name: str) -> str:
    return (files("aflite_assets.reports.page") / "scripts" / name).read_text(encoding="utf-8")


def _warmup(analysis: Analysis, pictures: Mapping[str, Picture]) -> dict[str, object] | None:
    """The learning curves that chose the warm-up rows; None where a size was given."""
    points = analysis.of(WARMUP_CURVE)
    if not points:
        return None
    return {
        "choice": choice_text(points),
        "cautions": list(curve_cautions(points)),
        "picture": _uri(pictures["warmup_curve"]),
        "table": curve_table(points),
    }


def _sample(analysis: Analysis, pictures: Mapping[str, Picture]) -> dict[str, object] | None:
    """The curve that chose the sample of the train rows; None where all are filtered."""
    points, stop = analysis.of(SAMPLE_CURVE), analysis.facts.sample_stop
    if stop is None:
        return None
    return {
        "choice": sample_text(points, stop),
        "cautions": list(sample_cautions(points)),
        "picture": _uri(pictures["sample_curve"]),
        "table": sample_tables(analysis)[0],
        "stop": stop,
    }


def _uri(picture: Picture) -> dict[str, str]:
    return {"uri": png_or_jpeg_uri(picture.png), "alt": picture.alt}


def _similarities(analysis: Analysis, inputs: ReportInputs, representation: str) -> list[dict[str, object]]:
    """Per class compared its name, the means in words, the kept and removed rows shown (of images), and the key."""
    means, rows = analysis.of(SIMILARITIES, representation), inputs.rows_of(representation)
    images = inputs.examples.modality == "image"
    return [
        {
            "label": one.name,
            "means": means_text(mean for mean in means if mean.label == one.label),
            "shown": len(one.blocks[0].row_ids),
            "images": [
                (block.side.capitalize(), shown_rows(inputs.examples, rows, block.row_ids, inputs.source))
                for block in one.blocks[: 2 if images else 0]
            ],
            "picture": f"similarity.{one.label}",
        }
        for one in inputs.similarities.get(representation, ())
    ]


def _content_security_policy(scripts: tuple[str, ...]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode("ascii") for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _environment() -> Environment:
    folder = files("aflite_assets.reports.page") / "templates"
    environment = Environment(
        loader=DictLoader({name: (folder / name).read_text(encoding="utf-8") for name in _TEMPLATES}),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
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


def _finalize(value: object) -> object:
    return text.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
