"""The tables of accuracies before and after filtering: which columns and rows they have, and every cell by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.data.examples import Examples
from aflite_assets.reports.tables.accuracy_tables import ACCURACY, IN_DISTRIBUTION, TOP_5
from aflite_assets.reports.tables.table import Table
from tests.planted_comparisons import FALLING, cell_accuracy, probable_cell

DASH = "\N{EN DASH}"


def test_the_table_has_the_papers_comparison_shaded(planted: BenchmarkData, values: Any) -> None:
    (table,) = ACCURACY.tables(analyse(planted))
    assert (table.name, table.headings) == ("accuracy_roberta", ("evaluator", "trained on"))
    assert [column.plain for column in table.columns] == [
        "train rows", "test, full (n = 1,000)", "test, filtered (n = 400)", "test, drop (points)",
        "validation, full (n = 250)", "validation, filtered (n = 100)", "validation, drop (points)",
        "hans, all (n = 300)",
    ]  # fmt: skip
    assert [column.line for column in table.columns] == [False, True, False, False, True, False, False, True]
    assert values(table)["linear", "filtered"][-1] == pytest.approx(0.64)
    assert values(table)["linear", "full"][:4] == [1200, *map(pytest.approx, (0.78, 0.6, 18))]
    assert values(table)["forest", "random"] == [DASH, *["not run", "not run", DASH] * 2, "not run"]
    shaded = {row.headings[1]: [cell.shaded for cell in row.cells[1:4]] for row in table.rows[:3]}
    assert shaded == {
        "full": [True, False, False], "random": [True, False, False], "filtered": [False, True, False],
    }  # fmt: skip


def test_own_test_rows_have_a_column_where_other_laws_left_some(planted: BenchmarkData, make_planted: Any) -> None:
    own = np.arange(1000) >= 600
    test = replace(planted.test_sets[0], own_kept={("roberta", "single_pass_linear"): own})
    once = replace(planted.cells[0], train_set="single_pass_linear", representation="roberta")
    data = make_planted(test_sets=(test,), cells=(*planted.cells[:9], once))
    (table,) = ACCURACY.tables(analyse(data))
    assert [column.heading.text for column in table.columns] == [
        "train rows",
        "full",
        "filtered",
        "drop",
        "own test rows",
    ]
    by_train_set = {row.headings[1]: row.cells for row in table.rows}
    assert by_train_set["single_pass_linear"][4].value == cell_accuracy(once, test, own)
    assert by_train_set["filtered"][4] == replace(by_train_set["filtered"][2], shaded=False)
    assert [by_train_set[name][4].text for name in ("full", "random")] == [DASH, DASH]


def test_nothing_trained_is_no_table(make_planted: Any, make_by_hand: Any) -> None:
    assert ACCURACY.tables(analyse(make_planted(cells=()))) == ()
    assert IN_DISTRIBUTION.tables(analyse(make_by_hand(cells=()))) == ()


# Side by side


@pytest.fixture
def table(by_hand: BenchmarkData) -> Table:
    (found,) = IN_DISTRIBUTION.tables(analyse(by_hand))
    return found


def columns(table: Table) -> list[str]:
    return [column.plain for column in table.columns]


def test_columns_are_full_then_random_twice_and_filtered_of_each_representation(table: Table, values: Any) -> None:
    assert columns(table) == [
        "full (on full rows, n = 6)",
        "random (a, on full rows, n = 6)", "random (a, on filtered rows, n = 3)",
        "filtered (a, on filtered rows, n = 3)", "random (b, on full rows, n = 6)",
        "random (b, on filtered rows, n = 4)", "filtered (b, on filtered rows, n = 4)",
        "full minus filtered (a, points)", "full minus filtered (b, points)",
    ]  # fmt: skip
    assert values(table)["train rows",] == [90, *[30] * 6, DASH, DASH]
    assert [row.apart for row in table.rows] == [False, False, True, True]
    assert table.of == "test"


def test_every_score_and_difference(table: Table, values: Any) -> None:
    shown = values(table)
    assert shown["p",] == pytest.approx([0.75, 7 / 12, 0.5, 5 / 6, 1, 1, 0.625, -25 / 3, 12.5])
    assert shown["q",] == [1, 0.5, 1, 0, "not run", "not run", 1, 100, 0]
    assert [cell.small[:1] for cell in table.rows[1].cells[:7]] == [
        ("±0.0 over 2 seeds",), *[("1 of 2 seeds",)] * 3, (), (), ("±0.0 over 2 seeds",),
    ]  # fmt: skip
    assert [cell.shaded for cell in table.rows[0].cells] == [True, False, False, True, False, False, True, False, False]


def test_human_row_is_over_annotated_rows_alone(table: Table, values: Any) -> None:
    full, a, b = (2 / 3 + 1 + 0.5 + 1 + 0.25) / 5, (2 / 3 + 1) / 2, (0.5 + 1 + 0.25) / 3
    assert values(table)["human",] == pytest.approx([full, full, a, a, full, b, b, -15, 10])
    assert table.rows[2].cells[2].text == "83.3 (2 rows)"
    assert "Human: mean share" in table.caption


def test_without_annotators_there_is_no_human_row(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    bare = Examples(by_hand.examples.table.drop(["annotator_labels"]), by_hand.label_names)
    (one,) = IN_DISTRIBUTION.tables(analyse(make_by_hand(examples=bare)))
    assert [row.headings for row in one.rows] == [("p",), ("q",), ("train rows",)]


def test_a_split_that_nothing_filtered_is_tested_on_all_its_rows(
    by_hand: BenchmarkData, make_by_hand: Any, values: Any
) -> None:
    test, odd = by_hand.test_sets
    (one,) = IN_DISTRIBUTION.tables(analyse(make_by_hand(test_sets=(replace(test, kept={}), odd))))
    assert columns(one)[:5] == [
        "full (on full rows, n = 6)", "random (a, on full rows, n = 6)", "filtered (a, on full rows, n = 6)",
        "random (b, on full rows, n = 6)", "filtered (b, on full rows, n = 6)",
    ]  # fmt: skip
    # p: 9, 7, 5, 12 and 5 of 12
    assert values(one)["p",] == pytest.approx([9 / 12, 7 / 12, 5 / 12, 1, 5 / 12, 100 / 3, 100 / 3])
    assert values(one)["human",][-2:] == [0, 0]


def test_each_representation_says_whether_it_filtered_the_split(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    (one,) = IN_DISTRIBUTION.tables(analyse(make_by_hand(test_sets=(replace(test, kept={"b": test.kept["b"]}), odd))))
    assert columns(one) == [
        "full (on full rows, n = 6)", "random (a, on full rows, n = 6)", "filtered (a, on full rows, n = 6)",
        "random (b, on full rows, n = 6)", "random (b, on filtered rows, n = 4)",
        "filtered (b, on filtered rows, n = 4)",
        "full minus filtered (a, points)", "full minus filtered (b, points)",
    ]  # fmt: skip


# Top-5


def test_every_cell_of_the_natural_table(many_classes: BenchmarkData, values: Any) -> None:
    table = TOP_5.tables(analyse(many_classes))[0]
    assert [column.plain for column in table.columns[:4]] == [
        "full, top-1 (on full rows, n = 4)", "full, top-5 (on full rows, n = 4)",
        "random, top-1 (a, on full rows, n = 4)", "random, top-5 (a, on full rows, n = 4)",
    ]  # fmt: skip
    # rows of class 0, 4, 5 and 12; seed 0 says 0, 1, 2, ... and seed 1 says 12, 11, ...; by label 2 of 8 against 1 of 2
    why = "no probabilities: net gives none to add up"
    assert values(table)["net",] == [0.25, 0.375, 0.25, 0.5, 0.5, 1.0, 0.5, why, -25, DASH]


def test_every_cell_of_the_masked_table(many_classes: BenchmarkData, values: Any) -> None:
    table = TOP_5.tables(analyse(many_classes))[1]
    assert [column.plain for column in table.columns[::2]] == [
        "full, top-1 (on full rows, n = 4)", "random, top-1 (a, on full rows, n = 4)",
        "filtered, top-1 (a, on full rows, n = 4)", "full minus filtered, top-1 (a, points)",
    ]  # fmt: skip
    # Seed 1, from the likeliest: c12 c11 c10 c09 c08 c07 ...; c09 and c08 are among five, none is first.
    # With equal probabilities the set's own numbers decide: 0, 1, 2, 3, 4 are among five.
    why = "no probabilities: net gives none to add up"
    assert values(table)["net",] == [0.125, (0.25 + 0.5) / 2, 0.25, 0.75, why, why, DASH, DASH]
    assert "only its own classes are ranked" in table.caption


def test_full_minus_filtered_is_beside_the_scores(many_classes: BenchmarkData, values: Any) -> None:
    likely = replace(many_classes, cells=(*many_classes.cells[:3], probable_cell("filtered", 0, FALLING)))
    # test: 2 of 8 and 3 of 8 against 1 of 2 and 2 of 2; mask: 1 of 8 and 3 of 8 against 1 of 4 and 1 of 4
    assert [values(table)["net",][-2:] for table in TOP_5.tables(analyse(likely))] == [[-25, -62.5], [-12.5, 12.5]]
    assert [
        (one.test_set, one.against_tested_on or one.tested_on, one.top, one.difference)
        for one in analyse(likely).of(DIFFERENCES)
        if one.comparison == "means" and one.whole and one.pair == ("full", "filtered")
    ] == [("test", "filtered", 1, -25), ("test", "filtered", 5, -62.5)]


def test_few_classes_or_no_probabilities_have_no_table(by_hand: BenchmarkData, many_classes: BenchmarkData) -> None:
    assert TOP_5.tables(analyse(by_hand)) == ()
    assert TOP_5.tables(analyse(replace(many_classes, cells=many_classes.cells[-1:]))) == ()
    assert TOP_5.tables(analyse(replace(many_classes, cells=()))) == ()
