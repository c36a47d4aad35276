import hashlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.loading import content_fingerprint, load_source, source_places
from aflite_assets.data.raw_table.columns import input_columns
from aflite_assets.data.raw_table.table import build_raw_table, implied_columns
from aflite_assets.data.synthetic.circles import circles
from aflite_assets.data.synthetic.digits import digits
from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import SourceSpec
from tests.test_array_files import HOSTILE, npy

FEATURES = np.arange(6, dtype=np.float64).reshape(3, 2)


def _source(**content: Any) -> Any:
    return TypeAdapter(SourceSpec).validate_python(content)


def _features(folder: Path, **arrays: Any) -> Any:
    """A source of one train split from the arrays that a test gives."""
    given = {"features": FEATURES, "labels": np.array([0, 1, 0])} | arrays
    for name, array in given.items():
        np.save(folder / f"{name}.npy", array)
    return _source(format="features", splits={"train": {name: str(folder / f"{name}.npy") for name in given}})


@pytest.mark.parametrize("form", ["parquet", "csv", "tsv", "jsonl"])
def test_table_files_of_a_split_are_read_in_the_order_given(tmp_path: Path, form: str) -> None:
    names = []
    for number, text in enumerate("zax"):
        path = tmp_path / f"{number}[1]*.{form}"  # no pattern, only a name
        match form:
            case "parquet":
                pq.write_table(pa.table({"text": [text]}), path)
            case "csv" | "tsv":
                path.write_text(f"text\n{text}\n")
            case "jsonl":
                path.write_text(f'{{"text": "{text}"}}\n')
        names.append(str(path))
    tables = load_source(_source(format=form, splits={"train": names, "test": names[2]}))
    assert {split: table.to_pydict() for split, table in tables.items()} == {
        "train": {"text": ["z", "a", "x"]},
        "test": {"text": ["x"]},
    }


