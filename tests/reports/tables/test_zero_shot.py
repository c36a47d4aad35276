from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.scores.accuracy import Score
from aflite_assets.reports.tables.zero_shot import zero_shot_tables


def means(scores: tuple[Score, ...]) -> list[Any]:
    return [score.status if score.accuracy is None else score.accuracy.mean for score in scores]


COLUMNS = [
    (None, None, None, 8),
    ("kind", "x", None, 4), ("kind", "x", "yes", 2), ("kind", "x", "no", 2),
    ("kind", "y", None, 4), ("kind", "y", "yes", 2), ("kind", "y", "no", 2),
    ("rule", None, None, 3), ("rule", None, "yes", 2), ("rule", None, "no", 1),
]  # fmt: skip
NUMBERS = {
    ("p", "full"): [0.375, 0.75, 0.75, 0.75, 0, 0, 0, 0.5, 0.5, 0.5],
    ("p", "random"): [0.1875, 0.375, 0.75, 0, 0, 0, 0, 1 / 3, 0.5, 0],
    ("p", "filtered"): [0.8125, 1, 1, 1, 0.625, 0.75, 0.5, 1, 1, 1],
    ("q", "filtered"): [1.0] * 10,
}


def test_every_cell_of_the_table(by_hand: BenchmarkData) -> None:
    tables = {table.evaluator: table for table in zero_shot_tables(by_hand, "a")}
    assert list(tables) == ["p", "q"]
    found = tables["p"].columns
    assert [(one.column, one.category, one.label, one.test_rows) for one in found] == COLUMNS
    assert {one.test_set for one in found} == {"odd"}
    assert [row.train_set for row in tables["p"].rows] == ["full", "random", "filtered"]
    for (evaluator, train_set), numbers in NUMBERS.items():
        row = next(row for row in tables[evaluator].rows if row.train_set == train_set)
        assert means(row.scores) == pytest.approx(numbers), (evaluator, train_set)


def test_differences_of_means_follow_the_rows(by_hand: BenchmarkData) -> None:
    p, _ = zero_shot_tables(by_hand, "a")
    assert [(one.train_set, one.against) for one in p.differences] == [("filtered", "full"), ("filtered", "random")]
    assert list(p.differences[0].points) == pytest.approx([43.75, 25, 25, 25, 62.5, 75, 50, 50, 50, 50])
    assert list(p.differences[1].points) == pytest.approx([62.5, 62.5, 25, 100, 62.5, 75, 50, 200 / 3, 50, 100])
    without = zero_shot_tables(by_hand, "b")[1].differences
    assert [one.points for one in without] == [(0.0,) * 10, (None,) * 10]


def test_seeds_deviate_and_unfinished_seeds_are_counted(by_hand: BenchmarkData) -> None:
    p, q = zero_shot_tables(by_hand, "a")
    whole = p.rows[2].scores[0].accuracy
    assert whole is not None
    assert whole.seeds_deviation == pytest.approx(0.125 / np.sqrt(2))
    assert (p.rows[2].train_rows, p.rows[0].train_rows) == ((30,), (90,))
    assert [score.unfinished_seeds for score in q.rows[2].scores] == [1] * 10
    assert means(zero_shot_tables(by_hand, "b")[1].rows[1].scores) == ["not run"] * 10


def test_one_column_has_its_values_with_both_halves(planted: BenchmarkData) -> None:
    columns = zero_shot_tables(planted, "roberta")[0].columns
    assert [(one.category, one.label) for one in columns[:4]] == [
        (None, None), ("constituent", None), ("constituent", "entailment"), ("constituent", "non-entailment"),
    ]  # fmt: skip
    assert [one.test_rows for one in columns] == [300] + [100, 50, 50] * 3


def test_a_set_without_categories_is_shown_by_gold_label(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    bare = make_by_hand(test_sets=(test, replace(odd, categories={})))
    columns = zero_shot_tables(bare, "a")[0].columns
    assert [(one.label, one.test_rows) for one in columns] == [(None, 8), ("yes", 4), ("no", 4)]


def test_without_challenge_sets_there_is_no_table(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    assert zero_shot_tables(make_by_hand(test_sets=by_hand.test_sets[:1]), "a") == ()
    with pytest.raises(InvalidInputError, match=r"not filtered with 'c'; its representations are \['a', 'b'\]"):
        zero_shot_tables(by_hand, "c")
