import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import TABLES, analyse
from aflite_assets.analysis.inputs.records import BenchmarkData, EvidenceTable
from aflite_assets.reports.page.json_report import SCHEMA_VERSION
from aflite_assets.reports.sentences.summary import plain_summary
from tests.planted_reports import report_document


def test_json_equals_the_tables(planted: BenchmarkData) -> None:
    written = json.loads(json.dumps(report_document(planted), allow_nan=False))
    assert written["schema_version"] == SCHEMA_VERSION == 3
    tidy = {table.name: table.to_arrow(analyse(planted).of(table)).to_pylist() for table, _ in TABLES}
    assert written["tables"] == tidy | {"published": []}
    assert written["summary"] == list(plain_summary(analyse(planted)))


def test_json_has_the_planted_numbers(planted: BenchmarkData) -> None:
    written: Any = report_document(planted)
    first = written["tables"]["accuracies"][0]
    assert (first["train_set"], first["tested_on"], first["test_rows"]) == ("full", "full", 1000)
    assert first["accuracy"] == pytest.approx(0.78)
    assert written["dataset"]["test_sets"][0]["filtered_rows"] == {"roberta": 400}
    bins = written["tables"]["predictability"]
    assert (sum(one["kept"] for one in bins), sum(one["removed"] for one in bins)) == (402, 798)
    assert [cell["status"] for cell in written["cells"]].count("not run") == 1


def test_json_says_how_predictions_were_mapped_and_what_is_missing(planted: BenchmarkData) -> None:
    written: Any = report_document(replace(planted, missing_sets={"anli": "file 'a.csv' does not exist"}))
    assert written["dataset"]["missing_sets"] == {"anli": "file 'a.csv' does not exist"}
    test, _, hans = written["dataset"]["test_sets"]
    assert (test["class_map"], test["notes"]) == (None, [])
    assert hans["label_names"] == ["entailment", "non-entailment"]
    assert hans["class_map"] == {
        "entailment": "entailment",
        "neutral": "non-entailment",
        "contradiction": "non-entailment",
    }
    assert hans["collapse"] == "label"
    assert len(hans["notes"]) == 1


def test_nan_never_appears(make_planted: Any) -> None:
    table = EvidenceTable("t", "c", pa.table({"x": [float("nan"), 1.0]}))
    written: Any = report_document(make_planted(evidence=(table,)))
    assert written["evidence"][0]["rows"] == [{"x": None}, {"x": 1.0}]


def test_hostile_text_survives_the_round_trip(hostile: BenchmarkData) -> None:
    written = json.loads(json.dumps(report_document(hostile), allow_nan=False))
    assert written["dataset"]["title"] == hostile.title
    assert written["representations"]["roberta"]["settings"]["nan"] is None
