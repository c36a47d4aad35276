import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.formats import tables as files
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TableSource

HOSTILE = "<script>alert(1)</script> &amp; \x00\x01\x1b[2J\x7f \u202e \U0001f600 =1+1 '; DROP TABLE"


def _read(path: Path, content: bytes | None, form: str, **options: Any) -> pa.Table:
    if content is not None:
        path.write_bytes(content)
    return read_table_file(TableSource.model_validate({"format": form, "splits": {"train": "x"}} | options), path)


def test_csv_columns_are_text_as_written(tmp_path: Path) -> None:
    content = b"id,text,label\n007,2020-01-01,0\n7,1e5,1.0\n08,NA,true\n9,,\n"
    assert _read(tmp_path / "a.csv", content, "csv").to_pydict() == {
        "id": ["007", "7", "08", "9"],
        "text": ["2020-01-01", "1e5", "NA", ""],
        "label": ["0", "1.0", "true", ""],
    }


def test_csv_quotes_enclose_delimiters_quotes_and_line_ends(tmp_path: Path) -> None:
    table = _read(tmp_path / "a.csv", b'\xef\xbb\xbfa,b\r\n"x,""y""\nz",2\r\n', "csv")
    assert table.to_pydict() == {"a": ['x,"y"\nz'], "b": ["2"]}


def test_csv_line_ends_in_quotes_hold_across_the_readers_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CSV_BLOCK_BYTES", 50)
    texts = [f"{row}\n\nend" for row in range(50)]
    content = "text\n" + "".join(f'"{text}"\n' for text in texts)
    assert _read(tmp_path / "a.csv", content.encode(), "csv")["text"].to_pylist() == texts


def test_tab_separated_unquoted_text_keeps_its_quotes(tmp_path: Path) -> None:
    content = b'a\tb\n"He said\tno, "yes"\n\t"\n'
    table = _read(tmp_path / "a.txt", content, "csv", delimiter="\t", quoted=False)
    assert table.to_pydict() == {"a": ['"He said', ""], "b": ['no, "yes"', '"']}


