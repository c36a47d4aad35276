"""The page driven as a reader would: folding, sorting, definitions, the browser of rows; hostile text stays text."""

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.analysis.inputs.records import BenchmarkData, EvidenceTable
from aflite_assets.analysis.inputs.source_rows import ANSWER_PLACES, SourceRows
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.data.examples import Examples
from aflite_assets.studies.forgettables.analysis.records import Forgettables
from tests.planted_reports import rendered_page
from tests.undrawn import undrawn_page

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def open_page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Opens a page by its text; fails at the end where one printed, asked for a file, or opened a dialog."""
    folder, said = tmp_path_factory.mktemp("pages"), list[str]()
    written: dict[str, Path] = {}

    def opened(text: str, *, address: str = "", scripts: bool = True, **options: Any) -> Any:
        path = written.setdefault(text, folder / f"{len(written)}.html")
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        page = browser.new_context(java_script_enabled=scripts, **options).new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda sent: None if sent.url.startswith(("data:", "file:")) else said.append(sent.url))
        page.goto(path.as_uri() + address)
        return page

    yield opened
    assert said == []


@pytest.fixture(scope="module")
def report(with_rows: BenchmarkData) -> str:
    return rendered_page(with_rows)


def open_section(page: Any, name: str) -> None:
    page.evaluate(f"document.getElementById('{name}').closest('details').open = true")


def status(page: Any, text: str) -> None:
    page.locator(f"#rows-status:text-is('{text}')").wait_for()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_first_comes_the_verdict_and_the_rest_is_folded(open_page: Open, report: str, width: int, scheme: Any) -> None:
    page = open_page(report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#verdict .verdict-line").is_visible()
    assert page.locator("[aria-labelledby=models] img").first.is_visible()
    unfolded = page.locator("details.section[open] > summary h2").evaluate_all("all => all.map(one => one.id)")
    assert unfolded == ["filtering", "models"]
    assert page.locator("#accuracy").is_visible()
    assert not page.locator("[aria-labelledby=accuracy] table").first.is_visible()
    wide = page.evaluate("document.querySelector('[aria-labelledby=models] img').naturalWidth")
    assert (wide < 450) == (width == 390)
    # the contents stay in view, and say where the reader is
    page.locator("nav.toc a[href='#settings']").click()
    page.locator("nav.toc a[aria-current][href='#settings']").wait_for()
    assert page.locator("[aria-labelledby=settings] table").first.is_visible()
    assert page.locator("nav.toc a[href='#settings']").evaluate(
        "one => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }"
    )
    # the first column stays where the rest of a table scrolls away
    page.locator("#accuracy").click()
    box = page.locator("[aria-labelledby=accuracy] .scroll").first
    if width == 390:
        assert box.evaluate("one => one.classList.contains('overflows')")
        head = box.locator("tbody th.name").first
        before = head.bounding_box()["x"]
        box.evaluate("one => { one.scrollLeft = 200; }")
        assert abs(head.bounding_box()["x"] - before) < 2
    page.context.close()


def _brightness(page: Any, name: str) -> float:
    """Mean of the pixels of a picture as it is seen, from 0 to 255."""
    picture = page.locator(f"[aria-labelledby={name}] img.picture").first
    picture.scroll_into_view_if_needed()
    shown = Image.open(io.BytesIO(picture.screenshot())).convert("L")
    return float(np.asarray(shown).mean())


def test_pictures_are_dark_on_a_dark_page_alone(open_page: Open, report: str) -> None:
    for scheme, low, high in (("light", 200, 255), ("dark", 0, 70)):
        page = open_page(report, viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        open_section(page, "falls")
        for name in ("models", "falls"):
            assert low <= _brightness(page, name) <= high, (scheme, name)
        page.emulate_media(media="print", color_scheme=scheme)
        picture = page.locator("[aria-labelledby=models] img.picture").first
        assert picture.evaluate("one => getComputedStyle(one).filter") == "none"
        page.context.close()


CUES = pa.table(
    {
        "kind": ["partial input", "word", "attribute"] * 2, "name": ["text_pair", "hypothesis", "cue"] * 2,
        "value": ["", "incidentally", "=1+1"] * 2, "label_name": ["contradiction"] * 6,
        "class_share": [0.98] * 6, "rows": [3537, 12, 900, 40, 7, 7], "removed_rows": [2835] * 6,
        "share_removed": [0.66312] * 6, "share_expected": [0.40521] * 6, "p_value": [1e-9] * 6,
        "counts": [True] * 6, "classes": ["neutral 49.5 %, entailment 25.5 %, contradiction 25.0 %"] * 6,
        "share_kept": [0.005879] * 6, "adjusted_p": [2.5561e-200] * 6, "shown": [True] * 6,
    }
)  # fmt: skip


def open_detail(page: Any, title: str) -> Any:
    """The viewer with one table or picture of the details in it."""
    open_section(page, "details")
    page.locator("[data-detail] button", has_text=title).first.click()
    return page.locator("#viewer[open]")


@pytest.fixture
def marks(make_planted: Any) -> str:
    return rendered_page(make_planted(evidence=(EvidenceTable("Cues of the removed rows", "So and so.", CUES),)))


@pytest.mark.parametrize("width", [390, 1280])
def test_a_detail_is_shown_and_closed_by_key(open_page: Open, marks: str, width: int) -> None:
    page = open_page(marks, viewport={"width": width, "height": 900})
    viewer = open_detail(page, "Cues of the removed rows")
    assert viewer.locator("#viewer-title").inner_text() == "Cues of the removed rows"
    assert viewer.locator("tbody tr").count() == 6
    assert viewer.locator("#viewer-status").inner_text() == "6 of 6 rows."
    assert viewer.evaluate("one => one.getBoundingClientRect().right") <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Escape")
    assert page.locator("#viewer[open]").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "Cues of the removed rows"
    picture = open_detail(page, "Curves of filtering").locator("img.picture")
    assert picture.evaluate("one => one.complete && one.naturalWidth > 500")
    assert not page.locator("#viewer-tools").is_visible()
    page.context.close()


def test_a_detail_is_sorted_filtered_searched_and_saved(open_page: Open, marks: str) -> None:
    page = open_page(marks, viewport={"width": 1280, "height": 900})
    viewer = open_detail(page, "Cues of the removed rows")
    heads = viewer.locator("thead th").all_inner_texts()
    rows = heads.index("rows")
    column = f"[...document.querySelectorAll('#viewer-content tbody tr')].map(row => row.cells[{rows}].innerText)"
    assert page.evaluate(column) == ["3537", "12", "900", "40", "7", "7"]
    viewer.locator("thead button").nth(rows).click()
    assert viewer.locator("thead th").nth(rows).get_attribute("aria-sort") == "descending"
    assert page.evaluate(column) == ["3537", "900", "40", "12", "7", "7"]
    viewer.get_by_label("Filter by rows", exact=True).fill(">= 12")
    assert page.evaluate(column) == ["3537", "900", "40", "12"]
    shares = viewer.get_by_label("Filter by share of removed rows", exact=True)
    assert shares.get_attribute("placeholder") == "> 66.3"
    shares.fill("> 66 %")
    assert viewer.locator("#viewer-status").inner_text() == "4 of 6 rows."
    shares.fill("> much")
    assert viewer.locator("#viewer-status").inner_text() == (
        "0 of 6 rows. A filter of numbers is a sign and a number, such as > 35."
    )
    shares.fill("")
    viewer.get_by_label("Filter by kind", exact=True).fill("Attr")
    assert viewer.locator("#viewer-status").inner_text() == "1 of 6 rows."
    with page.expect_download() as saved:
        viewer.get_by_role("button", name="Save as CSV").click()
    assert saved.value.suggested_filename == "cues_of_the_removed_rows.csv"
    lines = saved.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].split(",")[:3] == ["kind", "name", "value"]
    assert lines[1].startswith("attribute,cue,'=1+1,")  # no spreadsheet takes it for a formula
    assert len(lines) == 2
    viewer.get_by_role("button", name="Clear").click()
    viewer.get_by_label("Search all columns").fill("incidentally")
    assert page.evaluate(column) == ["12", "7"]
    page.context.close()


def test_long_names_of_rows_break_and_lie_on_no_number(open_page: Open, planted: BenchmarkData) -> None:
    name = "3,102 forgettable rows of a weak model, 3 epochs at rate 1e-05"
    phases = {f"net_{number}": SecondPhase("net", (name,), "bow", "forgettable") for number in range(2)}
    full = next(one for one in planted.cells if one.train_set == "full")
    cells = tuple(replace(full, evaluator=one) for one in ("net", *phases))
    data = replace(planted, studies={"forgettable_sets": Forgettables(phases=phases, cells=cells)})
    page = open_page(undrawn_page(data), viewport={"width": 1280, "height": 900})
    open_section(page, "second-phase")
    table = page.locator("[aria-labelledby=second-phase] table").first
    head = table.locator("tbody th.name", has_text=name).first
    assert head.evaluate("one => one.scrollWidth <= one.clientWidth")
    average = table.locator("thead th", has_text="average")
    box = average.bounding_box()
    frame = page.locator("[aria-labelledby=second-phase] .scroll").first.bounding_box()
    assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    page.context.close()


def test_a_removed_row_is_found_and_says_why(open_page: Open, report: str) -> None:
    page = open_page(report, address="#rows", viewport={"width": 1280, "height": 900})
    status(page, "1,200 of 1,200 rows on this page match.")
    page.select_option("select[name=side]", "removed")
    page.select_option("select[name=iteration]", "3")
    status(page, "114 of 1,200 rows on this page match.")
    page.select_option("select[name=label]", label="neutral")
    status(page, "38 of 1,200 rows on this page match.")
    assert page.locator("#rows-list > li").count() == 25
    page.click("#rows-more")
    assert page.locator("#rows-list > li").count() == 38
    page.click("button[type=reset]")
    page.fill("input[name=search]", "343")
    status(page, "1 of 1,200 rows on this page match.")
    for _ in ("clear", "sort by", "the row"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    detail = page.locator(".row-detail")
    words = " ".join(detail.inner_text().split())
    assert "Removed in iteration 3. Held out from training, classifiers gave its label" in words
    assert "The cut-off of that iteration was 0.890." in words
    assert "Given instead neutral (25.0 %), contradiction (6.3 %)" in words
    assert "row 1199, labelled contradiction, cosine similarity 0.88" in words
    assert "Your column genre travel" in words
    assert "Lengths text: 5 words, 28 characters; text_pair: 7 words, 32 characters" in words
    line = " ".join(page.locator("#rows-list summary").inner_text().split())
    assert "row 343 5 + 7 words genre travel" in line
    label = detail.locator("svg").get_attribute("aria-label")
    assert "iteration 3: " in label
    assert "iteration 0: " not in label
    page.fill("input[name=search]", "two dogs run along")
    page.locator("#rows-list mark").first.wait_for()
    assert {text.lower() for text in page.locator("#rows-list mark").all_inner_texts()} == {"dogs"}
    marked = page.locator("#rows-list li:has(mark)").first
    marked.locator("summary").click()
    assert "“dogs” of text_pair: 31.3 % of the removed rows have it" in " ".join(
        marked.locator(".row-detail").inner_text().split()
    )
    page.select_option("select[name=suspected]", "yes")
    page.fill("input[name=search]", "")
    status(page, "1 of 1,200 rows on this page match.")
    page.context.close()


def test_suspected_labels_come_surest_first_and_rows_left_alone_say_so(
    open_page: Open, with_rows: BenchmarkData
) -> None:
    (one,), (facts,) = with_rows.filtered, with_rows.row_facts.values()
    ids = one.rows["row_id"].to_numpy()
    names = one.rows.column_names
    splits = np.where(ids >= 1000, "fresh", "train")
    rows = one.rows.set_column(names.index("split"), "split", pa.array(splits))
    rows = rows.set_column(names.index("label_probability"), "label_probability", pa.array(0.5 - ids / 3000))
    suspects = pa.array(np.where(ids < 3, 1, -1), mask=ids >= 3)
    table = facts.set_column(6, "suggested_label", suspects)
    table = table.set_column(7, "suggested_probability", pa.array(np.full(1200, 0.5, np.float32), mask=ids >= 3))
    examples = with_rows.examples.table
    examples = examples.set_column(2, "split", pa.array(np.where(np.arange(1400) >= 1000, "fresh", "train")))
    data = replace(
        with_rows,
        filtered=(replace(one, rows=rows, settings={**one.settings, "evaluation_rows": {"fresh": "kept"}}),),
        row_facts={"roberta": table},
        examples=Examples(examples, with_rows.label_names),
    )
    page = open_page(undrawn_page(data), address="#rows", viewport={"width": 1280, "height": 900})
    status(page, "1,200 of 1,200 rows on this page match.")
    order = page.locator("select[name=order]")
    assert order.input_value() == ""
    page.select_option("select[name=suspected]", "yes")
    status(page, "3 of 1,200 rows on this page match.")
    assert order.input_value() == "suspected"  # and says so
    ids_shown = "heads => heads.map(head => head.innerText.match(/ row (\\d+)/)[1])"
    heads = page.locator("#rows-list summary")
    assert heads.evaluate_all(ids_shown) == ["2", "1", "0"]
    assert "label may be neutral" in heads.first.inner_text()
    heads.first.click()
    words = " ".join(page.locator(".row-detail").inner_text().split())
    assert (
        "It may be neutral: models that never saw the row give that 50.0 %, and its own label contradiction 49.9 %"
        in words
    )
    page.select_option("select[name=order]", "source")
    heads.first.filter(has_text="train row 0").wait_for()
    assert heads.evaluate_all(ids_shown) == ["0", "1", "2"]
    page.select_option("select[name=suspected]", "")
    status(page, "1,200 of 1,200 rows on this page match.")
    assert order.input_value() == "source"  # which was asked for
    page.click("button[type=reset]")
    assert order.input_value() == ""
    page.select_option("select[name=order]", "suspected")
    heads.first.filter(has_text="train row 2").wait_for()
    assert heads.evaluate_all(ids_shown)[:3] == ["2", "1", "0"]
    page.select_option("select[name=side]", "outside")
    status(page, "200 of 1,200 rows on this page match.")
    assert "not filtered" in heads.first.inner_text()
    heads.first.click()
    reason = page.locator(".row-detail .reason").first.inner_text()
    assert (
        reason == "Never in the pool: the filter left the split fresh alone, so it neither kept nor removed this row."
    )
    page.select_option("select[name=side]", "kept")
    status(page, "202 of 1,200 rows on this page match.")
    page.context.close()


def test_rows_are_selected_by_how_a_weak_model_learnt_them(open_page: Open, with_weak_models: BenchmarkData) -> None:
    page = open_page(undrawn_page(with_weak_models), address="#rows", viewport={"width": 1280, "height": 900})
    matches = {
        "0 forgettable": 500, "0 forgotten": 250, "0 never": 250, "0 learnt": 500, "1 forgettable": 0, "1 learnt": 1000,
    }  # fmt: skip
    for value, rows in matches.items():
        page.select_option("select[name=learnt]", value)
        status(page, f"{rows:,} of 1,200 rows on this page match.")
    page.select_option("select[name=learnt]", "0 forgettable")
    page.select_option("select[name=order]", "learnt")
    status(page, "500 of 1,200 rows on this page match.")
    heads = page.locator("#rows-list summary")
    assert "bow, seed 0: never learnt" in heads.first.inner_text()
    page.fill("input[name=search]", "row 5")
    status(page, "1 of 1,200 rows on this page match.")
    assert "bow, seed 0: forgotten 1 time" in heads.first.inner_text()
    assert "seed 1" not in heads.first.inner_text()  # what is used is the first seed's
    heads.first.click()
    words = " ".join(page.locator(".row-detail").inner_text().split())
    assert "bow, seed 0: forgotten 1 time, right in 1 of 3 epochs; in its sets forgettable" in words
    assert "bow, seed 1: learnt, never forgotten, right in 3 of 3 epochs" in words
    page.context.close()


@pytest.mark.parametrize(
    "phrase", ["“Two dogs  run along”", '"two dogs run along"', "two dogs run along", "«dogs run»"]
)
def test_a_phrase_is_found_with_and_without_quotation_marks(open_page: Open, report: str, phrase: str) -> None:
    page = open_page(report, address="#rows", viewport={"width": 1280, "height": 900})
    status(page, "1,200 of 1,200 rows on this page match.")
    page.fill("input[name=search]", phrase)
    status(page, "120 of 1,200 rows on this page match.")
    page.fill("input[name=search]", '"along run"')
    status(page, "0 of 1,200 rows on this page match.")
    page.fill("input[name=search]", '"')
    status(page, "0 of 1,200 rows on this page match.")
    page.context.close()


def test_what_rows_are_sorted_by_stands_above_the_list_and_apart_from_the_filters(
    open_page: Open, with_weak_models: BenchmarkData
) -> None:
    written = undrawn_page(with_weak_models)
    for width in (390, 1280):
        page = open_page(written, address="#rows", viewport={"width": width, "height": 900})
        status(page, "1,200 of 1,200 rows on this page match.")
        filters, order, rows = (
            page.locator(one).bounding_box() for one in ("#rows-form .filters", "select[name=order]", "#rows-list")
        )
        assert filters["y"] + filters["height"] <= order["y"]
        assert order["y"] + order["height"] <= rows["y"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.context.close()


def test_tables_sort_by_click_and_by_key(open_page: Open, report: str) -> None:
    page = open_page(report, viewport={"width": 1280, "height": 900})
    open_section(page, "accuracy")
    table = page.locator("[aria-labelledby=accuracy] table").first
    first = "one => Array.from(one.tBodies[0].querySelectorAll('th.name')).map(head => head.textContent)"
    assert table.evaluate(first) == ["full", "random", "filtered"]
    head = table.locator("th[data-sort=number]", has_text="filtered").first
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert table.evaluate(first) == ["filtered", "full", "random"]
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert table.evaluate(first) == ["random", "full", "filtered"]
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") is None
    assert table.evaluate(first) == ["full", "random", "filtered"]
    page.context.close()


def test_a_term_says_what_it_means_to_pointer_and_keyboard(open_page: Open, report: str) -> None:
    page = open_page(report, viewport={"width": 390, "height": 900})
    term = page.locator("[aria-labelledby=models] a.term", has_text="evaluator").first
    term.scroll_into_view_if_needed()
    tip = page.locator("#definition")
    assert not tip.is_visible()
    term.hover()
    assert tip.inner_text().startswith("A model trained from scratch")
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    term.focus()
    assert tip.is_visible()
    assert term.get_attribute("aria-describedby") == "definition"
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.context.close()


def test_without_scripts_and_on_paper_everything_is_open(open_page: Open, report: str) -> None:
    page = open_page(report, scripts=False, viewport={"width": 720, "height": 900})
    assert page.locator("[aria-labelledby=accuracy] table").first.is_visible()
    assert page.locator("noscript").count() > 0
    page.context.close()
    page = open_page(report, viewport={"width": 720, "height": 900})
    page.emulate_media(media="print")
    for name in ("accuracy", "details", "settings"):
        assert page.locator(f"[aria-labelledby={name}] table").first.bounding_box()["height"] > 40, name
    assert not page.locator("nav.toc").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.context.close()


def test_hostile_rows_are_text(open_page: Open, hostile: BenchmarkData) -> None:
    page = open_page(undrawn_page(hostile), address="#rows", viewport={"width": 390, "height": 900})
    page.wait_for_selector("#rows-list summary")
    page.locator("#rows-list summary").first.click()
    detail = page.locator(".row-detail").first
    text = detail.inner_text()
    assert "<script>alert(1)</script>" in text
    assert "\N{REPLACEMENT CHARACTER}evil" in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert detail.locator("script, img, b").count() == 0
    assert detail.locator("mark").first.inner_text() == "script"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    open_section(page, "checks")
    assert "<script>alert(1)</script>" in page.locator(".checks").inner_text()
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_row_is_found_by_its_line_and_shows_its_whole_question(
    open_page: Open, with_rows: BenchmarkData, make_planted: Any, width: int
) -> None:
    evil = "<img src=x onerror=alert(1)>"
    table = with_rows.examples.table
    labels = pa.array((np.arange(1400) % 3 != 1).astype(np.int64))  # of three answers the second is right, class 0
    answers = pa.array([f"answer {row} {evil}" for row in range(1400)])
    table = table.set_column(3, "label", labels).set_column(5, "text_pair", answers)
    table = table.append_column("group", pa.array(np.arange(1400) // 3))
    ids = np.arange(1400)
    asked, number = pa.array([str(row // 3 + 1) for row in range(1400)]), ids % 3 + 1
    columns = [ids, ["train"] * 1400, ids, ["my.csv"] * 1400, ids // 3 + 2, asked, number]
    places = pa.table(columns, schema=ANSWER_PLACES)
    source = SourceRows(places, {"text": "question", "text_pair": f"answer {evil}"}, right=0)
    examples = Examples(table, ("right", "wrong"))
    one = with_rows.filtered[0]
    binary = one.rows.set_column(one.rows.column_names.index("label"), "label", labels[:1200])
    kept = (replace(one, rows=binary),)
    names = ("right", "wrong")
    data = make_planted(examples=examples, source=source, filtered=kept, cells=(), test_sets=(), label_names=names)
    page = open_page(undrawn_page(data), address="#rows", viewport={"width": width, "height": 900})
    assert (
        " ".join(page.locator(".facts dd").filter(has_text="answers of").text_content().split())
        == "1,400 answers of 467 questions"
    )
    page.fill("input[name=search]", "my.csv, line 4")  # and not lines 40 to 49
    status(page, "3 of 1,200 rows on this page match.")
    page.fill("input[name=search]", "“my.csv, line 4, answer 2”")
    status(page, "1 of 1,200 rows on this page match.")
    page.locator("#rows-list summary").first.click()
    words = " ".join(page.locator(".row-detail").inner_text().split())
    assert "In your files my.csv, line 4, answer 2 (train, question 3)" in words
    assert f"answer {evil} answer 7 {evil}" in words  # the column's name above its text
    lines = page.locator(".row-detail .answers li").all_inner_texts()
    assert [line.split("\n")[0] for line in lines] == ["✗ wrong", "✓ right", "✗ wrong"]
    assert [f"answer {row} {evil}" in line for row, line in zip((6, 7, 8), lines, strict=True)] == [True] * 3
    assert ["this row" in line for line in lines] == [False, True, False]
    assert all("taken for right" in line for line in lines)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for search, rows in {"question 3": 3, "line 4, answer 2": 1, "answer 7 <": 1, "question 999": 0}.items():
        page.fill("input[name=search]", search)
        status(page, f"{rows} of 1,200 rows on this page match.")
    page.context.close()
