"""Every table that a report shows, by name; and the points of learning curves."""

from typing import Any

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.learning_curve import WARMUP_CURVE, LearningCurve
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.all_tables import shown_tables
from aflite_assets.reports.tables.published import paper_records


def test_published_figures_are_there_when_named() -> None:
    found = [row for row in paper_records("qnli") if row["row"] == "RoBERTa"]
    assert [(row["column"], row["value"]) for row in found] == [
        ("full", 93.7), ("filtered (RoBERTa)", 77.7), ("difference (points)", -16.0),
    ]  # fmt: skip


def test_points_of_learning_curves_are_rows(make_by_hand: Any) -> None:
    curves = (LearningCurve("a", (40, 80), (50, 90), 100, 34), LearningCurve("b", (40, 80), (80, 81), 100, 34))
    found = analyse(make_by_hand(warmup_curves=curves)).of(WARMUP_CURVE)
    assert [(one.representation, one.rows, one.right, one.accuracy) for one in found] == [
        ("a", 40, 50, 0.5), ("a", 80, 90, 0.9), ("b", 40, 80, 0.8), ("b", 80, 81, 0.81),
    ]  # fmt: skip
    assert [(one.elbow, one.chosen) for one in found] == [
        (False, False), (True, True), (True, False), (False, True),
    ]  # fmt: skip


def test_nothing_trained_is_no_table(make_by_hand: Any) -> None:
    assert shown_tables(analyse(make_by_hand(cells=()))) == {}


def test_all_shown_tables_by_name(by_hand: BenchmarkData) -> None:
    found = shown_tables(analyse(by_hand))
    names = ["falls", "accuracy", "zero_shot", "by_class", "paired", "challenge_sets"]
    assert set(found) == {"in_distribution", *(f"{name}_{one}" for name in names for one in ("a", "b"))}
    assert [one.of for one in found["zero_shot_a"]] == ["p", "q"]
