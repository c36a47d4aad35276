"""Rows below each cue of the page: the part that carries the cue is marked, and hostile text is escaped."""

from dataclasses import replace

import pyarrow as pa

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.page.html import render_report
from aflite_assets.scan.cues import CueProperty
from tests.planted_cues import cue_of, scanned
from tests.planted_reports import HOSTILE, report_inputs
from tests.undrawn import undrawn_figures

WORD = replace(cue_of(CueProperty("words", "the word 'couch' (text)", "text")), number=0, kind="words")


def page_of(data: BenchmarkData) -> str:
    data = replace(data, scan=scanned(WORD))
    inputs = replace(report_inputs(data), cue_rows={0: [300, 301]})
    with undrawn_figures():
        analysis = analyse(data)
        return render_report(analysis, inputs, report_pictures(analysis, inputs))


def with_text(data: BenchmarkData, text: str) -> BenchmarkData:
    table = data.examples.table
    place = table.column_names.index("text")
    return replace(
        data, examples=Examples(table.set_column(place, "text", pa.array([text] * len(table))), data.label_names)
    )


def test_the_word_of_a_cue_is_marked_on_the_first_screen_and_below_the_cue(planted: BenchmarkData) -> None:
    assert page_of(with_text(planted, "A Couch, no sofa.")).count("A <mark>Couch</mark>, no sofa.") == 4


def test_hostile_text_beside_a_mark_is_escaped(planted: BenchmarkData) -> None:
    page = page_of(with_text(planted, f"couch {HOSTILE}"))
    assert "<mark>couch</mark> &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
