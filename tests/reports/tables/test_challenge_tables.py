"""The tables of challenge sets: parts, zero-shot, by size and after fine-tuning, with every cell by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, paired_differences
from aflite_assets.analysis.comparisons.falls import FALLS
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.score_tables import ACCURACIES
from aflite_assets.reports.page.markdown import tables_markdown
from aflite_assets.reports.tables.accuracy_tables import ACCURACY, IN_DISTRIBUTION
from aflite_assets.reports.tables.all_tables import SHOWN
from aflite_assets.reports.tables.challenge_tables import CHALLENGE_SETS, FINE_ACTION, TRANSFER, ZERO_SHOT
from aflite_assets.reports.tables.table import Table
from tests.planted_comparisons import cell_accuracy
from tests.planted_reports import rendered_page, report_document
from tests.undrawn import undrawn_page

DASH = "\N{EN DASH}"


def test_parts_are_labels_then_categories_by_label(planted: BenchmarkData) -> None:
    (table,) = CHALLENGE_SETS.tables(analyse(planted))
    assert len(table.columns) == 1 + 1 + 11
    assert (table.name, table.of, table.title) == (
        "challenge_sets_roberta", "hans", "hans; train sets of representation roberta",
    )  # fmt: skip
    assert [column.plain for column in table.columns[:7]] == [
        "train rows", "overall (n = 300)", "entailment (n = 150)", "non-entailment (n = 150)", "constituent (n = 100)",
        "constituent, entailment (n = 50)", "constituent, non-entailment (n = 50)",
    ]  # fmt: skip
    assert [place for place, column in enumerate(table.columns) if column.line] == [1, 4, 7, 10]
    assert table.notes == (
        "The predicted label is mapped (collapse: label): entailment as entailment; neutral and contradiction "
        "as non-entailment.",
    )
    assert "a model that leans on a shortcut is right on one label" in table.caption


def test_numbers_are_masks_over_the_predictions(planted: BenchmarkData, values: Any) -> None:
    row = values(CHALLENGE_SETS.tables(analyse(planted))[0])["linear", "filtered"]
    hans = planted.test_sets[2]
    assert row[:2] == [400, pytest.approx(0.64)]
    mask = (hans.categories["heuristic"] == "subsequence") & (hans.labels == 1)
    cells = [c for c in planted.cells if (c.evaluator, c.train_set) == ("linear", "filtered")]
    assert row[-1] == pytest.approx(np.mean([cell_accuracy(c, hans, mask) for c in cells]))


def test_a_model_of_one_answer_is_right_on_one_half_alone(
    make_planted: Any, planted: BenchmarkData, values: Any
) -> None:
    hans = planted.test_sets[2]
    always = pa.table({"test_set": ["hans"] * 300, "row_id": hans.row_ids, "predicted": [0] * 300})
    data = make_planted(cells=(Cell("lazy", "full", None, 0, 9, "done", None, always),))
    assert values(CHALLENGE_SETS.tables(analyse(data))[0])["lazy", "full"][1:] == [0.5, 1, 0] + [0.5, 1, 0] * 3


def test_many_gold_labels_are_not_split_by_label(make_planted: Any) -> None:
    kinds = {"kind": np.array(["x", "y"] * 6)}
    many = TestSet("c", True, np.arange(12), np.arange(12) % 6, tuple("abcdef"), {}, kinds, np.arange(3))
    (table,) = CHALLENGE_SETS.tables(analyse(make_planted(test_sets=(many,))))
    assert [column.heading.text for column in table.columns] == ["train rows", "overall", "x", "y"]


def test_several_columns_have_a_table_each(by_hand: BenchmarkData, values: Any) -> None:
    whole, kind, rule, *_ = CHALLENGE_SETS.tables(analyse(by_hand))
    assert [one.of for one in (whole, kind, rule)] == ["odd", "odd, by kind", "odd, by rule"]
    assert [column.heading.text for column in whole.columns[2:]] == ["yes", "no"]
    assert [column.heading.text for column in rule.columns[2:]] == [
        "any rule", "any rule, yes", "any rule, no", "r", "r, yes", "r, no", "s, yes",
    ]  # fmt: skip
    firsts = [[row[:2] for row in values(one).values()] for one in (whole, kind, rule)]
    assert firsts[0] == firsts[1] == firsts[2]
    assert len(firsts[0]) == 6
    assert sum(one.test_set == "odd" and one.column is None and one.top == 1
               for one in analyse(by_hand).of(ACCURACIES)) == 2 * 6 * 3  # fmt: skip


def test_missing_sets_are_named_with_the_reason(by_hand: BenchmarkData) -> None:
    data = replace(by_hand, cells=(), missing_sets={"anli": "no <file>"})
    (table,) = SHOWN["missing_sets"](analyse(data))
    assert [(row.headings, row.cells[0].text) for row in table.rows] == [(("anli",), "no <file>")]
    assert SHOWN["missing_sets"](analyse(by_hand)) == ()


# Zero-shot

COLUMNS = [
    "odd, all (n = 8)", "odd, x (n = 4)", "odd, x, yes (n = 2)", "odd, x, no (n = 2)", "odd, y (n = 4)",
    "odd, y, yes (n = 2)", "odd, y, no (n = 2)", "odd, any rule (n = 3)", "odd, any rule, yes (n = 2)",
    "odd, any rule, no (n = 1)",
]  # fmt: skip
NUMBERS: dict[tuple[str, str], list[Any]] = {
    ("p", "full"): [90, 0.375, 0.75, 0.75, 0.75, 0, 0, 0, 0.5, 0.5, 0.5],
    ("p", "random"): [30, 0.1875, 0.375, 0.75, 0, 0, 0, 0, 1 / 3, 0.5, 0],
    ("p", "filtered"): [30, 0.8125, 1, 1, 1, 0.625, 0.75, 0.5, 1, 1, 1],
    ("q", "filtered"): [30, *[1.0] * 10],
    ("p", "filtered minus full, points"): [DASH, 43.75, 25, 25, 25, 62.5, 75, 50, 50, 50, 50],
    ("p", "filtered minus random, points"): [DASH, 62.5, 62.5, 25, 100, 62.5, 75, 50, 200 / 3, 50, 100],
}


def test_every_cell_of_the_table(by_hand: BenchmarkData, values: Any) -> None:
    tables = {table.of: table for table in ZERO_SHOT.tables(analyse(by_hand)) if table.name == "zero_shot_a"}
    assert list(tables) == ["p", "q"]
    assert [column.plain for column in tables["p"].columns] == ["train rows", *COLUMNS]
    assert [row.headings[0] for row in tables["p"].rows][:3] == ["full", "random", "filtered"]
    assert [row.apart for row in tables["p"].rows] == [False] * 3 + [True] * 2
    for (evaluator, row), numbers in NUMBERS.items():
        found = values(tables[evaluator])[row,]
        assert found[0] == numbers[0]
        assert found[1:] == pytest.approx(numbers[1:]), (evaluator, row)


def test_without_a_result_there_is_no_difference(by_hand: BenchmarkData, values: Any) -> None:
    q = values(ZERO_SHOT.tables(analyse(by_hand))[3])
    assert q["random",][1:] == ["not run"] * 10
    assert [q[f"filtered minus {against}, points",][1:] for against in ("full", "random")] == [[0.0] * 10, [DASH] * 10]


def test_seeds_deviate_and_unfinished_seeds_are_counted(by_hand: BenchmarkData) -> None:
    p, q, *_ = ZERO_SHOT.tables(analyse(by_hand))
    assert p.rows[2].cells[1].small[0] == "±8.8"
    assert {cell.small[0] for cell in q.rows[2].cells[1:]} == {"1 of 2 seeds"}


def test_one_column_has_its_values_with_both_halves(planted: BenchmarkData) -> None:
    columns = ZERO_SHOT.tables(analyse(planted))[0].columns[1:]
    assert [column.heading.text for column in columns[:4]] == [
        "all", "constituent", "constituent, entailment", "constituent, non-entailment",
    ]  # fmt: skip
    assert [column.heading.notes for column in columns] == [("n = 300",)] + [("n = 100",), ("n = 50",), ("n = 50",)] * 3


def test_a_set_without_categories_is_shown_by_gold_label(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    bare = make_by_hand(test_sets=(test, replace(odd, categories={})))
    assert [column.plain for column in ZERO_SHOT.tables(analyse(bare))[0].columns[1:]] == [
        "odd, all (n = 8)", "odd, yes (n = 4)", "odd, no (n = 4)",
    ]  # fmt: skip


def test_without_challenge_sets_there_is_no_table(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    assert ZERO_SHOT.tables(analyse(make_by_hand(test_sets=by_hand.test_sets[:1]))) == ()


# By size of the train set


def table_of(data: BenchmarkData, representation: str = "a", evaluator: str = "p") -> Table:
    (found,) = (
        one
        for one in FINE_ACTION.tables(analyse(data))
        if (one.name, one.of) == (f"fine_action_{representation}", evaluator)
    )
    return found


def test_the_smallest_filtered_set_comes_first_after_its_random_rows(by_size: BenchmarkData) -> None:
    table = table_of(by_size)
    assert [row.headings[0] for row in table.rows] == [
        "full", "random", "filtered", "random_45", "filtered_45", "random_60", "filtered_60",
        "filtered minus random, points", "filtered_45 minus random_45, points", "filtered_60 minus random_60, points",
    ]  # fmt: skip
    assert [row.cells[0].text for row in table.rows[:7]] == ["90", "30", "30", "45", "45", "60", "60"]
    assert [row.apart for row in table.rows] == [False] * 7 + [True] * 3
    assert [row.cells[0].text for row in table.rows[7:]] == [DASH] * 3


def test_columns_are_natural_sets_whole_and_challenge_sets_by_category(by_size: BenchmarkData) -> None:
    columns = [column.plain for column in table_of(by_size).columns]
    assert columns == [
        "train rows", "test, all rows (n = 6)", "odd, all (n = 8)", "odd, x (n = 4)", "odd, y (n = 4)",
        "odd, any rule (n = 3)",
    ]  # fmt: skip


def test_differences_are_those_of_the_paired_table(by_size: BenchmarkData, values: Any) -> None:
    found = values(table_of(by_size))
    assert found["filtered_45",][1:] == pytest.approx([2.5 / 6, 0.8125, 1, 0.625, 1])
    whole = {
        (one.train_set, one.test_set): one
        for one in paired_differences(by_size)
        if one.representation == "a" and one.evaluator == "p" and one.whole and one.tested_on != "filtered"
    }
    gap = whole["filtered_45", "odd"]
    assert gap.low is not None
    row = next(one for one in table_of(by_size).rows if one.headings[0] == "filtered_45 minus random_45, points")
    assert row.cells[2].value == gap.difference == pytest.approx(62.5)
    assert row.cells[2].small[0].startswith(f"[{gap.low:.1f}".replace("-", "\N{MINUS SIGN}"))
    assert row.cells[1].small[-1] == "no verdict: few rows"


def test_one_size_alone_is_left_to_other_tables(by_hand: BenchmarkData) -> None:
    assert FINE_ACTION.tables(analyse(by_hand)) == ()


def test_only_evaluators_and_representations_with_another_size_have_a_table(by_size: BenchmarkData) -> None:
    # every train set of a representation stands in the tables of all its evaluators, "not run" where it was not
    assert [(one.name, one.of) for one in FINE_ACTION.tables(analyse(by_size))] == [
        ("fine_action_a", "p"),
        ("fine_action_a", "q"),
    ]
    q = table_of(by_size, evaluator="q")
    assert next(row for row in q.rows if row.headings == ("filtered_60",)).cells[1].text == "not run"


def test_sets_with_other_laws_are_left_out(by_size: BenchmarkData, make_by_hand: Any) -> None:
    single = Cell("p", "single_pass_linear", "a", 0, 30, "not run")
    more = make_by_hand(cells=(*by_size.cells, single))
    assert "single_pass_linear" not in [row.headings[0] for row in table_of(more).rows]


def test_scores_and_differences_are_those_of_the_records(by_size: BenchmarkData) -> None:
    analysis = analyse(by_size)
    where = ("a", "p", "odd", True)
    sizes = {
        one.train_set: (one.train_rows, one.accuracy)
        for one in analysis.of(ACCURACIES)
        if (one.representation, one.evaluator, one.test_set, one.whole) == where
    }
    assert sizes == {
        "full": (90, 0.375), "random": (30, 0.1875), "filtered": (30, 0.8125), "random_60": (60, 0.1875),
        "filtered_60": (60, 0.8125), "random_45": (45, 0.1875), "filtered_45": (45, 0.8125),
    }  # fmt: skip
    gaps = {
        one.pair: one
        for one in analysis.of(DIFFERENCES)
        if one.comparison == "control" and (one.representation, one.evaluator, one.test_set, one.whole) == where
    }
    assert list(gaps) == [("filtered", "random"), ("filtered_60", "random_60"), ("filtered_45", "random_45")]
    one = gaps["filtered_60", "random_60"]
    assert one.low is not None
    assert one.high is not None
    assert one.difference == 62.5
    assert one.low < 62.5 < one.high
    table = table_of(by_size)
    assert {row.headings[0]: row.cells[2].value for row in table.rows if not row.apart} == {
        name: accuracy for name, (_, accuracy) in sizes.items()
    }
    assert [row.cells[2].value for row in table.rows if row.apart] == [62.5] * 3


def test_a_category_with_one_gold_label_stands_by_that_half(by_size: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_size.test_sets
    kinds = np.array(["x", "y"] * 4, dtype=object)  # as the labels go
    changed = make_by_hand(cells=by_size.cells, test_sets=(test, replace(odd, categories={"kind": kinds})))
    assert [column.plain for column in table_of(changed).columns[2:]] == [
        "odd, all (n = 8)", "odd, x, yes (n = 4)", "odd, y, no (n = 4)",
    ]  # fmt: skip


# After fine-tuning


def json_of(data: BenchmarkData) -> Any:
    return report_document(data)


def test_every_cell_after_fine_tuning(tuned: BenchmarkData, values: Any) -> None:
    table = TRANSFER.tables(analyse(tuned))[0]
    assert (table.name, table.of) == ("transfer_a", "p, fine-tuned")
    assert [column.plain for column in table.columns] == [
        "train rows", "odd, fine-tuned (p_odd, after odd, then gone, n = 8)",
        "odd, zero-shot (p_odd, after odd, then gone, n = 8)",
    ]  # fmt: skip
    assert values(table) == {
        ("full",): [90, 5 / 8, 3 / 8],
        ("random",): [30, 3 / 8, 1.5 / 8],
        ("filtered",): [30, 15 / 16, 6.5 / 8],
        ("filtered minus full, points",): [DASH, pytest.approx(31.25), pytest.approx(43.75)],
        ("filtered minus random, points",): [DASH, pytest.approx(56.25), pytest.approx(62.5)],
    }
    assert table.rows[0].cells[1].small[0] == "±17.7 over 2 seeds"


def test_what_was_not_fine_tuned_is_said(tuned: BenchmarkData, values: Any) -> None:
    shown = values(TRANSFER.tables(analyse(tuned))[1])
    assert shown["filtered",][1:] == ["failed: diverged", 4 / 8]
    assert shown["filtered minus full, points",][1] == "not run"
    assert isinstance(shown["filtered minus full, points",][2], float)


def test_without_fine_tuned_evaluators_there_is_no_table(by_hand: BenchmarkData) -> None:
    assert TRANSFER.tables(analyse(by_hand)) == ()
    assert 'id="transfer"' not in undrawn_page(by_hand)
    assert not [one for one in analyse(by_hand).of(DIFFERENCES) if one.comparison == "transfer"]


def test_fine_tuned_evaluators_stay_out_of_tables_about_train_sets_alone(tuned: BenchmarkData) -> None:
    assert [table.of for table in ZERO_SHOT.tables(analyse(tuned))] == ["p", "q"] * 2
    assert [row.headings[0] for row in IN_DISTRIBUTION.tables(analyse(tuned))[0].rows if not row.apart] == ["p", "q"]
    assert list(dict.fromkeys(one.evaluator for one in analyse(tuned).of(FALLS))) == ["p", "q"]
    assert "p_odd" not in " ".join(json_of(tuned)["summary"])
    (before_and_after, _) = ACCURACY.tables(analyse(tuned))
    assert {row.headings[0] for row in before_and_after.rows} == {"p", "q", "p_odd"}


def test_all_formats_say_the_same(tuned: BenchmarkData) -> None:
    report = json_of(tuned)
    assert [
        (row["train_set"], row["accuracy"], row["seeds"])
        for row in report["tables"]["accuracies"]
        if (row["representation"], row["evaluator"], row["test_set"], row["column"], row["label"])
        == ("a", "p_odd", "odd", None, None)
    ] == [("full", 5 / 8, 2), ("random", 3 / 8, 2), ("filtered", 15 / 16, 2)]
    (difference,) = (
        row for row in report["tables"]["differences"]
        if (row["comparison"], row["representation"], row["evaluator"], row["against"])
        == ("transfer", "a", "p_odd", "full")
    )  # fmt: skip
    assert (difference["train_set"], difference["difference"]) == ("filtered", pytest.approx(31.25))
    assert report["fine_tuned"] == {"p_odd": {"start": "p", "sets": ["odd", "gone"]}}
    assert "| full | 90 | 62.5, ±17.7 over 2 seeds, [" in tables_markdown(TRANSFER.tables(analyse(tuned))).replace(
        "\\", ""
    )
    page = rendered_page(tuned)
    assert "p, fine-tuned on challenge sets; train sets of representation a" in page
    assert "p_odd, after odd, then gone" in page
    assert "<b>62.5</b>" in page
    assert "p, trained on the train set first and then fine-tuned on odd, then gone" in page
