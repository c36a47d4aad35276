import html
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.figures.accuracy_bars import screen_bars
from aflite_assets.reports.page.markdown import (
    escape_markdown,
    first_screen_markdown,
    plain_table,
    tables_markdown,
)
from aflite_assets.reports.sentences.first_screen import first_screen
from aflite_assets.reports.tables.accuracy_tables import ACCURACY
from aflite_assets.reports.tables.all_tables import SHOWN, shown_tables
from aflite_assets.reports.tables.challenge_tables import CHALLENGE_SETS
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell

DASH = "\N{EN DASH}"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("`rm`\nx", r"\`rm\` x"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("[x](y) ![z]", r"\[x\]\(y\) \!\[z\]"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("2024", "2024"),
        ("a\x00", "a\u2400"),
        ("back\\", "back\\\\"),
    ],
)
def test_dataset_text_is_literal(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


LINKS = [
    "https://evil.example/x",
    "HTTP://evil.example",
    "see (https://evil.example).",
    "ftp://evil.example/x",
    "www.evil.example",
    "WWW.Evil.example/x?y=(z)",
    "*www.evil.example*",
    "ann@evil.example",
    "a.b+c_d@evil-site.example.org",
    "mailto:ann@evil.example",
    "MailTo:ann@evil.example",
    "xmpp:ann@evil.example/room",
    "x_https://evil.example",
    "https://ann:pw@evil.example",
    "<https://evil.example>",
    "[x](https://evil.example)",
    "![x](//evil.example/x.png)",
    "http:\n//evil.example www.\nevil.example",
    "https://https://www.www.evil.example@www.evil.example",
]
GFM_AUTOLINK = re.compile(r"(?i)(https?|ftp)://\S|www\.\S|[\w.+-]+@[\w-]+\.[\w-]")
"""What GFM makes links of in text, after it has taken the backslashes out ("Autolinks (extension)")."""


def _table(*texts: str) -> str:
    """A table of one row of these texts, in Markdown."""
    columns = tuple(Column(Heading("b")) for _ in texts[1:])
    return tables_markdown([Table("", "", "", ("a",), columns, (Row(texts[:1], tuple(map(TableCell, texts[1:]))),))])


def _as_read(markdown: str) -> str:
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown))


@pytest.mark.parametrize("text", LINKS)
def test_an_address_in_dataset_text_is_no_link(text: str) -> None:
    read = _as_read(escape_markdown(text))
    assert not GFM_AUTOLINK.search(read), read
    assert read.replace("\u200b", "") == " ".join(text.split()), "the text is shown as it is"
    assert read.count("\u200b") <= 6
    renderer = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    page = renderer.MarkdownIt("commonmark").render(_table(text) + "\n" + escape_markdown(text))
    assert "<a" not in page
    assert "<img" not in page


@pytest.mark.parametrize("text", ["repository@0a1b2c", "a @ b", "a: b // c", "wwwx", "ann@host", "3:4/5"])
def test_other_text_is_not_broken(text: str) -> None:
    assert "\u200b" not in escape_markdown(text)


@given(
    st.lists(
        st.sampled_from(["http", "s", ":", "//", "www", ".", "@", "a", "b.c", "-", "_", "\\", "&", "\n"]), max_size=12
    )
)
def test_no_text_becomes_a_link(parts: list[str]) -> None:
    assert not GFM_AUTOLINK.search(_as_read(escape_markdown("".join(parts))))


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_no_text_breaks_a_table(cells: list[str]) -> None:
    lines = _table(*cells).splitlines()
    assert len(lines) == 3
    unescaped = re.sub(r"\\.", "", lines[2])
    assert unescaped.count("|") == 3
    assert "<" not in unescaped
    assert "`" not in unescaped


def test_a_table_in_markdown(planted: BenchmarkData) -> None:
    lines = tables_markdown(ACCURACY.tables(analyse(planted))).splitlines()
    assert lines[0].startswith(r"| evaluator | trained on | train rows | test, full \(n = 1,000\) | test, filtered")
    assert lines[1].startswith("| --- | --- | ---: | ---: |")
    assert lines[2].startswith(
        "| linear | full | 1,200 | 78.0, ±0.0 over 3 seeds, \\[75.3, 80.5\\] | "
        "60.0, ±0.0 over 3 seeds, \\[55.1, 64.7\\] | 18.0 |"
    )
    assert lines[6] == f"| forest | random | {DASH} |" + f" not run | not run | {DASH} |" * 2 + " not run |"
    assert "| failed: loss became NaN in epoch 2 |" in lines[7]
    assert all(line.count("|") == lines[0].count("|") for line in lines)


def test_title_and_notes_stand_above(make_planted: Any, planted: BenchmarkData) -> None:
    hans = replace(planted.test_sets[-1], notes=("The spec limits it to 300 of 30,000 rows.", "a|b"))
    data = make_planted(test_sets=(*planted.test_sets[:2], hans))
    text = tables_markdown(CHALLENGE_SETS.tables(analyse(data)))
    assert text.startswith(
        "**hans**\n\nThe spec limits it to 300 of 30,000 rows.\n\na\\|b\n\nThe predicted label is mapped"
    )
    assert "\n\n| evaluator | trained on | train rows" in text
    assert "| linear | filtered | 400 | 64.0, ±0.0 over 3 seeds, \\[58.4, 69.2\\] |" in text


def test_missing_sets_stand_with_their_reasons(by_hand: BenchmarkData) -> None:
    missing = {"anli": "file <gone> does not exist", "x_y": "no hub"}
    text = tables_markdown(SHOWN["missing_sets"](analyse(replace(by_hand, missing_sets=missing))))
    assert "| anli | file &lt;gone&gt; does not exist |\n| x\\_y | no hub |\n" in text
    assert tables_markdown(()) == ""


def test_plain_rows_are_as_wide_as_their_headings(by_hand: BenchmarkData) -> None:
    for each in shown_tables(analyse(by_hand)).values():
        for table in map(plain_table, each):
            assert {len(row) for row in table["rows"]} == {len(table["columns"])}


def test_hostile_tables_stay_tables(hostile: BenchmarkData) -> None:
    hostile = replace(hostile, missing_sets={hostile.title: hostile.title})
    found = shown_tables(analyse(hostile))
    assert len(found) == 9
    for each in found.values():
        for block in map(tables_markdown, zip(each)):
            assert "<" not in block
            assert not re.search(r"(?<!\\)`", block)
            lines = [re.sub(r"\\.", "", line) for line in block.splitlines() if line.startswith("|")]
            assert len({line.count("|") for line in lines}) <= 1
    assert "any &lt;/th&gt;" in tables_markdown(found["zero_shot_roberta"])


def test_the_first_screen_is_the_same_in_markdown(by_hand: BenchmarkData, hostile: BenchmarkData) -> None:
    analysis = analyse(by_hand)
    first = replace(first_screen(analysis, from_files=False), evaluator="p", representation="a", test_sets=("test",))
    shown = first_screen_markdown(first, screen_bars(analysis, first))
    assert shown.startswith(f"**{first.badge}:** ")
    assert (
        "| p, accuracy in % | all rows | random rows | filtered |\n| --- | ---: | ---: | ---: |\n| test | 75.0 "
        in shown
    )
    assert "**Basis and limits:** " in shown
    analysis = analyse(hostile)
    screen = first_screen(analysis, from_files=True)
    assert "<script" not in first_screen_markdown(screen, screen_bars(analysis, screen))
