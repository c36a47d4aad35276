import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.data.raw_table import annotators
from aflite_assets.data.raw_table.annotators import LabelReader, labels_from_columns, labels_from_files
from aflite_assets.errors import DataError
from aflite_assets.specs.core import AnnotationsSpec

CLASSES = {"yes": 0, "no": 1, "1": 0, "2": 1}
READER = LabelReader(CLASSES, ("-", 9))


def _from_columns(values: dict[str, Any], names: str | tuple[str, ...] = "given") -> list[list[int]]:
    column = labels_from_columns("dev", pa.table(values), names, reader=READER)
    column.validate(full=True)
    assert column.type == pa.list_(pa.int64())
    assert column.null_count == 0
    return column.to_pylist()


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        ([["yes", "no", "no"], ["no"], []], [[0, 1, 1], [1], []]),
        ([["yes", "", None, "-"], None, ["no", "yes"]], [[0], [], [1, 0]]),
        ([[1, 2], [2, None], [9]], [[0, 1], [1], []]),
        ([[1.0, float("nan")], [2.0], []], [[0], [1], []]),
        (
            pa.chunked_array([[["no"]], [], [["yes"], ["no", "no"]]], pa.large_list(pa.large_string())),
            [[1], [0], [1, 1]],
        ),
        (pa.array([["no", "yes"], None, ["yes", "no"]], pa.list_(pa.string(), 2)), [[1, 0], [], [0, 1]]),
        (pa.array([["no"], ["yes"]], pa.list_view(pa.string())), [[1], [0]]),
        (pa.array([["no"], ["yes"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), [[1], [0]]),
        (pa.array([["yes"], ["no"], ["yes", "no"]]).slice(1), [[1], [0, 1]]),
        (["no", "", "yes"], [[1], [], [0]]),
        (pa.array([], pa.list_(pa.string())), []),
        ([None, None], [[], []]),
    ],
)
def test_one_column_of_lists_or_labels(column: Any, numbers: list[list[int]]) -> None:
    assert _from_columns({"given": column}) == numbers