def test_tsv_is_tab_separated_and_unquoted_unless_said_otherwise(tmp_path: Path) -> None:
    content = b'a\tb\n"x\ty"\n'
    assert _read(tmp_path / "a.tsv", content, "tsv").to_pydict() == {"a": ['"x'], "b": ['y"']}
    quoted = _read(tmp_path / "a.tsv", b'a\tb\n"x\tz"\ty\n', "tsv", quoted=True)
    assert quoted.to_pydict() == {"a": ["x\tz"], "b": ["y"]}


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        (
            "csv",
            b"text;label\na;0\n",
            "with a comma as the delimiter, the file has a single column 'text;label', but a semicolon",
        ),
        ("csv", b"text\tlabel\na\t0\n", "but a tab seems to be the delimiter; try `format: tsv`, or set"),
        (
            "csv",
            b"label\ttext\n0\ta, b\n1\tc\n",
            'a tab seems to be the delimiter; try `format: tsv`, or set `delimiter: "\\t"`',
        ),
        (
            "tsv",
            b"text,label\na,0\n",
            "with a tab as the delimiter, the file has a single column 'text,label', but a comma seems "
            "to be the delimiter",
        ),
    ],
)
def test_wrong_delimiter_is_named_with_the_likely_one(tmp_path: Path, form: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _read(tmp_path / "a.csv", content, form)


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_cell_of_two_gigabytes_is_refused_without_reading_it(tmp_path: Path, form: str) -> None:
    path = tmp_path / "huge"
    start = {"csv": b"text,label\n", "tsv": b"text\tlabel\n", "jsonl": b'{"text": "'}[form]
    with path.open("wb") as stream:
        stream.write(start)
        stream.truncate(2 * 2**30)  # a hole in the file: no disk is used
    reason = (
        "line 1 has more than 67108864 characters"
        if form == "jsonl"
        else "a row has more than 67108864 bytes, for example because a quote"
    )
    with pytest.raises(DataError, match=f"huge' cannot be read as {form}: .*{reason}"):
        _read(path, None, form)


def test_csv_types_do_not_depend_on_how_far_the_reader_got(tmp_path: Path) -> None:
    content = "text,label\n" + "1,0\n" * 300_000 + "x,-\n"
    table = _read(tmp_path / "a.csv", content.encode(), "csv")
    assert table.schema.types == [pa.string(), pa.string()]
    assert (table.num_rows, table["label"][-1].as_py()) == (300_001, "-")


def test_csv_header_alone_is_no_rows(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", b"text,label\n", "csv").to_pydict() == {"text": [], "label": []}


def test_jsonl_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"a": 1}\n', "jsonl").to_pydict() == {"a": [1]}


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_hostile_text_passes_unharmed(tmp_path: Path, form: str) -> None:
    import json

    path = tmp_path / "a"
    match form:
        case "csv":
            path.write_text(f"text\n{HOSTILE}\n", encoding="utf-8", newline="")
        case "jsonl":
            path.write_text(json.dumps({"text": HOSTILE}) + "\n")
        case "parquet":
            pq.write_table(pa.table({"text": [HOSTILE]}), path)
    assert _read(path, None, form)["text"].to_pylist() == [HOSTILE]


def test_jsonl_values_keep_their_kind(tmp_path: Path) -> None:
    content = b'{"text": "2020-01-01", "label": 1, "x": [1, 2.5]}\n\n{"text": "a\\u2028b", "label": null, "x": []}\n'
    assert _read(tmp_path / "a.jsonl", content, "jsonl").to_pydict() == {
        "text": ["2020-01-01", "a\u2028b"],
        "label": [1, None],
        "x": [[1.0, 2.5], []],
    }


def test_jsonl_keys_that_some_rows_lack_are_null_there(tmp_path: Path) -> None:
    table = _read(tmp_path / "a.jsonl", b'{"a": 1}\n{"b": "x"}\n', "jsonl")
    assert table.to_pydict() == {"a": [1, None], "b": [None, "x"]}


def test_jsonl_column_of_mixed_kinds_is_text(tmp_path: Path) -> None:
    content = b'{"a": 0, "b": {"k": 1}}\n{"a": "-", "b": "x"}\n{"a": null, "b": [1]}\n{"a": 99999999999999999999}\n'
    assert _read(tmp_path / "a.jsonl", content, "jsonl").to_pydict() == {
        "a": ["0", "-", None, "99999999999999999999"],
        "b": ['{"k": 1}', "x", "[1]", None],
    }


def test_parquet_keeps_types_and_adds_no_column_for_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    table = pa.table({"day": [datetime.date(2020, 1, 1)], "x": pa.array([[1.5]], pa.list_(pa.float32(), 1))})
    pq.write_table(table.replace_schema_metadata({"huggingface": "{}"}), folder / "a.parquet")
    read = _read(folder / "a.parquet", None, "parquet")
    assert read.equals(table)
    assert read.schema.metadata is None


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        ("csv", b"a,b\n1,2,3\n", "line 2: 3 values where there are 2 columns: '1,2,3'"),
        ("csv", b"a,b\n1\n", "line 2: 1 values where there are 2 columns: '1'"),
        ("csv", b"", "it is empty and has no header line; write the data into it, or correct the path"),
        ("jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not valid JSON"),
        ("jsonl", b"[1]\n", "line 1 contains a value of type list instead of an object with the columns as keys"),
        ("jsonl", b'{"a": "\\ud800"}\n', "line 1 contains half of a surrogate pair, which is not valid text"),
        ("jsonl", b'{"b": 1}\n{"\\uDC00": 2}\n', "line 2 contains half of a surrogate pair, which is not valid text"),
        ("jsonl", b'{"a": ' + b"[" * 100_000, "recursion"),
        ("parquet", b"PAR1 no parquet", "Parquet"),
    ],
)
def test_file_that_is_not_what_the_format_says_is_refused(
    tmp_path: Path, form: str, content: bytes, reason: str
) -> None:
    message = re.escape(f"a.data' cannot be read as {form}: ") + f".*{re.escape(reason)}"
    with pytest.raises(DataError, match=message) as caught:
        _read(tmp_path / "a.data", content, form)
    assert "; " in str(caught.value)
    assert len(str(caught.value)) < 1000


ACCENTED = 'id,text,label\n1,caf\u00e9 au lait,a\n2,"na\u00efve\nline",b\n'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "cp1252", "latin-1"])
def test_text_is_read_in_the_encoding_that_is_set(tmp_path: Path, encoding: str) -> None:
    table = _read(tmp_path / "a.csv", ACCENTED.encode(encoding), "csv", encoding=encoding)
    assert table.to_pydict() == {
        "id": ["1", "2"],
        "text": ["caf\u00e9 au lait", "na\u00efve\nline"],
        "label": ["a", "b"],
    }
    lines = _read(tmp_path / "a.jsonl", '{"a": "caf\u00e9"}\n\n{"a": 1}'.encode(encoding), "jsonl", encoding=encoding)
    assert lines.to_pydict() == {"a": ["caf\u00e9", "1"]}
    tabs = _read(tmp_path / "a.tsv", "a\tb\n\u00e9\t1\n".encode(encoding), "tsv", encoding=encoding)
    assert tabs.to_pydict() == {"a": ["\u00e9"], "b": ["1"]}


