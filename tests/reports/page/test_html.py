import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.versions import MovedCue, VersionComparison
from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, EvidenceTable, FilteredSet
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.page.attachments import MOST_ROWS
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.sentences.summary import plain_summary
from aflite_assets.scan.cues import CueProperty
from tests.planted_cues import STOP, scanned
from tests.planted_reports import rendered_page, report_inputs
from tests.undrawn import undrawn_figures, undrawn_page

CLOSING = CueProperty("missing values", "closing is missing", "closing")

VOID = {"meta", "img", "br", "link", "input", "hr", "source"}
WITHIN_A_SENTENCE = {"a", "dfn"}


class Page(HTMLParser):
    """Elements and text of a page; fails on elements that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.details: list[dict[str, Any]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._apart(tag)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self._apart(tag)

    def _apart(self, tag: str) -> None:
        if tag not in WITHIN_A_SENTENCE:
            self.text.append(" ")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.text.append(data)
        elif self._open and self._open[-1] == "script" and self.elements[-1][1].get("id") == "details-data":
            self.details = json.loads(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self) -> str:
        """The text of the page, then that of the tables and pictures that it shows on demand."""
        return " ".join("".join((*self.text, *map(_words, self.details))).split())


def _words(detail: dict[str, Any]) -> str:
    """The title, caption and alternative text of a detail, its heads and its cells."""
    cells = (cell if isinstance(cell, str) else cell[0] for row in detail.get("rows", ()) for cell in row)
    said = (detail["title"], detail["caption"], detail.get("alt", ""), *detail.get("heads", ()), *cells)
    return " ".join(("", *said))


def words_of(data: BenchmarkData) -> str:
    return Page(undrawn_page(data)).words()


CURVES = (
    LearningCurve("roberta", (40, 80, 160), (30, 80, 82), 100, 34),
    LearningCurve("other", (40, 80, 160), (30, 32, 70), 100, 34),
)


def test_learning_curves_have_a_section_where_they_chose(make_planted: Any, page: Page) -> None:
    assert "How the warm-up rows were chosen" not in page.words()
    drawn = Page(rendered_page(make_planted(warmup_curves=CURVES)))
    words = drawn.words()
    assert "How the warm-up rows were chosen" in words
    assert (
        "the encoders need a sample of 160 rows. With the 100 held-back rows that the curves are measured on, "
        "260 train rows" in words
    )
    assert "Learning curve: other: accuracy still rises at 160 rows, the largest sample" in words
    assert "Learning curve: roberta" not in words
    assert "roberta 80 100 80 0.8 0.7112 0.8666 yes no" in words
    assert "other 160 100 70 0.7 0.6042 0.7811 yes yes" in words
    assert any("with the elbow chosen, representations roberta" in str(one["alt"]) for one in drawn.all("img"))


@pytest.fixture(scope="module")
def planted_page(planted: BenchmarkData) -> str:
    return rendered_page(planted)


@pytest.fixture(scope="module")
def page(planted_page: str) -> Page:
    return Page(planted_page)


@pytest.fixture(scope="module")
def hostile_page(hostile: BenchmarkData) -> str:
    return rendered_page(hostile)


def test_sections_come_in_order(page: Page) -> None:
    ids = [attributes["id"] for name, attributes in page.elements if name == "h2"]
    expected = "verdict-title reasons-title filtering models details settings words"
    assert ids == expected.split()
    parts = [attributes["aria-labelledby"] for attributes in page.all("details") if attributes["class"] == "inner part"]
    assert parts == ["examples", "rows", "accuracy", "paired", "falls", "leanings", "says"]


def test_page_shows_the_tables_numbers(page: Page, planted: BenchmarkData) -> None:
    words = page.words()
    assert "78.0 ±0.0 over 3 seeds [75.3, 80.5]" in words
    assert "failed: loss became NaN in epoch 2" in words
    assert "not run" in words
    for sentence in plain_summary(analyse(planted)):
        assert sentence in words


def test_page_says_how_predictions_of_a_challenge_set_were_mapped(page: Page) -> None:
    assert (
        "wrong on the other. The predicted label is mapped (collapse: label): entailment as entailment; "
        "neutral and contradiction as non-entailment." in page.words()
    )


def test_missing_sets_are_shown_with_the_reason(make_planted: Any, planted: BenchmarkData) -> None:
    natural = tuple(test_set for test_set in planted.test_sets if not test_set.challenge)
    parsed = Page(undrawn_page(make_planted(test_sets=natural, missing_sets={"anli": "file '<a>.csv' is gone"})))
    words = parsed.words()
    assert "Challenge sets that are not available Challenge sets that could not be read, and why. 1 row" in words
    assert "name value anli file '<a>.csv' is gone" in words
    assert "These challenge sets are not available, so nothing was tested on them: anli." in words


def test_no_table_cell_is_blank(planted_page: str) -> None:
    assert not re.search(r"<t[dh][^>]*>\s*</t[dh]>", planted_page)


def test_page_asks_nothing_of_the_network(page: Page) -> None:
    ids = {attributes.get("id") for _, attributes in page.elements}
    for name, attributes in page.elements:
        for attribute, value in attributes.items():
            assert attribute not in ("action", "data", "style") or name == "meta"
            if attribute in ("src", "srcset"):
                assert str(value).startswith("data:image/")
            if attribute == "href" and not re.fullmatch(r"(tables|evidence|figures)/[\w.]+\.(parquet|png)", str(value)):
                assert str(value)[1:] in ids
    policy = page.all("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert str(policy["content"]).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in str(policy["content"]).split("style-src")[0]


def test_scripts_are_there_once_and_whole(planted_page: str) -> None:
    text = planted_page
    folder = files("aflite_assets.reports.page") / "scripts"
    own = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in ("page", "rows", "charts", "details")]
    for script in own:
        assert text.count(f"<script>{script}</script>") == 1
    assert text.count("<script>") == 4
    assert len(text) < 1_100_000


def test_the_page_stays_under_two_megabytes(make_planted: Any, image_examples: Any) -> None:
    assert len(rendered_page(make_planted(examples=image_examples(1400))).encode()) <= 2_000_000


def test_tables_can_be_sorted_and_scrolled(planted_page: str, page: Page) -> None:
    heads = [attributes for attributes in page.all("th") if attributes["scope"] == "col"]
    assert (
        sum("data-sort" not in attributes for attributes in heads) == 7
    )  # of the first screen's chart, of the details
    assert {attributes.get("data-sort") for attributes in heads} == {"number", "text", None}
    assert all(
        attributes.get("data-scrolls") == "sideways"
        for attributes in page.all("div")
        if attributes.get("role") == "region"
    )
    values = [float(str(one["data-value"])) for one in page.all("td") if "data-value" in one]
    assert {0.78, 0.6, 1200.0} <= {round(value, 6) for value in values}
    assert '<th scope="row" class="name">full</th>' in planted_page


def test_page_is_accessible(page: Page) -> None:
    assert page.all("html")[0]["lang"] == "en"
    assert all(attributes.get("alt") for attributes in page.all("img"))
    assert all(attributes.get("scope") for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert len(page.all("h1")) == 1
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert all(
        attributes.get("tabindex") == "0" for attributes in page.all("div") if attributes.get("class") == "scroll"
    )


def test_hostile_page_has_no_element_of_the_datas_making(hostile_page: str) -> None:
    parsed = Page(hostile_page)
    assert not [attributes for _, attributes in parsed.elements if any(name.startswith("on") for name in attributes)]
    assert len(parsed.all("script")) == 7
    assert all(str(image["src"]).startswith("data:image/") for image in parsed.all("img"))
    assert not parsed.all("b") or all(set(attributes) <= {"dir"} for attributes in parsed.all("b"))
    for raw in ("<script>alert", "<img src=x", "</script><b>", "\x00", "\x07", "\u202e", " 49 "):
        assert raw not in hostile_page


def test_hostile_text_is_shown_as_it_is(hostile_page: str) -> None:
    words = Page(hostile_page).words()
    assert '<script>alert(1)</script> ]]> \u2400\u2407 | `code` "q" \' <img src=x onerror=alert(1)> \ufffdevil' in words
    assert "{{ 7*7 }}" in words


def test_headings_that_have_nothing_to_show_are_left_out(make_planted: Any, planted: BenchmarkData) -> None:
    natural = tuple(test_set for test_set in planted.test_sets if not test_set.challenge)
    shown = Page(undrawn_page(make_planted(test_sets=natural)))
    titles = [one["title"] for one in shown.details]
    assert not [one for one in titles if "hallenge" in one or "zero-shot" in one]
    assert not [one for one in shown.all("details") if one.get("aria-labelledby") == "challenge"]


def test_nothing_trained_and_no_iteration_still_make_a_page(make_planted: Any, planted: BenchmarkData) -> None:
    f = planted.filtered[0]
    empty = FilteredSet("roberta", f.iterations.slice(0, 0), "target_size", (), f.rows.slice(0, 0), {})
    words = Page(rendered_page(make_planted(cells=(), filtered=(empty,), notes=("Trial run: look only.",)))).words()
    assert "No evaluator was trained." in words
    assert "No iteration was run: the target size was reached." in words
    assert "No train row was kept." in words
    assert "Trial run: look only." in words
    assert "No evaluator was trained." in Page(rendered_page(make_planted(cells=(), filtered=()))).words()


def test_what_settings_did_is_no_warning(make_planted: Any) -> None:
    done = "The 3 feature columns were standardised by the train rows."
    page = undrawn_page(make_planted(notes=("Trial run: look only.",), settings_done=(done,)))
    assert f'<p class="legend">{done}</p>' in page
    assert page.count('<aside class="note">') == page.count("Warning from filtering")
    assert page.count('<li dir="auto">Trial run: look only.</li>') == 1


def test_scatter_for_chosen_features(make_planted: Any, feature_examples: Any) -> None:
    parsed = Page(rendered_page(make_planted(examples=feature_examples(1400, 3)), scatter_features=(0, 2)))
    alts = [str(image["alt"]) for image in parsed.all("img")]
    for start in ("Before filtering: 1,200 train rows", "After filtering: 402 train rows"):
        assert sum(alt.startswith(f"{start}, feature 0 against feature 2, coloured by class. ") for alt in alts) == 1
    assert "Models trained on random, which has as many rows, reach on all rows: linear 73.6 %" in parsed.words()


def test_images_are_thumbnails(make_planted: Any, image_examples: Any) -> None:
    parsed = Page(rendered_page(make_planted(examples=image_examples(1400))))
    assert sum(str(image["src"]).startswith("data:image/jpeg") for image in parsed.all("img")) == 48


def test_long_tables_are_cut_and_their_files_are_whole(make_planted: Any) -> None:
    table = EvidenceTable("Words", "Frequent words. Of all.", pa.table({"word_count": list(range(MOST_ROWS + 10))}))
    page = Page(undrawn_page(make_planted(evidence=(table,))))
    shown = next(one for one in page.details if one["title"] == "Words")
    assert (shown["heads"], shown["kinds"], shown["caption"]) == (["word count"], ["text"], "Frequent words. Of all.")
    assert (shown["rows"][:2], len(shown["rows"]), shown["left_out"]) == ([["0"], ["1"]], MOST_ROWS, 10)
    assert "Words Frequent words. 510 rows evidence/00.parquet" in page.words()


@pytest.mark.browser
@pytest.mark.parametrize("which", ["planted_page", "hostile_page"])
def test_page_fits_draws_and_stays_silent(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest, which: str
) -> None:
    path = tmp_path / "report.html"
    path.write_text(request.getfixturevalue(which), encoding="utf-8")
    said: list[str] = []
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda sent: None if sent.url.startswith(("data:", "file:")) else said.append(sent.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".chart svg")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".chart path.curve").count() == 3
    page.locator(".chart-plot").focus()
    page.keyboard.press("Home")
    assert page.locator(".chart-tip").inner_text().startswith("iteration 0\nrepresentation bias ")
    ticks = ".chart text.middle"
    assert page.locator(ticks).first.text_content() == "0"
    page.keyboard.press("+")
    assert page.locator(".chart .dot").count() == 4  # two iterations, of two series with dots
    page.keyboard.press("-")
    assert page.locator(".chart .dot").count() == 16
    plot = page.locator(".chart-plot").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] * 0.5, plot["y"] + 60)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] - 12, plot["y"] + 60)
    page.mouse.up()
    assert page.locator(ticks).first.text_content() == "3"
    assert page.locator(".chart .dot").count() == 10
    page.get_by_role("button", name="Show all").click()
    assert page.locator(ticks).first.text_content() == "0"
    page.get_by_role("button", name="largest class").click()
    assert page.locator(".chart path.curve").count() == 2
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert said == []
    page.close()


def test_hand_written_numbers_are_on_the_page(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    words = Page(undrawn_page(make_by_hand(published="snli"))).words()
    for text in (
        "test: full, random and filtered",
        "human 68.3 (5 rows) 68.3 (5 rows) 83.3 (2 rows)",
        "any rule (n = 3)",
        "odd, by kind",
        "test, filtered rows 3 \N{MINUS SIGN}100.0 [\N{MINUS SIGN}100.0, 23.0] rows alone no verdict: "
        "chosen by "
        "the filter 1 and 1",
        "decides: no verdict: few rows 2 and 2",
        "test, full rows 6 not run no verdict: not run 2 and 0",
        "ICML 2020, Table 3",
        "RoBERTa 92.6 88.3 78.9 71.4 62.6 \N{MINUS SIGN}30.0",
        "94.1 ±3.5",
    ):
        assert text in words, text


def test_top_5_has_a_section_where_the_paper_has_figures(make_by_hand: Any) -> None:
    page = Page(undrawn_page(make_by_hand(published="imagenet")))
    assert "EfficientNet-B7 84.4 97.1 73.8 90.8 24.5 60.6" in page.words()


def test_earlier_train_sets_are_explained(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    extra = Cell("p", "filtered_60", "a", 0, 60, "not run")
    words = words_of(make_by_hand(cells=(*by_hand.cells, extra)))
    assert "filtered_60 the rows left when the filter had come down to" in words


def test_parts_of_challenge_sets_are_compared_side_by_side(by_hand: BenchmarkData) -> None:
    words = words_of(by_hand)
    assert "odd by part: filtered minus random, representation a" in words
    # p on the four rows of either gold label, and q, whose seeds are all right
    assert (
        "no 4 75.0 [\N{MINUS SIGN}4.6, 100.0] no verdict: few rows 0.0 [\N{MINUS SIGN}92.2, 92.2] rows alone no verdict"
        in words
    )
    assert "x, no 2 100.0 [\N{MINUS SIGN}84.4, 100.0] no verdict: few rows" in words


def test_differences_are_shaded_by_their_verdict_alone(planted: BenchmarkData, make_planted: Any) -> None:
    shaded = '<td class="text compared">above</td>'
    page = undrawn_page(planted)
    assert page.count(shaded) == 0  # hans, which decides, is in bold; the filtered rows' intervals miss zero too
    assert '<td class="text compared"><b>decides: above</b></td>' in page
    assert "no verdict: chosen by the filter" in page
    assert shaded not in undrawn_page(make_planted(cells=tuple(c for c in planted.cells if c.seed == 0)))


def test_zero_shot_has_intervals_and_differences(by_hand: BenchmarkData) -> None:
    words = words_of(by_hand)
    assert "filtered 30 81.2, ±8.8" in words
    assert "filtered minus full, points \N{EN DASH} 43.8 25.0 25.0 25.0 62.5" in words


def test_test_rows_left_alone_are_not_called_filtered(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    assert "on filtered rows" not in words_of(make_by_hand(test_sets=(replace(test, kept={}), odd)))
    assert "on filtered rows" in words_of(by_hand)


def test_the_first_screen_begins_with_what_changed_and_links_to_the_section(planted: BenchmarkData) -> None:
    gone = MovedCue("closing <b>", "neutral", False, 0.98, None)
    compared = VersionComparison("loans of 2026", "loans_fixed of 2026", (), 0, (), (), (), (gone,))
    analysis = analyse(replace(planted, scan=scanned(replace(STOP, kind=CLOSING.kind, properties=(CLOSING,)))))
    with undrawn_figures():
        inputs = replace(report_inputs(planted), versions=(compared,))
        page = render_report(analysis, inputs, report_pictures(analysis, inputs))
    first = page[page.index('<section id="verdict"') :]
    change, badge = first.index("no longer predicts the label: 98.0 % balanced accuracy then"), first.index("<h2")
    assert change < badge
    assert "the cue “closing &lt;b&gt;” no longer" in first
    assert first.index('<a class="to" href="#versions">more</a>') < badge
    assert "add <code>irrelevant: [closing]</code> to the dataset&#39;s file and run again" in first
