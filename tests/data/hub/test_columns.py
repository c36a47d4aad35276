from typing import Any

import pyarrow as pa
import pytest
from datasets import ClassLabel, Features, Image, LargeList, List, Value

from aflite_assets.data.hub.columns import ColumnForm, plain_table, rows_at_once

NAMES = ClassLabel(names=["no", "yes"])


def _plain(values: pa.Array | pa.ChunkedArray, feature: Any, form: ColumnForm | None = None) -> pa.ChunkedArray:
    return plain_table(pa.table({"column": values}), {"column": feature}, form=form or ColumnForm())["column"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.string()])
def test_class_numbers_become_names_and_others_text(kind: pa.DataType) -> None:
    numbers = [1, 0, 7, None] if pa.types.is_unsigned_integer(kind) else [1, 0, -1, None]
    names = _plain(pa.array(numbers, pa.int64()).cast(kind), NAMES)
    assert names.type == pa.string()
    assert names.to_pylist() == ["yes", "no", str(numbers[2]), None]


def test_texts_that_are_not_all_numbers_are_names_already() -> None:
    assert _plain(pa.array(["yes", "0", ""]), NAMES).to_pylist() == ["yes", "0", ""]
    assert _plain(pa.array(["1", "", None]), NAMES).to_pylist() == ["yes", None, None]
    assert _plain(pa.array([0.5]), NAMES).to_pylist() == [0.5]


@pytest.mark.parametrize("feature", [List(NAMES), LargeList(NAMES)])
def test_lists_of_class_numbers_become_lists_of_names(feature: Any) -> None:
    kind = Features({"column": feature}).arrow_schema.field("column").type
    chunks = pa.chunked_array([pa.array([[9], [0, 1], None], kind).slice(1), pa.array([[], [-1]], kind)])
    assert _plain(chunks, feature).to_pylist() == [["no", "yes"], None, [], ["-1"]]
    assert _plain(chunks, feature, ColumnForm(class_numbers=True)).to_pylist() == [[0, 1], None, [], [-1]]


def test_columns_without_class_names_stay_as_they_are() -> None:
    numbers = pa.chunked_array([pa.array([1, -1], pa.int32())])
    assert _plain(numbers, Value("int32")).equals(numbers)
    assert _plain(numbers, None).equals(numbers)
    assert _plain(numbers, NAMES, ColumnForm(class_numbers=True)).equals(numbers)


def test_images_get_the_bytes_of_the_files_that_they_may_name() -> None:
    rows = [{"bytes": b"a", "path": "kept"}, {"bytes": None, "path": "mine"}, {"bytes": None, "path": "alien"}, None]
    asked: list[str] = []

    def read(address: str) -> bytes | None:
        asked.append(address)
        return b"b" if address == "mine" else None

    images = _plain(pa.array(rows, Image().pa_type), Image(), ColumnForm(read=read))
    assert images.type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    assert images.to_pylist() == [rows[0], {"bytes": b"b", "path": "mine"}, rows[2], None]
    assert asked == ["mine", "alien"]


def test_matrices_become_plain_lists() -> None:
    from datasets import Array2D

    typed = Features({"column": Array2D((1, 2), "float32")})
    table = pa.table({"column": [[[0.5, 1.0]]]}).cast(typed.arrow_schema)
    column = plain_table(table, typed, form=ColumnForm())["column"]
    assert not isinstance(column.type, pa.ExtensionType)
    assert column.to_pylist() == [[[0.5, 1.0]]]


def test_few_rows_at_once_where_there_may_be_pictures() -> None:
    assert rows_at_once(pa.schema([("text", pa.string())])) == 1000
    assert rows_at_once(pa.schema([("image", pa.struct([("bytes", pa.binary())]))])) == 100
    assert rows_at_once(None) == 100


@pytest.mark.parametrize("names", [["1", "2", "3", "4", "5"], ["-1", "0", "1"]])
def test_texts_that_are_names_are_these_classes_also_where_names_are_numbers(names: list[str]) -> None:
    assert _plain(pa.array(names), ClassLabel(names=names)).to_pylist() == names