def test_mark_of_the_byte_order_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    content = "\ufeffa,b\n1,2\n".encode("utf-16-le")
    assert _read(tmp_path / "a.csv", content, "csv", encoding="utf-16-le").column_names == ["a", "b"]
    marked = '\ufeff{"a": 1}\n'.encode("utf-16-be")
    assert _read(tmp_path / "a.jsonl", marked, "jsonl", encoding="utf-16-be").column_names == ["a"]


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (
            ACCENTED.encode("cp1252"),
            "utf-8",
            "line 2 is not valid UTF-8 (byte 0xe9 at 19); the file fits cp1252, in which it reads '1,caf\u00e9 au "
            "lait,a'; "
            "if this text is right, set `encoding: cp1252`, or save the file as UTF-8",
        ),
        (
            ACCENTED.encode("utf-16"),
            "utf-8",
            "csv: line 1 is not valid UTF-8 (byte 0xff at 0); the file fits utf-16, in which it reads "
            "'id,text,label'; if "
            "this text is right, set `encoding: utf-16`, or",
        ),
        (
            ACCENTED.encode("utf-32"),
            "utf-8",
            "line 1 is not valid UTF-8 (byte 0xff at 0); the file fits utf-32, in which",
        ),
        (
            "a,b\n1,2\n".encode("utf-16-be"),
            "utf-8",
            "csv: nearly every second byte is NUL; the file fits utf-16-be, in which it reads 'a,b'; if",
        ),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-8", "the file fits utf-16-le, in which it reads 'a,b'"),
        ("a,b\n1,2\n".encode("utf-32-le"), "utf-8", "the file fits utf-32-le, in which it reads 'a,b'"),
        (
            "\u6807,\u672c\n\u597d,\u574f\n".encode("utf-16-le"),
            "utf-8",
            "the file fits utf-16-le, in which it reads '\u6807,\u672c'",
        ),
        (
            b"a,b\n\x81\x8d,1\n",
            "utf-8",
            "line 2 is not valid UTF-8 (byte 0x81 at 4); the file fits latin-1, in which it reads '\\x81\\x8d,1', or",
        ),
        (
            "\u6807,\u672c\n".encode("gb18030"),
            "utf-8",
            "cp1252, in which it reads '\xb1\xea,\xb1\xbe', or gb18030, in which it reads '\u6807,\u672c', or euc",
        ),
        (
            ACCENTED.encode() + "3,r\u00e9sum\u00e9,c\n".encode("cp1252"),
            "utf-8",
            "line 5 is not valid UTF-8 (byte 0xe9 at 53), although other lines have letters in UTF-8; correct that "
            "line, "
            "which "
            "reads '3,r\u00e9sum\u00e9,c' in cp1252, and save the whole file as UTF-8",
        ),
        (
            b"a,b\n1,caf\xc3",
            "utf-8",
            "line 2 is not valid UTF-8 (the file ends in the middle of a character); the file fits cp1252, in which",
        ),
        (
            ACCENTED.encode(),
            "ascii",
            "line 2 is not valid ascii (byte 0xc3 at 19); the file fits utf-8, in which it reads '1,caf\u00e9",
        ),
        (
            ACCENTED.encode(),
            "utf-16",
            "it lacks the byte order mark (BOM) of utf-16; the file fits utf-8, in which",
        ),
        (
            bytes(range(256)) * 9,
            "utf-8",
            "no tested encoding fits; the file may be damaged or not a text",
        ),
        (
            b"a,b\n1,2,\xe9\n",
            "utf-8",
            "line 2 is not valid UTF-8 (byte 0xe9 at 8); the file fits cp1252, in which it reads '1,2,\xe9'",
        ),
        (b"\x1f\x8b\x08\0rest", "utf-8", "it is compressed with gzip, not a text; unpack it"),
        (
            b"PK\x03\x04\x14\0rest",
            "utf-8",
            "it is a zip archive, like the files of Excel (.xlsx), not a text; save the sheet",
        ),
        (b"PAR1\0\0\xff", "utf-8", "it is a Parquet file, not a text; set `format: parquet`"),
    ],
)
def test_file_in_another_encoding_is_named_with_the_one_that_fits(
    tmp_path: Path, content: bytes, encoding: str, message: str
) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        _read(tmp_path / "a.csv", content, "csv", encoding=encoding)
    assert caught.value.refuses
    assert len(str(caught.value)) < 500


