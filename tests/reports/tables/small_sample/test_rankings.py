"""Two rankings compared with planted predictions: differences, what is said of them, overlaps, and hostile names."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.rankings import RankingDifference, ranking_differences
from aflite_assets.analysis.inputs.rankings import KeptOverlap, RankingPair
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import crossed_interval
from aflite_assets.analysis.scores.accuracy import correct_rows
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.page.json_report import report_json
from aflite_assets.reports.page.markdown import tables_markdown
from aflite_assets.reports.sentences.comparisons import ranking_line, ranking_sentences
from aflite_assets.reports.tables.all_tables import long_forms, shown_tables
from aflite_assets.reports.tables.small_sample.rankings import RANKING_OVERLAP, RANKINGS, ranking_tables
from tests.page_sentences import long_sentences

pytestmark = pytest.mark.usefixtures("undrawn")

OTHER = "roberta_by_predictability"
OVERLAP = KeptOverlap("filtered", 1200, 400, 400, 200, 1 / 3, 0.2002)
PAIR = RankingPair("roberta", OTHER, ("vocabulary", "predictability"), (OVERLAP,))
Shares = tuple[float, float, float]
KEPT_BY: Mapping[str, Shares] = {"roberta": (0.80, 0.70, 0.70), OTHER: (0.80, 0.70, 0.55)}
"""Shares right of removed and kept test rows and of challenge rows: 15 points more on `hans` alone, by vocabulary."""


def cells_of(
    done_cell: Callable[..., Cell],
    test_sets: tuple[TestSet, ...],
    shares: Mapping[str, Shares],
    *,
    train_set: str = "filtered",
    seeds: int = 3,
) -> tuple[Cell, ...]:
    """`linear` on what either ranking kept, the two with right rows of their own."""
    return tuple(
        replace(
            done_cell(test_sets, right, evaluator="linear", train_set=train_set, seed=100 * place + seed, train_rows=9),
            representation=name,
            seed=seed,
        )
        for place, (name, right) in enumerate(shares.items())
        for seed in range(seeds)
    )


@pytest.fixture(scope="session")
def make_ranked(
    planted: BenchmarkData, make_planted: Callable[..., BenchmarkData], done_cell: Callable[..., Cell]
) -> Callable[..., BenchmarkData]:
    def make(shares: Mapping[str, Shares] = KEPT_BY, *, seeds: int = 3, **changes: Any) -> BenchmarkData:
        given: dict[str, Any] = {
            "filtered": (*planted.filtered, replace(planted.filtered[0], representation=OTHER)),
            "cells": cells_of(done_cell, planted.test_sets, shares, seeds=seeds),
            "rankings": (PAIR,),
        }
        return make_planted(**(given | changes))

    return make


@pytest.fixture(scope="session")
def ranked(make_ranked: Callable[..., BenchmarkData]) -> BenchmarkData:
    return make_ranked()


def whole(data: BenchmarkData) -> dict[str, RankingDifference]:
    return {one.place.test_set: one for one in ranking_differences(data) if one.place.whole}


def test_the_difference_is_the_planted_one_with_the_projects_interval(ranked: BenchmarkData) -> None:
    found = whole(ranked)
    assert list(found) == ["test", "validation", "hans"]
    assert {name: one.place.tested_on for name, one in found.items()} == {
        "test": "full", "validation": "full", "hans": "all",
    }  # fmt: skip
    gaps = [one.interval.difference for one in found.values() if one.interval is not None]
    assert gaps == pytest.approx([0, 0, 15])
    hans = ranked.test_sets[-1]
    by_words, by_scores = (
        [np.asarray(correct_rows(cell, hans)) for cell in ranked.cells if cell.representation == name]
        for name in ("roberta", OTHER)
    )
    assert found["hans"].interval == crossed_interval(by_words, by_scores, hans.groups)
    assert [one.accuracy.mean for one in found["hans"].scores if one.accuracy is not None] == pytest.approx([0.7, 0.55])
    assert [one.seeds for one in found.values()] == [(3, 3)] * 3
    assert [one.test_rows for one in found.values()] == [1000, 250, 300]


def test_an_interval_without_zero_names_the_better_ranking_and_others_show_nothing(ranked: BenchmarkData) -> None:
    assert [one.says for one in whole(ranked).values()] == ["no difference was shown"] * 2 + ["vocabulary is better"]
    assert [one.better for one in whole(ranked).values()] == [None, None, "vocabulary"]
    assert ranking_line(analyse(ranked)) == "3 comparisons on whole test sets: vocabulary is better in 1."


def test_the_other_ranking_may_be_better(make_ranked: Callable[..., BenchmarkData]) -> None:
    data = make_ranked({"roberta": KEPT_BY[OTHER], OTHER: KEPT_BY["roberta"]})
    found = whole(data)["hans"]
    assert found.interval is not None
    assert found.interval.difference == pytest.approx(-15)
    assert found.interval.high < 0
    assert found.says == "predictability is better"
    assert ranking_line(analyse(data)) == "3 comparisons on whole test sets: predictability is better in 1."


def test_one_seed_is_no_finding(make_ranked: Callable[..., BenchmarkData]) -> None:
    data = make_ranked(seeds=1)
    assert whole(data)["hans"].says == "vocabulary was better here, no finding: one seed"
    assert whole(data)["hans"].seeds == (1, 1)
    assert ranking_line(analyse(data)) == "3 comparisons on whole test sets: neither was found better."


def test_a_difference_under_the_smallest_effect_is_no_finding(make_ranked: Callable[..., BenchmarkData]) -> None:
    assert whole(make_ranked(smallest_effect=20.0))["hans"].says == (
        "vocabulary was better here, no finding: under 20 points"
    )


def test_one_of_many_comparisons_is_no_finding(
    make_ranked: Callable[..., BenchmarkData], planted: BenchmarkData
) -> None:
    data = make_ranked({"roberta": (0.80, 0.70, 181 / 300), OTHER: (0.80, 0.70, 0.55)})
    alone = whole(data)["hans"]
    assert alone.interval is not None
    assert 0.05 / 3 < alone.interval.p_value < 0.05
    assert alone.interval.low > 0
    assert alone.says == "vocabulary was better here, no finding: one of many comparisons"
    assert whole(replace(data, test_sets=planted.test_sets[-1:]))["hans"].says == "vocabulary is better"


def test_a_missing_side_is_said(make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData) -> None:
    data = make_ranked(cells=tuple(cell for cell in ranked.cells if cell.representation == "roberta"))
    found = whole(data)["hans"]
    assert (found.interval, found.says, found.seeds) == (None, "not run", (3, 0))
    rows = [row for row in RANKINGS.table(data).to_pylist() if row["test_set"] == "hans" and row["column"] is None]
    assert [(row["seeds"], row["accuracy_against"], row["difference"]) for row in rows] == [(3, None, None)]
    assert ranking_line(analyse(data)) == "No evaluator was trained on both."


def test_earlier_sizes_are_compared_with_earlier_sizes(
    make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData, done_cell: Callable[..., Cell]
) -> None:
    earlier = cells_of(
        done_cell, ranked.test_sets, {"roberta": (0.8, 0.7, 0.5), OTHER: (0.8, 0.7, 0.9)}, train_set="filtered_600"
    )
    data = make_ranked(cells=(*ranked.cells, *earlier))
    on_hans = [one for one in ranking_differences(data) if one.place.test_set == "hans" and one.place.whole]
    assert [(one.place.train_set, one.says) for one in on_hans] == [
        ("filtered", "vocabulary is better"),
        ("filtered_600", "predictability is better"),
    ]
    assert ranking_line(analyse(data)) == (
        "6 comparisons on whole test sets: vocabulary is better in 1 and predictability is better in 1."
    )


def test_the_tables_show_the_numbers(ranked: BenchmarkData, values: Any) -> None:
    differences, kept = ranking_tables(ranked)
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


def test_categories_of_challenge_sets_stand_below_the_whole(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    pair = RankingPair("a", "b", ("vocabulary", "predictability"), ())
    data = make_by_hand(rankings=(pair,))
    mine = [one for one in ranking_differences(data) if one.place.evaluator == "p"]
    assert [(one.place.test_set, one.place.category, one.test_rows) for one in mine] == [
        ("test", None, 6), ("odd", None, 8), ("odd", "x", 4), ("odd", "y", 4), ("odd", None, 3),
    ]  # fmt: skip
    # rows right: of `test` 2.5 against 2.5, of `odd` 6.5 against 4, of its x 4 against 0, of its y 2.5 against 4
    gaps = [one.interval.difference for one in mine if one.interval is not None]
    assert gaps[:4] == pytest.approx([0, 100 * 2.5 / 8, 100, -37.5])
    assert [row.headings for row in ranking_tables(data)[0].rows][2:5] == [
        ("p", "filtered", "odd: x"), ("p", "filtered", "odd: y"), ("p", "filtered", "odd: any rule"),
    ]  # fmt: skip


def test_sets_of_two_sizes_are_named(make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData) -> None:
    larger = replace(PAIR, overlaps=(replace(OVERLAP, second_kept=500),))
    sentence = "The two sets differ in size (filtered), which may explain a difference."
    assert sentence in ranking_tables(make_ranked(rankings=(larger,)))[0].notes[0]
    assert sentence not in ranking_tables(ranked)[0].notes[0]


def test_long_forms_have_what_the_tables_show(ranked: BenchmarkData) -> None:
    rows = {row["test_set"]: row for row in RANKINGS.table(ranked).to_pylist() if row["column"] is None}
    hans = rows["hans"]
    assert (hans["representation"], hans["against"], hans["train_set"]) == ("roberta", OTHER, "filtered")
    assert (hans["accuracy"], hans["accuracy_against"], hans["difference"]) == pytest.approx((0.7, 0.55, 15))
    assert 0 < hans["low"] < 15 < hans["high"]
    assert (hans["seeds"], hans["seeds_against"], hans["side"], hans["better"]) == (3, 3, "above", "vocabulary")
    assert (rows["test"]["better"], rows["test"]["says"]) == (None, "no difference was shown")
    assert RANKING_OVERLAP.table(ranked).to_pylist() == [
        {
            "representation": "roberta", "against": OTHER, "train_set": "filtered", "rows": 1200, "first_rows": 400,
            "second_rows": 400, "shared": 200, "jaccard": 1 / 3, "jaccard_by_chance": 0.2002,
        }
    ]  # fmt: skip


def test_sentences_say_the_overlap_and_what_was_found(ranked: BenchmarkData) -> None:
    overlap, linear = ranking_sentences(analyse(ranked))
    assert overlap == (
        "Representation roberta was filtered twice, ranked by vocabulary and by predictability. Of the train rows that "
        "either kept, 33.3 % were kept by both. Two random sets of these sizes share 20.0 %."
    )
    found = whole(ranked)["hans"].interval
    assert found is not None
    assert linear == (
        "linear, trained on rows kept by vocabulary against rows kept by predictability. On hans vocabulary is better "
        f"(vocabulary minus predictability: 15.0 [{found.low:.1f}, {found.high:.1f}] points). On test and validation "
        "no difference was shown."
    )


def test_the_page_has_the_section_and_the_papers_table_once(
    make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData
) -> None:
    page = render_report(ranked)
    assert page.count('id="rankings"') == 1
    assert "vocabulary is better" in page
    assert long_sentences(page) == []
    with_paper = render_report(make_ranked(published="snli"))
    assert with_paper.count('aria-label="From the paper: SustaiNLP 2020, Table 3') == 1
    assert with_paper.index('id="rankings"') < with_paper.index('aria-label="From the paper: SustaiNLP 2020, Table 3')
    assert with_paper.index('id="sizes"') < with_paper.index('id="rankings"')


def test_nothing_compared_is_no_table_no_sentence_and_no_section(planted: BenchmarkData) -> None:
    assert ranking_tables(planted) == ranking_differences(planted) == ranking_sentences(analyse(planted)) == ()
    assert not [name for name in shown_tables(planted) if "ranking" in name]
    assert not [form.name for form in long_forms(planted) if "ranking" in form.name]
    assert "ranking" not in json.dumps(report_json(planted))
    assert 'id="rankings"' not in render_report(replace(planted))  # figures are kept per record, and here they are dots


def test_without_evaluators_the_overlap_stands_alone(make_ranked: Callable[..., BenchmarkData]) -> None:
    data = make_ranked(cells=())
    assert [one.of for one in ranking_tables(data)] == ["rows kept"]
    assert RANKINGS.table(data).num_rows == 0
    assert len(ranking_sentences(analyse(data))) == 1
    assert 'id="rankings"' in render_report(data)


def test_nothing_kept_has_no_overlap(make_ranked: Callable[..., BenchmarkData]) -> None:
    empty = replace(PAIR, overlaps=(KeptOverlap("filtered", 10, 0, 0, 0, None, None),))
    data = make_ranked(rankings=(empty,))
    assert [cell.text for cell in ranking_tables(data)[-1].rows[0].cells] == ["10", "0", "0", "0"] + ["\N{EN DASH}"] * 2
    assert ranking_sentences(analyse(data))[0].endswith("ranked by vocabulary and by predictability.")


def test_hostile_names_are_escaped(ranked: BenchmarkData, make_ranked: Callable[..., BenchmarkData]) -> None:
    evil = "<img src=x onerror=alert(1)> | `x`"
    hans = replace(ranked.test_sets[-1], categories={evil: np.array([evil, "</td>"], dtype=object)[np.arange(300) % 2]})
    data = make_ranked(
        test_sets=(*ranked.test_sets[:-1], hans),
        cells=tuple(replace(cell, evaluator="<b>evil</b>") for cell in ranked.cells),
    )
    page = render_report(data)
    assert "<img src=x" not in page
    assert "<b>evil" not in page
    assert "&lt;b&gt;evil&lt;/b&gt;, trained on rows kept by vocabulary" in page
    assert "hans: &lt;img src=x onerror=alert(1)&gt; | `x`" in page
    markdown = tables_markdown(ranking_tables(data))
    assert "<" not in markdown
    assert "\\| \\`x\\`" in markdown


def test_rankings_of_what_was_not_filtered_are_refused(make_planted: Callable[..., BenchmarkData]) -> None:
    with pytest.raises(InvalidInputError, match=rf"rankings name representations \['{OTHER}'\] that have no filtered"):
        make_planted(rankings=(PAIR,))
