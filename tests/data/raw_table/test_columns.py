import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.data.formats.row_places import with_files
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.columns import (
    attribute_column,
    content_ids,
    given_ids,
    input_columns,
    require_columns,
)
from aflite_assets.data.raw_table.value_limits import LARGEST_IMAGE
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import TableSource


def _inputs(values: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return input_columns("dev", pa.table(values), ColumnsSpec(**columns))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": "labels", "text": "text"}, "no column 'labels', but `columns.label` names it"),
        (
            {"text": "txt"},
            "has no column 'txt', but `columns.text` names it (the columns are ['label', 'text', "
            "'x']); did you mean 'text'",
        ),
        ({"text": "text", "text_pair": "q"}, "no column 'q', but `columns.text_pair` names it"),
        ({"text": "text", "attributes": ("x", "lable")}, "no column 'lable', but `columns.attributes` names it"),
        ({"features": ("x", "y")}, "no column 'y', but `columns.features` names it"),
        (
            {"text": "text", "id": "uid"},
            "but `columns.id` names it (the columns are ['label', 'text', 'x']); correct the spec",
        ),
        ({"text": "text", "group": "premise"}, "no column 'premise', but `columns.group` names it"),
        (
            {},
            "`columns` names no input (the columns of split 'dev' are ['label', 'text', 'x']); set "
            "`columns.text`, `columns.image` or `columns.features`",
        ),
    ],
)
def test_missing_column_is_named_with_its_field(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        require_columns("dev", pa.table({"label": [1], "text": ["a"], "x": [1]}), ColumnsSpec(**columns))


def test_first_of_many_columns_are_listed() -> None:
    table = pa.table({"label": [1]} | {f"pixel{number}": [0] for number in range(784)})
    with pytest.raises(
        DataError, match=r"the columns are \['label', 'pixel0', .*'pixel28' and 755 more\]\); did you mean 'pixel84'"
    ):
        require_columns("dev", table, ColumnsSpec(features=("pixel0", "pixel784")))


def test_column_that_stands_twice_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1])] * 3, ["label", "text", "text"])
    with pytest.raises(DataError, match="split 'dev' has 2 columns named 'text'; rename all of these columns but one"):
        require_columns("dev", table, ColumnsSpec(text="text"))


def test_texts_are_taken_as_they_are_and_other_values_as_text() -> None:
    inputs = _inputs({"a": ["", "\x00<b>"], "b": [1, 2.5]}, text="a", text_pair="b")
    assert {name: column.to_pylist() for name, column in inputs.items()} == {
        "text": ["", "\x00<b>"],
        "text_pair": ["1.0", "2.5"],
    }


