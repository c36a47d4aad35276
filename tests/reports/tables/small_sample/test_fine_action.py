"""Train sets by size beside random rows of each: which stand there, in which order, and what is said of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.comparisons.paired import paired_differences
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.reports.tables.small_sample.fine_action import FINE_ACTION, fine_action_tables
from aflite_assets.reports.tables.table import Table

DASH = "\N{EN DASH}"
SIZES = {"60": 60, "45": 45}
"""Earlier sizes of representation `a`, by name."""


@pytest.fixture
def by_size(by_hand: BenchmarkData, make_by_hand: Any) -> BenchmarkData:
    """Evaluator `p` on two earlier sizes of `a`; the larger ones are right as random and as filtered are, reversed."""
    cells = [cell for cell in by_hand.cells if cell.evaluator == "p" and cell.representation == "a"]
    more = [
        replace(cell, train_set=f"{cell.train_set}_{name}", train_rows=rows) for name, rows in SIZES.items()
        for cell in cells
    ]  # fmt: skip
    return make_by_hand(cells=(*by_hand.cells, *more))


def table_of(data: BenchmarkData, representation: str = "a", evaluator: str = "p") -> Table:
    (found,) = (
        one for one in fine_action_tables(data) if (one.name, one.of) == (f"fine_action_{representation}", evaluator)
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
        for one in paired_differences(by_size, "a")
        if one.evaluator == "p" and one.whole and one.tested_on != "filtered"
    }
    gap = whole["filtered_45", "odd"].interval
    assert gap is not None
    row = next(one for one in table_of(by_size).rows if one.headings[0] == "filtered_45 minus random_45, points")
    assert row.cells[2].value == gap.difference == pytest.approx(62.5)
    assert row.cells[2].small[0].startswith(f"[{gap.low:.1f}".replace("-", "\N{MINUS SIGN}"))
    assert row.cells[1].small[-1] == "no verdict: few rows"


def test_one_size_alone_is_left_to_other_tables(by_hand: BenchmarkData) -> None:
    assert fine_action_tables(by_hand) == ()


def test_only_evaluators_and_representations_with_another_size_have_a_table(by_size: BenchmarkData) -> None:
    # every train set of a representation stands in the tables of all its evaluators, "not run" where it was not
    assert [(one.name, one.of) for one in fine_action_tables(by_size)] == [
        ("fine_action_a", "p"),
        ("fine_action_a", "q"),
    ]
    q = table_of(by_size, evaluator="q")
    assert next(row for row in q.rows if row.headings == ("filtered_60",)).cells[1].text == "not run"


def test_sets_with_other_laws_are_left_out(by_size: BenchmarkData, make_by_hand: Any) -> None:
    single = Cell("p", "single_pass_linear", "a", 0, 30, "not run")
    more = make_by_hand(cells=(*by_size.cells, single))
    assert "single_pass_linear" not in [row.headings[0] for row in table_of(more).rows]


def test_long_form_has_sizes_and_differences(by_size: BenchmarkData) -> None:
    rows = FINE_ACTION.table(by_size).to_pylist()
    mine = [row for row in rows if (row["evaluator"], row["test_set"], row["column"]) == ("p", "odd", None)]
    assert [(row["train_set"], row["train_rows"], row["against"]) for row in mine] == [
        ("full", 90, None), ("random", 30, None), ("filtered", 30, "random"), ("random_45", 45, None),
        ("filtered_45", 45, "random_45"), ("random_60", 60, None), ("filtered_60", 60, "random_60"),
    ]  # fmt: skip
    filtered = next(row for row in mine if row["train_set"] == "filtered_60")
    assert (filtered["accuracy"], filtered["difference"]) == (0.8125, 62.5)
    assert filtered["low"] < 62.5 < filtered["high"]
    assert np.isfinite([filtered["interval_low"], filtered["interval_high"]]).all()
    assert mine[0]["difference"] is None


def test_a_category_with_one_gold_label_stands_by_that_half(by_size: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_size.test_sets
    kinds = np.array(["x", "y"] * 4, dtype=object)  # as the labels go
    changed = make_by_hand(cells=by_size.cells, test_sets=(test, replace(odd, categories={"kind": kinds})))
    assert [column.plain for column in table_of(changed).columns[2:]] == [
        "odd, all (n = 8)", "odd, x, yes (n = 4)", "odd, y, no (n = 4)",
    ]  # fmt: skip
