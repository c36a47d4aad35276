"""axe-core finds nothing on the page of each kind of data, unfolded, in light and dark, wide and narrow."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.versions import Changed, MovedNumber, MovedRow, RowCounts, VersionComparison
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.source_rows import ANSWER_PLACES, SourceRows
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.page.html import render_report
from tests.planted_reports import report_inputs

pytestmark = pytest.mark.browser
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
ROWS = 1400
KINDS = ("choice", "features", "images", "texts")


def choice(with_rows: BenchmarkData, make_planted: Callable[..., BenchmarkData]) -> BenchmarkData:
    """Three answers to a question, of which one is right."""
    ids = np.arange(ROWS)
    labels, table = pa.array((ids % 3 > 0).astype(np.int64)), with_rows.examples.table
    table = table.set_column(table.column_names.index("label"), "label", labels).append_column(
        "group", pa.array(ids // 3)
    )
    asked = pa.array([str(row // 3 + 1) for row in ids])
    columns = [ids, ["train"] * ROWS, ids, ["my.csv"] * ROWS, ids // 3 + 2, asked, ids % 3 + 1]
    source = SourceRows(pa.table(columns, schema=ANSWER_PLACES), {"text": "question", "text_pair": "answer"}, right=0)
    one = with_rows.filtered[0]
    binary = one.rows.set_column(one.rows.column_names.index("label"), "label", labels[: len(one.rows)])
    names = ("right", "wrong")
    return make_planted(
        examples=Examples(table, names),
        source=source,
        filtered=(replace(one, rows=binary),),
        cells=(),
        test_sets=(),
        label_names=names,
    )


COMPARED = VersionComparison(
    "reviews of 2026-01-02 03:04",
    "reviews of 2026-02-03 04:05",
    numbers=(MovedNumber("linear", None, "full", "test", 900, True, 0.6, 0.8, 20.0, 12.0, 28.0, "above", None),),
    single=0,
    counts=(RowCounts("roberta", 900, 1, 0, 2, 3),),
    rows=(MovedRow("roberta", "<b>7</b>", "train", "neutral", "<i>dogs</i>", "removed", "kept"),),
    changed=(Changed("setting", "filter.roberta.threshold", "0.75", "0.9"),),
)


def whole_page(data: BenchmarkData) -> str:
    """The page of these records, with a comparison with an earlier result."""
    analysis, inputs = analyse(data), replace(report_inputs(data), versions=(COMPARED,))
    return render_report(analysis, inputs, report_pictures(analysis, inputs))


@pytest.fixture(scope="module")
def pages(
    with_rows: BenchmarkData,
    make_planted: Callable[..., BenchmarkData],
    feature_examples: Callable[..., Examples],
    image_examples: Callable[..., Examples],
) -> Mapping[str, str]:
    found = {
        "choice": choice(with_rows, make_planted),
        "features": replace(with_rows, examples=feature_examples(ROWS)),
        "images": replace(with_rows, examples=image_examples(ROWS)),
        "texts": with_rows,
    }
    return {name: whole_page(data) for name, data in found.items()}


QUICK = {("texts", "light", 1280), ("images", "dark", 390)}
"""Pages that the fast tests look at; the others take two minutes together."""


@pytest.mark.parametrize(
    ("kind", "scheme", "width"),
    [
        pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow)
        for one in product(KINDS, ("light", "dark"), (390, 1280))
    ],
)
def test_axe_finds_no_violation(
    browser: Any, pages: Mapping[str, str], tmp_path: Path, kind: str, scheme: Any, width: int
) -> None:
    path = tmp_path / f"{kind}.html"
    path.write_text(pages[kind], encoding="utf-8")
    page = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}).new_page()
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.locator("#rows-list summary").first.click()
    page.locator(".row-detail").first.wait_for()
    page.locator("[data-detail] button").first.click()
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    said = [
        (each["id"], each["help"], node["target"], node["html"][:200])
        for each in found["violations"]
        for node in each["nodes"]
    ]
    assert found["testEngine"]["name"] == "axe-core"
    assert len(found["passes"]) > 20
    assert said == []
    page.context.close()


def test_the_section_of_changes_says_what_moved(browser: Any, pages: Mapping[str, str], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(pages["texts"], encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri() + "#versions")
    section = page.locator("section[aria-labelledby=versions]")
    assert section.locator(".line").inner_text() == (
        "Since reviews of 2026-01-02 03:04, 1 of 1 accuracy moved beyond the interval, 1 row changed sides and 1 "
        "setting differs."
    )
    assert "roberta: 900 rows in both results; 0 were kept before and are removed now" in section.inner_text()
    tables = [" ".join(one.split()) for one in section.locator("table tbody").all_inner_texts()]
    assert tables == [
        "linear full test 900 60.0 80.0 20.0 [12.0, 28.0]",
        "<b>7</b> roberta train neutral removed kept <i>dogs</i>",
        "filter.roberta.threshold setting 0.75 0.9",
    ]
    page.context.close()