def test_place_beyond_the_first_block_is_found(tmp_path: Path) -> None:
    content = b"id,text\n" + b"1,plain\n" * 20_000 + b"2,caf\xe9 x\n"
    message = (
        "line 20002 is not valid UTF-8 (byte 0xe9 at 160,013); the file fits cp1252, in which it reads '2,caf\u00e9 x'"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _read(tmp_path / "a.csv", content, "csv")
    with pytest.raises(DataError, match=r"line 20002 is not valid UTF-8 \(byte 0xe9 at 160,0"):
        _read(tmp_path / "a.jsonl", content, "jsonl")


def test_uneven_row_in_another_encoding_is_about_the_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_CSV_BLOCK_BYTES", 2**16)
    content = b"id,text\n" + b"1,plain\n" * 20_000 + b"2,caf\xe9,x\n"
    with pytest.raises(
        DataError,
        match=r"line 20002 is not valid UTF-8 .* fits cp1252, in which it reads "
        r"'2,caf\u00e9,x'",
    ):
        _read(tmp_path / "a.csv", content, "csv")


def test_text_that_begins_as_an_archive_does_is_text(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", b"PAR1,b\n1,2\n", "csv").to_pydict() == {"PAR1": ["1"], "b": ["2"]}


def test_single_nul_byte_is_text(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.csv", b"a,b\nx\0y,2\n", "csv")["a"].to_pylist() == ["x\0y"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            "a,b,a",
            "columns 1 and 3 share the name 'a' (counted from 1); give every column of the file a different name",
        ),
        ("a,b,c,b,a,b", "columns 1 and 5 share the name 'a'; columns 2, 4 and 6 share the name 'b' (counted from 1);"),
        (
            "a,b,,",
            "columns 3 and 4 have no name (counted from 1); give every column of the file a different name, or ",
        ),
        (
            ",".join(f"{name},{name}" for name in "abcdefgh"),
            "columns 9 and 10 share the name 'e' (counted from 1), and 3",
        ),
    ],
)
def test_columns_that_share_a_name_are_named_with_their_places(tmp_path: Path, names: str, message: str) -> None:
    row = ",".join("1" for _ in names.split(","))
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        _read(tmp_path / "a.csv", f"{names}\n{row}\n".encode(), "csv")
    assert "a.csv' cannot be read as csv: columns " in str(caught.value)


def test_columns_of_parquet_that_share_a_name_are_named(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1])] * 3, names=["x", "y", "x"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"cannot be read as parquet: columns 1 and 3 share the name 'x' \(counted"):
        _read(tmp_path / "a.parquet", None, "parquet")


def test_key_that_stands_twice_in_a_line_is_named(tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n'
    message = "read as jsonl: line 2: the key 'a' occurs twice; keep only one of the two keys"
    with pytest.raises(DataError, match=re.escape(message)):
        _read(tmp_path / "a.jsonl", content, "jsonl")


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_file_without_a_header_has_the_names_given(tmp_path: Path, form: str, delimiter: str) -> None:
    content = f"ham{delimiter}see you\n\nspam{delimiter}win!\n".encode()
    table = _read(tmp_path / "a", content, form, header=False, names=["label", "text"])
    assert table.to_pydict() == {"label": ["ham", "spam"], "text": ["see you", "win!"]}


def test_values_of_a_file_without_a_header_stay_as_written(tmp_path: Path) -> None:
    table = _read(tmp_path / "a.csv", b"007,NA\n1e5,\n", "csv", header=False, names=["a", "b"])
    assert table.to_pydict() == {"a": ["007", "1e5"], "b": ["NA", ""]}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["label"],
            "`names` has 1 entries, but the first line has 2 values ['ham', 'see you']; give one name per column",
        ),
        (["a", "b", "c"], "`names` has 3 entries, but the first line has 2 values ['ham', 'see you']"),
    ],
)
def test_names_that_are_not_one_for_each_column_are_refused(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _read(tmp_path / "a.csv", b"ham,see you\nspam,win\n", "csv", header=False, names=names)


def test_tabs_in_a_headerless_csv_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"a single column 'ham.*', but a tab seems to be the delimiter; try `format: tsv`"
    ):
        _read(tmp_path / "a.csv", b"ham\tsee you\nspam\twin, now\n", "csv", header=False, names=["a", "b"])


def test_line_of_an_uneven_row_counts_lines_in_quotes_and_empty_ones(tmp_path: Path) -> None:
    content = b'a,b\n"x\ny",1\n\nz,2,3\n'
    with pytest.raises(DataError, match="cannot be read as csv: line 5: 3 values where there are 2 columns: 'z,2,3'"):
        _read(tmp_path / "a.csv", content, "csv")


def test_a_file_that_ends_within_a_row_may_not_be_whole(tmp_path: Path) -> None:
    said = "line 3: 1 values where there are 2 columns: 'sec'; the file ends within this row, so its writing may have"
    with pytest.raises(DataError, match=said):
        _read(tmp_path / "a.csv", b"a,b\nfirst,1\nsec", "csv")
    with pytest.raises(DataError, match="columns: 'sec'; correct the row, or set `delimiter` and `quoted` to match"):
        _read(tmp_path / "a.csv", b"a,b\nfirst,1\nsec\n", "csv")
