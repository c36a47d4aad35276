import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.hub.datasets import resolve_commit

if TYPE_CHECKING:
    from tests.data.hub.conftest import Hub, Worker

ONE, TWO = "a" * 40, "b" * 40
CARD_FILES = ("pairs/train-0.parquet", "pairs/dev.parquet", "other.parquet")


def _source(id: str = "me/pairs", revision: str | None = "main", **values: Any) -> dict[str, Any]:
    source = {"format": "hub", "id": id, "splits": {"train": "train"}, **values}
    return source if revision is None else {**source, "revision": revision}


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2)
    return sink.getvalue()


def _png(brightness: int) -> bytes:
    from PIL import Image

    sink = io.BytesIO()
    Image.new("L", (2, 2), brightness).save(sink, "PNG")
    return sink.getvalue()


def test_labels_are_class_names_and_splits_are_joined_in_order(hub: "Hub") -> None:
    tables = hub.worker.load(_source(splits={"train": ["dev_r1", "train"], "test": "dev_r1"}))
    assert tables == {
        "train": [
            {"text": "e", "label": "neutral", "annotators": ["entailment"]},
            {"text": "a", "label": "entailment", "annotators": ["entailment", "neutral"]},
            {"text": "b", "label": "-1", "annotators": None},
            {"text": "c", "label": None, "annotators": []},
            {"text": "d", "label": "7", "annotators": ["neutral"]},
        ],
        "test": [{"text": "e", "label": "neutral", "annotators": ["entailment"]}],
    }


def test_configuration_is_chosen_by_name_and_other_columns_are_as_they_are(hub: "Hub") -> None:
    outcome = hub.worker.do("load", source=_source(config="other"))
    assert outcome["result"]["train"] == {
        "schema": {"question": "string", "n": "int32"},
        "rows": [{"question": "q", "n": 3}],
    }


def test_class_numbers_are_left_as_they_are_where_asked_for(hub: "Hub") -> None:
    source = _source(class_numbers=True, splits={"train": "train"})
    assert [(row["label"], row["annotators"]) for row in hub.worker.load(source)["train"]] == [
        (0, [0, 1]), (-1, None), (None, []), (7, [1]),
    ]  # fmt: skip
    assert hub.worker.load(_source())["train"][0]["label"] == "entailment"


WRITTEN = [
    ("rows.csv", 'id,text,day\n007,"two\nlines",2020-01-01\n8,NA,\n'),
    ("rows.tsv", "id\ttext\tday\n007\ttwo \"words\tx\n8\tNA\tnull\n"),
    ("rows.txt", "id\ttext\tday\n007\ttwo \"words\tx\n8\tNA\tnull\n"),
    ("rows.jsonl", '{"id": "007", "day": "2020-01-01", "n": 1}\n\n{"id": "8", "n": "b"}\n'),
    ("rows.json", '[{"id": "007", "day": "2020-01-01", "n": 1},\n {"id": "8", "n": "b"}]'),
]  # fmt: skip
QUOTED = [{"id": "007", "text": "two\nlines", "day": "2020-01-01"}, {"id": "8", "text": "NA", "day": ""}]
TABBED = [{"id": "007", "text": 'two "words', "day": "x"}, {"id": "8", "text": "NA", "day": "null"}]
OBJECTS = [{"id": "007", "day": "2020-01-01", "n": "1"}, {"id": "8", "day": None, "n": "b"}]


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_read_as_they_are_written(hub: "Hub", packed: bool) -> None:
    id = f"me/written{packed:d}"
    files = {name + ".gz" * packed: gzip.compress(text.encode()) if packed else text for name, text in WRITTEN}
    hub.publish(id, files)
    splits = {name.split(".", 1)[1].replace(".", "_"): name for name in files}
    tables = hub.worker.load(_source(id, splits=splits))
    assert list(tables.values()) == [QUOTED, TABBED, TABBED, OBJECTS, OBJECTS]
    first = hub.worker.load(_source(id, splits=splits), rows=1)
    assert list(first.values()) == [rows[:1] for rows in (QUOTED, TABBED, TABBED, OBJECTS, OBJECTS)]


def test_first_rows_of_a_file_leave_the_rest_on_the_hub(hub: "Hub") -> None:
    rows = "".join(f'{{"n": {n}, "fill": "{os.urandom(500).hex()}"}}\n' for n in range(15_000))
    hub.publish("me/large", {"a.jsonl": rows, "b.jsonl.gz": gzip.compress(rows.encode(), 1)})
    tables = hub.worker.load(_source("me/large", splits={"train": "a.jsonl", "test": "b.jsonl.gz"}), rows=2)
    assert {split: [row["n"] for row in table] for split, table in tables.items()} == {"train": [0, 1], "test": [0, 1]}
    assert sum(request["sent"] for request in hub.requests("me/large")) < 0.6 * 1.5 * len(rows)


