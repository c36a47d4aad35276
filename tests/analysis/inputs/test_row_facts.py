"""Facts of single rows: gathered from stored tables by row id, null where nothing is stored."""

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.row_facts import ROW_FACTS, RowFacts, row_facts
from aflite_assets.errors import InvalidInputError

ROWS = pa.table(
    {"row_id": pa.array([30, 10, 20], pa.int64()), "removed_in_iteration": pa.array([None, 0, 1], pa.int64())}
)
SCORES = [
    (0, pa.table({"row_id": [20, 10], "predictability": pa.array([0.5, 1.0], pa.float32())})),
    (1, pa.table({"row_id": [30, 20], "predictability": pa.array([0.25, 0.75], pa.float32())})),
    (2, pa.table({"row_id": [30], "predictability": pa.array([0.125], pa.float32())})),
]


def test_scores_stand_in_the_iterations_that_a_row_entered() -> None:
    table = row_facts(ROWS, SCORES).table
    assert table["row_id"].to_pylist() == [30, 10, 20]
    assert table["predictability_by_iteration"].to_pylist() == [[None, 0.25, 0.125], [1.0], [0.5, 0.75]]
    for name in table.column_names[2:]:
        assert table[name].null_count == 3, name


def test_what_else_is_stored_is_found_by_row() -> None:
    instead = pa.table(
        {
            "row_id": [10, 30],
            "label_1": pa.array([2, 1], pa.int64()),
            "share_1": pa.array([0.5, 0.25], pa.float32()),
            "label_2": pa.array([None, 0], pa.int64()),
            "share_2": pa.array([None, 0.125], pa.float32()),
        }
    )
    nearest = pa.table({"row_id": [20], "nearest_kept": [30], "similarity": pa.array([0.5], pa.float32())})
    suspects = pa.table({"row_id": [30, 99], "suggested_label": [1, 2], "suggested_probability": [0.75, 0.5]})
    table = row_facts(ROWS, SCORES, instead=instead, nearest=nearest, suspects=suspects).table
    assert table["predicted_instead"].to_pylist() == [[1, 0], [2], None]
    assert table["predicted_instead_share"].to_pylist() == [[0.25, 0.125], [0.5], None]
    assert table["nearest_kept"].to_pylist() == [None, None, 30]
    assert table["nearest_similarity"].to_pylist() == [None, None, 0.5]
    assert table["suggested_label"].to_pylist() == [1, None, None]
    assert table["suggested_probability"].to_pylist() == [0.75, None, None]


def test_facts_of_asked_rows_in_their_order() -> None:
    found = row_facts(ROWS, SCORES).of(np.array([20, 5]))
    assert found["row_id"].to_pylist() == [20, 5]
    assert found["predictability_by_iteration"].to_pylist() == [[0.5, 0.75], None]


def test_without_stored_scores_or_rows_there_is_nothing() -> None:
    assert row_facts(ROWS, []).table["predictability_by_iteration"].null_count == 3
    assert row_facts(ROWS.slice(0, 0), SCORES).table.num_rows == 0


def test_other_columns_and_repeated_rows_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="row facts have the schema row_id: int64"):
        RowFacts(ROWS)
    twice = pa.concat_tables([row_facts(ROWS, SCORES).table] * 2)
    with pytest.raises(InvalidInputError, match="row facts name a row twice"):
        RowFacts(twice)
    assert RowFacts(ROW_FACTS.empty_table()).of(np.array([1])).num_rows == 1
