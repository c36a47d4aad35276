"""The tables in literal texts: headings, rows, notes, and nothing where there is nothing."""

import re
from typing import Any

from aflite_assets.reports.inputs.published_tables import PUBLISHED, published_tables
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.intervals import wilson_interval
from aflite_assets.reports.page.markdown import text_tables_markdown
from aflite_assets.reports.page.text_tables import (
    in_distribution_text_tables,
    paired_text_tables,
    published_text_tables,
    report_text_tables,
    top_k_text_tables,
    zero_shot_text_tables,
)
from aflite_assets.reports.tables.in_distribution import in_distribution_tables
from aflite_assets.reports.tables.paired import paired_differences
from aflite_assets.reports.tables.zero_shot import zero_shot_tables

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def same_width(text: str) -> bool:
    lines = [re.sub(r"\\.", "", line) for line in text.splitlines() if line.startswith("|")]
    return len({line.count("|") for line in lines}) == 1


def test_in_distribution(by_hand: BenchmarkData) -> None:
    text = text_tables_markdown(in_distribution_text_tables(in_distribution_tables(by_hand)))
    assert text.startswith(r"**test**" + "\n\n" + r"| evaluator | full, on full rows \(n = 6\) | random \(a\), on full")
    assert same_width(text)
    lines = text.splitlines()
    assert lines[4].startswith("| p | 75.0, ±11.8 over 2 seeds, interval ")
    assert lines[4].endswith(f"| {MINUS}8.3 | 12.5 |")
    assert r"| failed: out of memory |" not in text
    assert lines[6] == (
        r"| human | 68.3 \(5 rows\) | 68.3 \(5 rows\) | 83.3 \(2 rows\) | 83.3 \(2 rows\) | 68.3 \(5 rows\) "
        rf"| 58.3 \(3 rows\) | 58.3 \(3 rows\) | {MINUS}15.0 | 10.0 |"
    )
    assert lines[7] == f"| train rows | 90 | 30 | 30 | 30 | 30 | 30 | 30 | {DASH} | {DASH} |"


def test_zero_shot(by_hand: BenchmarkData) -> None:
    text = text_tables_markdown(zero_shot_text_tables(zero_shot_tables(by_hand, "a")))
    assert r"| odd: all \(n = 8\) | odd: x \(n = 4\) | odd: x, yes \(n = 2\) |" in text
    assert r"| odd: any rule \(n = 3\) | odd: any rule, yes \(n = 2\) |" in text
    # Wilson's interval of 6.5 of 8, of 4 of 4
    low, high = 100 * wilson_interval(0.8125, 8).low, 100 * wilson_interval(0.8125, 8).high
    assert (
        f"| filtered | 30 | 81.2, ±8.8 over 2 seeds, interval {low:.1f}{DASH}{high:.1f} "
        f"| 100.0, ±0.0 over 2 seeds, interval 51.0{DASH}100.0 |"
    ) in text
    assert "| filtered minus full, points |  | 43.8 | 25.0 | 25.0 | 25.0 | 62.5 | 75.0 | 50.0 | 50.0 |" in text
    assert "| filtered minus random, points |  | 62.5 | 62.5 | 25.0 | 100.0 | 62.5 | 75.0 | 50.0 | 66.7 |" in text
    assert [line for line in text.splitlines() if line.startswith("**")] == ["**p**", "**q**"]
    assert same_width(text)


def test_paired(by_hand: BenchmarkData) -> None:
    lines = text_tables_markdown(paired_text_tables(paired_differences(by_hand, "a"))).splitlines()
    assert lines[8] == (
        "| q | filtered minus random | test, filtered rows | 3 "
        f"| 100.0 points below, 95 % of test rows alone \\[{MINUS}100.0, {MINUS}100.0\\] "
        "| no verdict: chosen by the filter | 1 | 1 |"
    )
    assert lines[9] == (
        "| q | filtered minus random | odd, all rows | 8 | no difference, 95 % of test rows alone \\[0.0, 0.0\\] "
        "| no verdict: one seed | 1 | 1 |"
    )
    assert lines[0].startswith("Points of accuracy on the same test rows, against as many random rows \\(random\\).")
    assert lines[11] == "**odd, filtered minus random**"
    assert lines[13] == "| part | rows | p, points | q, points |"
    assert lines[15].startswith("| yes | 4 | 50.0 \\[")
    assert "| x, no | 2 | 100.0 \\[100.0, 100.0\\] | 0.0 \\[0.0, 0.0\\], rows alone |" in lines
    assert len(lines) == 10 + 5 + 11
    table, parts = paired_text_tables(paired_differences(by_hand, "b"))
    assert (
        "q",
        "filtered minus random",
        "test, full rows",
        "6",
        "not run",
        "no verdict: not run",
        "2",
        "0",
    ) in table.rows
    assert {row[3] for row in parts.rows} == {DASH}


def test_published() -> None:
    text = text_tables_markdown(
        published_text_tables([table for name in PUBLISHED for table in published_tables(name)])
    )
    assert "| RoBERTa | 92.6 | 88.3 | 78.9 | 71.4 | 62.6 | " + f"{MINUS}30.0 |" in text
    assert f"| RoBERTa, single pass | {DASH} |" in text
    assert "88.4 ±2.2" in text


def test_nothing_is_no_table() -> None:
    layouts = (
        in_distribution_text_tables,
        top_k_text_tables,
        zero_shot_text_tables,
        published_text_tables,
        paired_text_tables,
    )
    assert [layout(()) for layout in layouts] == [()] * 5
    assert text_tables_markdown(()) == ""


def test_all_tables_of_a_report_by_name(by_hand: BenchmarkData) -> None:
    found = report_text_tables(by_hand)
    names = ["accuracy", "zero_shot", "paired", "challenge_sets"]
    assert set(found) == {"in_distribution", *(f"{name}_{one}" for name in names for one in ("a", "b"))}
    assert [one.title for one in found["zero_shot_a"]] == ["p", "q"]
    for layouts in found.values():
        for layout in layouts:
            assert {len(row) for row in layout.rows} == {len(layout.columns)}


def test_hostile_names_stay_in_their_cells(hostile: BenchmarkData) -> None:
    texts: list[Any] = [
        text_tables_markdown(zero_shot_text_tables(zero_shot_tables(hostile, "roberta"))),
        text_tables_markdown(in_distribution_text_tables(in_distribution_tables(hostile))),
        text_tables_markdown(paired_text_tables(paired_differences(hostile, "roberta"))),
    ]
    for text in texts:
        assert text
        assert "<" not in text
        assert not re.search(r"(?<!\\)`", text)
        for block in re.split(r"\n(?=\*\*)", text):
            assert same_width(block)
    assert "any &lt;/th&gt;" in texts[0]
