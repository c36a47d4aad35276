"""From a dataset's own files to the places and names that its report shows, and back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.inputs.source_rows import SourceRows, place_text
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.analysis.rows import read_source_rows
from aflite_assets.stages.pipeline import run_stage
from tests.small_datasets import LINEAR

NUMBERS = np.random.default_rng(0)


def _write(path: Path, header: str | None, lines: list[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(([] if header is None else [header]) + lines) + "\n", encoding="utf-8")
    return str(path)


def _spec(content: dict[str, Any]) -> DatasetSpec:
    given = {"name": "own", "representations": {"given": {"kind": "identity"}}, "evaluators": LINEAR}
    return parse_spec(given | content)


def _read(spec: DatasetSpec, folder: Path) -> tuple[SourceRows, PublishedResult]:
    raw = run_stage("raw_dataset", spec, store=ResultStore(folder / "results")).result
    return read_source_rows(raw, load_examples(raw.path), spec.columns), raw


def _features(folder: Path) -> DatasetSpec:
    values = NUMBERS.normal(loc=[1000, -3], scale=[50, 0.1], size=(60, 2))
    lines = [f"{a:.6g},{b:.6g},{'yes' if row % 2 else 'no'}" for row, (a, b) in enumerate(values.tolist())]
    splits = {
        "train": [
            _write(folder / "one" / "rows.csv", "age,size,label", lines[:20]),
            _write(folder / "two" / "rows.csv", "age,size,label", ["", *lines[20:40]]),
        ],
        "test": _write(folder / "test.csv", "age,size,label", lines[40:]),
    }
    return _spec(
        {
            "source": {"format": "csv", "splits": splits},
            "columns": {"features": ["age", "size"], "label": "label"},
            "labels": ["no", "yes"],
            "standardise": True,
            "holdout": {"fresh": 6},
        }
    )


def test_rows_of_several_files_have_their_file_line_and_original_numbers(tmp_path: Path) -> None:
    source, raw = _read(_features(tmp_path), tmp_path)
    examples = load_examples(raw.path)
    assert source.features == ("age", "size")
    originals = source.original(examples.features)
    assert abs(examples.in_split("train").features[:, 0].mean()) < 1e-5
    files = set()
    for place, own in zip(source.of(examples.row_ids).to_pylist(), originals.tolist(), strict=True):
        line = (tmp_path / place["source_file"]).read_text(encoding="utf-8").split("\n")[place["source_line"] - 1]
        age, size, _ = line.split(",")
        assert own == pytest.approx([float(age), float(size)], rel=1e-5)
        files.add(place["source_file"])
    assert files == {"one/rows.csv", "two/rows.csv", "test.csv"}
    fresh = source.of(examples.in_split("fresh").row_ids)
    assert set(fresh["source_split"].to_pylist()) == {"train"}
    first = source.of(np.array([0, 20, 40])).to_pylist()
    assert [(one["source_row"], one["source_line"]) for one in first] == [(0, 2), (20, 3), (0, 2)]


def test_a_file_that_changed_since_has_no_lines(tmp_path: Path) -> None:
    spec = _features(tmp_path)
    _, raw = _read(spec, tmp_path)
    (tmp_path / "test.csv").write_text("age,size,label\n1,2,no\n", encoding="utf-8")
    source = read_source_rows(raw, load_examples(raw.path), spec.columns)
    assert source.places["source_line"].null_count == source.places["source_file"].null_count == 60
    numbers = source.places.select(["row_id", "source_row"]).to_pylist()
    assert all(one["source_row"] == one["row_id"] % 40 for one in numbers)  # 40 train rows, then the test rows
    (tmp_path / "test.csv").unlink()
    source = read_source_rows(raw, load_examples(raw.path), spec.columns)
    assert source.places["source_line"].null_count == 60


def test_texts_keep_the_names_that_the_users_gave_them(tmp_path: Path) -> None:
    rows = [json.dumps({"premise": f"a {n}", "hypothesis": f"b {n}", "label": n % 2}) for n in range(30)]
    splits = {split: _write(tmp_path / f"{split}.jsonl", None, rows) for split in ("train", "test")}
    spec = _spec(
        {
            "source": {"format": "jsonl", "splits": splits},
            "columns": {"text": "premise", "text_pair": "hypothesis", "label": "label"},
            "representations": {"small": {"kind": "small_transformer", "max_length": 8}},
        }
    )
    source, _ = _read(spec, tmp_path)
    assert (source.named("text"), source.named("text_pair")) == ("premise", "hypothesis")
    assert source.of(np.array([30 + 4])).to_pylist()[0]["source_line"] == 5
    assert (source.right, source.mean, source.features) == (None, None, None)


def test_answers_have_the_line_of_their_question(tmp_path: Path) -> None:
    lines = [f"who {n}?,x {n},y {n},{'' if n % 2 else f'z {n}'},B" for n in range(30)]
    splits = {split: _write(tmp_path / f"{split}.csv", "q,A,B,C,key", lines) for split in ("train", "test")}
    content = {
        "format": "multiple_choice",
        "table": {"format": "csv", "splits": splits},
        "question": "q",
        "answers": ["A", "B", "C"],
        "right": "key",
    }
    spec = _spec({"source": content, "representations": {"small": {"kind": "small_transformer", "max_length": 8}}})
    source, raw = _read(spec, tmp_path)
    examples = load_examples(raw.path)
    assert (source.named("text"), source.named("text_pair"), source.right) == ("q", "answer", 0)
    for place, text in zip(source.of(examples.row_ids).to_pylist(), examples.table["text"].to_pylist(), strict=True):
        assert (tmp_path / place["source_file"]).read_text().split("\n")[place["source_line"] - 1].startswith(text)
    # as published: every answer is a row
    assert source.of(np.array([2, 3, 5]))["source_row"].to_pylist() == [2, 3, 5]
    assert source.of(np.array([2, 3, 5]))["source_line"].to_pylist() == [2, 3, 4]
    # and by the source: its question, and which answer of it
    assert [place_text(one) for one in source.of(np.array([2, 3, 5, 75])).to_pylist()] == [
        "train.csv, line 2, answer 3 (train, question 1)",
        "train.csv, line 3, answer 1 (train, question 2)",
        "train.csv, line 4, answer 1 (train, question 3)",
        "test.csv, line 2, answer 1 (test, question 1)",
    ]
    (tmp_path / "test.csv").unlink()
    elsewhere = read_source_rows(raw, examples, spec.columns)
    assert place_text(elsewhere.of(np.array([76])).to_pylist()[0]) == "test, question 1, answer 2"