def test_patterns_take_files_in_order_and_splits_of_files_may_differ_in_kind(hub: "Hub") -> None:
    hub.publish(
        "me/mixed",
        {
            "data/part-1.csv": "n\n1\n",
            "data/part-0.csv": "n\n0\n",
            "data/deep/part-2.csv": "n\n2\n",
            "test.parquet": _parquet(pa.table({"n": range(5)})),
        },
    )
    source = _source("me/mixed", splits={"train": "data/part-*.csv", "dev": "data/**/*.csv", "test": ["test.parquet"]})
    tables = hub.worker.load(source)
    assert {split: [row["n"] for row in rows] for split, rows in tables.items()} == {
        "train": ["0", "1"],
        "dev": ["2", "0", "1"],
        "test": [0, 1, 2, 3, 4],
    }


def test_splits_of_text_files_are_read_as_written_with_the_cards_class_names(hub: "Hub") -> None:
    rows = "id,label,score\n007,1,1.50\n008,,NA\n"
    expected = [{"id": "007", "label": "1", "score": "1.50"}, {"id": "008", "label": "", "score": "NA"}]
    hub.publish("me/untyped", {"train.csv": rows, "README.md": "# none\n"})
    hub.publish("me/untabbed", {"train.tsv": rows.replace(",", "\t")})
    for id in ("me/untyped", "me/untabbed"):
        assert hub.worker.load(_source(id))["train"] == expected
    card = """---
dataset_info:
  features:
  - {name: id, dtype: string}
  - {name: score, dtype: float64}
  - {name: label, dtype: {class_label: {names: {'0': no, '1': 'yes'}}}}
---
"""
    named = [{**expected[0], "label": "yes"}, {**expected[1], "label": None}]
    hub.publish("me/typed", {"train.csv": rows, "README.md": card})
    assert hub.worker.load(_source("me/typed"))["train"] == named
    hub.publish("me/named", {"train.csv": rows.replace(",1,", ",yes,"), "README.md": card})
    assert hub.worker.load(_source("me/named"))["train"] == [named[0], expected[1]]
    objects = '{"label": 0, "day": "2020-01-01"}\n{"label": -1, "day": null}\n'
    hub.publish("me/objects", {"train.jsonl": objects, "README.md": card})
    assert hub.worker.load(_source("me/objects"))["train"] == [
        {"label": "False", "day": "2020-01-01"},
        {"label": "-1", "day": None},
    ]


def test_text_files_of_an_own_layout_are_read_as_the_card_says(hub: "Hub") -> None:
    card = """---
configs:
- {config_name: default, sep: ";", column_names: [n, text], data_files: [{split: train, path: a.csv}]}
---
"""
    hub.publish("me/layout", {"a.csv": "1;x\n2;y,z\n", "README.md": card})
    assert hub.worker.load(_source("me/layout"))["train"] == [{"n": 1, "text": "x"}, {"n": 2, "text": "y,z"}]


