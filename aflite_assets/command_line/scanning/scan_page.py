"""The result of a scan as one HTML page without scripts. Jinja2 escapes every text of the dataset."""

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from aflite_assets.command_line.scanning.blind_text import nature
from aflite_assets.command_line.scanning.example_rows import page_rows
from aflite_assets.command_line.scanning.scan_text import cue_sections
from aflite_assets.reports.figures.example_rows import thumbnail_uri
from aflite_assets.scan.blind.advice import next_steps
from aflite_assets.scan.blind.meanings import meaning
from aflite_assets.scan.cues import ScanResult
from aflite_assets.scan.cut_off import cut_off_advice
from aflite_assets.scan.remedies import advice, advised
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.sentences import (
    column_sentence,
    cue_sentence,
    elsewhere_sentences,
    headline,
    percent,
    reach_sentence,
    remarks,
    surface_sentence,
)
from aflite_assets.text import printable

MOST_EXAMPLES = 3
"""Rows that are shown of a cue."""


def result_page(
    result: ScanResult, rows: ScanRows, understood: Sequence[str], *, title: str, fix: str, scan: str
) -> str:
    """Return the result of a scan as an HTML page.

    `rows`: the scanned rows. `title`: the name of the scanned file. `fix`: the beginning of the `aflite fix` command
    that removes a cue.
    `scan`: the command line that repeats the scan.
    """
    environment = Environment(
        loader=PackageLoader("aflite_assets.command_line.scanning"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else printable(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    said = remarks(result)
    return environment.get_template("scan.html.j2").render(
        title=title,
        headline=headline(result),
        understood=understood,
        result=result,
        surface=surface_sentence(result),
        blind=[] if result.blind is None else result.blind.sure,
        overlap=[] if result.blind is None else result.blind.sure_overlap,
        steps=[] if result.blind is None else next_steps(result.blind, scan),
        meaning=meaning,
        nature=nature,
        reach=reach_sentence(result),
        sections=cue_sections(result, fix),
        column_sentence=column_sentence,
        sentences={cue.number: cue_sentence(cue, said[cue.number]) for cue in result.cues},
        advice={
            cue.number: cut_off_advice(result, cue, rows, fix) or advice(result, cue, fix)
            for cue in result.cues
            if cue.number in advised(result)
        },
        rows=page_rows(result, rows, most=MOST_EXAMPLES, thumbnail=thumbnail_uri),
        elsewhere={cue.number: elsewhere_sentences(cue) for cue in result.cues},
    )
