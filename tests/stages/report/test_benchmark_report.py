"""The report's files from a walk: category columns, tables as Parquet and Markdown, ranks in place of probabilities."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.analysis import TABLES
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.analysis.stage import ANALYSIS, benchmark_data
from aflite_assets.stages.pipeline import run_pipeline, run_stage
from aflite_assets.stages.shared.asked_sets import AskedSets
from aflite_assets.stages.shared.published import category_columns
from aflite_assets.stages.shared.report_inputs import filtered_set
from tests.page_details import details_of

CLASSES = tuple(f"c{number:02d}" for number in range(12))


def _table(rows: int, seed: int, classes: int = 12) -> pa.Table:
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    features = rng.normal(size=(rows, 12)) + 2.0 * np.eye(12)[labels]
    columns: dict[str, Any] = {f"x{place}": features[:, place] for place in range(12)}
    kinds = np.where(np.arange(rows) % 2 == 0, "even", "odd")
    rules = [("first", "", None)[row % 3] for row in range(rows)]
    return pa.table({**columns, "label": [CLASSES[label] for label in labels], "kind": kinds, "rule": pa.array(rules)})


def _content(folder: Path, **changes: Any) -> dict[str, Any]:
    """Twelve overlapping classes, a challenge set of all and one of eleven of them."""
    for name, rows, classes in (("train", 480, 12), ("test", 120, 12), ("all", 96, 12), ("some", 88, 11)):
        pq.write_table(_table(rows, len(name), classes), folder / f"{name}.parquet")

    def source(**splits: str) -> dict[str, Any]:
        return {"format": "parquet", "splits": {one: str(folder / f"{name}.parquet") for one, name in splits.items()}}

    columns = {"features": [f"x{place}" for place in range(12)]}
    return {
        "name": "twelve",
        "source": source(train="train", test="test"),
        "columns": columns,
        "labels": list(CLASSES),
        "representations": {"given": {"kind": "identity"}},
        "filter": {"target_size": 200, "train_size": 100, "slice_size": 60, "n_partitions": 8, "threshold": 0.5},
        "evaluators": {"linear": {"kind": "linear"}, "svm": {"kind": "rbf_svm"}},
        "seeds": [0],
        "challenge_sets": {
            "all": {"source": source(test="all"), "columns": columns, "category": ["kind", "rule"]},
            "some": {"source": source(test="some"), "columns": columns, "collapse": "probability"},
        },
        "report": {"published": "imagenet"},
        **changes,
    }


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    folder = tmp_path_factory.mktemp("twelve")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_HOME", str(folder / "home"))
        return run_pipeline(parse_spec(_content(folder)), store=ResultStore(folder / "results"))


@pytest.fixture(scope="module")
def said(walk: dict[str, StoredResult]) -> np.ndarray:
    """Stored probabilities of `all` by linear trained on full: rows x classes."""
    part = walk["evaluator_models"].result.part("linear.full.0")
    table = pq.read_table(part.file("predictions.parquet"), filters=[("test_set", "=", "all")])
    return np.array(table["probabilities"].to_pylist())


def _rows(walk: dict[str, StoredResult], name: str, **where: Any) -> list[dict[str, Any]]:
    table = pq.read_table(walk["analysis"].result.file(f"tables/{name}.parquet")).to_pylist()
    return [row for row in table if all(row[field] == value for field, value in where.items())]


def test_category_columns_keep_their_names(walk: dict[str, StoredResult]) -> None:
    examples = load_examples(walk["challenge_sets"].result.path / "all")
    found = category_columns(examples)
    assert list(found) == ["kind", "rule"]
    assert found["kind"][:3].tolist() == ["even", "odd", "even"]
    assert found["rule"][:4].tolist() == ["first", None, None, "first"]
    assert category_columns(load_examples(walk["challenge_sets"].result.path / "some")) == {}


def test_parts_of_every_column_are_reported(walk: dict[str, StoredResult], said: np.ndarray) -> None:
    right = said.argmax(axis=1) == np.arange(96) % 12
    where = {"evaluator": "linear", "train_set": "full", "test_set": "all", "label": None, "top": 1}
    parts = {(row["column"], row["category"]): row["accuracy"] for row in _rows(walk, "accuracies", **where)}
    assert parts == {
        (None, None): right.mean(),
        ("kind", "even"): right[::2].mean(),
        ("kind", "odd"): right[1::2].mean(),
        ("rule", None): right[::3].mean(),
        ("rule", "first"): right[::3].mean(),
    }


def test_top_5_is_of_the_stored_probabilities(walk: dict[str, StoredResult], said: np.ndarray) -> None:
    gold = np.arange(96) % 12
    top = np.argsort(-said, axis=1, kind="stable")[:, :5]
    (row,) = _rows(walk, "accuracies", evaluator="linear", train_set="full", test_set="all", top=5)
    assert row["accuracy"] == pytest.approx((top == gold[:, None]).any(axis=1).mean())
    (svm,) = _rows(walk, "accuracies", evaluator="svm", train_set="full", test_set="all", top=5)
    assert (svm["status"], svm["accuracy"]) == ("no probabilities", None)
    sets = {row["test_set"] for row in _rows(walk, "accuracies", top=5)}
    assert sets == {"test", "all", "some"}


def test_ranks_are_read_in_place_of_probabilities(walk: dict[str, StoredResult], said: np.ndarray) -> None:
    from aflite_assets.analysis.inputs.records import TestSet

    one = TestSet("all", True, np.arange(96), np.arange(96) % 12, CLASSES, {})
    cells = AskedSets((one,), (), 0, CLASSES).cells(walk["evaluator_models"].result)
    linear = next(cell for cell in cells if (cell.evaluator, cell.train_set) == ("linear", "full"))
    assert linear.predictions is not None
    assert linear.predictions.column_names == ["test_set", "row_id", "predicted", "gold_rank", "gold_margin"]
    ranks = linear.predictions.filter(pa.compute.equal(linear.predictions["test_set"], "all"))["gold_rank"].to_numpy()
    own = said[np.arange(96), np.arange(96) % 12]
    assert ranks.tolist() == (said > own[:, None]).sum(axis=1).tolist()
    assert linear.predictions.num_rows == 120 + 96 + 88
    plain = AskedSets((), (), 0, CLASSES).cells(walk["evaluator_models"].result)[0].predictions
    assert plain is not None
    assert plain.column_names == ["test_set", "row_id", "predicted"]


def test_every_table_is_a_file_and_markdown(walk: dict[str, StoredResult]) -> None:
    result = walk["benchmark_report"].result
    assert {path.name for path in (walk["analysis"].result.path / "tables").iterdir()} == {
        f"{table.name}.parquet" for table, _ in TABLES
    }
    markdown = json.loads(result.file("tables.json").read_text())
    assert set(markdown) == {
        "falls_given", "accuracy_given", "challenge_sets_given", "zero_shot_given", "paired_given", "in_distribution",
        "top_5", "by_class_given", "published", "challenge_falls",
    }  # fmt: skip
    report = json.loads(result.file("report.json").read_text())
    assert report["families"]["representations.given"] == report["families"]["evaluators.linear"] == "linear"
    assert any("of the same kind" in line and "linear (as representation given)" in line for line in report["summary"])
    assert report["tables"]["accuracies"][0]["test_set"] == "test"
    assert result.summary["verdicts"] == [f"given: {report['verdict']['sentence']}"]
    assert result.summary["verdict"] == report["verdict"]["code"]
    assert result.summary["first_screen"].startswith("**Cannot tell:** ")
    assert result.summary["verdicts"][0].startswith("given: Cannot tell: the rows are predictable")
    assert {row["test_set"] for row in report["tables"]["accuracies"] if row["top"] == 5} == {"test", "all", "some"}
    assert sum(row["rows"] for row in _rows(walk, "predictability_by_iteration", iteration=0)) == 480
    assert set(json.loads(result.file("figures.json").read_text())) == {
        path.stem for path in (result.path / "figures").iterdir()
    }
    page = result.file("report.html").read_text()
    linked = set(re.findall(r'<a href="((?:tables|evidence|figures)/[^"]+)"', page))
    assert {"tables/accuracies.parquet", "evidence/00.parquet", "figures/filtering_curves.png"} <= linked
    assert [name for name in linked if not (result.path / name).is_file()] == []
    titles = [one["title"] for one in details_of(page)]
    assert any(one.startswith("ICML 2020, Table 6") for one in titles)
    assert "any rule" in page


def test_a_split_that_evaluators_stop_by_is_not_reported(walk: dict[str, StoredResult], tmp_path: Path) -> None:
    from aflite_assets.stages.shared.asked_sets import test_sets

    raw, spec = load_examples(walk["raw_dataset"].result.path), parse_spec(_content(tmp_path))
    arguments = (raw, walk["challenge_sets"].result, (), spec.challenge_sets)
    assert [one.name for one in test_sets(*arguments, frozenset(), {}, [])] == ["test", "all", "some"]
    assert [one.name for one in test_sets(*arguments, {"test"}, {}, [])] == ["all", "some"]


def test_test_rows_that_filtering_left_alone_are_not_called_filtered(
    walk: dict[str, StoredResult], tmp_path: Path
) -> None:
    from aflite_assets.stages.shared.asked_sets import test_sets

    raw, spec = load_examples(walk["raw_dataset"].result.path), parse_spec(_content(tmp_path))
    scored = filtered_set("given", walk["filtered_sets"].result.part("given"))
    alone = replace(scored, representation="other", settings={**scored.settings, "evaluation_rows": {"test": "kept"}})
    sets = test_sets(raw, walk["challenge_sets"].result, (scored, alone), spec.challenge_sets, frozenset(), {}, [])
    assert scored.settings["evaluation_rows"] == {"test": "pooled"}
    assert {one.name: list(one.kept) for one in sets} == {"test": ["given"], "all": [], "some": []}


def test_groups_of_rows_and_the_pool_reach_the_report(tmp_path: Path, store: ResultStore) -> None:
    from aflite_assets.stages.shared.asked_sets import test_sets

    content = _content(tmp_path)
    for name in ("train", "test", "all"):
        table = pq.read_table(tmp_path / f"{name}.parquet")
        pairs = pa.array([f"{name}{row // 2}" for row in range(table.num_rows)])
        pq.write_table(table.append_column("pair", pairs), tmp_path / f"{name}.parquet")
    content["columns"] = content["columns"] | {"group": "pair"}
    content["challenge_sets"]["all"]["columns"] = content["columns"]
    spec = parse_spec(content)
    for stage in ("raw_dataset", "challenge_sets", "warmup_split", "warmup_models", "embeddings", "filtered_sets"):
        run_stage(stage, spec, store=store)
    raw, challenges, filtered = (
        store.current(name, "twelve") for name in ("raw_dataset", "challenge_sets", "filtered_sets")
    )
    pooled = filtered_set("given", filtered.part("given"))
    scored = replace(pooled, settings={**pooled.settings, "evaluation_rows": {"test": "scored"}})
    for one, expected in ((scored, False), (pooled, True)):
        sets = test_sets(load_examples(raw.path), challenges, (one,), spec.challenge_sets, frozenset(), {}, [])
        assert {found.name: found.pooled for found in sets} == {"test": expected, "all": False, "some": False}
        grouped = {found.name: found.groups for found in sets}
        assert grouped["some"] is None
        for name, rows in (("test", 120), ("all", 96)):
            groups = grouped[name]
            assert groups is not None
            assert (groups.dtype, len(groups), len(np.unique(groups))) == (np.int64, rows, rows // 2)
            assert (groups[::2] == groups[1::2]).all()


def test_the_settings_name_the_comparison_that_is_stated_first(walk: dict[str, StoredResult], tmp_path: Path) -> None:
    report = {"primary": {"evaluator": "svm", "test_set": "all"}, "smallest_effect": 2}
    spec = parse_spec(_content(tmp_path, report=report))
    inputs = ANALYSIS.inputs_of({name: obtained.result for name, obtained in walk.items()})
    data = benchmark_data(spec, inputs, "twelve")
    assert (data.primary, data.smallest_effect) == (("svm", "all"), 2.0)


def test_the_report_says_who_stopped_by_train_rows(walk: dict[str, StoredResult], tmp_path: Path) -> None:
    stopping = {"kind": "small_transformer", "early_stopping": {"share": 0.1}}
    spec = parse_spec(_content(tmp_path, evaluators={"linear": {"kind": "linear"}, "net": stopping}))
    inputs = ANALYSIS.inputs_of({name: obtained.result for name, obtained in walk.items()})
    data = benchmark_data(spec, inputs, "twelve")
    assert data.held_back == {"net": 0.1}
    assert data.architectures["evaluators.linear"] == data.architectures["representations.given"] == "linear"


def test_a_column_of_too_many_values_is_named(tmp_path: Path, store: ResultStore) -> None:
    content = _content(tmp_path)
    table = _table(300, 3).append_column("number", pa.array([str(row) for row in range(300)]))
    pq.write_table(table, tmp_path / "all.parquet")
    content["challenge_sets"]["all"]["category"] = ["kind", "number"]
    spec = parse_spec(content)
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(DataError, match="category column 'number' of challenge set 'all' has 300 different values"):
        run_stage("challenge_sets", spec, store=store)


def test_rows_and_checks_stand_beside_the_page(walk: dict[str, StoredResult]) -> None:
    result, filtered = walk["benchmark_report"].result, walk["filtered_sets"].result.part("given")
    rows = pq.read_table(walk["analysis"].result.file("rows.parquet"))
    outcome = pq.read_table(filtered.file("rows.parquet"))
    assert rows["row_id"].to_pylist() == outcome["row_id"].to_pylist()
    assert rows["kept"].to_pylist() == outcome["kept"].to_pylist()
    last = [scores[-1] for scores in rows["predictability_by_iteration"].to_pylist()]
    assert last == outcome["predictability"].to_pylist()
    passes = pq.read_table(filtered.file("iterations.parquet")).num_rows
    entered = [passes if gone is None else gone + 1 for gone in outcome["removed_in_iteration"].to_pylist()]
    assert [len(scores) for scores in rows["predictability_by_iteration"].to_pylist()] == entered
    page = result.file("report.html").read_text(encoding="utf-8")
    assert '<script type="application/json" id="rows-data">{"labels":' in page
    assert result.summary["checks"] == ["all checks passed (22; 8 skipped, as they do not apply)"]
