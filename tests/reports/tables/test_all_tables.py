import io
from typing import Any

import pyarrow.parquet as pq
import pytest
from aflite_assets.reports.tables.long_form import LongForm

from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.all_tables import LONG_FORMS, shown_tables

NAMES = ["predictability_by_iteration", "warmup_curve", "planted", "published"]


def rows(data: BenchmarkData, table: str, **where: Any) -> list[dict[str, Any]]:
    (form,) = (one for one in LONG_FORMS if one.name == table)
    return [row for row in form.table(data).to_pylist() if where.items() <= row.items()]


def test_published_figures_are_there_when_named(make_by_hand: Any) -> None:
    found = rows(make_by_hand(published="qnli"), "published", row="RoBERTa")
    assert [(row["column"], row["value"]) for row in found] == [
        ("full", 93.7), ("filtered (RoBERTa)", 77.7), ("difference (points)", -16.0),
    ]  # fmt: skip


def test_points_of_learning_curves_are_rows(make_by_hand: Any) -> None:
    curves = (LearningCurve("a", (40, 80), (50, 90), 100, 34), LearningCurve("b", (40, 80), (80, 81), 100, 34))
    found = rows(make_by_hand(warmup_curves=curves), "warmup_curve")
    assert [(row["representation"], row["rows"], row["right"], row["accuracy"]) for row in found] == [
        ("a", 40, 50, 0.5), ("a", 80, 90, 0.9), ("b", 40, 80, 0.8), ("b", 80, 81, 0.81),
    ]  # fmt: skip
    assert [(row["elbow"], row["chosen"]) for row in found] == [
        (False, False), (True, True), (True, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize("what", ["by_hand", "planted", "hostile"])
def test_every_long_form_is_there_and_fits_parquet(what: str, request: pytest.FixtureRequest) -> None:
    assert [form.name for form in LONG_FORMS] == NAMES
    for form in LONG_FORMS:
        table, sink = form.table(request.getfixturevalue(what)), io.BytesIO()
        pq.write_table(table, sink)
        assert pq.read_table(sink).equals(table)


def test_nothing_trained_is_no_table_and_no_row(make_by_hand: Any) -> None:
    data = make_by_hand(cells=())
    assert {form.name: form.table(data).num_rows for form in LONG_FORMS} == dict.fromkeys(NAMES, 0)
    assert shown_tables(data) == {}


def test_columns_that_a_record_lacks_are_null_and_others_left_out(by_hand: BenchmarkData) -> None:
    form = LongForm("x", ("test_set", "accuracy", "top"), lambda data: [{"top": 5, "other": data.name}])
    assert form.table(by_hand).to_pylist() == [{"test_set": None, "accuracy": None, "top": 5}]
    assert [str(kind) for kind in form.table(by_hand).schema.types] == ["string", "double", "int64"]


def test_all_shown_tables_by_name(by_hand: BenchmarkData) -> None:
    found = shown_tables(by_hand)
    names = ["falls", "accuracy", "zero_shot", "paired", "challenge_sets"]
    assert set(found) == {"in_distribution", *(f"{name}_{one}" for name in names for one in ("a", "b"))}
    assert [one.of for one in found["zero_shot_a"]] == ["p", "q"]
