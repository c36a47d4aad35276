import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.errors import DataError
from aflite_assets.sources.columns import (
    attribute_column,
    group_numbers,
    input_columns,
    require_columns,
    source_ids,
)
from aflite_assets.sources.images import IMAGE_TYPE
from aflite_assets.sources.specs import ColumnsSpec


def _inputs(values: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return input_columns("dev", pa.table(values), ColumnsSpec(**columns))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": "labels", "text": "text"}, "no column 'labels' that columns.label names"),
        (
            {"text": "txt"},
            "no column 'txt' that columns.text names (it has ['label', 'text', 'x']); did you mean 'text'",
        ),
        ({"text": "text", "text_pair": "q"}, "no column 'q' that columns.text_pair names"),
        ({"text": "text", "attributes": ("x", "lable")}, "no column 'lable' that columns.attributes names"),
        ({"features": ("x", "y")}, "no column 'y' that columns.features names"),
        ({"text": "text", "id": "uid"}, "that columns.id names (it has ['label', 'text', 'x']); correct the spec"),
        ({"text": "text", "group": "premise"}, "no column 'premise' that columns.group names"),
        ({}, "columns names no input (split 'dev' has ['label', 'text', 'x']); set columns.text, image or features"),
    ],
)
def test_missing_column_is_named_with_its_field(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        require_columns("dev", pa.table({"label": [1], "text": ["a"], "x": [1]}), ColumnsSpec(**columns))


def test_column_that_stands_twice_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1])] * 3, ["label", "text", "text"])
    with pytest.raises(DataError, match="split 'dev' has 2 columns named 'text'; rename all but one"):
        require_columns("dev", table, ColumnsSpec(text="text"))


def test_texts_are_taken_as_they_are_and_other_values_as_text() -> None:
    inputs = _inputs({"a": ["", "\x00<b>"], "b": [1, 2.5]}, text="a", text_pair="b")
    assert {name: column.to_pylist() for name, column in inputs.items()} == {
        "text": ["", "\x00<b>"],
        "text_pair": ["1.0", "2.5"],
    }


def test_missing_text_is_counted_and_its_first_row_named() -> None:
    with pytest.raises(DataError, match=r"split 'dev': column 'a' has no text in 2 rows \(first: row 1\); fill them"):
        _inputs({"a": ["x", None, None]}, text="a")


@pytest.mark.parametrize(
    "values",
    [
        {"x": [[1, 2], [3, 4]]},
        {"x": pa.array([[1, 2], [3, 4]], pa.large_list(pa.float64()))},
        {"x": pa.array([[1, 2], [3, 4]], pa.list_(pa.float16(), 2))},
        {"x": pa.chunked_array([[[1, 2]], [[3, 4]]])},
    ],
)
def test_list_columns_of_any_kind_are_features(values: dict[str, Any]) -> None:
    column = _inputs(values, features="x")["features"]
    assert column.type == pa.list_(pa.float32())
    assert column.to_pylist() == [[1, 2], [3, 4]]


def test_sliced_list_column_keeps_its_rows() -> None:
    table = pa.table({"x": [[0, 0], [1, 2], [3, 4], [9, 9]]}).slice(1, 2)
    assert input_columns("dev", table, ColumnsSpec(features="x"))["features"].to_pylist() == [[1, 2], [3, 4]]


def test_single_columns_are_features_in_the_order_named() -> None:
    inputs = _inputs({"x": [1, 2], "y": ["3.5", "-4e1"], "z": [True, False]}, features=("y", "x", "z"))
    assert inputs["features"].to_pylist() == [[3.5, 1, 1], [-40, 2, 0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39, None])
