"""The tidy tables of a whole report: each comes back from Arrow as it was."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.analysis import TABLES, analyse
from aflite_assets.analysis.inputs.cues import CUES, SIMILARITIES, PlantedRemoval, RemovedCue, class_similarities
from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.studies.sample.analysis.curve import SampleCurve
from tests.reports.figures.test_all_figures import planted_bins, similarity_table

CUE = replace(
    RemovedCue("word", "text", "not", "neutral", 0.8, 50, 40, 0.4, 0.2, 0.001, 0.002),
    class_shares=(0.1, 0.8, 0.1),
    elsewhere=(("hans", 0.5),),
)


@pytest.fixture(scope="module")
def everything(make_planted: Callable[..., BenchmarkData]) -> BenchmarkData:
    """A benchmark with rows in every table about filtering."""
    return make_planted(
        similarities={"roberta": class_similarities("roberta", similarity_table())},
        score_bins=planted_bins(),
        warmup_curves=(LearningCurve("roberta", (40, 80), (50, 90), 100, 34),),
        studies={"train_sample": SampleCurve((10, 20), ((10, 91), (60, 60)), 100, 50, "falls")},
        planted=(PlantedRemoval("roberta", "mark", ("right",), 1200, 780, 800, 720),),
        cues={"roberta": (CUE, replace(CUE, value="never", elsewhere=()))},
    )


FILLED = {
    "accuracies", "class_shares", "cues", "differences", "falls", "iterations", "lengths", "planted", "predictability",
    "predictability_by_iteration", "sample_curve", "scores", "similarities", "warmup_curve",
}  # fmt: skip
"""Tables that have rows here."""


@pytest.mark.parametrize("table", [table for table, _ in TABLES], ids=lambda table: table.name)
def test_tables_come_back_as_they_were(everything: BenchmarkData, table: Any) -> None:
    records = analyse(everything).of(table)
    assert records or table.name not in FILLED
    assert table.from_arrow(table.to_arrow(records)) == records


def test_records_of_one_filtering(everything: BenchmarkData) -> None:
    analysis = analyse(everything)
    assert analysis.of(CUES, "roberta") == analysis.of(CUES)
    assert analysis.of(CUES, "other") == ()
    assert [(one.value, one.shown, one.share_kept) for one in analysis.of(CUES)] == [
        ("not", True, pytest.approx(0.2)), ("never", True, pytest.approx(0.2)),
    ]  # fmt: skip
    assert [(one.label, one.side, one.mean) for one in analysis.of(SIMILARITIES)][:2] == [
        (0, "kept", -0.25), (0, "removed", 0.5),
    ]  # fmt: skip


def test_facts_of_the_sample(everything: BenchmarkData) -> None:
    assert (analyse(everything).facts.sample_rows, analyse(everything).facts.sample_stop) == (20, "falls")
