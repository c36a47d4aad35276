"""Transfer tables of predictions written by hand: every cell and every difference."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.falls import headlines
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, FineTuned, fine_tuned_note
from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.analysis.scores.score_table import score_table
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.page.json_report import report_json
from aflite_assets.reports.page.markdown import tables_markdown
from aflite_assets.reports.sentences.summary import plain_summary
from aflite_assets.reports.tables.in_distribution import in_distribution_tables
from aflite_assets.reports.tables.transfer import TRANSFER, TRANSFER_DIFFERENCES, transfer_tables
from aflite_assets.reports.tables.zero_shot import zero_shot_tables
from tests.undrawn import undrawn_page

DASH = "\N{EN DASH}"
TUNED: dict[tuple[str, str | None], list[str]] = {
    ("full", None): ["11110000", "11111100"],
    ("random", "a"): ["11000000", "11110000"],
    ("filtered", "a"): ["11111110", "11111111"],
    ("random", "b"): ["00000000", "00000000"],
}
"""Which rows of `odd` are right after fine-tuning `p` on it, a seed after the other; `b` has no filtered result."""


def _cell(train_set: str, representation: str | None, seed: int, right: str) -> Cell:
    said = {
        "test_set": ["test"] * 6 + ["odd"] * 8,
        "row_id": [*range(10, 16), *range(8)],
        "predicted": [row % 2 for row in range(6)]
        + [row % 2 if bit == "1" else 1 - row % 2 for row, bit in enumerate(right)],
    }
    return Cell("p_odd", train_set, representation, seed, 90, "done", None, pa.table(said))


@pytest.fixture
def tuned(by_hand: BenchmarkData, make_by_hand: Any) -> BenchmarkData:
    """The hand-written benchmark with `p_odd`, which is `p` fine-tuned on `odd` and on a set that is missing."""
    cells = [_cell(*key, seed, right) for key, seeds in TUNED.items() for seed, right in enumerate(seeds)]
    data: BenchmarkData = make_by_hand(
        cells=(*by_hand.cells, *cells, Cell("p_odd", "filtered", "b", 0, 30, "failed", "diverged")),
        fine_tuned={"p_odd": FineTuned("p", ("odd", "gone"))},
        missing_sets={"gone": "no file"},
    )
    return data


def test_every_cell_of_the_table(tuned: BenchmarkData, values: Any) -> None:
    table = transfer_tables(tuned)[0]
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
    full = table.rows[0].cells[1].record
    assert full["seeds_deviation"] == pytest.approx(np.std([4 / 8, 6 / 8], ddof=1))
    interval = wilson_interval(5 / 8, 8)
    assert (full["seeds"], full["interval_low"], full["interval_high"]) == (2, interval.low, interval.high)


def test_differences_are_paired_on_the_same_rows(tuned: BenchmarkData) -> None:
    gain = transfer_tables(tuned)[0].rows[3].cells[1].record
    assert -100 <= gain["low"] < gain["difference"] < gain["high"] <= 100
    assert (gain["trainings"], gain["groups"]) == ((2, 2), 8)


def test_what_is_not_there_is_said(tuned: BenchmarkData, values: Any) -> None:
    shown = values(transfer_tables(tuned)[1])
    assert shown["filtered",][1:] == ["failed: diverged", 4 / 8]
    assert shown["filtered minus full, points",][1] == "not run"
    assert isinstance(shown["filtered minus full, points",][2], float)


def test_without_fine_tuned_evaluators_there_is_no_table(by_hand: BenchmarkData) -> None:
    assert transfer_tables(by_hand) == ()
    assert 'id="transfer"' not in undrawn_page(by_hand)
    assert TRANSFER.table(by_hand).num_rows == 0


def test_fine_tuned_evaluators_stay_out_of_tables_about_train_sets_alone(tuned: BenchmarkData) -> None:
    assert [table.of for table in zero_shot_tables(tuned)] == ["p", "q"] * 2
    assert [row.headings[0] for row in in_distribution_tables(tuned)[0].rows if not row.apart] == ["p", "q"]
    assert [one.evaluator for one in headlines(tuned, "a")] == ["p", "q"]
    assert "p_odd" not in " ".join(plain_summary(analyse(tuned)))
    assert {place.evaluator for place in score_table(tuned)} == {"p", "q", "p_odd"}


def test_all_formats_say_the_same(tuned: BenchmarkData) -> None:
    rows = TRANSFER.table(tuned).to_pylist()
    (full,) = (
        row for row in rows
        if (row["representation"], row["train_set"], row["training"]) == ("a", "full", "fine_tuned")
    )  # fmt: skip
    assert (full["start"], full["evaluator"], full["test_set"], full["accuracy"]) == ("p", "p_odd", "odd", 5 / 8)
    (difference,) = (
        row for row in TRANSFER_DIFFERENCES.table(tuned).to_pylist()
        if (row["representation"], row["against"], row["training"]) == ("a", "full", "fine_tuned")
    )  # fmt: skip
    assert (difference["train_set"], difference["difference"]) == ("filtered", pytest.approx(31.25))
    report: Any = report_json(tuned)
    assert report["tables"]["transfer"] == rows
    assert report["fine_tuned"] == {"p_odd": {"start": "p", "sets": ["odd", "gone"]}}
    assert "| full | 90 | 62.5, ±17.7 over 2 seeds, [" in tables_markdown(transfer_tables(tuned)).replace("\\", "")
    page = render_report(tuned)
    assert "p, fine-tuned on challenge sets; train sets of representation a" in page
    assert "p_odd, after odd, then gone" in page
    assert "<b>62.5</b>" in page
    assert "p, trained on the train set first and then fine-tuned on odd, then gone" in page


def test_a_set_says_for_whom_it_is_not_zero_shot() -> None:
    fine_tuned = {"x": FineTuned("p", ("odd",)), "y": FineTuned("p", ("even", "odd")), "z": FineTuned("p", ("even",))}
    assert fine_tuned_note("odd", fine_tuned) == (
        "Not zero-shot for evaluators fine-tuned on other rows of this set: x, y.",
    )
    assert fine_tuned_note("other", fine_tuned) == ()