@pytest.mark.parametrize("listed", [True, False])
def test_features_that_are_not_finite_are_counted_and_the_first_row_named(bad: float | None, listed: bool) -> None:
    rows: list[list[float | None]] = [[1.0, 2.0], [1.0, bad], [3.0, 4.0], [bad, bad]]
    values: dict[str, Any] = {"x": rows} if listed else {"x": [a for a, _ in rows], "y": [b for _, b in rows]}
    message = "split 'dev': 2 of 4 rows have features that are NaN or infinite as float32 (first: row 1)"
    with pytest.raises(DataError, match=re.escape(message)):
        _inputs(values, features="x" if listed else ("x", "y"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [1, 2], [1]], "row 0 has 2 features, but row 2 has 1; every row must have the same number"),
        ([[1, 2], None], "row 0 has 2 features, but row 1 has 0"),
        ([[], []], "the rows have no features; every row needs at least one"),
        (["a", "b"], "columns.features 'x' cannot be read as numbers"),
        ([["a"], ["b"]], "columns.features 'x' cannot be read as numbers"),
        ([1.0, 2.0], "name one column of lists of numbers, or a list of number columns"),
    ],
)
def test_ragged_or_wordy_features_are_refused(rows: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _inputs({"x": pa.array(rows, pa.list_(pa.int64())) if rows == [[], []] else rows}, features="x")


def test_words_in_a_number_column_are_refused() -> None:
    with pytest.raises(DataError, match=r"columns.features \('x',\) cannot be read as numbers \(could not convert"):
        _inputs({"x": ["1", "one"]}, features=("x",))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\x00", b"\xff"]),
        pa.array([b"\x00", b"\xff"], pa.large_binary()),
        pa.chunked_array([[b"\x00"], [b"\xff"]]),
        pa.array([{"bytes": b"\x00", "path": None}, {"bytes": b"\xff", "path": "a.png"}]),
        pa.array([{"bytes": b, "path": None, "sha256": None} for b in (b"\x00", b"\xff")], IMAGE_TYPE),
    ],
)
def test_encoded_images_take_the_contracts_form(column: Any) -> None:
    images = _inputs({"picture": column}, image="picture")["image"]
    assert images.type == IMAGE_TYPE
    assert [(image["bytes"], image["path"]) for image in images.to_pylist()] == [(b"\x00", None), (b"\xff", None)]


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (["a.png"], "string with 0 empty rows"),
        ([{"bytes": None, "path": "a.png"}], "with 1 empty rows"),
        (pa.array([b"\x00", None]), "binary with 1 empty rows"),
        (pa.array([None, {"bytes": b"\x00"}]), "with 1 empty rows"),
    ],
)
def test_images_that_are_no_bytes_are_refused(values: Any, held: str) -> None:
    with pytest.raises(DataError, match=f"column 'picture' must hold an encoded image in every row.*{held}"):
        _inputs({"picture": values}, image="picture")


def test_attributes_are_text_and_a_missing_value_is_said_to_be() -> None:
    column = pa.chunked_array([pa.array([1.0, None, 2.5])])
    assert attribute_column(column).to_pylist() == ["1", "(empty)", "2.5"]


def _ids(name: str | None = None, **values: Any) -> list[str]:
    table = pa.table(values)
    kind = "features" if "features" in values else "text"
    columns = ColumnsSpec(**{kind: kind}, text_pair="text_pair" if "text_pair" in values else None)
    return source_ids("dev", table, name, input_columns("dev", table, columns)).to_pylist()


def test_content_ids_are_equal_for_equal_content_alone() -> None:
    ids = _ids(text=["a", "b", "a", "", "ab"], text_pair=["b", "a", "b", "ab", ""])
    assert ids[0] == ids[2]
    assert len(set(ids)) == 4
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in ids)
    assert _ids(text=["x", "a"], text_pair=["y", "b"])[1] == ids[0]


def test_content_id_is_a_stated_hash() -> None:
    import hashlib

    data = (1).to_bytes(8, "little") + b"a" + (2).to_bytes(8, "little") + "é".encode()
    assert _ids(text=["a"], text_pair=["é"]) == [hashlib.sha256(data).hexdigest()[:16]]


def test_content_ids_of_features_and_images() -> None:
    ids = _ids(features=[[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    assert ids[0] == ids[1] != ids[2]
    images = {"image": pa.array([{"bytes": None, "path": p, "sha256": "f"} for p in "ab"], IMAGE_TYPE)}
    assert len(set(source_ids("dev", pa.table(images), None, images).to_pylist())) == 1


def test_ids_of_the_source_are_its_text() -> None:
    assert _ids("uid", text=["x", "y"], uid=[1.0, 20.0]) == ["1", "20"]


@pytest.mark.parametrize(
    ("uid", "problem"),
    [(["a", "b", "a"], "repeats 'a' in row 2"), ([1, None, None], "is empty in row 1"), (["", "a", "b"], "in row 0")],
)
def test_ids_that_repeat_or_are_empty_are_refused(uid: list[Any], problem: str) -> None:
    with pytest.raises(DataError, match=rf"split 'dev': column 'uid' .*{problem}; name a column of unique ids"):
        _ids("uid", text=["x", "y", "z"], uid=uid)


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
