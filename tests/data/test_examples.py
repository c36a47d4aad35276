import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.synthetic.circles import list_column
from aflite_assets.errors import DataError

FEATURES = np.arange(12, dtype=np.float32).reshape(6, 2)


@pytest.fixture
def examples() -> Examples:
    table = pa.table(
        {
            "row_id": np.array([3, 1, 4, 15, 9, 2]),
            "split": ["train", "test", "train", "train", "test", "train"],
            "label": np.array([0, 1, 0, 1, 0, 1]),
            "group": np.array([7, 7, 8, 8, 9, 9]),
            "features": list_column(FEATURES),
        }
    )
    return Examples(table, ("no", "yes"))


def test_columns_are_arrays_of_the_contract(examples: Examples) -> None:
    assert len(examples) == 6
    assert examples.modality == "features"
    np.testing.assert_array_equal(examples.row_ids, [3, 1, 4, 15, 9, 2])
    np.testing.assert_array_equal(examples.labels, [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(examples.groups, [7, 7, 8, 8, 9, 9])
    np.testing.assert_array_equal(examples.features, FEATURES)
    assert (examples.row_ids.dtype, examples.labels.dtype, examples.features.dtype) == ("int64", "int64", "float32")


def test_features_of_many_chunks_are_one_matrix(examples: Examples) -> None:
    parts = [examples.table.slice(0, 1), examples.table.slice(1, 0), examples.table.slice(1)]
    np.testing.assert_array_equal(Examples(pa.concat_tables(parts), ()).features, FEATURES)


def test_rows_of_one_split_are_not_copied() -> None:
    table = pa.table({"split": ["train"] * 3 + ["dev"], "text": ["x" * 100_000] * 4})
    before = pa.total_allocated_bytes()
    assert len(Examples(table, ()).in_split("train")) == 3
    assert pa.total_allocated_bytes() - before < 10_000


def test_split_keeps_order_features_and_names(examples: Examples) -> None:
    test = examples.in_split("test")
    assert test.row_ids.tolist() == [1, 9]
    np.testing.assert_array_equal(test.features, FEATURES[[1, 4]])
    assert test.label_names == ("no", "yes")


def test_split_without_rows_is_empty(examples: Examples) -> None:
    nothing = examples.in_split("dev")
    assert (len(nothing), nothing.features.size, nothing.labels.size) == (0, 0, 0)
    assert len(nothing.select([])) == 0


@given(wanted=st.lists(st.sampled_from([3, 1, 4, 15, 9, 2])))
def test_select_gives_the_ids_asked_for_in_their_order(wanted: list[int]) -> None:
    ids = np.array([3, 1, 4, 15, 9, 2])
    chosen = Examples(pa.table({"row_id": ids, "text": [f"row {row}" for row in ids]}), ()).select(wanted)
    assert chosen.row_ids.tolist() == wanted
    assert chosen.texts() == [f"row {row}" for row in wanted]


@pytest.mark.parametrize("lost", [-1, 5, 16])
def test_select_counts_and_names_missing_ids(examples: Examples, lost: int) -> None:
    with pytest.raises(DataError, match=re.escape(f"2 of 3 row ids are not in this table (first: {lost})")):
        examples.select([3, lost, lost])


def test_select_from_an_empty_table_misses_everything(examples: Examples) -> None:
    with pytest.raises(DataError, match="1 of 1 row ids are not in this table"):
        examples.in_split("dev").select([3])


def test_texts_and_absent_groups() -> None:
    pairs = Examples(pa.table({"row_id": [0], "text": ["a"], "text_pair": ["b"]}), ())
    assert (pairs.modality, pairs.texts(), pairs.texts("text_pair"), pairs.groups) == ("text", ["a"], ["b"], None)


def test_image_bytes_are_those_of_the_row() -> None:
    images = [{"bytes": bytes([row]), "path": None, "sha256": None} for row in range(3)]
    examples = Examples(pa.table({"row_id": [0, 1, 2], "image": pa.array(images, IMAGE_TYPE)}), ())
    assert (examples.modality, examples.image_bytes(2)) == ("image", b"\x02")
