from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import Score, cell_accuracy
from aflite_assets.analysis.scores.main_table import MainRow, main_table
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.tables.main_tables import ACCURACY, accuracy_tables

DASH = "\N{EN DASH}"


def mean(score: Score | None) -> float:
    assert score is not None
    assert score.accuracy is not None
    return score.accuracy.mean


def main_row(data: BenchmarkData, evaluator: str, train_set: str) -> MainRow:
    rows = main_table(data, "roberta")
    return next(row for row in rows if (row.evaluator, row.train_set) == (evaluator, train_set))


@pytest.mark.parametrize(
    ("train_set", "removed", "kept", "sizes"),
    [("full", 0.90, 0.60, (1200,)), ("random", 0.86, 0.55, (400,)), ("filtered", 0.80, 0.70, (400,))],
)
def test_main_table_shows_the_planted_accuracies(
    planted: BenchmarkData, train_set: str, removed: float, kept: float, sizes: tuple[int, ...]
) -> None:
    row = main_row(planted, "linear", train_set)
    test = row.tests[0]
    assert row.train_rows == sizes
    assert (test.test_set, test.full.test_rows) == ("test", 1000)
    assert mean(test.full) == pytest.approx(0.6 * removed + 0.4 * kept)
    assert mean(test.filtered) == pytest.approx(kept)
    assert test.filtered is not None
    assert test.filtered.test_rows == 400
    assert test.drop == pytest.approx(100 * 0.6 * (removed - kept))


def test_missing_cells_say_so(planted: BenchmarkData) -> None:
    assert main_row(planted, "forest", "random").tests[0].full.status == "not run"
    failed = main_row(planted, "forest", "filtered").tests[0]
    assert (failed.full.status, failed.full.reason) == ("failed", "loss became NaN in epoch 2")
    assert failed.drop is None


def test_rows_come_in_the_order_of_train_sets(planted: BenchmarkData, make_planted: Any) -> None:
    assert [row.train_set for row in main_table(planted, "roberta")] == ["full", "random", "filtered"] * 2
    extra = Cell("linear", "single_pass_linear", "roberta", 0, 400, "not run")
    rows = main_table(make_planted(cells=(*planted.cells, extra)), "roberta")
    assert [row.train_set for row in rows] == ["full", "random", "filtered", "single_pass_linear"] * 2


def test_an_evaluator_without_a_cell_still_has_a_row(planted: BenchmarkData, make_planted: Any) -> None:
    only_full = make_planted(cells=tuple(cell for cell in planted.cells if cell.train_set == "full"))
    assert main_row(only_full, "linear", "filtered").tests[0].full.status == "not run"


def test_a_set_that_was_not_filtered_has_no_filtered_column(planted: BenchmarkData, make_planted: Any) -> None:
    sets = tuple(
        TestSet(s.name, s.challenge, s.row_ids, s.labels, s.label_names, {}, s.categories, s.class_map)
        for s in planted.test_sets
    )
    test = main_row(make_planted(test_sets=sets), "linear", "full").tests[0]
    assert (test.filtered, test.drop) == (None, None)


def test_no_row_left_is_no_accuracy(planted: BenchmarkData, make_planted: Any) -> None:
    s = planted.test_sets[0]
    empty = TestSet(s.name, False, s.row_ids, s.labels, s.label_names, {"roberta": np.zeros(1000, dtype=bool)})
    test = main_row(make_planted(test_sets=(empty,)), "linear", "full").tests[0]
    assert test.filtered is not None
    assert test.filtered.status == "no rows"
    assert test.drop is None


def test_unknown_representations_are_refused(planted: BenchmarkData) -> None:
    with pytest.raises(InvalidInputError, match=r"not filtered with 'bert'; its representations are \['roberta'\]"):
        main_table(planted, "bert")


def test_the_table_has_the_papers_comparison_shaded(planted: BenchmarkData, values: Any) -> None:
    (table,) = accuracy_tables(planted)
    assert (table.name, table.headings) == ("accuracy_roberta", ("evaluator", "trained on"))
    assert [column.plain for column in table.columns] == [
        "train rows", "test, full (n = 1,000)", "test, filtered (n = 400)", "test, drop (points)",
        "validation, full (n = 250)", "validation, filtered (n = 100)", "validation, drop (points)",
    ]  # fmt: skip
    assert [column.line for column in table.columns] == [False, True, False, False, True, False, False]
    assert values(table)["linear", "full"][:4] == [1200, *map(pytest.approx, (0.78, 0.6, 18))]
    assert values(table)["forest", "random"] == [DASH, *["not run", "not run", DASH] * 2]
    shaded = {row.headings[1]: [cell.shaded for cell in row.cells[1:4]] for row in table.rows[:3]}
    assert shaded == {
        "full": [True, False, False], "random": [True, False, False], "filtered": [False, True, False],
    }  # fmt: skip


def test_own_test_rows_have_a_column_where_other_laws_left_some(planted: BenchmarkData, make_planted: Any) -> None:
    own = np.arange(1000) >= 600
    test = replace(planted.test_sets[0], own_kept={("roberta", "single_pass_linear"): own})
    once = replace(planted.cells[0], train_set="single_pass_linear", representation="roberta")
    data = make_planted(test_sets=(test,), cells=(*planted.cells[:9], once))
    (table,) = accuracy_tables(data)
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
    records = ACCURACY.records(data)
    assert [(row["train_set"], row["test_rows"]) for row in records if row["tested_on"] == "own"] == [
        ("filtered", 400), ("single_pass_linear", 400),
    ]  # fmt: skip


def test_nothing_trained_is_no_table(make_planted: Any) -> None:
    assert accuracy_tables(make_planted(cells=())) == ()
    assert ACCURACY.records(make_planted(cells=())) == []
