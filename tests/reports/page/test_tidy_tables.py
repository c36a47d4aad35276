import io
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aflite_assets.reports.inputs.learning_curve import LearningCurve
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.page.tidy_tables import flat_tables

NAMES = [
    "accuracy",
    "challenge_sets",
    "zero_shot",
    "zero_shot_differences",
    "in_distribution",
    "top_5",
    "paired",
    "predictability_by_iteration",
    "warmup_curve",
    "transfer",
    "transfer_differences",
    "planted",
    "published",
]


def rows(data: BenchmarkData, table: str, **where: Any) -> list[dict[str, Any]]:
    found = flat_tables(data)[table].to_pylist()
    return [row for row in found if all(row[name] == value for name, value in where.items())]


def test_numbers_are_those_of_the_tables(by_hand: BenchmarkData) -> None:
    p = {"evaluator": "p", "train_set": "filtered", "representation": "b"}
    (one,) = rows(by_hand, "in_distribution", **p)
    assert (one["accuracy"], one["difference"], one["tested_on"]) == (0.625, 12.5, "filtered")
    assert rows(by_hand, "accuracy", **p, tested_on="filtered")[0]["accuracy"] == 0.625
    (any_rule,) = rows(by_hand, "zero_shot", **p, column="rule", category=None, label=None)
    assert (any_rule["accuracy"], any_rule["test_rows"]) == (pytest.approx(1 / 3), 3)
    assert rows(by_hand, "challenge_sets", **p, column="kind", category="y", label=None)[0]["accuracy"] == 1
    (pair,) = rows(by_hand, "paired", evaluator="q", representation="a", tested_on="filtered")
    assert (pair["difference"], pair["low"], pair["high"], pair["test_rows"]) == (-100, -100, -100, 3)
    assert (pair["train_set"], pair["against"], pair["label"]) == ("filtered", "random", None)
    assert (pair["counts_training"], pair["side"], pair["why"]) == (False, None, "chosen by the filter")
    assert (pair["groups"], pair["effective_groups"], pair["p_value"]) == (3, pytest.approx(3), 0)
    where = {"evaluator": "p", "representation": "a", "column": "kind", "category": "x", "label": "no"}
    (part,) = rows(by_hand, "paired", **where)
    assert (part["test_set"], part["test_rows"], part["difference"], part["low"]) == ("odd", 2, 100, 100)
    full, random = rows(by_hand, "zero_shot_differences", **where)
    assert (full["train_set"], full["against"], full["difference"]) == ("filtered", "full", pytest.approx(25))
    assert (random["against"], random["difference"]) == ("random", 100)


def test_human_rows_and_missing_results_are_there(by_hand: BenchmarkData) -> None:
    human = rows(by_hand, "in_distribution", evaluator="human")
    assert [row["test_rows"] for row in human] == [5, 5, 2, 2, 5, 3, 3]
    assert [row["difference"] for row in human if row["difference"] is not None] == pytest.approx([-15, 10])
    (missing,) = rows(by_hand, "accuracy", evaluator="q", train_set="random", representation="b", tested_on="full")
    assert (missing["status"], missing["accuracy"], missing["unfinished_seeds"]) == ("not run", None, 2)


def test_published_figures_are_there_when_named(make_by_hand: Any) -> None:
    found = rows(make_by_hand(published="qnli"), "published", row="RoBERTa")
    assert [(row["column"], row["value"]) for row in found] == [
        ("full", 93.7), ("filtered (RoBERTa)", 77.7), ("difference (points)", -16.0),
    ]  # fmt: skip


def test_points_of_learning_curves_are_rows(make_by_hand: Any) -> None:
    curves = (LearningCurve("a", (40, 80), (50, 90), 100, 34), LearningCurve("b", (40, 80), (80, 81), 100, 34))
    found = rows(make_by_hand(warmup_curves=curves), "warmup_curve")
    assert [(row["representation"], row["rows"], row["right"], row["accuracy"]) for row in found] == [
        ("a", 40, 50, 0.5), ("a", 80, 90, 0.9), ("b", 40, 80, 0.8), ("b", 80, 81, 0.81),
    ]  # fmt: skip
    assert [(row["elbow"], row["chosen"]) for row in found] == [
        (False, False), (True, True), (True, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize("what", ["by_hand", "planted", "hostile"])
def test_every_table_is_there_and_fits_parquet(what: str, request: pytest.FixtureRequest) -> None:
    tables = flat_tables(request.getfixturevalue(what))
    assert list(tables) == NAMES
    for table in tables.values():
        sink = io.BytesIO()
        pq.write_table(table, sink)
        assert pq.read_table(sink).equals(table)


def test_nothing_trained_is_tables_without_rows(make_by_hand: Any) -> None:
    tables = flat_tables(make_by_hand(cells=()))
    assert {name: table.num_rows for name, table in tables.items()} == dict.fromkeys(NAMES, 0)
    assert pc.count(tables["accuracy"]["accuracy"]).as_py() == 0