@pytest.mark.parametrize(
    "column",
    [
        ["x", None, None],
        [1.0, float("nan"), None],
        pa.chunked_array([["x"], [], [None, None]], pa.large_string()),
        pa.array(["x", None, None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["x", None])),
        pc.run_end_encode(pa.array(["x", None, None])),
    ],
)
def test_missing_text_is_counted_and_its_first_row_named(column: Any) -> None:
    with pytest.raises(
        DataError, match=r"split 'dev': column 'a' has no text in 2 rows \(first: row 2\); add the texts"
    ):
        _inputs({"a": column}, text="a")


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
        pa.run_end_encoded(pa.int32(), pa.string()),
        pa.json_(),
    ],
)
def test_texts_of_any_type_are_carried(kind: pa.DataType) -> None:
    texts = ["1", '"é\\u0000"', "[]", "[]"]
    chunks = [pc.run_end_encode(pa.array(texts)) if pa.types.is_run_end_encoded(kind) else pa.array(texts, kind)]
    column = _inputs({"a": pa.chunked_array([*chunks, chunks[0].slice(1, 2)])}, text="a")["text"]
    assert column.type == pa.string()
    assert column.to_pylist() == [*texts, *texts[1:3]]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"text"]),
        pa.array([["text"]]),
        pa.array([{"text": "text"}]),
        pa.array([1], pa.timestamp("s")),
        pa.array([b"text"], pa.binary_view()),
    ],
)
def test_texts_that_are_neither_text_nor_number_are_refused(column: pa.Array) -> None:
    message = (
        f"split 'dev': column 'a' has the type {str(column.type)!r}, but `columns.text_pair` needs texts "
        f"or numbers; convert the column in the source, or name another column"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _inputs({"a": column, "b": ["x"]}, text="b", text_pair="a")


@pytest.mark.parametrize("field", ["text", "label", "id", "group", "attributes"])
def test_text_that_is_no_utf8_is_refused_with_its_row(field: str) -> None:
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"]).buffers())
    values = dict.fromkeys(("text", "label", "id", "group", "attributes"), pa.array(["a", "b"])) | {field: broken}
    table, columns = pa.table(values), ColumnsSpec(text="text", id="id", group="group", attributes=("attributes",))
    check = input_columns if field == "text" else require_columns
    with pytest.raises(
        DataError,
        match=f"split 'dev': column '{field}' contains bytes that are not UTF-8 in row 2; save the source's "
        f"text as UTF-8",
    ):
        check("dev", table, columns)


@pytest.mark.parametrize("field", ["label", "id", "group"])
def test_labels_ids_and_groups_must_be_single_values(field: str) -> None:
    table = pa.table({"text": ["a"], "label": [0], "x": [["a"]]})
    message = (
        f"split 'dev': column 'x' has the type 'list<item: string>', but `columns.{field}` needs one "
        f"value per row; name a column of texts or numbers"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        require_columns("dev", table, ColumnsSpec(text="text", **{field: "x"}))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\x00", b"\xff"]),
        pa.array([b"\x00", b"\xff"], pa.large_binary()),
        pa.array([b"\x00", b"\xff"], pa.binary_view()),
        pa.array([b"", b"\x00", b"\xff"], pa.large_binary()).slice(1),
        pa.array([b"\x00", b"\xff"]).dictionary_encode(),
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
        ([{"bytes": None, "path": "a.png"}], "and 1 empty rows"),
        (pa.array([b"\x00", None]), "the type 'binary' and 1 empty rows"),
        (pa.array([None, {"bytes": b"\x00"}]), "and 1 empty rows"),
    ],
)
def test_images_that_are_no_bytes_are_refused(values: Any, held: str) -> None:
    with pytest.raises(
        DataError,
        match=f"{held}, but every row needs an encoded image; store images as bytes or as structs with bytes",
    ):
        _inputs({"picture": values}, image="picture")


def test_names_of_images_need_the_folder_of_the_images() -> None:
    with pytest.raises(
        DataError,
        match=r"column 'picture' holds texts \(first: 'a.png'\), but every row needs an encoded image; if the texts "
        "are names of image files, set `images` in `source` to their folder",
    ):
        _inputs({"picture": ["a.png"]}, image="picture")


def test_names_of_images_that_are_no_texts_are_refused() -> None:
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\x80"))
    with pytest.raises(
        DataError, match=r"split 'dev': `columns.image` is 'picture', but a column of the type 'string'"
    ):
        _inputs({"picture": broken}, image="picture")


def test_image_without_bytes_or_file_is_refused() -> None:
    images = [{"bytes": None, "path": "a.png", "sha256": "f"}, {"bytes": None, "path": "b.png", "sha256": None}]
    with pytest.raises(
        DataError, match="row 2 of column 'picture' has neither the bytes of an image nor a path with its sha256"
    ):
        _inputs({"picture": pa.array(images, IMAGE_TYPE)}, image="picture")


def test_image_over_the_limit_is_refused_and_not_read() -> None:
    large = pa.py_buffer(np.zeros(LARGEST_IMAGE + 2, np.uint8))
    offsets = pa.py_buffer(np.array([0, 1, LARGEST_IMAGE + 2], np.int64))
    column = pa.Array.from_buffers(pa.large_binary(), 2, [None, offsets, large])
    with pytest.raises(
        DataError, match=r"the value in column 'picture', row 2, has 256\.0 MiB, but at most 256 MiB are allowed"
    ):
        _inputs({"picture": column}, image="picture")


def test_images_are_not_copied() -> None:
    column = pa.chunked_array([pa.array([b"x" * 1000] * 1000, pa.large_binary())])
    before = pa.total_allocated_bytes()
    images = _inputs({"picture": column}, image="picture")["image"]
    assert images.nbytes > 1_000_000
    assert pa.total_allocated_bytes() - before < 50_000


def test_attributes_are_text_and_a_missing_value_is_said_to_be() -> None:
    column = pa.chunked_array([pa.array([1.0, None, 2.5])])
    assert attribute_column("dev", "x", column).to_pylist() == ["1", "(empty)", "2.5"]


