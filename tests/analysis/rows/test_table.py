"""The table of rows: what is stored of each row of a filtering, as people read it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.analysis.rows.table import row_table, write_row_tables
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError


def without_rows(data: BenchmarkData) -> FilteredSet:
    (one,) = data.filtered
    return replace(one, rows=one.rows.slice(0, 0))


def test_the_table_of_rows_counts_how_often_each_was_forgotten(with_weak_models: BenchmarkData) -> None:
    (one,) = with_weak_models.filtered
    table = row_table(with_weak_models, one)
    names = [name for name in table.column_names if ".bow." in name]
    counts = [f"{count}.bow.{seed}" for seed in (0, 1) for count in ("forgotten", "right", "presentations")]
    assert names == [*counts, "forgettable_sets.bow.0"]  # sets are drawn from the first training
    assert [list(row.values()) for row in table.select(names).take([5, 8, 7, 1000]).to_pylist()] == [
        [1, 1, 3, 0, 3, 3, ["forgettable"]],
        [0, 0, 3, 0, 3, 3, ["forgettable", "never_learnt"]],
        [0, 3, 3, 0, 3, 3, []],
        [None] * 7,
    ]
    assert row_table(with_weak_models, without_rows(with_weak_models)).schema == table.schema


def test_the_table_of_all_rows_reads_by_itself(with_rows: BenchmarkData, tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    write_row_tables(with_rows, tmp_path)
    rows = pandas.read_parquet(tmp_path / "rows.parquet")
    assert len(rows) == 1200
    assert list(rows.columns[:6]) == ["representation", "row_id", "source_id", "split", "label", "text"]
    row = rows[rows.row_id == 343].iloc[0]
    assert (row.label, row.kept, row.removed_in_iteration, row["attribute.genre"]) == ("neutral", False, 3, "travel")
    assert list(row.predicted_instead) == ["neutral", "contradiction"]
    assert np.isnan(row.predictability_by_iteration[0])
    assert len(row.predictability_by_iteration) == 4
    assert row.nearest_kept == 1199
    assert rows[rows.suggested_label.notna()].row_id.tolist() == [0]
    assert rows[rows.row_id == 0].suggested_label.item() == "neutral"


def test_images_and_annotators_in_the_table_of_rows(
    make_planted: Callable[..., BenchmarkData], image_examples: Callable[..., Examples]
) -> None:
    table = image_examples(1400).table
    labels = pa.array([[0, 1], None] * 700, pa.list_(pa.int64()))
    examples = Examples(table.append_column("annotator_labels", labels), ("a", "b", "c"))
    data = make_planted(examples=examples, cells=(), test_sets=(), label_names=("a", "b", "c"))
    rows = row_table(data, data.filtered[0])
    assert rows["image"].type == pa.string()
    assert rows["image"].null_count == 1200  # the dataset holds the images themselves
    assert rows["annotator_labels"][:2].to_pylist() == [["a", "b"], None]
    assert rows["predictability_by_iteration"].null_count == 1200
    assert row_table(data, without_rows(data)).schema == rows.schema


def test_rows_of_another_version_are_refused(with_rows: BenchmarkData) -> None:
    fewer = replace(with_rows, examples=with_rows.examples.select(range(100, 1300)))
    with pytest.raises(DataError, match=r"100 of 1200 row ids are not in this table \(first: 0\)"):
        row_table(fewer, fewer.filtered[0])


def test_features_stand_by_name_in_the_sources_units(
    make_planted: Callable[..., BenchmarkData], feature_examples: Callable[..., Examples]
) -> None:
    examples = feature_examples(1400)
    mean, deviation = np.array([100.0, 0.0]), np.array([10.0, 1.0])
    source = SourceRows(NO_SOURCE.places, features=("age", "<b>"), mean=mean, deviation=deviation)
    data = make_planted(examples=examples, source=source)
    expected = examples.features[7] * [10, 1] + [100, 0]
    table = row_table(data, data.filtered[0])
    assert "features" not in table.column_names
    assert table["feature.age"][7].as_py() == pytest.approx(expected[0], rel=1e-6)
    assert row_table(data, without_rows(data)).schema == table.schema
    unnamed = row_table(replace(data, source=replace(source, features=None)), data.filtered[0])
    assert unnamed["features"][7].as_py() == pytest.approx(expected.tolist(), rel=1e-6)
