import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.diagnostics.record_tables import (
    bin_edges,
    binned,
    class_shares_moved,
    content_codes,
    factorize,
    split_masks,
    table_of,
    text_codes,
)
from aflite_assets.errors import InvalidInputError


def test_values_are_numbered_in_order_of_appearance_across_chunks() -> None:
    codes, values = factorize(pa.chunked_array([["b", None], ["a", "b", None]]))
    assert codes.tolist() == [0, 1, 2, 0, 1]
    assert values.to_pylist() == ["b", None, "a"]


def test_splits_come_in_order_of_appearance() -> None:
    masks = {split: mask.tolist() for split, mask in split_masks(pa.table({"split": ["t", "d", "t"]}))}
    assert masks == {"t": [True, False, True], "d": [False, True, False]}
    assert list(masks) == ["t", "d"]


def test_no_records_make_a_table_with_its_columns() -> None:
    schema = pa.schema({"rows": pa.int64(), "share": pa.float64()})
    assert table_of([], schema) == pa.table({"rows": [], "share": []}, schema=schema)
    assert table_of([(1, None)], schema).to_pylist() == [{"rows": 1, "share": None}]


def test_equal_contents_have_one_number_and_missing_ones_none() -> None:
    assert content_codes([b"b", b"", None, memoryview(b"b"), pa.py_buffer(b"")]).tolist() == [0, 1, -1, 0, 1]
    assert content_codes([]).tolist() == []


def test_texts_are_numbered_across_chunks() -> None:
    texts = pa.chunked_array([["b", None, ""], ["a", "b", "\x00", None]])
    assert text_codes(texts).tolist() == [0, -1, 1, 2, 0, 3, -1]
    assert text_codes(pa.chunked_array([], pa.string())).tolist() == []


def test_shares_moved_by_hand() -> None:
    moved = class_shares_moved(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1, 2]), classes=4)
    np.testing.assert_allclose(moved, [-30, 10, 20, 0], atol=1e-12)


LABELS = st.lists(st.integers(0, 4), min_size=1)


@given(LABELS, LABELS)
def test_what_one_class_gains_others_lose(before: list[int], after: list[int]) -> None:
    moved = class_shares_moved(np.array(before), np.array(after), classes=5)
    assert moved.sum() == pytest.approx(0, abs=1e-9)
    assert np.abs(moved).max() <= 100
    np.testing.assert_allclose(moved, -class_shares_moved(np.array(after), np.array(before), classes=5), atol=1e-9)


def test_a_set_without_rows_has_no_shares() -> None:
    with pytest.raises(InvalidInputError, match="`after` has no rows"):
        class_shares_moved(np.array([0, 1]), np.array([], dtype=np.int64), classes=2)


@pytest.mark.parametrize("label", [-1, 2])
def test_a_class_number_out_of_range_is_refused(label: int) -> None:
    with pytest.raises(InvalidInputError, match=r"`before` has class numbers from .*, but `classes` is 2"):
        class_shares_moved(np.array([0, label]), np.array([0]), classes=2)


def test_numbers_are_cut_at_their_quantiles_and_named() -> None:
    values = np.append(np.arange(80.0), np.nan)
    edges = bin_edges(values)
    assert edges.tolist() == [9, 19, 29, 39, 49, 59, 69]
    assert binned(np.array([0.0, 9.0, 9.5, 70.0, 500.0, np.nan]), edges).tolist() == [
        "at most 9", "at most 9", "over 9 to 19", "over 69", "over 69", "none",
    ]  # fmt: skip
    assert bin_edges(np.full(5, 3.0)).tolist() == []
    assert binned(np.array([3.0, np.nan]), np.zeros(0)).tolist() == ["any", "none"]
    assert bin_edges(np.full(3, np.nan)).tolist() == []
