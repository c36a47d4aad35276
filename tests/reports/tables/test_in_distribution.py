from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.data.examples import Examples
from aflite_assets.reports.tables.in_distribution import IN_DISTRIBUTION, in_distribution_tables
from aflite_assets.reports.tables.table import Table

DASH = "\N{EN DASH}"


@pytest.fixture
def table(by_hand: BenchmarkData) -> Table:
    (found,) = in_distribution_tables(by_hand)
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
    assert [cell.record["unfinished_seeds"] for cell in table.rows[1].cells[:7]] == [0, 1, 1, 1, 2, 2, 0]
    assert [cell.shaded for cell in table.rows[0].cells] == [True, False, False, True, False, False, True, False, False]


def test_human_row_is_over_annotated_rows_alone(table: Table, by_hand: BenchmarkData, values: Any) -> None:
    full, a, b = (2 / 3 + 1 + 0.5 + 1 + 0.25) / 5, (2 / 3 + 1) / 2, (0.5 + 1 + 0.25) / 3
    assert values(table)["human",] == pytest.approx([full, full, a, a, full, b, b, -15, 10])
    assert table.rows[2].cells[2].text == "83.3 (2 rows)"
    human = [row for row in IN_DISTRIBUTION.records(by_hand) if row["evaluator"] == "human"]
    assert [row["test_rows"] for row in human] == [5, 5, 2, 2, 5, 3, 3]
    assert [row["difference"] for row in human if row["difference"] is not None] == pytest.approx([-15, 10])
    assert "Human: mean share" in table.caption


def test_without_annotators_there_is_no_human_row(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    bare = Examples(by_hand.examples.table.drop(["annotator_labels"]), by_hand.label_names)
    (one,) = in_distribution_tables(make_by_hand(examples=bare))
    assert [row.headings for row in one.rows] == [("p",), ("q",), ("train rows",)]
    assert "Human" not in one.caption


def test_a_split_that_nothing_filtered_is_tested_on_all_its_rows(
    by_hand: BenchmarkData, make_by_hand: Any, values: Any
) -> None:
    test, odd = by_hand.test_sets
    (one,) = in_distribution_tables(make_by_hand(test_sets=(replace(test, kept={}), odd)))
    assert columns(one)[:5] == [
        "full (on full rows, n = 6)", "random (a, on full rows, n = 6)", "filtered (a, on full rows, n = 6)",
        "random (b, on full rows, n = 6)", "filtered (b, on full rows, n = 6)",
    ]  # fmt: skip
    # p: 9, 7, 5, 12 and 5 of 12
    assert values(one)["p",] == pytest.approx([9 / 12, 7 / 12, 5 / 12, 1, 5 / 12, 100 / 3, 100 / 3])
    assert values(one)["human",][-2:] == [0, 0]
    assert "The settings leave the test rows alone" in one.caption


def test_each_representation_says_whether_it_filtered_the_split(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    (one,) = in_distribution_tables(make_by_hand(test_sets=(replace(test, kept={"b": test.kept["b"]}), odd)))
    assert columns(one) == [
        "full (on full rows, n = 6)", "random (a, on full rows, n = 6)", "filtered (a, on full rows, n = 6)",
        "random (b, on full rows, n = 6)", "random (b, on filtered rows, n = 4)",
        "filtered (b, on filtered rows, n = 4)",
        "full minus filtered (a, points)", "full minus filtered (b, points)",
    ]  # fmt: skip


def test_nothing_trained_is_no_table(make_by_hand: Any) -> None:
    assert in_distribution_tables(make_by_hand(cells=())) == ()


def test_long_form_has_the_difference_beside_filtered(by_hand: BenchmarkData) -> None:
    rows = [row for row in IN_DISTRIBUTION.records(by_hand) if row["evaluator"] == "p"]
    assert [(row["train_set"], row["representation"], row["tested_on"], row["difference"]) for row in rows] == [
        ("full", None, "full", None), ("random", "a", "full", None), ("random", "a", "filtered", None),
        ("filtered", "a", "filtered", pytest.approx(-25 / 3)), ("random", "b", "full", None),
        ("random", "b", "filtered", None), ("filtered", "b", "filtered", 12.5),
    ]  # fmt: skip