def test_one_column_per_annotator_in_the_order_named() -> None:
    values = {"a": ["yes", "no", None], "b": [2, 1, None], "c": [["yes"], ["no", "yes"], []]}
    assert _from_columns(values, ("b", "a", "c")) == [[1, 0, 0], [0, 1, 1, 0], []]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [["yes"], ["yess", "yess", None], ["maybe"], ["yess"]],
            "split 'dev': an annotator's label 'maybe' (1 rows, first: row 3) is not a class in "
            "`labels` (known values: ['yes', 'no', '1', '2']), nor are ['yess']; map the value to "
            "a class in `labels`, or add it to `unlabelled`",
        ),
        (
            [["yes"], ["yess", "yess", None], ["no"], ["yess"]],
            "an annotator's label 'yess' (2 rows, first: row 2) is not a class in `labels` (known "
            "values: ['yes', 'no', '1', '2']); did you mean 'yes'?; map the value to a class in "
            "`labels`, or add it to `unlabelled`",
        ),
        ([["\x1b<b>" + "x" * 999]], f"label '\\x1b<b>{'x' * 196}'... (1,003 characters) (1 rows, first: row 1)"),
        ([[["yes"]]], "column 'given' has the type 'list<item: list<item: string>>', but an annotator's"),
        (
            [[b"yes"]],
            "column 'given' has the type 'list<item: binary>', but an annotator's label is a text or",
        ),
        ([{"a": "yes"}], "column 'given' has the type 'struct<a: string>', but an annotator's label"),
    ],
)
def test_labels_that_are_no_class_are_refused_with_their_rows(column: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _from_columns({"given": column})


def test_long_label_is_refused_with_its_row() -> None:
    column = pa.array([["yes", "no"], ["no", "x" * (2**24 + 1)]])
    with pytest.raises(DataError, match=r"split 'dev': the value in column 'given', row 2, has 16.0 MiB, but at most"):
        _from_columns({"given": column})


DATASET = {
    "train": pa.table({"uid": [1, 2, 3, 4], "doc": ["a", "a", "b", None], "text": ["p", "q", "r", "s"]}),
    "dev": pa.table({"uid": [5, 6], "doc": ["a", "c"], "text": ["t", "u"]}),
}
INPUTS = {split: {"text": table["text"]} for split, table in DATASET.items()}


def _from_files(
    folder: Path, files: dict[str, Any], match: dict[str, str], names: str | list[str] = "given", **options: Any
) -> dict[str, list[list[int]]]:
    for name, content in files.items():
        if isinstance(content, str):
            (folder / name).write_text(content, encoding="utf-8")
        else:
            pq.write_table(pa.table(content), folder / name)
    annotations = AnnotationsSpec.model_validate(
        {
            "format": next(iter(files)).rpartition(".")[2],
            "files": [str(folder / name) for name in files],
            "match": match,
            "annotators": names,
        }
    )
    columns = labels_from_files(DATASET, options.pop("inputs", INPUTS), annotations, reader=READER, **options)
    return {split: column.to_pylist() for split, column in columns.items()}


def test_file_rows_with_one_key_are_several_annotators_in_their_order(tmp_path: Path) -> None:
    content = "id,given\n5,yes\n2,no\n5,no\n99,whatever\n2,\n,also this\n2,yes\n5,-\n"
    assert _from_files(tmp_path, {"a.csv": content}, {"uid": "id"}) == {
        "train": [[], [1, 0], [], []],
        "dev": [[0, 1], []],
    }


def test_files_follow_each_other_and_may_hold_lists_and_several_columns(tmp_path: Path) -> None:
    files = {
        "a.jsonl": '{"id": "2", "given": ["no", "no"], "more": "yes"}\n{"id": "6", "given": null, "more": "no"}\n',
        "b.jsonl": '{"id": "2", "given": ["yes"], "more": null}\n',
    }
    found = _from_files(tmp_path, files, {"uid": "id"}, ["given", "more"])
    assert found == {"train": [[], [1, 1, 0, 0], [], []], "dev": [[], [1]]}


def test_compound_keys_match_in_every_part_and_never_when_one_is_empty(tmp_path: Path) -> None:
    content = "number\tdocument\tgiven\n1\ta\tyes\n2\tb\tno\n3\tb\tno\n4\t\tyes\n6.0\tc\tyes\n"
    found = _from_files(tmp_path, {"a.tsv": content}, {"uid": "number", "doc": "document"})
    assert found == {"train": [[0], [], [1], []], "dev": [[], []]}


def test_numbers_match_numbers_written_as_text_and_other_types(tmp_path: Path) -> None:
    content = {"id": pa.array([1.0, 6.0]), "given": pa.array([2, 1], pa.int8())}
    assert _from_files(tmp_path, {"a.parquet": content}, {"uid": "id"}) == {
        "train": [[1], [], [], []],
        "dev": [[], [0]],
    }


def test_files_that_match_no_row_are_refused_with_a_key_of_each_side(tmp_path: Path) -> None:
    files = {"a.csv": "id,docid,given\n,x,yes\n", "b.csv": "id,docid,given\nx1<b>,a,yes\n"}
    message = (
        "no row of the files matches a row of the dataset; match compares the dataset's 'uid' (such as '1')"
        " and 'doc' (such as 'a') with the files' 'id' (such as 'x1<b>') and 'docid' (such as 'a'); name columns that"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _from_files(tmp_path, files, {"uid": "id", "doc": "docid"})
    with pytest.raises(DataError, match=re.escape("with the files' ['id'] (empty in every row); name columns")):
        _from_files(tmp_path, {"a.csv": "id,given\n,yes\n"}, {"uid": "id"})
    first_rows = _from_files(tmp_path, files, {"uid": "id"}, complete=False)
    assert first_rows == {"train": [[], [], [], []], "dev": [[], []]}


def test_matched_rows_without_any_label_are_a_match(tmp_path: Path) -> None:
    assert _from_files(tmp_path, {"a.csv": "id,given\n1,-\n"}, {"uid": "id"})["train"] == [[], [], [], []]


@pytest.mark.parametrize(
    ("match", "names", "message"),
    [
        (
            {"uidd": "id"},
            "given",
            "split 'train' has no column 'uidd', but `annotations.match` names it (the columns are ['uid', 'doc',",
        ),
        (
            {"uid": "idd"},
            "given",
            "a.csv' has no column 'idd', but `annotations.match` names it (the columns are ['id', 'given']); did you",
        ),
        (
            {"uid": "id"},
            "givn",
            "has no column 'givn', but `annotations.annotators` names it (the columns are ['id', "
            "'given']); did you mean",
        ),
        (
            {"uid": "id"},
            ["given", "x"],
            "has no column 'x', but `annotations.annotators` names it (the columns are ['id', 'given']); correct",
        ),
    ],
)
def test_missing_columns_are_named_with_the_nearest(
    tmp_path: Path, match: dict[str, str], names: str | list[str], message: str
) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _from_files(tmp_path, {"a.csv": "id,given\n1,yes\n"}, match, names)


def test_unknown_label_is_refused_with_its_file_and_row_in_matched_rows_only(tmp_path: Path) -> None:
    files = {"a.csv": "id,given\n1,yes\n99,oops\n", "b.csv": "id,given\n99,oops\n98,oops\n3,Yes\n"}
    message = (
        r"annotation file '.*b\.csv': an annotator's label 'Yes' "
        r"\(1 rows, first: row 3\) is not a class .* did you mean"
    )
    with pytest.raises(DataError, match=message):
        _from_files(tmp_path, files, {"uid": "id"})


def test_missing_file_is_named(tmp_path: Path) -> None:
    annotations = AnnotationsSpec(format="csv", files=str(tmp_path / "x.csv"), match={"uid": "id"}, annotators="given")
    with pytest.raises(DataError, match=r"x\.csv' cannot be read as csv"):
        labels_from_files(DATASET, INPUTS, annotations, reader=READER)


def test_key_of_rows_with_different_inputs_is_refused(tmp_path: Path) -> None:
    message = (
        "annotations: row 1 of split 'train' and row 2 of split 'train' have the same key but "
        "different inputs, so the labels in the files are ambiguous; add a column to "
        "`annotations.match` that distinguishes such rows"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _from_files(tmp_path, {"a.csv": "doc,given\na,yes\n"}, {"doc": "doc"})
    found = _from_files(tmp_path, {"a.csv": "doc,given\nb,yes\nc,no\n"}, {"doc": "doc"})
    assert found == {"train": [[], [], [0], []], "dev": [[], [1]]}


def test_rows_with_the_same_inputs_share_their_annotators(tmp_path: Path) -> None:
    same = {split: {"text": pa.array(["p"] * len(table))} for split, table in DATASET.items()}
    found = _from_files(tmp_path, {"a.csv": "doc,given\na,yes\na,no\n"}, {"doc": "doc"}, inputs=same)
    assert found == {"train": [[0, 1], [0, 1], [], []], "dev": [[0, 1], []]}


def test_more_labels_than_a_column_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotators, "_LIST_VALUES", 2)
    with pytest.raises(
        DataError,
        match=r"4 rows have 3 annotators' labels, but a split can contain at most 2; add columns to "
        r"`annotations.match` that distinguish the rows",
    ):
        _from_files(tmp_path, {"a.csv": "id,given\n1,yes\n2,yes\n3,no\n"}, {"uid": "id"})


@pytest.mark.parametrize("column", [[["a"]], [{"a": 1}]])
def test_keys_must_be_single_values(tmp_path: Path, column: Any) -> None:
    with pytest.raises(DataError, match=r"which `annotations.match` cannot compare; name a column of texts or numbers"):
        _from_files(tmp_path, {"a.parquet": {"id": column, "given": ["yes"]}}, {"uid": "id"})


@settings(deadline=None)
@given(
    keys=st.lists(st.integers(0, 8), min_size=1, max_size=30),
    labels=st.lists(st.sampled_from(["yes", "no", "", "-"]), min_size=30, max_size=30),
    seed=st.integers(0, 99),
)
def test_every_matched_label_reaches_its_row_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, keys: list[int], labels: list[str], seed: int
) -> None:
    path = tmp_path_factory.mktemp("files") / "a.csv"
    pairs = list(zip(keys, labels, strict=False))
    path.write_text("id,given\n" + "".join(f"{key},{label}\n" for key, label in pairs))
    uid = np.random.default_rng(seed).permutation(9)
    table = pa.table({"uid": uid, "text": [str(row) for row in range(9)]})
    annotations = AnnotationsSpec(format="csv", files=str(path), match={"uid": "id"}, annotators="given")
    found = labels_from_files({"dev": table}, {"dev": {"text": table["text"]}}, annotations, reader=READER)["dev"]
    expected = [[CLASSES[label] for key, label in pairs if key == number and label in CLASSES] for number in uid]
    assert found.to_pylist() == expected
