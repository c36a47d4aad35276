"""Coordinates of a data map by hand, over epochs and over trainings."""

import pyarrow as pa
import pytest

from aflite_assets.diagnostics.evidence.data_map import DATA_MAP, data_map
from aflite_assets.errors import InvalidInputError


def dynamics(rows: list[int], *epochs: tuple[list[float], list[bool]]) -> pa.Table:
    return pa.table(
        {
            "row_id": rows * len(epochs),
            "epoch": [number for number in range(len(epochs)) for _ in rows],
            "label_probability": pa.array([value for epoch in epochs for value in epoch[0]], pa.float32()),
            "correct": [value for epoch in epochs for value in epoch[1]],
        }
    )


def test_one_training_by_hand() -> None:
    table = data_map([dynamics([7, 3], ([0.25, 0.5], [False, True]), ([0.75, 0.5], [True, True]))])
    assert table.schema == DATA_MAP
    assert table.to_pylist() == [
        {"row_id": 3, "confidence": 0.5, "variability": 0.0, "correctness": 1.0},
        {"row_id": 7, "confidence": 0.5, "variability": 0.25, "correctness": 0.5},
    ]


def test_trainings_of_other_rows_and_epochs_are_averaged_over() -> None:
    first = dynamics([1, 2], ([0.0, 1.0], [False, True]), ([1.0, 1.0], [True, True]))
    second = dynamics([2, 5], ([0.5, 0.25], [False, False]))
    rows = {row.pop("row_id"): tuple(row.values()) for row in data_map([first, second]).to_pylist()}
    assert rows == {1: (0.5, 0.5, 0.5), 2: (0.75, 0.0, 0.5), 5: (0.25, 0.0, 0.0)}


def test_a_row_that_an_epoch_lacks_is_refused() -> None:
    table = dynamics([1, 2], ([0.0, 1.0], [False, True]), ([1.0, 1.0], [True, True])).slice(0, 3)
    with pytest.raises(InvalidInputError, match="row 2 occurs 1 times in the 2 epochs of training 0"):
        data_map([table])
