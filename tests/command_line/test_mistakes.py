"""Mistakes that people make with their own data, each as they would meet it: `aflite check` says what to do."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from aflite_assets.command_line.main import main

Spec = dict[str, Any]
Change = Callable[[Spec, Path], object]

LABELS = ("entailment", "neutral", "contradiction")


def _rows(n: int, start: int) -> list[dict[str, Any]]:
    return [
        {"id": start + row, "premise": f"premise {start + row}", "hypothesis": f"so {row}", "gold": LABELS[row % 3]}
        for row in range(n)
    ]


def _csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> None:
    lines = [delimiter.join(rows[0]), *(delimiter.join(str(value) for value in row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    """A dataset that is right: sentence pairs in CSV, 90 to train on and 30 to test on."""
    _csv(tmp_path / "train.csv", _rows(90, 0))
    _csv(tmp_path / "test.csv", _rows(30, 90))
    return {
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
        "columns": {"text": "premise", "text_pair": "hypothesis", "label": "gold", "id": "id"},
        "labels": list(LABELS),
        "warmup": {"size": 0.2},
        "representations": {"small": {"kind": "small_transformer"}},
        "filter": {"target_size": 0.5, "train_size": 20, "slice_size": 5, "n_partitions": 4},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0],
    }


def _check(folder: Path, spec: Spec) -> int:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False))
    return main(["check", "--no-timing", str(path)])


def test_the_dataset_itself_is_right(tmp_path: Path, spec: Spec, capsys: pytest.CaptureFixture[str]) -> None:
    assert _check(tmp_path, spec) == 0
    assert "  iterations   12 at most" in capsys.readouterr().out


def _set(place: str, value: Any) -> Change:
    """Put a value at a dotted place of the spec."""

    def change(spec: Spec, folder: Path) -> None:
        *parents, name = place.split(".")
        for parent in parents:
            spec = spec.setdefault(parent, {})
        spec[name] = value

    return change


def _row(column: str, value: Any, *, row: int = 4) -> Change:
    """Put a value into one train row, which goes to JSON lines, so that it may be anything."""

    def change(spec: Spec, folder: Path) -> None:
        rows = _rows(90, 0)
        rows[row][column] = value
        (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (folder / "test.jsonl").write_text("\n".join(map(json.dumps, _rows(30, 90))))
        spec["source"] = {"format": "jsonl", "splits": {"train": "train.jsonl", "test": "test.jsonl"}}

    return change


def _train(content: bytes | str) -> Change:
    def change(spec: Spec, folder: Path) -> None:
        (folder / "train.csv").write_bytes(content if isinstance(content, bytes) else content.encode())

    return change


def _all(*changes: Change) -> Change:
    def change(spec: Spec, folder: Path) -> None:
        for one in changes:
            one(spec, folder)

    return change


def _features(*, rows: int = 90, labels: int = 90, bad: float | None = None) -> Change:
    """Given features in .npy files instead of texts."""

    def change(spec: Spec, folder: Path) -> None:
        features = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
        if bad is not None:
            features[7, 1] = bad
        for split in ("train", "test"):
            np.save(folder / f"{split}.npy", features)
            np.save(folder / f"{split}_labels.npy", np.arange(labels) % 3)
        files = {s: {"features": f"{s}.npy", "labels": f"{s}_labels.npy"} for s in ("train", "test")}
        spec |= {"source": {"format": "features", "splits": files}, "columns": {}, "warmup": {}}
        spec["representations"] = {"given": {"kind": "identity"}}

    return change


def _table(content: str) -> Change:
    """A table of the two features length and width, with a label."""

    def change(spec: Spec, folder: Path) -> None:
        for split in ("train", "test"):
            (folder / f"{split}.csv").write_text(f"length,width,kind\n{content}")
        del spec["labels"]
        spec |= {"columns": {"features": ["length", "width"], "label": "kind"}, "warmup": {}}
        spec["representations"] = {"given": {"kind": "identity"}}

    return change


def _ragged(spec: Spec, folder: Path) -> None:
    _features()(spec, folder)
    for split in ("train", "test"):
        rows = [[0.5, 1.0, 2.0]] * 30
        rows[9] = [0.5, 1.0]
        pq.write_table(pa.table({"x": rows, "label": [row % 3 for row in range(30)]}), folder / f"{split}.parquet")
    spec["source"] = {"format": "parquet", "splits": {"train": "train.parquet", "test": "test.parquet"}}
    spec["columns"] = {"features": "x"}


def _images(*, broken: int = 0, loose: bool = False, labels: str | None = None) -> Change:
    """Images in folders, in place of the texts."""

    def change(spec: Spec, folder: Path) -> None:
        from PIL import Image

        for split in ("train", "test"):
            for number in range(90):
                place = folder / "images" / split / LABELS[number % 3]
                place.mkdir(parents=True, exist_ok=True)
                Image.new("L", (8, 8), number).save(place / f"{number}.png")
        for number in range(broken):
            (folder / "images" / "train" / LABELS[number % 3] / f"{number}.png").write_bytes(b"\x89PNG broken")
        if loose:
            Image.new("L", (8, 8)).save(folder / "images" / "train" / "loose.png")
        splits: dict[str, Any] = {split: f"images/{split}" for split in ("train", "test")}
        if labels is not None:
            (folder / "labels.txt").write_text(labels)
            splits["test"] = {"folder": "images/test/neutral", "labels": "labels.txt"}
        spec |= {"source": {"format": "image_folder", "splits": splits}, "columns": {}}
        spec["representations"] = {"small": {"kind": "timm_image", "architecture": "test_resnet"}}

    return change


def _checkpoint(configuration: dict[str, Any]) -> Change:
    def change(spec: Spec, folder: Path) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(configuration))
        spec["representations"] = {"encoder": {"kind": "huggingface_text", "checkpoint": "model"}}

    return change


def _challenge(**values: Any) -> Change:
    def change(spec: Spec, folder: Path) -> None:
        rows = [row | {"gold": "entailment" if row["gold"] == "entailment" else "other"} for row in _rows(12, 500)]
        _csv(folder / "hard.csv", rows)
        source = {"format": "csv", "splits": {"test": "hard.csv"}}
        columns = {"text": "premise", "text_pair": "hypothesis", "label": "gold"}
        spec["challenge_sets"] = {"hard": {"source": source, "columns": columns} | values}

    return change


def _annotations(rows: list[dict[str, Any]], **values: Any) -> Change:
    def change(spec: Spec, folder: Path) -> None:
        _csv(folder / "votes.csv", rows)
        spec["annotations"] = {"format": "csv", "files": "votes.csv", "match": {"id": "row"}, "annotators": "vote"}
        spec["annotations"] |= values

    return change


def _repeated_id(spec: Spec, folder: Path) -> None:
    _row("id", 0)(spec, folder)


def _huge_cell(spec: Spec, folder: Path) -> None:
    with (folder / "train.csv").open("ab") as stream:
        stream.truncate(2 * 2**30)  # a hole in the file: no disk is used


MISTAKES: dict[str, tuple[Change, str]] = {
    # Files
    "missing file": (_set("source.splits.train", "trian.csv"), r"file '.*trian\.csv' does not exist; correct"),
    "folder for a file": (_set("source.splits.train", "."), "is a folder, but a file is needed; name a file"),
    "not the format": (_set("source.format", "parquet"), r"train\.csv' cannot be read as parquet: .*check the file"),
    "wrong delimiter": (
        lambda spec, folder: _csv(folder / "train.csv", _rows(90, 0), ";"),
        r"'id;premise;hypothesis;gold', but a semicolon seems to be the delimiter; set `delimiter: \";\"`",
    ),
    "Latin-1": (
        _train(b"id,premise,hypothesis,gold\n1,caf\xe9,b,neutral\n"),
        r"train\.csv' cannot be .* line 2 is not valid UTF-8 .*fits cp1252, in which it reads '1,caf\u00e9,b,neutral'"
        "; if this text is right, set `encoding: cp1252`",
    ),
    "UTF-16": (
        _train("id,premise,hypothesis,gold\n1,a,b,neutral\n".encode("utf-16")),
        r"train\.csv' .*line 1 is not valid UTF-8 .*; if this text is right, set `encoding: utf-16`",
    ),
    "UTF-16 without a mark": (
        _train("id,premise,hypothesis,gold\n1,a,b,neutral\n".encode("utf-16-le")),
        "nearly every second byte is NUL; the file fits utf-16-le, .* set `encoding: utf-16-le`",
    ),
    "unknown encoding": (
        _set("source.encoding", "uft-16"),
        "source.encoding: 'uft-16' is not a supported text encoding.*did you mean 'utf-16'",
    ),
    "a field too many": (
        _train("id,premise,hypothesis,gold\n1,a,b,neutral,x\n"),
        "cannot be read as csv: line 2: 5 values where there are 4 columns: .*; enclose values that hold the delimiter",
    ),
    "quote never closed": (
        _train('id,premise,hypothesis,gold\n1,a,b,neutral\n2,"a,b,neutral\n3,c,d,neutral\n4,e,f,neutral\n'),
        "line 3: 2 values where there are 4 columns: .* and 2 lines more; an unclosed quote joins several lines "
        "into one row",
    ),
    "comma at the end of rows": (
        _train("id,premise,hypothesis,gold\n1,a,b,neutral,\n"), "; end rows without the delimiter, or name a last",
    ),
    "gzip": (_train(b"\x1f\x8b\x08\0"), "is compressed with gzip, not a text; unpack it"),
    "Excel file": (_train(b"PK\x03\x04\x14\0"), "is a zip archive, like the files of Excel .* not a text; save the "
    "sheet"),
    "decimal comma": (
        _all(_table('"0,5",2,a\n"1,5",2,b\n')),
        "the column 'length' in `columns.features` cannot be read as numbers, because row 1 has the value '0,5'",
    ),
    "list of JSON": (
        _all(_row("id", 4), lambda spec, folder: (folder / "test.jsonl").write_text('[{"id": 1},\n{"id": 2}]')),
        "line 1 is not valid JSON .*; the file seems to be one list: write an object per line",
    ),
    "commas between objects": (
        _all(_row("id", 4), lambda spec, folder: (folder / "test.jsonl").write_text('{"id": 1},\n{"id": 2}\n')),
        "line 1 is not valid JSON .*; leave out the comma at the end of each line",
    ),
    "no label at all": (
        _train("id,premise,hypothesis,gold\n1,a,b,\n2,c,d,\n"),
        "2 of 2 rows have an empty label.*; correct `columns.label`, or label the rows in .*line 2 of",
    ),
    "warm-up of one row": (
        _all(_set("warmup.size", 1), _set("filter.train_size", 5)),
        "`warmup.size` is 1, which gives 1 rows of 1 classes, but training an encoder needs at least two cl.*; raise `",
    ),
    "empty file": (_train(""), r"train\.csv' cannot be read as csv: it is empty and has no header line"),
    "header alone": (_train("id,premise,hypothesis,gold\n"), "split 'train' has no rows; correct the source"),
    "a cell of two gigabytes": (_huge_cell, "cannot be read as csv: a row has more than 67108864 bytes"),
    "broken line of JSON": (
        _all(_row("id", 4), lambda spec, folder: (folder / "test.jsonl").write_text('{"id": 1}\n{"id": \n')),
        r"test\.jsonl' cannot be read as jsonl: line 2 is not valid JSON",
    ),
    # Columns and rows
    "missing column": (
        _set("columns.text", "premis"), r"no column 'premis', but `columns\.text` names it .*did you mean 'premise'",
    ),
    "column twice": (
        _train("id,premise,hypothesis,gold,premise\n1,a,b,neutral,c\n"),
        r"train\.csv' cannot be read as csv: columns 2 and 5 share the name 'premise' .*; give every column",
    ),
    "no input": (_set("columns", {"label": "gold"}), "set `columns.text`, `columns.image` or `columns.features`"),
    "repeated id": (_repeated_id, "split 'train': column 'id' has '0' in rows 1 and 5; set `columns.id` to"),
    "empty text": (_row("premise", None), r"split 'train'.*'premise'.*row 5.*row 5 is line 5 of '.*train\.jsonl'"),
    "no group": (_all(_row("id", None), _set("columns", {
        "text": "premise", "text_pair": "hypothesis", "label": "gold", "group": "id",
    })), r"column 'id' has no group in 1 rows \(first: row 5\); give every row"),
    "half of a character": (_row("premise", "\ud800"), r"train\.jsonl' cannot be read as.*line 5 contains half of a"),
    # Labels
    "unknown label": (
        _row("gold", "entailmnet"),
        r"label 'entailmnet' \(1 rows\) is not one of the classes in `labels`.*; did you mean 'entailment'",
    ),
    "empty label": (
        _row("gold", None),
        r"have an empty label \(first: row 5\); set `unlabelled: \[null\]` to drop",
    ),
    "one class": (
        _all(_set("labels", ["entailment", "neutral", "contradiction"]), _set("unlabelled", ["neutral"])),
        "the value 'neutral' represents the class 'neutral' in `labels` and is also in `unlabelled`",
    ),
    "one class in train": (
        _train("id,premise,hypothesis,gold\n1,a,b,neutral\n2,c,d,neutral\n"),
        "split 'train' has only the class 'neutral' in 2 rows, and filtering needs at least two classes; add rows "
        "of another class, or correct `columns.label`, which is 'gold'",
    ),
    "one label named": (_set("labels", ["entailment"]), r"labels: .*at least 2"),
    "a class twice": (_set("labels", ["a", "b", "a"]), "labels: .*contains a class name twice"),
    "value of two classes": (
        _set("labels", {"yes": "entailment", "no": ["neutral", "entailment", "contradiction"]}),
        "`labels` gives the value 'entailment' to the classes 'yes' and 'no'; remove it from one of",
    ),
    "control characters in a class": (_set("labels", ["a\x1b[2J", "b"]), r"labels\.0: .*cannot be shown as a name"),
    "label of too many values": (
        _all(_set("labels", None), _set("columns.label", "premise"), _set("columns.text", "gold"),
             lambda spec, folder: _csv(folder / "train.csv", _rows(1500, 0))),
        "so it seems to contain ids, texts or measurements instead of classes; set `columns.label`",
    ),
    # Features
    "NaN": (
        _features(bad=np.nan),
        r"1 of 90 rows .* NaN or infinite as float32: column 1 \(from 0\) in 1 row \(first: row 8, column 1",
    ),
    "infinity": (_features(bad=np.inf), r"column 1 \(from 0\) with the value 'inf'\); replace"),
    "blank number": (
        _table("1,2,a\n3,,b\n5,6,a\n"),
        r"1 of 3 rows .*: column 'width' in 1 row \(first: row 2, column 'width' with the value ''\); .* "
        r"row 2 is line 3 of '.*train\.csv'",
    ),
    "row counts that differ": (_features(labels=89), "there are 90 rows of features but 89 values of `label`;"),
    "ragged features": (_ragged, "row 1 has 3 features, but row 10 has 2; give every row the same number of features"),
    "label among the features": (
        _all(_table("".join(f"{row * 37 % 11},{row % 2 + 5},{'ab'[row % 2]}\n" for row in range(40)))),
        r"these failed checks would stop a run: no_label_copies; correct the data as described",
    ),
    "label copy that is no input": (
        _set("columns.allow_label_copies", ["premis"]),
        r"`allow_label_copies` contains 'premis', which is not one of the input columns \['premise', "
        r"'hypothesis'\]; did you mean 'premise'",
    ),
    # Images
    "broken images": (_images(broken=3), r"3 of 90 images.*undecodable_images"),
    "image without a class": (_images(loose=True), r"but the image 'loose\.png' is outside of the subfolders; move"),
    "label file of other images": (_images(labels="x 1\ny 2\n"), "line 2 of '.*labels.txt' names 'y', but"),
    "text encoder for images": (
        _all(_images(), _set("representations", {"small": {"kind": "small_transformer"}})),
        "representations.small: a model of kind 'small_transformer' needs rows of type text, but the .* image;",
    ),
    # Sizes
    "target over the pool": (_set("filter.target_size", 500), r"filter\.target_size` is 500, but there are only 72"),
    "train size over the pool": (_set("filter.train_size", 5_000), "train_size` is 5,000, but there are only 102 ro"),
    "slice of no row": (
        _set("filter.slice_size", 0.001),
        "`filter.slice_size` is 0.001, but this share of the 102 rows to filter rounds to 0 rows; "
        "set it to a share of at least 0.0098, or to a number of rows",
    ),
    "warm-up over the rows": (_set("warmup.size", 5_000), r"warmup\.size` is 5,000, but there are only 90 train rows;"),
    "train size over the target": (
        _set("filter.train_size", 51),
        r"`filter\.train_size` is 51, but `target_size` corresponds to 51 rows of the pool and must be larger; lower",
    ),
    "threshold": (_set("filter.threshold", 1.5), r"filter\.threshold: .*1.*\(received '1\.5'\)"),
    "no partitions": (_set("filter.n_partitions", 0), r"filter\.n_partitions: .*1.*\(received '0'\)"),
    "negative slice": (_set("filter.slice_size", -5), r"filter\.slice_size: .*\(received '-5'\)"),
    "large groups": (
        _all(_set("columns.group", "hypothesis"), _set("warmup.size", 0.4), lambda spec, folder: _csv(
            folder / "train.csv", [row | {"hypothesis": f"so {row['id'] % 2}"} for row in _rows(90, 0)]
        )),
        "smallest group|groups are not split|largest group",
    ),
    "warm-up of everything": (_set("warmup.size", 1.0), r"`warmup\.size` is 1\.0, which leaves 0 of 90 train"),
    "hold out everything": (_set("holdout", {"dev": 90}), r"`holdout\.dev` is 90, .*, but only 90 train rows are left"),
    # Splits
    "no train split": (
        _set("source.splits", {"training": "train.csv", "test": "test.csv"}), "`source` has no split named 'train'",
    ),
    "nothing to test on": (_set("source.splits", {"train": "train.csv"}), "`source` has only the split 'train'; add"),
    "limit of another split": (_set("limit", {"dev": 5}), "`limit` contains 'dev', which is not a split"),
    # Models
    "unknown encoder": (
        _set("representations.small.kind", "huggingface_txt"), "kind: is unknown; did you mean 'huggingface_text'",
    ),
    "unknown evaluator": (_set("evaluators.linear.kind", "liner"), "kind: is unknown; did you mean 'linear'"),
    "unknown setting": (_set("filter.treshold", 0.5), r"filter\.treshold: unknown key; did you mean 'threshold'"),
    "missing checkpoint": (
        _set("representations", {"e": {"kind": "huggingface_text", "checkpoint": "./nowhere"}}),
        r"checkpoint '.*nowhere' is a folder that does not exist",
    ),
    "checkpoint of another architecture": (
        _checkpoint({"model_type": "vit"}), "(a model of type 'vit'|checkpoint '.*model' .*cannot be loaded)",
    ),
    "unknown architecture": (
        _all(_images(), _set("representations.small.architecture", "resnet_x")), "'resnet_x'",
    ),
    "second text that is not there": (
        _all(_set("columns", {"text": "premise", "label": "gold"}), _set("evaluators", {
            "partial": {"kind": "linear", "inputs": ["text_pair"]},
        })),
        "`inputs` contains text_pair, but the dataset has no such column; choose from text",
    ),
    # Annotators and challenge sets
    "unknown vote": (
        _annotations([{"row": 3, "vote": "neutrl"}]), "'neutrl'.*did you mean 'neutral'",
    ),
    "votes about other rows": (_annotations([{"row": 9999, "vote": "neutral"}]), "9999"),
    "challenge set of other labels": (_challenge(), r"but the dataset .* lacks \['other'\]; set `map` so that"),
    "map that lacks a label": (
        _challenge(map={"entailment": "entailment", "neutral": "other"}),
        r"`map` of challenge set 'hard' lacks the dataset's labels \['contradiction'\]",
    ),
    "map to an unknown label": (
        _challenge(map={"entailment": "entailment", "neutral": "othr", "contradiction": "other"}),
        "`map` of challenge set 'hard' maps 'neutral' to 'othr', which is not a label of the .*did you mean 'other'",
    ),
    "missing category": (
        _challenge(category="heuristic", map=dict.fromkeys(LABELS, "other")), "no column 'heuristic'",
    ),
    "hub dataset without revision": (
        _set("source", {"format": "hub", "id": "a/b", "splits": {"train": "train", "test": "test"}}),
        "`revision` of a/b is not set, so the dataset could change unnoticed; set `revision` to a",
    ),
    "token in the file": (
        _set("source", {"format": "hub", "id": "a/b", "newest": True, "token": "hf_SECRET", "splits": {
            "train": "train", "test": "test",
        }}),
        r"source\.token: .*\$\{secret:",
    ),
    # Names
    "path in a name": (_set("representations", {"../up": {"kind": "small_transformer"}}), r"representations\.\.\./up"),
    "name of another file": (_set("name", "../../etc"), "`name` must be the file's name without its ending"),
}  # fmt: skip


def test_there_are_at_least_forty() -> None:
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_named_and_leaves_nothing(
    mistake: str, spec: Spec, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, message = MISTAKES[mistake]
    change(spec, tmp_path)
    assert _check(tmp_path, spec) == 1
    written = capsys.readouterr().err
    assert re.search(message, written, re.DOTALL), written
    assert "Traceback" not in written
    assert "hf_SECRET" not in written
    assert len(written) < 3000
    assert not (home / "results").exists()


def test_copy_of_the_label_is_named_and_may_be_allowed(
    tmp_path: Path, spec: Spec, capsys: pytest.CaptureFixture[str]
) -> None:
    _table("".join(f"{row * 37 % 11},{row % 2 + 5},{'ab'[row % 2]}\n" for row in range(60)))(spec, tmp_path)
    assert _check(tmp_path, spec) == 1
    written = capsys.readouterr().out
    assert "error: no_label_copies\n" in written
    said = " ".join(written.split())
    assert "copies of the label: column 'width' in all 60 train rows and in 60 of 60 other rows" in said
    assert "leave the column out of the input, " in said
    assert "set `columns: {allow_label_copies: ['width']}`" in said
    spec["columns"]["allow_label_copies"] = ["width"]
    assert _check(tmp_path, spec) == 0
    assert "no_label_copies" not in capsys.readouterr().out


def test_nul_bytes_and_huge_cells_are_warned_of_with_file_and_line(
    tmp_path: Path, spec: Spec, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _rows(90, 0)
    rows[4]["premise"] = "a\0b"
    rows[6]["hypothesis"] = "so " + "long " * 450_000
    _csv(tmp_path / "train.csv", rows)
    assert _check(tmp_path, spec) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "warning: no_nul_or_huge_cells 1 cell of 'premise' contains a NUL byte: train.csv, line 6. 1 cell of" in said
    assert "1 cell of 'hypothesis' has 2 MB or more (the largest: 2.3 MB): train.csv, line 8 remove the NUL" in said


def test_hostile_texts_are_no_mistake_and_come_out_escaped(
    tmp_path: Path, spec: Spec, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x00\x1b[2J<script>alert(1)</script>\u202e"
    _row("premise", hostile, row=0)(spec, tmp_path)
    spec["labels"] = {"<b>entails</b>": "entailment", "&neutral": "neutral", "'contradicts'": "contradiction"}
    assert _check(tmp_path, spec) == 0
    written = capsys.readouterr().out
    assert not set(written) & {"\x00", "\x1b", "\u202e"}
    assert "<script>" in written