def test_changed_file_is_read_anew_even_with_its_old_time(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    source = _source(format="csv", splits={"train": str(path)})
    path.write_text("text\nold\n")
    assert load_source(source)["train"]["text"].to_pylist() == ["old"]
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("text\nnew\n")
    os.utime(path, ns=times)
    assert load_source(source)["train"]["text"].to_pylist() == ["new"]


def test_column_that_one_file_lacks_is_null_in_its_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1")
    pq.write_table(pa.table({"a": [2.5], "b": ["x"]}), tmp_path / "2")
    source = _source(format="parquet", splits={"train": [str(tmp_path / "1"), str(tmp_path / "2")]})
    assert load_source(source)["train"].to_pydict() == {"a": [1.0, 2.5], "b": [None, "x"]}


def test_files_of_a_split_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2")
    source = _source(format="parquet", splits={"dev": [str(tmp_path / "1"), str(tmp_path / "2")]})
    with pytest.raises(
        DataError,
        match=r"split 'dev': the files .* have incompatible columns .*; give all files the same columns",
    ):
        load_source(source)


@pytest.mark.parametrize("read", [load_source, content_fingerprint])
def test_missing_file_or_folder_is_named(tmp_path: Path, read: Any) -> None:
    lost = str(tmp_path / "lost")
    with pytest.raises(MissingDataError, match=re.escape(f"the file {lost!r} does not exist; correct its path")):
        read(_source(format="csv", splits={"train": lost}))
    with pytest.raises(
        MissingDataError, match=re.escape(f"split 'dev': the folder {lost!r} does not exist; correct the path")
    ):
        read(_source(format="image_folder", splits={"dev": lost}))


def test_fingerprint_is_the_files_content(tmp_path: Path, image_folder: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    source = _source(format="csv", splits={"train": str(tmp_path / "a")})
    one = f"{tmp_path / 'a'}\0{hashlib.sha256(b'one').hexdigest()}"
    assert content_fingerprint(source) == {"files": 1, "sha256": hashlib.sha256(one.encode()).hexdigest()}
    images = _source(format="image_folder", splits={"train": str(image_folder)})
    before = content_fingerprint(images)
    (image_folder / "cat" / "0.png").write_bytes(b"other")
    after = content_fingerprint(images)
    assert (before["files"], after["files"]) == (6, 6)
    assert before["sha256"] != after["sha256"]
    assert content_fingerprint(_source(format="digits")) == {}


def test_fingerprint_of_a_table_that_names_images_has_the_images(tmp_path: Path, image_folder: Path) -> None:
    (tmp_path / "a.csv").write_text("picture,label\ncat/0.png,cat\n")
    source = _source(format="csv", splits={"train": str(tmp_path / "a.csv")}, images=str(image_folder))
    before = content_fingerprint(source)
    (image_folder / "cat" / "0.png").write_bytes(b"other")
    after = content_fingerprint(source)
    assert (before["files"], after["files"]) == (7, 7)
    assert before["sha256"] != after["sha256"]
    lost = _source(format="csv", splits={"train": str(tmp_path / "a.csv")}, images=str(tmp_path / "lost"))
    with pytest.raises(MissingDataError, match=r"`images`: the folder '.*lost' does not exist; correct the path"):
        content_fingerprint(lost)


def test_table_that_names_an_image_twice_needs_other_ids_and_an_empty_name_is_refused(
    tmp_path: Path, image_folder: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("picture,label\ncat/0.png,cat\ndog/3.png,dog\ncat/0.png,cat\n")
    source = _source(format="csv", splits={"train": str(file)}, images=str(image_folder))

    def ids(columns: ColumnsSpec) -> list[str]:
        raw = build_raw_table(
            load_source(source),
            columns=implied_columns(source, columns),
            label_names=None,
            unlabelled=(),
            limit=None,
            seed=0,
        )
        return raw.examples.table["source_id"].to_pylist()

    message = (
        "column 'picture' has 'cat/0.png' in rows 1 and 3; set `columns.id` to a column of unique ids, or to null to"
    )
    with pytest.raises(DataError, match=message):
        ids(ColumnsSpec(image="picture"))
    first, other, again = ids(ColumnsSpec(image="picture", id=None))
    assert first == again != other
    file.write_text("picture,label\ncat/0.png,cat\n,dog\n")
    with pytest.raises(DataError, match=r"row 2 of column 'picture' is empty; write the name of an image, .*line 3 of"):
        ids(ColumnsSpec(image="picture"))


@pytest.mark.parametrize("kind", ["<f4", ">f8", "<f2", "<i4", "|u1", "|b1"])
def test_feature_files_of_any_number_kind_are_float32(tmp_path: Path, kind: str) -> None:
    features = (FEATURES % 2).astype(kind)
    table = load_source(_features(tmp_path, features=features, groups=np.array([7, 7, 9], ">i4")))["train"]
    assert table["features"].type == pa.list_(pa.float32())
    assert table["features"].to_pylist() == (FEATURES % 2).tolist()
    assert (table["label"].to_pylist(), table["group"].to_pylist()) == ([0, 1, 0], [7, 7, 9])


def test_feature_files_without_groups_have_no_such_column(tmp_path: Path) -> None:
    assert load_source(_features(tmp_path))["train"].column_names == ["features", "label"]


@pytest.mark.parametrize("name", ["label", "group"])
def test_feature_files_of_different_lengths_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        DataError,
        match=f"split 'train': there are 3 rows of features but 4 values of `{name}`; save files that contain "
        f"the same rows in the same order",
    ):
        load_source(_features(tmp_path, **{f"{name}s": np.arange(4)}))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.arange(3.0)}, "has 1 dimensions and the type float64; save numbers in 2 dimensions"),
        ({"features": np.array([["a"]])}, "has 2 dimensions and the type <U1; save numbers in 2 dimensions"),
        ({"labels": np.array([[0], [1], [0]])}, "has 2 dimensions and the type int64; save numbers in 1 dimension"),
        ({"labels": np.array([1j, 0, 0])}, "has 1 dimensions and the type complex128"),
        ({"labels": np.array([{}, 1, 2], dtype=object)}, "labels.npy' is not a valid .npy file of numbers"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        load_source(_features(tmp_path, **arrays))


class _Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    import pickle

    trap = np.array([_Trap(tmp_path / "sprung")] * 3, dtype=object)
    source = _features(tmp_path, labels=trap)
    with pytest.raises(DataError, match=r"labels\.npy' is not a valid \.npy file .*; save an array of numbers"):
        load_source(source)
    (tmp_path / "labels.npy").write_bytes(pickle.dumps(_Trap(tmp_path / "sprung")))
    with pytest.raises(DataError, match=r"labels\.npy' is not a valid \.npy file"):
        load_source(source)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04", b"\x93NUMPY\x01\x00\xff\xff{"])
def test_damaged_array_files_are_refused(tmp_path: Path, content: bytes) -> None:
    source = _features(tmp_path)
    (tmp_path / "features.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"features\.npy' is not a valid \.npy file"):
        load_source(source)


def test_truncated_array_file_is_refused(tmp_path: Path) -> None:
    source = _features(tmp_path)
    path = tmp_path / "features.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match=r"features\.npy' is not a valid \.npy file"):
        load_source(source)


def test_drawn_sources_are_those_of_synthetic() -> None:
    given = _source(format="digits", seed=3)
    assert load_source(given)["test"].equals(digits(given)["test"])
    settings = dict.fromkeys(
        ("inner_radius", "outer_radius", "bias_mean", "bias_deviation", "noise_deviation"), 1.0
    )  # fmt: skip
    given = _source(
        format="circles",
        splits={"dev": 8},
        radius_deviation=0,
        biased_share=1,
        bias_width=2,
        flipped_share=0,
        **settings,
    )
    assert load_source(given)["dev"].equals(circles(given)["dev"])


def test_multiple_choice_is_read_in_the_encoding_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_bytes("question;A;B;key\nO\u00f9?;caf\u00e9;th\u00e9;A\n".encode("utf-16"))
    table = {"format": "csv", "delimiter": ";", "splits": {"train": str(path)}}
    asked: dict[str, Any] = {"question": "question", "answers": ["A", "B"], "right": "key"}
    with pytest.raises(DataError, match=r"line 1 is not valid UTF-8 .*; if this text is right, set `encoding: utf-16`"):
        load_source(_source(format="multiple_choice", table=table, **asked))
    read = load_source(_source(format="multiple_choice", table={**table, "encoding": "UTF-16"}, **asked))["train"]
    assert read["text"].to_pylist() == ["O\u00f9?", "O\u00f9?"]
    assert dict(zip(read["text_pair"].to_pylist(), read["label"].to_pylist(), strict=True)) == {
        "caf\u00e9": "right",
        "th\u00e9": "wrong",
    }


def test_rows_of_a_table_cannot_name_files_of_this_computer(tmp_path: Path) -> None:
    private = tmp_path / "private.png"
    private.write_bytes(b"private")
    images = [
        {"bytes": None, "path": str(private), "sha256": ""},
        {"bytes": None, "path": str(private), "sha256": hashlib.sha256(b"private").hexdigest()},
        {"bytes": b"own", "path": str(private), "sha256": "f" * 64},
    ]
    path = tmp_path / "images.parquet"
    pq.write_table(pa.table({"label": ["a", "b", "a"], "image": pa.array(images, IMAGE_TYPE)}), path)
    source = _source(format="parquet", splits={"train": str(path)})
    table = load_source(source)["train"]
    assert [set(image) for image in table["image"].to_pylist()] == [{"bytes", "path"}] * 3
    assert table.schema.metadata is not None, "the places of rows in files are lost"
    message = "split 'train': column 'image' has the type .* and 2 empty rows"
    with pytest.raises(DataError, match=message):
        input_columns("train", table, ColumnsSpec(image="image"))
    own = input_columns("train", table.slice(2), ColumnsSpec(image="image"))["image"].to_pylist()
    assert own == [{"bytes": b"own", "path": None, "sha256": None}]


@pytest.mark.parametrize("name", [*HOSTILE, "no numbers in a row"])
@pytest.mark.parametrize("read", [load_source, source_places])
def test_hostile_array_files_are_refused_by_name(tmp_path: Path, name: str, read: Any) -> None:
    source = _features(tmp_path)
    (tmp_path / "features.npy").write_bytes(npy((2**40, 0)) if name == "no numbers in a row" else HOSTILE[name])
    problem = (
        "the rows of the array in .* are empty"
        if name == "no numbers in a row"
        else r"'.*features\.npy' is not a valid .npy file"
    )
    with pytest.raises(DataError, match=rf"split 'train': {problem}.*; save "):
        read(source)


def test_arrays_in_the_order_of_columns_keep_their_rows(tmp_path: Path) -> None:
    table = load_source(_features(tmp_path, features=np.asfortranarray(FEATURES)))["train"]
    assert table["features"].to_pylist() == FEATURES.tolist()
