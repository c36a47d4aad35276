import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.page.markdown import (
    escape_markdown,
    filter_markdown,
    markdown_table,
    table_json,
    text_tables_markdown,
)
from aflite_assets.reports.page.text_tables import challenge_layouts, plain_table
from aflite_assets.reports.sentences.wording import set_notes
from aflite_assets.reports.tables.main_tables import accuracy_tables, challenge_table, filter_table, main_table

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


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_no_text_breaks_a_table(cells: list[str]) -> None:
    lines = markdown_table(["a", "b"], [cells]).splitlines()
    assert len(lines) == 3
    unescaped = re.sub(r"\\.", "", lines[2])
    assert unescaped.count("|") == 3
    assert "<" not in unescaped
    assert "`" not in unescaped


def test_main_table_in_markdown(planted: BenchmarkData) -> None:
    lines = text_tables_markdown([plain_table(*accuracy_tables(planted))]).splitlines()
    assert lines[0].startswith(r"| evaluator | trained on | train rows | test, full \(n = 1,000\) | test, filtered")
    assert lines[2].startswith(
        "| linear | full | 1,200 | 78.0, ±0.0 over 3 seeds, \\[75.3, 80.5\\] | "
        "60.0, ±0.0 over 3 seeds, \\[55.1, 64.7\\] | 18.0 |"
    )
    assert lines[6] == f"| forest | random | {DASH} |" + f" not run | not run | {DASH} |" * 2
    assert "| failed: loss became NaN in epoch 2 |" in lines[7]
    assert all(line.count("|") == lines[0].count("|") for line in lines)


def test_challenge_table_in_markdown(planted: BenchmarkData) -> None:
    notes = {"hans": ("The spec limits it to 300 of 30,000 rows.", "a|b")}
    layouts = challenge_layouts(challenge_table(planted, "roberta"), notes=notes, missing={})
    text = text_tables_markdown(layouts)
    assert text.startswith(
        "**hans**\n\nThe spec limits it to 300 of 30,000 rows.\n\na\\|b\n\n| evaluator | trained on | train rows"
    )
    assert r"constituent, non-entailment \(n = 50\)" in text
    assert f"| linear | filtered | 400 | 64.0, ±0.0 over 3 seeds, interval 58.4{DASH}69.2 |" in text


def test_filter_table_in_markdown(planted: BenchmarkData) -> None:
    lines = filter_markdown(filter_table(planted.filtered[0])).splitlines()
    assert lines[2] == "| 0 | 1200 | 1200 | 600 | 114 | 114 | 57 | 0.98 | 0.82 | 0 |"
    assert lines[-1] == "| 7 | 402 | 402 | 201 | 0 | 0 | 0 | none | 0.4 | 0 |"


def test_empty_tables_are_headings_alone() -> None:
    assert challenge_layouts((), notes={}, missing={}) == ()


def test_missing_sets_are_named_with_the_reason() -> None:
    missing = {"anli": "file <gone> does not exist", "x_y": "no hub"}
    text = text_tables_markdown(challenge_layouts((), notes={}, missing=missing))
    assert text == "**anli** not available: file &lt;gone&gt; does not exist\n\n**x\\_y** not available: no hub\n"


def test_tables_as_json_hold_the_same_numbers(planted: BenchmarkData) -> None:
    rows = main_table(planted, "roberta")
    plain = json.loads(json.dumps(table_json(rows), allow_nan=False))
    assert plain[0]["evaluator"] == "linear"
    assert plain[0]["tests"][0]["drop"] == rows[0].tests[0].drop
    assert plain[0]["tests"][0]["full"]["accuracy"]["interval"]["low"] == pytest.approx(0.7533, abs=1e-4)
    assert plain[5]["tests"][0]["full"]["reason"] == "loss became NaN in epoch 2"


def test_hostile_tables_stay_tables(hostile: BenchmarkData) -> None:
    title = hostile.title
    layouts = challenge_layouts(
        challenge_table(hostile, "roberta"),
        notes={one.name: set_notes(one, hostile.label_names) for one in hostile.test_sets},
        missing={title: title},
    )
    for line in text_tables_markdown(layouts).splitlines():
        assert "<" not in line
        assert not re.search(r"(?<!\\)`", line)
