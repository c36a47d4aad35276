"""What stored results say of single rows: facts by row id; PVI and data maps of a kept walk, against their sources."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.inputs.records import DATA_MAP_COLUMNS, BenchmarkData
from aflite_assets.analysis.rows.measured import data_map_means
from aflite_assets.analysis.rows.table import INFORMATION
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.reports.figures.representation_figures import data_map_alt
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.stages.evaluation.analysis import rows as stored_rows
from aflite_assets.stages.evaluation.analysis.rows import data_maps, given_map, row_facts
from aflite_assets.stages.evaluation.analysis.stage import ANALYSIS, benchmark_data
from aflite_assets.stages.pipeline import STAGES, run_stage
from tests.compatibility.kept import small_specs, unpack_store

(SPEC,) = (spec for spec in small_specs("kept_specs.yaml") if spec.name == "kept_pairs")
Walk = dict[str, PublishedResult]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp("kept")
    store = ResultStore(unpack_store(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_HOME", str(folder / "home"))
        yield {name: run_stage(name, SPEC, store=store).result for name in STAGES}


@pytest.fixture(scope="module")
def data(walk: Walk) -> BenchmarkData:
    return benchmark_data(SPEC, ANALYSIS.inputs_of(walk), "kept_pairs")


def of_linear(information: pa.Table) -> pa.Table:
    return information.filter(pc.equal(information["evaluator"], "linear"))


def test_pvi_is_that_of_the_stored_probabilities(walk: Walk, data: BenchmarkData) -> None:
    assert data.row_information is not None
    measured = data.row_information.group_by(["evaluator", "test_set", "seeds"], use_threads=False).aggregate([])
    assert [tuple(one.values()) for one in measured.to_pylist()] == [("small", "test", 1), ("linear", "test", 1)]
    linear = of_linear(data.row_information)
    part = walk["evaluator_models"].part("linear.full.0")
    table = pq.read_table(part.file("predictions.parquet"), filters=[("test_set", "=", "test")])
    said = dict(zip(table["row_id"].to_pylist(), table["probabilities"].to_pylist(), strict=True))
    raw = load_examples(walk["raw_dataset"].path)
    warmup = pq.read_table(walk["warmup_split"].file("rows.parquet"))["row_id"].to_numpy()
    train = raw.in_split("train")
    labels = train.labels[~np.isin(train.row_ids, warmup)]
    shares = np.bincount(labels, minlength=3) / len(labels)
    for row in linear.to_pylist():
        expected = np.log2(said[row["row_id"]][row["label"]] / shares[row["label"]])
        assert row["pvi"] == pytest.approx(expected, abs=1e-5)
    published = pq.read_table(walk["analysis"].file("pvi.parquet"))
    assert published.equals(data.row_information.cast(INFORMATION))
    assert published.schema.field("pvi").type == pa.float32()


def test_means_of_pvi_are_evidence(data: BenchmarkData) -> None:
    titles = [one.title for one in data.evidence]
    assert titles[-2:] == [
        f"Usable information of kept and removed test rows ({name})" for name in ("small", "smaller")
    ]
    rows = data.evidence[-2].table.to_pylist()
    assert [(row["evaluator"], row["label_name"]) for row in rows if row["label_name"] is None] == [
        ("small", None),
        ("linear", None),
    ]
    assert data.row_information is not None
    linear = of_linear(data.row_information)["pvi"].to_numpy()
    (test,) = (one for one in data.test_sets if one.name == "test")
    overall = next(row for row in rows if row["evaluator"] == "linear" and row["label_name"] is None)
    assert overall["kept_mean"] == pytest.approx(linear[test.kept["small"]].mean())
    assert overall["removed_rows"] == (~test.kept["small"]).sum()


def test_data_maps_are_those_of_the_stored_dynamics(walk: Walk, data: BenchmarkData) -> None:
    assert [(one.representation, one.evaluator) for one in data.data_maps] == [("small", "small"), ("smaller", "small")]
    first = data.data_maps[0]
    assert (first.seeds, first.epochs) == (1, 1)
    dynamics = pq.read_table(walk["evaluator_models"].part("small.full.0").file("dynamics.parquet")).sort_by("row_id")
    assert first.table.column_names == list(DATA_MAP_COLUMNS)
    assert first.table["row_id"].to_pylist() == dynamics["row_id"].to_pylist()
    np.testing.assert_allclose(first.table["confidence"].to_numpy(), dynamics["label_probability"].to_numpy())
    np.testing.assert_array_equal(first.table["correctness"].to_numpy(), dynamics["correct"].to_numpy())
    raw = load_examples(walk["raw_dataset"].path)
    assert first.table["guid"].equals(raw.select(first.table["row_id"].to_numpy()).table["source_id"])
    rows = pq.read_table(walk["filtered_sets"].part("small").file("rows.parquet"))
    kept = dict(zip(rows["row_id"].to_pylist(), rows["kept"].to_pylist(), strict=True))
    assert first.table["kept"].to_pylist() == [kept[row_id] for row_id in first.table["row_id"].to_pylist()]


def test_data_maps_are_files_and_figures(walk: Walk, data: BenchmarkData) -> None:
    folder, page = walk["analysis"].path, walk["benchmark_report"].path
    for one in data.data_maps:
        name = f"{one.representation}.{one.evaluator}"
        assert pq.read_table(folder / "data_maps" / f"{name}.parquet").equals(one.table)
        assert (page / "figures" / f"data_map.{name}.png").read_bytes()[:4] == b"\x89PNG"


def rows_of_a_map(**columns: list[str | None]) -> Examples:
    count = len(next(iter(columns.values())))
    table = {
        "row_id": pa.array(range(count), pa.int64()),
        "source_id": [f"s{row}" for row in range(count)],
        "split": ["train"] * (count - 1) + ["test"],
        "label": pa.array([row % 2 for row in range(count)], pa.int64()),
        "text": [f"text {row}" for row in range(count)],
        **{f"attribute.{name}": pa.array(values, pa.string()) for name, values in columns.items()},
    }
    return Examples(pa.table(table), ("no", "yes"))


GIVEN: dict[str, list[str | None]] = {
    "confidence": ["0.9", "0.25", None, "0.5", "7"],
    "variability": ["0.1", "0.5", "0", "0.2", "7"],
    "correctness": ["4", "1", "4", "2", "7"],
}


def test_a_map_of_others_is_read_from_attributes_of_train_rows() -> None:
    table = given_map(rows_of_a_map(**GIVEN))
    assert table is not None
    assert table.to_pydict() == {
        "row_id": [0, 1, 3],
        "confidence": [0.9, 0.25, 0.5],
        "variability": [0.1, 0.5, 0.2],
        "correctness": [1.0, 0.25, 0.5],
    }
    shares = given_map(rows_of_a_map(**GIVEN | {"correctness": ["0.5", "0.25", "1", "0", "7"]}))
    assert shares is not None
    assert shares["correctness"].to_pylist() == [0.5, 0.25, 0.0]


@pytest.mark.parametrize(
    "changed",
    [{"confidence": ["high", "low", None, None, None]}, {"confidence": ["1.1", "0", "0", "0", "0"]},
     {"variability": ["0.6", "0", "0", "0", "0"]}, {"correctness": ["-1", "0", "0", "0", "0"]},
     {"correctness": ["nan", "0", "0", "0", "0"]}, {"variability": [None] * 5}],
)  # fmt: skip
def test_attributes_that_are_no_map_are_none(changed: dict[str, list[str | None]]) -> None:
    assert given_map(rows_of_a_map(**GIVEN | changed)) is None
    assert given_map(rows_of_a_map(confidence=GIVEN["confidence"])) is None


def test_a_given_map_is_drawn_where_no_training_was_recorded(walk: Walk, data: BenchmarkData) -> None:
    raw = load_examples(walk["raw_dataset"].path)
    columns = {"confidence": "0.75", "variability": "0.25", "correctness": "3"}
    table = raw.table
    for name, value in columns.items():
        table = table.append_column(f"attribute.{name}", pa.array([value] * len(raw), pa.string()))
    with_map = Examples(table, raw.label_names)
    assert data_maps(walk["evaluator_models"], with_map, data.filtered)[0].evaluator == "small"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_rows, "_full_parts", lambda models: {})
        maps = data_maps(walk["evaluator_models"], with_map, data.filtered)
    names = [("small", "attributes"), ("smaller", "attributes")]
    assert [(one.representation, one.evaluator, one.given) for one in maps] == [(*name, True) for name in names]
    assert set(maps[0].table["correctness"].to_pylist()) == {1.0}
    kept, removed = list(data_map_means(replace(data, data_maps=maps[:1])))
    entered = pc.sum(pc.equal(data.filtered[0].rows["split"], "train")).as_py()
    assert kept.rows + removed.rows == entered
    assert data_map_alt(kept, removed).startswith(
        f"Data map given with the dataset, {entered} train rows, confidence against"
    )


ROWS = pa.table(
    {"row_id": pa.array([30, 10, 20], pa.int64()), "removed_in_iteration": pa.array([None, 0, 1], pa.int64())}
)
SCORES = [
    (0, pa.table({"row_id": [20, 10], "predictability": pa.array([0.5, 1.0], pa.float32())})),
    (1, pa.table({"row_id": [30, 20], "predictability": pa.array([0.25, 0.75], pa.float32())})),
    (2, pa.table({"row_id": [30], "predictability": pa.array([0.125], pa.float32())})),
]


def test_scores_stand_in_the_iterations_that_a_row_entered() -> None:
    table = row_facts(ROWS, SCORES)
    assert table["row_id"].to_pylist() == [30, 10, 20]
    assert table["predictability_by_iteration"].to_pylist() == [[None, 0.25, 0.125], [1.0], [0.5, 0.75]]
    for name in table.column_names[2:]:
        assert table[name].null_count == 3, name


def test_what_else_is_stored_is_found_by_row() -> None:
    instead = pa.table(
        {
            "row_id": [10, 30],
            "label_1": pa.array([2, 1], pa.int64()),
            "share_1": pa.array([0.5, 0.25], pa.float32()),
            "label_2": pa.array([None, 0], pa.int64()),
            "share_2": pa.array([None, 0.125], pa.float32()),
        }
    )
    nearest = pa.table({"row_id": [20], "nearest_kept": [30], "similarity": pa.array([0.5], pa.float32())})
    suspects = pa.table({"row_id": [30, 99], "suggested_label": [1, 2], "suggested_probability": [0.75, 0.5]})
    table = row_facts(ROWS, SCORES, instead=instead, nearest=nearest, suspects=suspects)
    assert table["predicted_instead"].to_pylist() == [[1, 0], [2], None]
    assert table["predicted_instead_share"].to_pylist() == [[0.25, 0.125], [0.5], None]
    assert table["nearest_kept"].to_pylist() == [None, None, 30]
    assert table["nearest_similarity"].to_pylist() == [None, None, 0.5]
    assert table["suggested_label"].to_pylist() == [1, None, None]
    assert table["suggested_probability"].to_pylist() == [0.75, None, None]


def test_without_stored_scores_or_rows_there_is_nothing() -> None:
    assert row_facts(ROWS, [])["predictability_by_iteration"].null_count == 3
    assert row_facts(ROWS.slice(0, 0), SCORES).num_rows == 0
