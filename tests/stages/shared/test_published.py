"""How published tables are read back."""

import pyarrow as pa

from aflite_assets.stages.shared.published import by_keys


def test_rows_are_read_by_their_keys_in_their_order_and_nulls_are_a_key() -> None:
    table = pa.table({"name": ["b", "a", "b", "b"], "seed": [1, None, 0, 1], "row_id": [4, 3, 2, 1]})
    assert [(key.as_py(), rows["row_id"].to_pylist()) for key, rows in by_keys(table, "name", "seed")] == [
        ({"name": "b", "seed": 1}, [4, 1]),
        ({"name": "a", "seed": None}, [3]),
        ({"name": "b", "seed": 0}, [2]),
    ]
    assert list(by_keys(table.slice(0, 0), "name")) == []
