import pyarrow as pa

from aflite_assets.diagnostics.record_tables import content_codes, factorize, split_masks, table_of, text_codes


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
