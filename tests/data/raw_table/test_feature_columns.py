import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.data.raw_table.feature_columns import feature_matrix
from aflite_assets.errors import DataError


def _matrix(values: dict[str, Any], names: str | tuple[str, ...] = "x") -> np.ndarray:
    return feature_matrix("dev", pa.table(values), names)


@pytest.mark.parametrize(
    "column",
    [
        [[1, 2], [3, 4]],
        pa.chunked_array([[[1, 2]], [], [[3, 4]]], pa.list_(pa.int64())),
        pa.array([[1, 2], [3, 4]], pa.large_list(pa.float64())),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.float16(), 2)),
        pa.array([[1, 2], [3, 4]], pa.list_view(pa.int8())),
        pa.array([[1, 2], [3, 4]], pa.large_list_view(pa.uint64())),
        pa.array([[1, 2], [3, 4]], pa.list_(pa.decimal128(5, 2))),
        pa.FixedShapeTensorArray.from_numpy_ndarray(np.array([[1, 2], [3, 4]], np.float32)),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([[1, 2], [3, 4]])),
    ],
)
def test_list_columns_of_any_kind_are_features(column: Any) -> None:
    matrix = _matrix({"x": column})
    assert matrix.dtype == np.float32
    assert matrix.tolist() == [[1, 2], [3, 4]]


def test_sliced_list_column_keeps_its_rows() -> None:
    table = pa.table({"x": [[0, 0], [1, 2], [3, 4], [9, 9]]}).slice(1, 2)
    assert feature_matrix("dev", table, "x").tolist() == [[1, 2], [3, 4]]


def test_single_columns_are_features_in_the_order_named() -> None:
    values = {"x": [1, 2], "y": ["3.5", " -4e1 "], "z": [True, False], "w": pa.array([2, 3], pa.float16())}
    assert _matrix(values, ("y", "x", "z", "w")).tolist() == [[3.5, 1, 1, 2], [-40, 2, 0, 3]]


def test_encoded_columns_are_features() -> None:
    values = {"x": pa.array([1.5, 2.5]).dictionary_encode(), "y": pc.run_end_encode(pa.array([3, 3]))}
    assert _matrix(values, ("x", "y")).tolist() == [[1.5, 3], [2.5, 3]]


def test_large_integers_are_rounded_as_other_numbers_are() -> None:
    assert _matrix({"x": [[2**24 + 1, 2**62 + 1]]}).tolist() == [[2**24, 2**62]]


def test_train_numbers_that_float32_cannot_tell_apart_are_refused() -> None:
    seconds = np.arange(1000) + 1_700_000_000
    message = (
        "split 'train': the column 'time' in `columns.features` has 1,000 different numbers from 1700000000 to "
        "1700000999, but features are stored as float32, in which only 9 of them differ; subtract a constant from the "
        "column in the source, such as its smallest number, or leave the column out"
    )
    for values in (seconds, seconds.astype(float), [str(value) for value in seconds]):
        with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
            feature_matrix("train", pa.table({"time": values}), ("time",))
    accepted = {
        "day": 1_700_000_000 + 86_400 * np.arange(1000),
        "same": [1_700_000_000] * 1000,
        "small": seconds - 1_700_000_000,
    }
    assert feature_matrix("train", pa.table(accepted), tuple(accepted)).shape == (1000, 3)
    assert _matrix({"time": seconds}, ("time",)).shape == (1000, 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39, None])
