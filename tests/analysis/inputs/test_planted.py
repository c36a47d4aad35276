from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.planted import PlantedRemoval, planted_sentence
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.page.json_report import report_json
from aflite_assets.reports.sentences.summary import findings
from aflite_assets.reports.tables.listings import PLANTED

pytestmark = pytest.mark.usefixtures("undrawn")

REMOVAL = PlantedRemoval("roberta", "mark", ("right",), 1200, 780, 800, 720)


def test_shares_by_hand() -> None:
    assert (REMOVAL.precision, REMOVAL.precision_by_chance) == (0.9, 0.65)
    assert (REMOVAL.recall, REMOVAL.recall_by_chance) == (720 / 780, 800 / 1200)


def test_sentence() -> None:
    assert planted_sentence(REMOVAL) == (
        "Of the 1,200 train rows that entered filtering with roberta 780 were planted with a shortcut (mark right). It "
        "removed 800: 90.0 % of these were planted (precision; by chance 65.0 %), and 92.3 % of all planted ones were "
        "among them (recall; by chance 66.7 %)."
    )


def test_sentences_without_planted_or_removed_rows() -> None:
    none = replace(REMOVAL, planted_rows=0, removed_planted_rows=0, values=("a", "b"))
    assert (none.precision_by_chance, none.recall) == (0.0, None)
    assert planted_sentence(none).endswith(
        "none was planted with a shortcut (mark a and b), so nothing says how well it was found."
    )
    kept = replace(REMOVAL, removed_rows=0, removed_planted_rows=0)
    assert kept.precision is None
    assert planted_sentence(kept).endswith("(mark right). None of them was removed, nor was any other.")


def test_the_report_says_it_after_the_filtering(planted: BenchmarkData) -> None:
    data = replace(planted, planted=(REMOVAL, replace(REMOVAL, representation="another")))
    said = findings(analyse(data))
    assert said[0].startswith("Filtering with representation roberta")
    assert said[1] == planted_sentence(REMOVAL)
    assert len([line for line in said if "planted with a shortcut" in line]) == 1
    assert planted_sentence(REMOVAL) in render_report(data)


def test_values_are_shown_as_text(planted: BenchmarkData) -> None:
    hostile = replace(REMOVAL, values=("<script>alert(1)</script>", "x" * 100))
    page = render_report(replace(planted, planted=(hostile,)))
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "x" * 60 not in page


def test_json_has_counts_and_shares(planted: BenchmarkData) -> None:
    written: Any = report_json(replace(planted, planted=(REMOVAL,)))
    (one,) = written["tables"]["planted"]
    assert one["values"] == "right"
    assert (one["removed_planted_rows"], one["precision"]) == (720, 0.9)
    assert one["recall"] == pytest.approx(0.923, abs=1e-3)


def test_the_flat_table_has_a_row_per_attribute(planted: BenchmarkData) -> None:
    both = replace(REMOVAL, values=("right", "wrong"), planted_rows=0, removed_planted_rows=0)
    first, second = PLANTED.table(replace(planted, planted=(REMOVAL, both))).to_pylist()
    assert (first["values"], first["rows"], first["recall_by_chance"]) == ("right", 1200, 800 / 1200)
    assert (second["values"], second["precision"], second["recall"]) == ("right, wrong", 0.0, None)
