from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import cell_accuracy
from aflite_assets.reports.tables.challenge_sets import CHALLENGE_SETS, challenge_tables, part_blocks


def test_parts_are_labels_then_categories_by_label(planted: BenchmarkData) -> None:
    (table,) = challenge_tables(planted)
    assert (table.name, table.of, table.title) == ("challenge_sets_roberta", "hans", "hans")
    assert [column.plain for column in table.columns[:7]] == [
        "train rows", "overall (n = 300)", "entailment (n = 150)", "non-entailment (n = 150)", "constituent (n = 100)",
        "constituent, entailment (n = 50)", "constituent, non-entailment (n = 50)",
    ]  # fmt: skip
    assert [place for place, column in enumerate(table.columns) if column.line] == [1, 4, 7, 10]
    assert table.notes == (
        "The predicted label is mapped (collapse: label): entailment counts as entailment; neutral and contradiction "
        "count as non-entailment.",
    )
    assert "a model that leans on a shortcut is right on one half" in table.caption


def test_numbers_are_masks_over_the_predictions(planted: BenchmarkData, values: Any) -> None:
    row = values(challenge_tables(planted)[0])["linear", "filtered"]
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
    assert values(challenge_tables(data)[0])["lazy", "full"][1:] == [0.5, 1, 0] + [0.5, 1, 0] * 3


def test_many_gold_labels_are_not_split_by_label(make_planted: Any) -> None:
    kinds = {"kind": np.array(["x", "y"] * 6)}
    many = TestSet("c", True, np.arange(12), np.arange(12) % 6, tuple("abcdef"), {}, kinds, np.arange(3))
    (table,) = challenge_tables(make_planted(test_sets=(many,)))
    assert [column.heading.text for column in table.columns] == ["train rows", "overall", "x", "y"]


def test_several_columns_have_a_table_each(by_hand: BenchmarkData, values: Any) -> None:
    whole, kind, rule, *_ = challenge_tables(by_hand)
    assert [one.of for one in (whole, kind, rule)] == ["odd", "odd, by kind", "odd, by rule"]
    assert [column.heading.text for column in whole.columns[2:]] == ["yes", "no"]
    assert [column.heading.text for column in rule.columns[2:]] == [
        "any rule", "any rule, yes", "any rule, no", "r", "r, yes", "r, no", "s, yes",
    ]  # fmt: skip
    firsts = [[row[:2] for row in values(one).values()] for one in (whole, kind, rule)]
    assert firsts[0] == firsts[1] == firsts[2]
    assert len(firsts[0]) == 6
    assert [one["column"] for one in CHALLENGE_SETS.records(by_hand)].count(None) == 2 * 6 * 3


def test_one_column_is_one_block(planted: BenchmarkData) -> None:
    ((column, parts),) = part_blocks(planted.test_sets[2])
    assert (column, len(parts)) == (None, 11)


def test_missing_sets_are_named_with_the_reason(by_hand: BenchmarkData) -> None:
    data = replace(by_hand, cells=(), missing_sets={"anli": "no <file>"})
    assert [(one.name, one.of, one.columns, one.notes) for one in challenge_tables(data)] == [
        (f"challenge_sets_{name}", "anli", (), ("not available: no <file>",)) for name in "ab"
    ]
