"""The tables of differences: filtered with its control, what a fall is made of, and two rankings."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.inputs.records import BenchmarkData, RankingOverlap, RankingPair
from aflite_assets.reports.page.markdown import tables_markdown
from aflite_assets.reports.tables.all_tables import declared, shown_tables
from aflite_assets.reports.tables.difference_tables import (
    FALL_TABLE,
    PAIRED,
    PAIRED_PARTS,
    RANKING_OVERLAPS,
    RANKINGS,
    better_ranking,
    ranking_text,
)
from aflite_assets.reports.tables.table import Table
from tests.page_sentences import long_sentences
from tests.planted_comparisons import KEPT_BY, OTHER, PAIR, PARTS, other_cell, ranked_cells
from tests.planted_reports import rendered_page, report_document

pytestmark = pytest.mark.usefixtures("undrawn")

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def paired_tables(analysis: Analysis) -> tuple[Table, ...]:
    return declared(PAIRED, PAIRED_PARTS)(analysis)


def ranking_tables(analysis: Analysis) -> tuple[Table, ...]:
    return declared(RANKINGS, RANKING_OVERLAPS)(analysis)


def test_whole_sets_are_listed_with_their_verdicts(by_hand: BenchmarkData, values: Any) -> None:
    a, b = (table for table in paired_tables(analyse(by_hand)) if not table.of)
    assert [column.plain for column in a.columns] == ["rows", "difference (points)", "verdict", "seeds"]
    shown = {row.headings[0:1] + row.headings[2:]: [cell.plain for cell in row.cells] for row in a.rows}
    assert shown["q", "test, filtered rows"] == [
        "3", f"{MINUS}100.0, [{MINUS}100.0, 23.0], rows alone", "no verdict: chosen by the filter", "1 and 1",
    ]  # fmt: skip
    assert shown["q", "odd, all rows"] == [
        "8", f"0.0, [{MINUS}46.1, 46.1], rows alone", "decides: no verdict: one seed", "1 and 1",
    ]  # fmt: skip
    assert shown["p", "odd, all rows"][2] == "decides: no verdict: few rows"
    assert a.notes[0].startswith(
        "Differences in points of accuracy on the same test rows, against as many random rows."
    )
    assert values(b)["q", "filtered minus random", "test, full rows"] == [
        6, "not run", "no verdict: not run", "2 and 0",
    ]  # fmt: skip


def test_verdicts_shade_and_those_that_decide_are_in_bold(planted: BenchmarkData) -> None:
    table = paired_tables(analyse(planted))[0]
    cells = {row.headings[2]: row.cells[2] for row in table.rows if row.headings[0] == "linear"}
    assert {name: (one.text, one.shaded, one.strong) for name, one in cells.items() if one.shaded} == {
        "hans, all rows": ("decides: above", True, True),
    }


def test_parts_stand_beside_each_other(by_hand: BenchmarkData, values: Any) -> None:
    _, table, _, b = paired_tables(analyse(by_hand))
    assert (table.name, table.of) == ("paired_a", "odd, filtered minus random")
    assert [column.plain for column in table.columns] == ["rows", "p (points)", "q (points)"]
    assert [row[:2] for row in values(table).values()] == [
        [rows, pytest.approx(points)] for rows, points in PARTS.values()
    ]
    assert table.rows[4].headings == ("x, no",)
    assert [cell.plain for cell in table.rows[4].cells] == [
        "2", f"100.0, [{MINUS}84.4, 100.0], no verdict: few rows",
        f"0.0, [{MINUS}100.0, 100.0], rows alone, no verdict: one seed",
    ]  # fmt: skip
    assert {row.cells[2].text for row in b.rows} == {"not run"}


def test_categories_of_one_name_in_two_columns_stay_apart(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    same = {"kind": np.array(["x"] * 4 + ["y"] * 4), "sort": np.array(["x", "x", "y", "y"] * 2)}
    table = paired_tables(analyse(make_by_hand(test_sets=(test, replace(odd, categories=same)))))[1]
    named_x = [row for row in table.rows if row.headings == ("x",)]
    assert [row.cells[1].value for row in named_x] == pytest.approx([62.5, 75])
    assert [row.cells[0].text for row in named_x] == ["4", "4"]


def test_weights_are_listed_with_a_note(planted: BenchmarkData) -> None:
    linear = [cell for cell in planted.cells if cell.evaluator == "linear"]
    matched = [replace(cell, train_set="random_matched") for cell in linear if cell.train_set == "random"]
    weighted = [
        replace(cell, train_set="weighted", representation="roberta") for cell in linear if cell.train_set == "full"
    ]
    plain = replace(planted, cells=(*linear, *matched))
    table = paired_tables(analyse(replace(plain, cells=(*plain.cells, *weighted))))[0]
    assert ("linear", "weighted minus full") in [shared for shared, _ in table.bodies]
    assert "It has no verdict" in table.notes[0]


def test_earlier_iterations_are_listed_after_filtered(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    cells = (*by_hand.cells, other_cell("filtered_mild", "11111111"), other_cell("random_mild", "11110000"))
    assert [shared for shared, _ in paired_tables(analyse(make_by_hand(cells=cells)))[0].bodies] == [
        ("p", "filtered minus random"), ("p", "filtered_mild minus random_mild"),
        ("q", "filtered minus random"), ("q", "filtered_mild minus random_mild"),
    ]  # fmt: skip


# What a fall is made of


def test_every_cell_of_a_fall(planted: BenchmarkData, values: Any) -> None:
    table, steps = FALL_TABLE.tables(analyse(planted))
    assert (steps.of, [column.plain for column in steps.columns]) == (
        "hans", ["full on all rows (%)", "fewer train rows", "which train rows", "filtered on all rows (%)"],
    )  # fmt: skip
    assert (table.name, table.of, table.headings) == ("falls_roberta", "test", ("evaluator",))
    assert [column.plain for column in table.columns] == [
        "full on all rows (%)", "test rows", "fewer train rows", "which train rows", "filtered on filtered rows (%)",
    ]  # fmt: skip
    assert [column.line for column in table.columns] == [True, False, False, False, True]
    # what falls is below zero
    assert values(table)["linear",] == pytest.approx([0.78, -18, -5, 15, 0.7])
    low, high = (float(text.replace(MINUS, "-")) for text in table.rows[0].cells[1].small[0].strip("[]").split(", "))
    assert low < -18 < high
    assert values(table)["forest",][2:] == ["not run", "not run", DASH]


def test_without_a_start_or_filtered_test_rows_there_is_no_table_of_falls(planted: BenchmarkData) -> None:
    kept = tuple(replace(test, kept={}) for test in planted.test_sets if not test.challenge)
    assert FALL_TABLE.tables(analyse(replace(planted, test_sets=kept))) == ()
    cells = tuple(cell for cell in planted.cells if cell.train_set != "full")
    assert FALL_TABLE.tables(analyse(replace(planted, cells=cells))) == ()


# Two rankings


def said(data: BenchmarkData) -> dict[str, tuple[str | None, str]]:
    """By whole test set the ranking that is better, and what is said of it."""
    analysis = analyse(data)
    found: list[Difference] = [one for one in analysis.of(DIFFERENCES) if one.comparison == "ranking" and one.whole]
    return {one.test_set: (better_ranking(analysis.facts, one), ranking_text(analysis.facts, one)) for one in found}


def test_an_interval_without_zero_names_the_better_ranking_and_others_show_nothing(
    ranked: BenchmarkData, make_ranked: Callable[..., BenchmarkData]
) -> None:
    assert list(said(ranked).values()) == [(None, "no difference was shown")] * 2 + [
        ("vocabulary", "vocabulary is better")
    ]
    turned = make_ranked({"roberta": KEPT_BY[OTHER], OTHER: KEPT_BY["roberta"]})
    assert said(turned)["hans"] == ("predictability", "predictability is better")


def test_what_is_no_finding_says_why(make_ranked: Callable[..., BenchmarkData], planted: BenchmarkData) -> None:
    better = "vocabulary was better here, but this is no finding: "
    assert said(make_ranked(seeds=1))["hans"][1] == f"{better}one seed"
    assert said(make_ranked(smallest_effect=20.0))["hans"][1] == f"{better}under 20 points"
    one_of_many = make_ranked({"roberta": (0.80, 0.70, 181 / 300), OTHER: (0.80, 0.70, 0.55)})
    assert said(one_of_many)["hans"][1] == f"{better}one of many comparisons"
    assert said(replace(one_of_many, test_sets=planted.test_sets[-1:]))["hans"][1] == "vocabulary is better"


def test_a_missing_side_is_said(make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData, values: Any) -> None:
    data = make_ranked(cells=tuple(cell for cell in ranked.cells if cell.representation == "roberta"))
    assert said(data)["hans"] == (None, "not run")
    row = values(ranking_tables(analyse(data))[0])["linear", "filtered", "hans"]
    assert row == [300, pytest.approx(0.7), "not run", "not run", "not run", "3 and 0"]


def test_earlier_sizes_stand_after_the_target(make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData) -> None:
    shares = {"roberta": (0.8, 0.7, 0.5), OTHER: (0.8, 0.7, 0.9)}
    earlier = ranked_cells(ranked.test_sets, shares, train_set="filtered_600")
    table = ranking_tables(analyse(make_ranked(cells=(*ranked.cells, *earlier))))[0]
    assert [(row.headings[1], row.cells[4].text) for row in table.rows if row.headings[2] == "hans"] == [
        ("filtered", "vocabulary is better"), ("filtered_600", "predictability is better"),
    ]  # fmt: skip


def test_categories_of_challenge_sets_stand_below_the_whole(make_by_hand: Any) -> None:
    data = make_by_hand(rankings={"a": RankingPair("a", "b", ("vocabulary", "predictability"), ())})
    rows = ranking_tables(analyse(data))[0].rows
    assert [row.headings for row in rows][2:5] == [
        ("p", "filtered", "odd: x"), ("p", "filtered", "odd: y"), ("p", "filtered", "odd: any rule"),
    ]  # fmt: skip
    assert [row.cells[3].value for row in rows[:4]] == pytest.approx([0, 100 * 2.5 / 8, 100, -37.5])


def test_the_tables_show_the_numbers(ranked: BenchmarkData, values: Any) -> None:
    differences, kept = ranking_tables(analyse(ranked))
    assert (differences.name, differences.of, kept.name, kept.of) == (
        "rankings_roberta", "", "rankings_roberta", "rows kept",
    )  # fmt: skip
    assert [column.plain for column in differences.columns] == [
        "rows", "by vocabulary (per cent)", "by predictability (per cent)", "difference (points)", "what it says",
        "seeds",
    ]  # fmt: skip
    found = values(differences)["linear", "filtered", "hans"]
    assert found[:4] == pytest.approx([300, 0.7, 0.55, 15])
    assert found[4:] == ["vocabulary is better", "3 and 3"]
    assert [row.cells[3].shaded for row in differences.rows if row.headings[2] in ("test", "hans")] == [False, True]
    assert values(kept) == {("filtered",): pytest.approx([1200, 400, 400, 200, 1 / 3, 0.2002])}
    assert [cell.text for cell in kept.rows[0].cells] == ["1,200", "400", "400", "200", "0.333", "0.200"]


def test_the_page_has_the_section_and_the_papers_table_once(
    make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData
) -> None:
    page = rendered_page(ranked)
    assert page.count('id="rankings"') == 1
    assert "vocabulary is better" in page
    assert long_sentences(page) == []
    with_paper = rendered_page(make_ranked(published="snli"))
    assert with_paper.count('aria-label="From the paper: SustaiNLP 2020, Table 3') == 1
    assert with_paper.index('id="rankings"') < with_paper.index('aria-label="From the paper: SustaiNLP 2020, Table 3')
    assert with_paper.index('id="sizes"') < with_paper.index('id="rankings"')


def test_nothing_compared_is_no_table_and_no_section(planted: BenchmarkData) -> None:
    assert ranking_tables(analyse(planted)) == ()
    assert not [name for name in shown_tables(analyse(planted)) if "ranking" in name]
    report: Any = report_document(planted)
    assert report["tables"].pop("ranking_overlap") == []
    assert "ranking" not in json.dumps(report)
    assert 'id="rankings"' not in rendered_page(replace(planted))  # figures are kept per record, and here they are dots


def test_without_evaluators_the_overlap_stands_alone(make_ranked: Callable[..., BenchmarkData]) -> None:
    data = make_ranked(cells=())
    assert [one.of for one in ranking_tables(analyse(data))] == ["rows kept"]
    assert RANKINGS.tables(analyse(data)) == ()
    assert 'id="rankings"' in rendered_page(data)


def test_nothing_kept_has_dashes_for_overlaps(make_ranked: Callable[..., BenchmarkData]) -> None:
    empty = replace(PAIR, overlaps=(RankingOverlap("roberta", OTHER, "filtered", 10, 0, 0, 0, None, None),))
    data = make_ranked(rankings={"roberta": empty})
    assert [cell.text for cell in ranking_tables(analyse(data))[-1].rows[0].cells] == ["10", "0", "0", "0"] + [
        "\N{EN DASH}"
    ] * 2


def test_hostile_names_are_escaped(ranked: BenchmarkData, make_ranked: Callable[..., BenchmarkData]) -> None:
    evil = "<img src=x onerror=alert(1)> | `x`"
    hans = replace(ranked.test_sets[-1], categories={evil: np.array([evil, "</td>"], dtype=object)[np.arange(300) % 2]})
    data = make_ranked(
        test_sets=(*ranked.test_sets[:-1], hans),
        cells=tuple(replace(cell, evaluator="<b>evil</b>") for cell in ranked.cells),
    )
    page = rendered_page(data)
    assert "<img src=x" not in page
    assert "<b>evil" not in page
    assert "&lt;b&gt;evil&lt;/b&gt;, trained on rows kept by vocabulary" in page
    assert "hans: &lt;img src=x onerror=alert(1)&gt; | `x`" in page
    markdown = tables_markdown(ranking_tables(analyse(data)))
    assert "<" not in markdown
    assert "\\| \\`x\\`" in markdown