@pytest.mark.parametrize("form", ["list", "fixed_size_list", "columns", "text"])
def test_features_that_are_not_finite_are_counted_and_the_first_row_named(bad: float | None, form: str) -> None:
    rows: list[list[float | None]] = [[1.0, 2.0], [1.0, bad], [3.0, 4.0], [bad, bad]]
    columns = {"x": [a for a, _ in rows], "y": [b for _, b in rows]}
    texts = {name: ["" if value is None else str(value) for value in column] for name, column in columns.items()}
    values: dict[str, Any] = {
        "list": {"x": rows}, "fixed_size_list": {"x": pa.array(rows, pa.list_(pa.float64(), 2))},
        "columns": columns, "text": texts,
    }[form]  # fmt: skip
    named = ["column 0 (from 0)", "column 1 (from 0)"] if form.endswith("list") else ["column 'x'", "column 'y'"]
    held = {"text": repr(texts["y"][1])}.get(form, "null" if bad is None else repr(str(bad)))
    message = (
        f"split 'dev': 2 of 4 rows have features that are missing, NaN or infinite as float32: "
        f"{named[0]} in 1 row, {named[1]} in 2 rows (first: row 2, {named[1]} with the value "
    )
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        _matrix(values, "x" if form.endswith("list") else ("x", "y"))
    assert str(caught.value) == f"{message}{held}); replace these values or delete the rows in the source"


def test_many_columns_that_are_not_finite_are_counted() -> None:
    names = tuple("abcdefgh")
    with pytest.raises(DataError, match=r"column 'a' in 1 row, .*'e' in 1 row and 3 more columns \(first: row 1"):
        _matrix({name: [np.nan, 1.0] for name in names}, names)


def test_list_of_nulls_alone_is_not_finite() -> None:
    with pytest.raises(DataError, match="2 of 2 rows have features that are missing"):
        _matrix({"x": [[None], [None]]})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [1, 2], [1]], "row 1 has 2 features, but row 3 has 1; give every row the same number of features"),
        ([[1, 2], None], "row 1 has 2 features, but row 2 has 0"),
        ([None, [1, 2]], "row 1 has 0 features, but row 2 has 2"),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), "row 1 has 2 features, but row 2 has 0"),
        (pa.array([[], []], pa.list_(pa.int64())), "the rows have no features; give every row at least one feature"),
        (pa.array([[], []], pa.list_(pa.int64(), 0)), "the rows have no features; give every row at least one feature"),
        (
            ["1", "2"],
            "the column 'x' in `columns.features` has the type 'string' instead of lists of numbers; "
            "name one column of lists of",
        ),
        (
            [["1"], ["2"]],
            "the column 'x' in `columns.features` contains lists of 'string' instead of lists of numbers; name one",
        ),
        (
            [[[1]], [[2]]],
            "the column 'x' in `columns.features` contains lists of 'list<item: int64>' instead of lists "
            "of numbers; name",
        ),
        (
            pa.array([[1]], pa.list_(pa.timestamp("s"))),
            "in `columns.features` contains lists of 'timestamp[s]' instead of lists of numbers; name "
            "one column of lists",
        ),
        (
            [1.0, 2.0],
            "has the type 'double' instead of lists of numbers; name one column of lists of "
            "numbers, or a list of number columns",
        ),
    ],
)
def test_lists_that_are_no_feature_vectors_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _matrix({"x": rows})


def test_words_in_a_number_column_are_refused_with_their_row() -> None:
    message = (
        "the column 'x' in `columns.features` cannot be read as numbers, because row 3 has the value "
        "'one<b>'; write a number"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _matrix({"x": ["1", "", "one<b>", "two"]}, ("x",))


@pytest.mark.parametrize("column", [[[1]], [b"1"], pa.array([1], pa.duration("s")), [{"a": 1}]])
def test_single_columns_of_anything_else_are_refused(column: Any) -> None:
    held = pa.table({"x": column})["x"].type
    remedy = "write features: 'x', without brackets" if column == [[1]] else "name one column of lists"
    message = f"split 'dev': the column 'x' in `columns.features` has the type '{held}' instead of numbers; {remedy}"
    with pytest.raises(DataError, match=re.escape(message)):
        _matrix({"x": column}, ("x",))


def test_lists_written_as_text_are_refused_with_what_to_do() -> None:
    with pytest.raises(DataError, match=r"a list written as text is not parsed: store it as a list, or as columns\)"):
        _matrix({"x": ["[1, 2]", "[3, 4]"]}, "x")
