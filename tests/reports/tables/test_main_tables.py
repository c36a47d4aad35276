from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from aflite_assets.reports.tables.main_tables import ACCURACY, accuracy_tables

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.accuracy import cell_accuracy

DASH = "\N{EN DASH}"


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
