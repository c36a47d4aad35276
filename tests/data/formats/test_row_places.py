import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.formats.row_places import (
    BadRowError,
    line_of_row,
    naming_lines,
    places_in_files,
    with_files,
)
from aflite_assets.data.loading import source_places
from aflite_assets.specs.sources import FeatureSource, TableSource

CONTENTS = {
    "csv": b'a,b\n"x\n\ny",1\n\nz,2\n',
    "tsv": b'a\tb\n\n"x\t1\nz\t2\n',
    "jsonl": b'{"a": 1}\n \n{"a": 2}\n',
}


def _form(form: str, **options: Any) -> TableSource:
    return TableSource.model_validate({"format": form, "splits": {"train": "x"}} | options)


@pytest.mark.parametrize(
    ("form", "lines"), [("csv", [2, 6, None]), ("tsv", [3, 4, None]), ("jsonl", [1, 3, None]), ("parquet", [None])]
)
def test_line_of_a_row_is_where_it_begins(tmp_path: Path, form: str, lines: list[int | None]) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENTS.get(form, b"PAR1"))
    assert [line_of_row(_form(form), path, row) for row in range(len(lines))] == lines


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize(("form", "lines"), [("csv", [2, 6, None]), ("tsv", [3, 4, None]), ("jsonl", [1, 3, None])])
def test_lines_are_counted_in_the_files_encoding(tmp_path: Path, form: str, lines: list[int], encoding: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENTS[form].decode().encode(encoding))
    assert [line_of_row(_form(form, encoding=encoding), path, row) for row in range(len(lines))] == lines


def test_line_of_a_row_after_a_long_cell_is_known(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'a,b\n"' + b"x\n" * 100_000 + b'",1\ny,2\n')
    assert line_of_row(_form("csv"), path, 1) == 100_003


def test_line_without_a_header_is_one_earlier(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x,1\ny,2\n")
    assert line_of_row(_form("csv", header=False, names=["a", "b"]), path, 1) == 2


def test_message_names_the_file_and_line_of_a_row_of_several_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("text\nx\n")
    second.write_text("text\ny\nz\n")
    files = [(str(first), 1), (str(second), 2)]
    tables = {"train": with_files(pa.table({"text": ["x", "y", "z"]}), _form("csv"), files)}
    message = f"row 3 is bad (rows count from 1: row 3 is line 3 of {str(second)!r})"
    with pytest.raises(BadRowError, match=re.escape(message)), naming_lines(tables):
        raise BadRowError("row 3 is bad", place="split 'train'", row=2)


def test_message_stays_where_rows_are_from_no_file() -> None:
    with pytest.raises(BadRowError, match=r"^row 1 is bad$"), naming_lines({"train": pa.table({"a": [1]})}):
        raise BadRowError("row 1 is bad", place="split 'train'", row=0)


def test_rows_of_parquet_files_have_a_number_and_no_line() -> None:
    table = with_files(pa.table({"a": [1, 2]}), _form("parquet"), [("p", 2)])
    with pytest.raises(BadRowError, match="row 2 is row 2 of 'p'"), naming_lines({"train": table}):
        raise BadRowError("bad", place="split 'train'", row=1)


def test_every_row_of_several_files_has_its_file_and_line(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text('text,label\n"two\nlines",x\n\nplain,y\n', encoding="utf-8")
    second.write_text("text,label\nother,x\n", encoding="utf-8")
    source = TableSource.model_validate({"format": "csv", "splits": {"train": [str(first), str(second)]}})
    places = source_places(source)["train"]
    assert places["file"].to_pylist() == [str(first), str(first), str(second)]
    assert places["file_row"].to_pylist() == [0, 1, 0]
    assert places["line"].to_pylist() == [2, 5, 2]


def test_files_without_lines_have_rows_alone(tmp_path: Path) -> None:
    table = pa.table({"text": ["a", "b"], "label": [0, 1]})
    pq.write_table(table, tmp_path / "a.parquet")
    source = TableSource.model_validate({"format": "parquet", "splits": {"train": str(tmp_path / "a.parquet")}})
    places = source_places(source)["train"]
    assert (places["file_row"].to_pylist(), places["line"].null_count) == ([0, 1], 2)
    assert places_in_files(table) is None


def test_feature_files_have_rows_alone(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 2), np.float32))
    np.save(tmp_path / "y.npy", np.array([0, 1, 0]))
    files = {"features": str(tmp_path / "x.npy"), "labels": str(tmp_path / "y.npy")}
    places = source_places(FeatureSource.model_validate({"format": "features", "splits": {"train": files}}))["train"]
    assert places["file"].to_pylist() == [str(tmp_path / "x.npy")] * 3
    assert (places["file_row"].to_pylist(), places["line"].null_count) == ([0, 1, 2], 3)


def test_an_error_in_a_row_survives_the_way_from_a_child_process() -> None:
    sent = BadRowError("row 3 is bad", place="split 'train'", row=2)
    sent.may_pass = True
    found = pickle.loads(pickle.dumps(sent))
    assert (str(found), found.place, found.row, found.may_pass) == ("row 3 is bad", "split 'train'", 2, True)
