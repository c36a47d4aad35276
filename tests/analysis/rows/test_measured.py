"""Numbers about rows: means of data maps, and the answers that evaluators picked."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, DataMap, TestSet
from aflite_assets.analysis.rows.measured import (
    ANSWER_PICKS,
    DATA_MAPS,
    AnswerPick,
    DataMapMeans,
    answer_picks,
    data_map_means,
)
from aflite_assets.analysis.scores.questions import PICKED


def points(kept: list[bool | None]) -> pa.Table:
    """Row r has confidence r / 10, variability r / 20 and correctness 1."""
    rows = np.arange(len(kept))
    return pa.table(
        {
            "guid": [f"s{row}" for row in rows],
            "index": rows,
            "confidence": rows / 10,
            "variability": rows / 20,
            "correctness": np.ones(len(kept)),
            "row_id": rows,
            "kept": pa.array(kept, pa.bool_()),
        }
    )


def test_means_are_of_the_rows_that_entered_the_filter(by_hand: BenchmarkData) -> None:
    maps = (DataMap("net", "a", 3, 5, points([True, False, True, None])), DataMap("x", "b", 0, 0, points([True]), True))
    means = tuple(data_map_means(replace(by_hand, data_maps=maps)))
    assert means == (
        DataMapMeans("a", "net", False, 3, 5, "kept", 2, 0.1, 0.05, 1.0),
        DataMapMeans("a", "net", False, 3, 5, "removed", 1, 0.1, 0.05, 1.0),
        DataMapMeans("b", "x", True, 0, 0, "kept", 1, 0.0, 0.0, 1.0),
        DataMapMeans("b", "x", True, 0, 0, "removed", 0, None, None, None),
    )
    assert DATA_MAPS.from_arrow(DATA_MAPS.to_arrow(means)) == means


def cell(evaluator: str, seed: int, picks: list[int | None], train_set: str = "full") -> Cell:
    said = {"test_set": ["asked"] * 2 + ["other"], "row_id": [0, 3, 9], "predicted": [0, 0, 0], PICKED: [*picks, 9]}
    representation = None if train_set == "full" else "a"
    return Cell(evaluator, train_set, representation, seed, 10, "done", None, pa.table(said))


def test_answers_are_counted_by_evaluator_over_the_trainings_on_full(by_hand: BenchmarkData) -> None:
    ids, labels, names = np.array([0, 3]), np.zeros(2, np.int64), by_hand.label_names
    asked = TestSet("asked", False, ids, labels, names, {}, unit="question", chance=0.5)
    cells = (cell("p", 0, [0, 4]), cell("p", 1, [1, 4]), cell("q", 0, [0, None]), cell("q", 1, [1, 1], "random"))
    data = replace(by_hand, test_sets=(asked,), cells=cells)
    picks = tuple(answer_picks(data))
    assert picks == (
        AnswerPick(0, "p", 1, 2),
        AnswerPick(0, "q", 1, 1),
        AnswerPick(4, "p", 2, 2),
        AnswerPick(1, "p", 1, 2),
    )
    assert ANSWER_PICKS.from_arrow(ANSWER_PICKS.to_arrow(picks)) == picks
    assert tuple(answer_picks(by_hand)) == ()
