"""Copies of table files keep format, encoding, line ends and every value that was not to be changed."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.errors import DataError
from aflite_assets.fixing.tables import TableChange, write_table
from aflite_assets.specs.sources import TableFormat

ROWS = [
    {"id": "007", "text": 'He said "no",\nthen left', "note": " a;b ", "label": "x"},
    {"id": "1e5", "text": "", "note": "it's\u00e9", "label": "y"},
    {"id": "3.0", "text": "plain", "note": "", "label": "x"},
]


def _upper(text: str) -> str:
    return text.upper()


def _csv(delimiter: str = ",", line_end: str = "\n") -> str:
    lines = [delimiter.join(ROWS[0])]
    lines += [delimiter.join('"' + value.replace('"', '""') + '"' for value in row.values()) for row in ROWS]
    return line_end.join(lines) + line_end


@pytest.mark.parametrize(
    ("delimiter", "line_end", "encoding", "mark"),
    [
        (",", "\n", "utf-8", b""),
        (";", "\r\n", "cp1252", b""),
        ("\t", "\n", "utf-16", b""),
        (",", "\n", "utf-8", b"\xef\xbb\xbf"),
    ],
)
def test_csv_keeps_how_it_is_written(delimiter: str, line_end: str, encoding: str, mark: bytes, tmp_path: Path) -> None:
    source, to = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_bytes(mark + _csv(delimiter, line_end).encode(encoding))
    form = TableFormat(format="csv", delimiter=delimiter, encoding=encoding)
    change = TableChange({"text": _upper}, frozenset({"note"}), np.array([2, 0]))
    write_table(form, [source], to, change)
    written = to.read_bytes()
    assert written.startswith(mark)
    text = written.removeprefix(mark).decode(encoding)
    assert text.endswith(f"x{line_end}")
    assert text.split(line_end)[0] == delimiter.join(("id", "text", "label"))
    assert read_table_file(form, to).to_pylist() == [
        {"id": "3.0", "text": "PLAIN", "label": "x"},
        {"id": "007", "text": 'HE SAID "NO",\nTHEN LEFT', "label": "x"},
    ]


def test_a_file_without_changes_is_copied_byte_for_byte(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text(_csv())
    write_table(TableFormat(format="csv"), [source], tmp_path / "b.csv", TableChange())
    assert (tmp_path / "b.csv").read_bytes() == source.read_bytes()


def test_csv_without_a_header_stays_without_one(tmp_path: Path) -> None:
    source, to = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("1,a,x\n2,b,y\n")
    form = TableFormat(format="csv", header=False, names=("id", "text", "label"))
    write_table(form, [source], to, TableChange({"text": _upper}, frozenset({"id"})))
    assert to.read_text() == "A,x\nB,y\n"


def test_lines_of_json_that_do_not_change_stay_as_they_are(tmp_path: Path) -> None:
    source, to = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    lines = ['{"text":"\\u00e9a",  "n":1.50, "big":123456789012345678901}', '{"text": "B", "n": null}', '{"n": 3}']
    source.write_text("\n".join([lines[0], "", *lines[1:]]))
    write_table(TableFormat(format="jsonl"), [source], to, TableChange({"text": _upper}))
    first, *others = to.read_text(encoding="utf-8").splitlines()
    assert others == lines[1:]
    assert json.loads(first) == {"text": "\u00c9A", "n": 1.5, "big": 123456789012345678901}
    write_table(
        TableFormat(format="jsonl"), [source], to, TableChange(dropped=frozenset({"big"}), rows=np.array([2, 0]))
    )
    assert [json.loads(line) for line in to.read_text().splitlines()] == [{"n": 3}, {"text": "\u00e9a", "n": 1.5}]


def test_parquet_keeps_types_nested_columns_and_compression(tmp_path: Path) -> None:
    source, to = tmp_path / "a.parquet", tmp_path / "b.parquet"
    table = pa.table(
        {
            "text": pa.array(["a", None, "c"]).dictionary_encode(),
            "n": pa.array([1, 2, 3], pa.int8()),
            "box": [{"x": [1, 2]}, None, {"x": []}],
        }
    ).replace_schema_metadata({"pandas": "{}", "made": "by hand"})
    pq.write_table(table, source, compression="zstd")
    write_table(
        TableFormat(format="parquet"), [source], to, TableChange({"text": _upper}, frozenset({"n"}), np.array([1, 2]))
    )
    written = pq.read_table(to)
    assert written.to_pylist() == [{"text": None, "box": None}, {"text": "C", "box": {"x": []}}]
    assert written.schema.field("box").type == table.schema.field("box").type
    assert written.schema.metadata == {b"made": b"by hand"}
    assert pq.ParquetFile(to).metadata.row_group(0).column(0).compression == "ZSTD"


def test_several_files_become_one_with_their_rows_in_order(tmp_path: Path) -> None:
    sources = [tmp_path / name for name in ("a.csv", "b.csv")]
    sources[0].write_text("text,label\na,x\nb,y\n")
    sources[1].write_text("text,label\nc,x\n")
    write_table(TableFormat(format="csv"), sources, tmp_path / "c.csv", TableChange(rows=np.array([2, 1])))
    assert (tmp_path / "c.csv").read_text() == "text,label\nc,x\nb,y\n"


@pytest.mark.parametrize(("form", "said"), [("tsv", "need to escape"), ("cp1252", "can't encode")])
def test_what_the_format_cannot_hold_is_refused(form: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "a.tsv"
    source.write_text("text\tlabel\na\tx\n")
    encoding = "utf-8" if form == "tsv" else form
    change = TableChange({"text": lambda text: "a\tb" if form == "tsv" else "\u4e00"})
    settings = TableFormat(format="tsv", encoding=encoding)
    with pytest.raises(
        DataError, match=f"copy of 'a.tsv' cannot be written as tsv in {encoding} .*{said}.*save the original"
    ):
        write_table(settings, [source], tmp_path / "b.tsv", change)


WEIGHTS = np.array([0.5, 1.25, 123456.0])


def test_weights_are_a_new_last_column_in_every_format(tmp_path: Path) -> None:
    sources = [tmp_path / name for name in ("a.csv", "b.csv")]
    sources[0].write_text("text,label\na,x\nb,y\n")
    sources[1].write_text("text,label\nc,x\n")
    write_table(TableFormat(format="csv"), sources, tmp_path / "c.csv", TableChange(weights=WEIGHTS))
    assert (tmp_path / "c.csv").read_text() == "text,label,cue_weight\na,x,0.5\nb,y,1.25\nc,x,123456\n"
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": "a"}\n{"text": "b"}\n{}\n')
    write_table(TableFormat(format="jsonl"), [lines], tmp_path / "b.jsonl", TableChange(weights=WEIGHTS))
    written = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert written == [{"text": "a", "cue_weight": 0.5}, {"text": "b", "cue_weight": 1.25}, {"cue_weight": 123456.0}]
    pq.write_table(pa.table({"n": [1, 2, 3]}).replace_schema_metadata({"pandas": "{}"}), tmp_path / "a.parquet")
    change = TableChange(rows=np.array([2, 0]), weights=WEIGHTS)
    write_table(TableFormat(format="parquet"), [tmp_path / "a.parquet"], tmp_path / "b.parquet", change)
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == [
        {"n": 3, "cue_weight": 123456.0},
        {"n": 1, "cue_weight": 0.5},
    ]
    with pytest.raises(DataError, match=r"'c.csv' already has a column 'cue_weight'"):
        write_table(TableFormat(format="csv"), [tmp_path / "c.csv"], tmp_path / "d.csv", TableChange(weights=WEIGHTS))
