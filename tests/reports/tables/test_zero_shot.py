from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.zero_shot import ZERO_SHOT, ZERO_SHOT_DIFFERENCES, zero_shot_tables

DASH = "\N{EN DASH}"
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
    tables = {table.of: table for table in zero_shot_tables(by_hand) if table.name == "zero_shot_a"}
    assert list(tables) == ["p", "q"]
    assert [column.plain for column in tables["p"].columns] == ["train rows", *COLUMNS]
    assert [row.headings[0] for row in tables["p"].rows][:3] == ["full", "random", "filtered"]
    assert [row.apart for row in tables["p"].rows] == [False] * 3 + [True] * 2
    for (evaluator, row), numbers in NUMBERS.items():
        found = values(tables[evaluator])[row,]
        assert found[0] == numbers[0]
        assert found[1:] == pytest.approx(numbers[1:]), (evaluator, row)


def test_without_a_result_there_is_no_difference(by_hand: BenchmarkData, values: Any) -> None:
    q = values(zero_shot_tables(by_hand)[3])
    assert q["random",][1:] == ["not run"] * 10
    assert [q[f"filtered minus {against}, points",][1:] for against in ("full", "random")] == [[0.0] * 10, [DASH] * 10]


def test_seeds_deviate_and_unfinished_seeds_are_counted(by_hand: BenchmarkData) -> None:
    p, q, *_ = zero_shot_tables(by_hand)
    assert p.rows[2].cells[1].record["seeds_deviation"] == pytest.approx(0.125 / np.sqrt(2))
    assert p.rows[2].cells[1].small[0] == "±8.8"
    assert {cell.record["unfinished_seeds"] for cell in q.rows[2].cells[1:]} == {1}


def test_one_column_has_its_values_with_both_halves(planted: BenchmarkData) -> None:
    columns = zero_shot_tables(planted)[0].columns[1:]
    assert [column.heading.text for column in columns[:4]] == [
        "all", "constituent", "constituent, entailment", "constituent, non-entailment",
    ]  # fmt: skip
    assert [column.heading.notes for column in columns] == [("n = 300",)] + [("n = 100",), ("n = 50",), ("n = 50",)] * 3


def test_a_set_without_categories_is_shown_by_gold_label(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    bare = make_by_hand(test_sets=(test, replace(odd, categories={})))
    assert [column.plain for column in zero_shot_tables(bare)[0].columns[1:]] == [
        "odd, all (n = 8)", "odd, yes (n = 4)", "odd, no (n = 4)",
    ]  # fmt: skip


def test_without_challenge_sets_there_is_no_table(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    assert zero_shot_tables(make_by_hand(test_sets=by_hand.test_sets[:1])) == ()


def test_long_form_has_keys_and_numbers(by_hand: BenchmarkData) -> None:
    where = {"representation": "a", "evaluator": "p", "column": "kind", "category": "x", "label": "no"}
    scores = [row for row in ZERO_SHOT.records(by_hand) if where.items() <= row.items()]
    assert [(row["train_set"], row["accuracy"], row["test_rows"]) for row in scores] == [
        ("full", 0.75, 2), ("random", 0, 2), ("filtered", 1, 2),
    ]  # fmt: skip
    gaps = [row for row in ZERO_SHOT_DIFFERENCES.records(by_hand) if where.items() <= row.items()]
    assert [(row["train_set"], row["against"], row["difference"]) for row in gaps] == [
        ("filtered", "full", 25), ("filtered", "random", 100),
    ]  # fmt: skip