HUGGINGFACE = {
    "info": {"features": {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}
}
IMAGES = [{"bytes": b"one", "path": "1.png"}, {"bytes": b"two", "path": None}, {"bytes": None, "path": "/etc/hostname"}]


@pytest.mark.parametrize(
    ("splits", "rows"), [("train", None), ("data/*.parquet", None), ("train", 9), ("*/*.parquet", 9)]
)
def test_images_come_with_their_bytes_and_never_from_this_computer(hub: "Hub", splits: str, rows: int | None) -> None:
    table = pa.table({"image": IMAGES, "label": [0, 1, 1]})
    typed = table.replace_schema_metadata({"huggingface": json.dumps(HUGGINGFACE)})
    hub.publish("me/images", {"data/train-00000-of-00001.parquet": _parquet(typed)})
    source = _source("me/images", splits={"train": splits})
    outcome = hub.worker.do("load", source=source, rows=rows)["result"]["train"]
    assert outcome["schema"] == {"image": "struct<bytes: binary, path: string>", "label": "string"}
    assert outcome["rows"] == [
        {"image": {"bytes": b"one".hex(), "path": "1.png"}, "label": "cat"},
        {"image": {"bytes": b"two".hex(), "path": None}, "label": "dog"},
        {"image": {"bytes": None, "path": "/etc/hostname"}, "label": "dog"},
    ]


def test_rows_read_no_member_of_an_archive_of_this_computer(hub: "Hub", tmp_path: Path) -> None:
    private = tmp_path / "private.zip"
    with zipfile.ZipFile(private, "w") as archive:
        archive.writestr("scan.png", b"private")
    own = f"hf://datasets/me/archive@{ONE}/own.zip"
    names = [f"zip://scan.png::{own}", f"zip://scan.png::{private}::{own}", f"zip://scan.png::{private}"]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": None, "path": name} for name in names], kind)
    table = pa.table({"image": images, "label": [0, 1, 1]})
    typed = table.replace_schema_metadata({"huggingface": json.dumps(HUGGINGFACE)})
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("scan.png", b"own")
    hub.publish("me/archive", {"data/train.parquet": _parquet(typed), "own.zip": sink.getvalue()})
    rows = hub.worker.load(_source("me/archive"))["train"]
    assert [row["image"]["bytes"] for row in rows] == [b"own".hex(), None, None]


def test_folders_of_images_are_read_into_the_table(hub: "Hub") -> None:
    files = {f"train/{name}/{n}.png": _png(n) for name in ("dog", "cat") for n in (1, 2)}
    hub.publish("me/folders", dict(files))
    hub.publish("me/folders", dict(files), commit=TWO)
    whole = hub.worker.load(_source("me/folders", ONE))["train"]
    expected = [(files[f"train/{name}/{n}.png"].hex(), name) for name in ("cat", "dog") for n in (1, 2)]
    assert [(row["image"]["bytes"], row["label"]) for row in whole] == expected
    first = hub.worker.load(_source("me/folders", TWO, class_numbers=True), rows=3)["train"]
    assert [(row["image"]["bytes"], row["label"]) for row in first] == expected[:3]


def test_archives_in_the_webdataset_form_are_read(hub: "Hub") -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for n in range(3):
            for name, content in ((f"{n}.png", _png(n)), (f"{n}.cls", str(n).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    hub.publish("me/archives", {"train-0000.tar": sink.getvalue()})
    rows = hub.worker.load(_source("me/archives"))["train"]
    assert [(row["png"]["bytes"], row["cls"]) for row in rows] == [(_png(n).hex(), n) for n in range(3)]


def test_refresh_sees_a_new_commit_and_a_pinned_revision_does_not(hub: "Hub") -> None:
    hub.publish("me/moving", {"train.csv": "n\nold\n"})
    moving, pinned = _source("me/moving", None, newest=True), _source("me/moving", ONE)
    assert hub.worker.do("commit", source=moving)["result"] == ONE
    assert hub.worker.load(moving) == {"train": [{"n": "old"}]}
    hub.publish("me/moving", {"train.csv": "n\nnew\n"}, commit=TWO)
    assert hub.worker.do("commit", source=moving)["result"] == TWO
    assert hub.worker.load(moving) == {"train": [{"n": "new"}]}
    before = len(hub.requests("me/moving"))
    assert hub.worker.do("commit", source=pinned)["result"] == ONE
    assert hub.worker.load(pinned) == {"train": [{"n": "old"}]}
    assert len(hub.requests("me/moving")) == before


def test_what_was_loaded_needs_no_network(hub: "Hub", without_hub: "Worker") -> None:
    hub.publish("me/known", {"train.csv": "n\n1\n", "test.csv": "n\n2\n"}, refs={"main": ONE, "v1": ONE})
    splits = {"train": "train.csv", "test": ["t*t.csv"]}
    for revision in (ONE, "v1"):
        loaded = hub.worker.load(_source("me/known", revision, splits=splits))
        outcome = without_hub.do("load", source=_source("me/known", revision, splits=splits))
        assert {split: table["rows"] for split, table in outcome["result"].items()} == loaded
        assert outcome["seconds"] < 5
    assert without_hub.load(_source("me/known", ONE, splits=splits), rows=1)["test"] == [{"n": "2"}]
    assert without_hub.do("row_counts", source=_source("me/known", ONE, splits=splits))["result"] == {
        "train": 1,
        "test": 1,
    }
    assert without_hub.do("check_available", source=_source("me/known", ONE, splits=splits))["result"] is None


def test_rows_are_streamed_and_nothing_is_kept(hub: "Hub") -> None:
    hub.publish("me/streamed", {"data/train-0.parquet": _parquet(pa.table({"n": range(50)})), "a.csv": "n\n1\n2\n3\n"})
    source = _source("me/streamed", splits={"train": ["train", "train"], "files": "a.csv", "all": "data/*.parquet"})
    for splits in ({"train": "train"}, {"files": ["a.csv"]}, {"all": "data/*.parquet"}):
        rows = next(iter(hub.worker.load({**source, "splits": splits}, rows=2).values()))
        assert [str(row["n"]) for row in rows] == (["1", "2"] if "files" in splits else ["0", "1"])
    assert hub.kept("me/streamed") == {"main"}
    assert hub.worker.load(_source("me/streamed", splits={"train": ["train", "train"]}), rows=60)["train"][50:] == [
        {"n": n} for n in range(10)
    ]


def test_row_counts_are_the_cards(hub: "Hub") -> None:
    def counts(**values: Any) -> Any:
        return hub.worker.do("row_counts", source=_source(**values))["result"]

    hub.publish("me/counted", {"README.md": hub.card, **dict.fromkeys(CARD_FILES, b"")})
    splits = {"train": ["train", "dev_r1"], "test": "dev_r1"}
    assert counts(id="me/counted", splits=splits) == {"train": 5, "test": 1}
    assert counts(id="me/counted", config="other") is None
    assert counts(id="me/counted", splits={"train": "other.parquet"}) is None


def test_a_folder_of_the_same_name_is_no_repository(hub: "Hub") -> None:
    folder = hub.home.parent / "me" / "local"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("n\nfolder\n")
    hub.publish("me/local", {"train.csv": "n\nhub\n"})
    assert hub.worker.load(_source("me/local")) == {"train": [{"n": "hub"}]}


def test_a_commit_is_itself() -> None:
    assert resolve_commit("me/nothing", TWO, kind="model") == TWO