def test_attribute_without_a_form_as_text_is_refused() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    message = "split 'dev': `columns.attributes` contains 'x', but a column of the type 'struct<a: int64, a: int64>'"
    with pytest.raises(DataError, match=re.escape(message)):
        attribute_column("dev", "x", pa.chunked_array([twice]))


def _content_ids(**values: Any) -> list[str]:
    kind = "features" if "features" in values else "text"
    columns = ColumnsSpec(**{kind: kind}, text_pair="text_pair" if "text_pair" in values else None)
    inputs = input_columns("dev", pa.table(values), columns)
    return content_ids([pa.table(inputs)[name] for name in inputs]).to_pylist()


def test_content_ids_are_equal_for_equal_content_alone() -> None:
    ids = _content_ids(text=["a", "b", "a", "", "ab"], text_pair=["b", "a", "b", "ab", ""])
    assert ids[0] == ids[2]
    assert len(set(ids)) == 4
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in ids)
    assert _content_ids(text=["x", "a"], text_pair=["y", "b"])[1] == ids[0]


def test_content_id_is_a_stated_hash_whatever_the_columns_type() -> None:
    import hashlib

    data = (1).to_bytes(8, "little") + b"a" + (2).to_bytes(8, "little") + "é".encode()
    expected = [hashlib.sha256(data).hexdigest()[:16]]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert _content_ids(text=pa.array(["a"], kind), text_pair=pa.array(["é"], kind)) == expected


def test_content_ids_of_features_and_images() -> None:
    ids = _content_ids(features=[[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])
    assert ids[0] == ids[1] != ids[2]
    images = [
        {"bytes": b, "path": p, "sha256": s} for b, p, s in [(None, "a", "f"), (None, "b", "f"), (b"f", None, None)]
    ]
    assert len(set(content_ids([pa.chunked_array([pa.array(images, IMAGE_TYPE)])]).to_pylist())) == 1


def test_content_id_of_a_file_that_was_not_hashed_is_of_its_path() -> None:
    images = [{"bytes": None, "path": path, "sha256": ""} for path in "aab"]
    ids = content_ids([pa.chunked_array([pa.array(images, IMAGE_TYPE)])]).to_pylist()
    assert ids[0] == ids[1] != ids[2]


def test_ids_of_the_source_are_its_text() -> None:
    assert given_ids("dev", "uid", pa.chunked_array([[1.0, 20.0]])).to_pylist() == ["1", "20"]


@pytest.mark.parametrize(
    ("uid", "problem"),
    [
        (["a", "b", "a"], "has 'a' in rows 1 and 3"),
        ([1, 2, 2], "has '2' in rows 2 and 3"),
        (["x" * 999, "x" * 999], "... (999 characters) in rows 1 and 2"),
        ([1, None, None], "is empty in row 2"),
        (["", "a", "b"], "is empty in row 1"),
    ],
)
def test_ids_that_repeat_or_are_empty_are_refused(uid: list[Any], problem: str) -> None:
    with pytest.raises(DataError, match=rf"split 'dev': column 'uid' .*{re.escape(problem)}; set `columns.id` to a"):
        given_ids("dev", "uid", pa.chunked_array([uid]))


def test_column_missing_from_a_file_whose_first_line_may_be_a_row_says_so() -> None:
    source = TableSource.model_validate({"format": "csv", "splits": {"train": "a.csv"}})
    table = with_files(pa.table({"ham": ["spam"], "see you": ["win"]}), source, [("a.csv", 1)])
    message = (
        "the columns are ['ham', 'see you']); correct the spec, or if the first line is a row instead of a header, set "
        "`header: false`"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        require_columns("train", table, ColumnsSpec(text="text"))
    tabbed = with_files(pa.table({"a\tb": ["x"], "c": ["y"]}), source, [("a.csv", 1)])
    with pytest.raises(DataError, match="the columns seem to be separated by tabs, so try `format: tsv`"):
        require_columns("train", tabbed, ColumnsSpec(text="text"))


def test_lists_of_numbers_named_as_text_are_refused_with_where_they_belong() -> None:
    table = pa.table({"text": [[1.0, 2.0]], "label": ["a"]})
    with pytest.raises(
        DataError,
        match=r"` needs texts or numbers; convert the column in the source, or name another column \(columns "
        r"with lists of numbers belong in `columns.features`\)",
    ):
        input_columns("train", table, ColumnsSpec(text="text"))
