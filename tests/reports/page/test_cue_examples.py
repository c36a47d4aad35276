"""Rows of each cue of the page: examples with the part that carries it marked, and all in the browser of rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.page.html import render_report
from aflite_assets.scan.cues import Cue, CueProperty
from tests.planted_cues import STOP, cue_of, scanned
from tests.planted_reports import HOSTILE, report_inputs
from tests.undrawn import undrawn_figures

WORD = replace(cue_of(CueProperty("words", "the word 'couch' (text)", "text")), number=0, kind="words")


def page_of(data: BenchmarkData, *cues: Cue, **given: Any) -> str:
    data = replace(data, scan=scanned(*(cues or (WORD,))))
    inputs = replace(report_inputs(data), **{"cue_rows": {0: [300, 301]}, **given})
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


def test_a_cue_says_beside_its_rows_why_leaning_on_it_was_not_tested(planted: BenchmarkData) -> None:
    page = page_of(planted)
    below = page[page.index('<h2 id="cues">') :]
    assert "It was not tested whether models lean on it, because at most three properties are tested" in below


def test_hostile_text_beside_a_mark_is_escaped(planted: BenchmarkData) -> None:
    page = page_of(with_text(planted, f"couch {HOSTILE}"))
    assert "<mark>couch</mark> &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page


@pytest.mark.browser
def test_a_cue_links_to_its_rows_in_the_browser(with_rows: BenchmarkData, browser: Any, tmp_path: Path) -> None:
    stop = replace(STOP, number=1, name=f"ends with {HOSTILE}")
    carriers = {0: np.arange(300, 340), 1: np.array([7, 305, 1_399])}  # the last is in no filtering
    (tmp_path / "page.html").write_text(page_of(with_rows, WORD, stop, carriers=carriers), encoding="utf-8")
    page = browser.new_context().new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(f"{(tmp_path / 'page.html').as_uri()}#cues")
    page.click("a[href='#rows-cue-0']")
    status = page.locator("#rows-status")
    page.locator("#rows-status:text-is('40 of 1,200 rows on this page match.')").wait_for()
    page.select_option("select[name=side]", "kept")
    page.locator("#rows-status:text-is('0 of 1,200 rows on this page match.')").wait_for()
    page.click("a[href='#rows-cue-0']")  # once more: all of its rows, whatever was chosen since
    page.locator("#rows-status:text-is('40 of 1,200 rows on this page match.')").wait_for()
    page.click("a[href='#rows-cue-1']")
    page.locator("#rows-status:text-is('2 of 1,200 rows on this page match.')").wait_for()
    assert page.locator("select[name=cue] option:checked").inner_text().startswith("ends with <script>")
    page.fill("input[name=search]", "305")
    page.locator("#rows-status:text-is('1 of 1,200 rows on this page match.')").wait_for()
    page.locator("#rows-list summary").first.click()
    detail = " ".join(page.locator(".row-detail").inner_text().split())
    assert "Cues that it carries the word 'couch' (text)" in detail
    page.goto(f"{(tmp_path / 'page.html').as_uri()}?again#rows-cue-1")
    page.locator("#rows-status:text-is('2 of 1,200 rows on this page match.')").wait_for()
    assert status.is_visible()
    assert said == []
    page.context.close()
