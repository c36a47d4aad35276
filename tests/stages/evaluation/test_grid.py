"""The grid in part, its keys, the filter at earlier sizes as train sets, and splits that evaluators stop by."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import InvalidInputError, SpecError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.grid import GridCell, input_fingerprint, is_wanted
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage
from aflite_assets.stages.shared.published import read_control_sets
from aflite_assets.stages.shared.train_sets import TrainSet
from aflite_assets.stages.stage import CellFilter

pytestmark = pytest.mark.usefixtures("undrawn")


def _cells(store: ResultStore, spec: DatasetSpec) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = pq.read_table(
        store.current("evaluator_models", spec.name).file("cells.parquet")
    ).to_pylist()
    return cells


def _until(stage: str, spec: DatasetSpec, store: ResultStore) -> None:
    for name in list(STAGES)[: list(STAGES).index(stage)]:
        run_stage(name, spec, store=store)


def test_part_of_the_grid_is_trained_and_the_rest_later(circles_spec: DatasetSpec, store: ResultStore) -> None:
    _until("evaluator_models", circles_spec, store)
    chosen = CellFilter(evaluators=("linear",), train_sets=("full", "filtered"), seeds=(1,))
    first = run_stage("evaluator_models", circles_spec, store=store, cells=chosen)
    assert (first.result.summary["fitted"], first.result.summary["incomplete"]) == (2, True)
    status = {cell["name"]: cell["status"] for cell in _cells(store, circles_spec)}
    # Without randomness seed 0 is seed 1, so its cells are found although nobody asked for them.
    done = {"linear.full.0", "linear.full.1", "linear.filtered.given.0", "linear.filtered.given.1"}
    assert {name for name, one in status.items() if one == "done"} == done
    assert set(status.values()) == {"done", "not run"}
    for name in ("bias_evidence", "analysis"):
        run_stage(name, circles_spec, store=store)
    report = run_stage("benchmark_report", circles_spec, store=store)
    assert "not run" in report.result.file("report.html").read_text()

    second = run_stage("evaluator_models", circles_spec, store=store)
    assert second.result.summary["incomplete"] is False
    assert {cell["status"] for cell in _cells(store, circles_spec)} == {"done"}
    assert second.result.summary["fitted"] == len({part.key for part in second.result.parts.values()}) - 2
    assert run_stage("evaluator_models", circles_spec, store=store, cells=chosen).cached


def test_unknown_names_are_refused(circles_spec: DatasetSpec, store: ResultStore) -> None:
    _until("evaluator_models", circles_spec, store)
    with pytest.raises(
        InvalidInputError,
        match=r"`cells.evaluators` names \['svm'\], which the grid does not contain; choose from "
        r"\['linear', 'rbf_svm'\]",
    ):
        run_stage("evaluator_models", circles_spec, store=store, cells=CellFilter(evaluators=("svm",)))
    with pytest.raises(InvalidInputError, match=r"names \[7\], which the grid does not contain; choose from \[0, 1\]"):
        run_stage("evaluator_models", circles_spec, store=store, cells=CellFilter(seeds=(7,)))


def test_a_filter_by_representation_keeps_full() -> None:
    rows = np.arange(2)
    cells = [
        GridCell("linear", TrainSet(name, one, rows), 0)
        for name, one in (("full", None), ("filtered", "a"), ("filtered", "b"))
    ]
    assert [is_wanted(cell, CellFilter(representations=("a",))) for cell in cells] == [True, True, False]


def test_earlier_sizes_and_their_random_controls_are_trained_on(
    circles_content: dict[str, Any], store: ResultStore
) -> None:
    spec = parse_spec({**circles_content, "train_sets": {"mild": 197, "tiny": 3, "whole": 400}})
    results = run_pipeline(spec, store=store)
    earlier = results["control_sets"].result.summary["given"]["earlier_sets"]
    assert {name: one["rows"]["train"] for name, one in earlier.items() if "rows" in one} == {"mild": 197, "whole": 400}
    assert 0 < earlier["mild"]["rows"]["test"] < earlier["whole"]["rows"]["test"]
    assert earlier["mild"]["cutoff"] >= spec.filter.threshold
    cells = {cell["name"]: cell for cell in _cells(store, spec)}
    assert cells["linear.filtered_mild.given.0"]["train_rows"] == 197
    assert cells["linear.random_mild.given.1"]["train_rows"] == 197
    report = json.loads(results["benchmark_report"].result.file("report.json").read_text())
    rows = report["tables"]["accuracies"]
    assert {row["train_set"] for row in rows} >= {"filtered_mild", "random_mild"}
    assert "never had 3 left" in earlier["tiny"]["reason"]
    assert not any("tiny" in name for name in cells)
    assert any("filtered_tiny (given)" in note and "never had 3 left" in note for note in report["notes"])
    began = "the 400 train rows with which the filter began"
    said = f"filtered_whole (given) is equal to {began}, so it has no comparison set."
    assert said in report["notes"]
    assert "linear.filtered_whole.given.0" in cells
    assert not {row["train_set"] for row in rows} & {"filtered_whole", "random_whole"}


def test_a_name_that_controls_have_is_refused(circles_content: dict[str, Any]) -> None:
    with pytest.raises(
        SpecError, match="`train_sets` contains 'matched', but `random_matched` is the name of a control"
    ):
        parse_spec({**circles_content, "train_sets": {"matched": 10}})


def _examples(**columns: Any) -> Examples:
    plain = {"row_id": np.arange(3), "source_id": ["a", "b", "c"], "split": ["test"] * 3, "label": np.array([0, 1, 0])}
    return Examples(pa.table({**plain, "text": ["x", "y", "z"], **columns}), ("no", "yes"))


def test_the_fingerprint_sees_what_models_and_scores_see() -> None:
    same = input_fingerprint({"test": _examples()})
    assert input_fingerprint({"test": _examples(**{"attribute.category.kind": ["p", "q", "r"]})}) == same
    for changed in (
        {"other": _examples()},
        {"test": _examples(text=["x", "y", "w"])},
        {"test": _examples(label=np.array([0, 1, 1]))},
        {"test": _examples(), "more": _examples()},
    ):
        assert input_fingerprint(changed) != same


def test_another_category_column_trains_nothing(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore, tmp_path: Any
) -> None:
    rng = np.random.default_rng(1)
    pq.write_table(
        pa.table(
            {
                "features": rng.normal(size=(20, 3)).tolist(),
                "label": np.arange(20) % 2,
                "one": ["p", "q"] * 10,
                "two": ["r"] * 5 + ["s"] * 15,
            }
        ),
        tmp_path / "far.parquet",
    )
    far = {
        "source": {"format": "parquet", "splits": {"test": str(tmp_path / "far.parquet")}},
        "columns": {"features": "features"},
        "labels": {"0": 0, "1": 1},
    }
    content = feature_files()
    first = run_pipeline(parse_spec({**content, "challenge_sets": {"far": {**far, "category": "one"}}}), store=store)
    second = run_pipeline(
        parse_spec({**content, "challenge_sets": {"far": {**far, "category": ["one", "two"]}}}), store=store
    )
    assert first["challenge_sets"].result.key != second["challenge_sets"].result.key
    assert second["evaluator_models"].result.summary["fitted"] == 0


NET = {
    "kind": "small_transformer",
    "vocabulary": 200,
    "width": 16,
    "layers": 1,
    "heads": 2,
    "max_length": 16,
    "epochs": 2,
}


def test_a_split_to_stop_by_is_in_no_table(store: ResultStore, tmp_path: Any) -> None:
    words = np.array(["good", "bad"])
    rng = np.random.default_rng(0)
    for split, rows in (("train", 80), ("dev", 20), ("test", 20)):
        labels = rng.integers(0, 2, rows)
        texts = [f"{words[label]} {number % 7}" for number, label in enumerate(labels)]
        pq.write_table(pa.table({"text": texts, "label": labels}), tmp_path / f"{split}.parquet")
    spec = parse_spec(
        {
            "name": "texts",
            "source": {
                "format": "parquet",
                "splits": {one: str(tmp_path / f"{one}.parquet") for one in ("train", "dev", "test")},
            },
            "columns": {"text": "text"},
            "warmup": {"size": 20},
            "representations": {"net": NET},
            "filter": {"target_size": 30, "train_size": 10, "slice_size": 10, "n_partitions": 8},
            "evaluators": {"net": {**NET, "early_stopping": {"split": "dev"}}, "linear": {"kind": "linear"}},
            "seeds": [0],
        }
    )
    results = run_pipeline(spec, store=store)
    grid = results["evaluator_models"].result
    assert grid.summary["failed"] == 0
    for name in ("net.full.0", "linear.full.0"):
        predictions = pq.read_table(grid.part(name).file("predictions.parquet"))
        assert set(predictions["test_set"].to_pylist()) == {"test"}
    assert grid.part("net.full.0").summary["held_back_rows"] == 20
    report = json.loads(results["benchmark_report"].result.file("report.json").read_text())
    assert [one["name"] for one in report["dataset"]["test_sets"]] == ["test"]


def test_stopping_by_train_rows_of_a_split_is_refused(circles_content: dict[str, Any]) -> None:
    for split, message in (("train", "which is not a split to validate on"), ("dev", r"name one of \['test'\]")):
        evaluators = {"net": {**NET, "early_stopping": {"split": split}}}
        with pytest.raises(SpecError, match=message):
            parse_spec({**circles_content, "evaluators": evaluators})
    encoder = {"net": {**NET, "early_stopping": {"split": "test"}}}
    with pytest.raises(
        SpecError,
        match="but an encoder may see warm-up rows only; remove `split`, so that a share of the warm-up rows "
        "is used instead",
    ):
        parse_spec({**circles_content, "representations": encoder})


def test_models_are_trained_with_weights_where_the_spec_asks(
    circles_content: dict[str, Any], store: ResultStore
) -> None:
    before = run_pipeline(parse_spec(circles_content), store=store)
    spec = parse_spec({**circles_content, "train_weighted": True})
    results = run_pipeline(spec, store=store)
    (weighted,) = [one for one in read_control_sets(results["control_sets"].result) if one.name == "weighted"]
    folder = results["published_dataset"].result.path
    tagged = pq.read_table(folder / "data/full_tagged/train.parquet").to_pydict()
    assert weighted.row_ids.tolist() == tagged["source_row"]
    assert weighted.weights is not None
    assert weighted.weights.tolist() == tagged["weight"]
    assert len(set(tagged["weight"])) > 2

    cells = {cell["name"]: cell for cell in _cells(store, spec)}
    assert cells["rbf_svm.weighted.given.1"]["status"] == "done"
    assert cells["linear.weighted.given.0"]["train_rows"] == 400
    old, new = before["evaluator_models"].result.parts, results["evaluator_models"].result.parts
    assert {name: part.key for name, part in new.items() if "weighted" not in name} == {
        name: part.key for name, part in old.items()
    }
    raw = load_examples(results["raw_dataset"].result.path)
    train = raw.select(weighted.row_ids)
    direct = LogisticRegression(max_iter=5000).fit(train.features, train.labels, sample_weight=weighted.weights)
    said = pq.read_table(new["linear.weighted.given.0"].file("predictions.parquet")).to_pydict()
    assert said["predicted"] == direct.predict(raw.in_split("test").features).tolist()
    report = json.loads(results["benchmark_report"].result.file("report.json").read_text())
    assert "weighted" in json.dumps(report)
    assert "multiplied by its weight" in results["benchmark_report"].result.file("report.html").read_text()


def test_a_filter_that_removed_nothing_leaves_full_and_weighted(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore
) -> None:
    content = feature_files(train_labels=np.random.default_rng(3).integers(0, 2, 120))
    content["filter"] |= {"threshold": 1.0, "n_partitions": 64}
    spec = parse_spec({**content, "train_weighted": True})
    _until("evaluator_models", spec, store)
    run_stage("evaluator_models", spec, store=store)
    filtered = store.current("filtered_sets", spec.name).summary["given"]
    assert filtered["kept"]["train"] == filtered["rows"]["train"]
    cells = _cells(store, spec)
    assert {cell["train_set"] for cell in cells} == {"full", "weighted"}
    assert {cell["status"] for cell in cells} == {"done"}
