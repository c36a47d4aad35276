from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.raw_table.groups import group_numbers
from aflite_assets.errors import DataError


def test_groups_are_numbered_over_all_splits_in_order_of_appearance() -> None:
    tables = {"train": pa.table({"g": ["b", "a", "b"]}), "dev": pa.table({"g": ["c", "a"]})}
    numbers = group_numbers(tables, "g")
    assert {split: array.tolist() for split, array in numbers.items()} == {"train": [0, 1, 0], "dev": [2, 1]}
    assert group_numbers(tables, None) == {}


def test_group_written_as_number_and_as_text_is_one_group() -> None:
    tables = {"train": pa.table({"g": [7, 8]}), "dev": pa.table({"g": ["8", "x"]}), "test": pa.table({"g": [7.0]})}
    assert [array.tolist() for array in group_numbers(tables, "g").values()] == [[0, 1], [1, 2], [0]]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_groups_are_counted(missing: Any) -> None:
    table = pa.table({"g": pa.array([1.0, missing, missing], pa.float64())})
    with pytest.raises(DataError, match=r"column 'g' names no group in 2 rows \(first: row 1\); every row needs one"):
        group_numbers({"dev": table}, "g")


def test_rows_that_share_a_value_of_any_column_are_one_group() -> None:
    tables = {
        "train": pa.table({"claim": ["c1", "c2", "c3", "c1"], "evidence": ["e1", "e2", "e3", "e2"]}),
        "dev": pa.table({"claim": ["c9", "e3"], "evidence": ["e9", "e8"]}),
    }
    numbers = group_numbers(tables, ("claim", "evidence"))
    # c1-e1, c1-e2 and c2-e2 hang together; the text e3 stands in both columns.
    assert {split: array.tolist() for split, array in numbers.items()} == {"train": [0, 0, 1, 0], "dev": [2, 1]}
    assert {array.dtype for array in numbers.values()} == {np.dtype(np.int64)}


def test_one_column_in_a_list_is_that_column() -> None:
    tables = {"train": pa.table({"g": ["b", "a", "b"]})}
    assert group_numbers(tables, ("g",))["train"].tolist() == [0, 1, 0]


def test_a_long_chain_is_one_group() -> None:
    links = pa.table({"a": [str(row) for row in range(5000)], "b": [str(row + 1) for row in range(5000)]})
    assert set(group_numbers({"train": links}, ("a", "b"))["train"].tolist()) == {0}
