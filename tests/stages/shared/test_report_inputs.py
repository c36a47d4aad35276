"""What the report calls the source's columns where `bias_evidence` has the raw table's names."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.reports.sentences.filtering import cue_name
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import by_keys
from aflite_assets.stages.shared.report_inputs import (
    _with_class_names,
    read_evidence,
    read_removal_cues,
)

NAMES = {"text": "question", "text_pair": "answer", "column 3": "age"}


def _named(column: str) -> str:
    return NAMES.get(column, column)


@pytest.fixture
def evidence(tmp_path: Path) -> PublishedResult:
    cues = {
        "kind": ["partial input", "word", "column", "attribute", "length"],
        "name": ["text_pair", "text", "column 3", "text", "difference in words, text_pair less text"],
        "value": ["", "not", "", "text_pair", "2 or more"],
        "label_name": ["a", "a", None, None, "a"],
        "class_share": [0.9, 0.9, None, None, 0.9],
        "rows": [40] * 5,
        "removed_rows": [30] * 5,
        "share_removed": [0.5] * 5,
        "share_expected": [0.25] * 5,
        "p_value": [0.001] * 5,
        "class_shares": [[]] * 5,
        "same_rows_as": [None] * 5,
    }
    tables = {
        "cues": pa.table(cues),
        "words": pa.table({"column": ["text", "text_pair", None], "word": ["not", "text_pair", "x"]}),
        "suspects": pa.table({"row_id": [1], "text": ["text"], "text_pair": ["b"]}),
    }
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    captions = [
        "Most telling: text_pair alone, the word “not” of text, column 3 alone, the number of words of text (9).",
        "",
        "",
    ]
    index = {
        "tables": [
            {"title": name, "caption": caption, "file": f"{name}.parquet"}
            for name, caption in zip(tables, captions, strict=True)
        ],
        "cues": {"small": "cues.parquet"},
    }
    (tmp_path / "evidence.json").write_text(json.dumps(index), encoding="utf-8")
    return PublishedResult("bias_evidence", "own", "key", tmp_path)


def test_cues_have_the_sources_names_and_attributes_keep_theirs(evidence: PublishedResult) -> None:
    cues = read_removal_cues(evidence, _named)["small"]
    assert [(cue.kind, cue.name) for cue in cues] == [
        ("partial input", "answer"),
        ("word", "question"),
        ("column", "age"),
        ("attribute", "text"),
        ("length", "difference in words, answer less question"),
    ]
    assert cue_name(cues[1]) == "the word “not” of question"
    assert read_removal_cues(evidence)["small"][0].name == "text_pair"


def test_tables_of_evidence_have_the_sources_names(evidence: PublishedResult) -> None:
    cues, words, suspects = read_evidence(evidence, _named)
    assert cues.table["name"].to_pylist() == [
        "answer", "question", "age", "text", "difference in words, answer less question"
    ]  # fmt: skip
    assert cues.table["value"].to_pylist() == ["", "not", "", "text_pair", "2 or more"]
    assert (
        cues.caption
        == "Most telling: answer alone, the word “not” of question, age alone, the number of words of question (9)."
    )
    assert words.table["column"].to_pylist() == ["question", "answer", None]
    assert words.table["word"].to_pylist() == ["not", "text_pair", "x"]
    assert suspects.table.column_names == ["row_id", "question", "answer"]
    assert [one.table.column_names for one in read_evidence(evidence)][2] == ["row_id", "text", "text_pair"]


def test_warnings_of_the_filter_name_classes() -> None:
    labels = np.repeat([0, 1], 100)
    features = np.where(np.arange(200) < 60, 0.0, 3.0)[:, None].astype(np.float32)  # 40 of class 0 look like class 1
    settings = FilterSettings(target_size=100, train_size=40, slice_size=20, n_partitions=8, threshold=0.0)
    result = filter_dataset(features, labels, settings=settings, seed=0)
    (warning,) = [each for each in result.warnings if each.startswith("Class 1 ")]
    iterations = pa.table(
        {name: [getattr(one, name) for one in result.iterations] for name in ("rows_in", "rows_per_class")}
    )
    rows = pa.table({"label": labels})
    shares = re.escape("% of the rows and makes up ") + r"[\d.]+" + re.escape("% of the kept ones; ")
    named, other = _with_class_names([warning, "Class 9 is another."], iterations, rows, ("ham", "spam"))
    assert re.fullmatch(rf"Class “spam” made up 50\.0{shares}random_matched has these shares, too\.", named)
    assert other == "Class 9 is another."
    fewer = pa.table({"label": np.repeat([0, 1, 2], 10)})
    assert _with_class_names([warning], iterations, fewer, ("ham", "spam", "eggs")) == (warning,)


def test_rows_are_read_by_their_keys_in_their_order_and_nulls_are_a_key() -> None:
    table = pa.table({"name": ["b", "a", "b", "b"], "seed": [1, None, 0, 1], "row_id": [4, 3, 2, 1]})
    assert [(key.as_py(), rows["row_id"].to_pylist()) for key, rows in by_keys(table, "name", "seed")] == [
        ({"name": "b", "seed": 1}, [4, 1]),
        ({"name": "a", "seed": None}, [3]),
        ({"name": "b", "seed": 0}, [2]),
    ]
    assert list(by_keys(table.slice(0, 0), "name")) == []
