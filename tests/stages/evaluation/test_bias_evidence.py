"""The evidence of small walks: which tables there are, what they say of planted rows, and that all can be read back."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mlflow import MlflowClient

from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation import evidence_tables
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.shared.published import open_features, read_rows
from aflite_assets.stages.shared.report_inputs import (
    read_by_representation,
    read_evidence,
    read_planted,
    read_similarities,
)
from aflite_assets.stages.stage import Progress
from aflite_assets.tracking import MlflowTracker

BEFORE = (
    "raw_dataset", "challenge_sets", "cue_scan", "warmup_split", "warmup_models", "embeddings", "filtered_sets",
)  # fmt: skip


def evidence_of(
    spec: DatasetSpec,
    store: ResultStore,
    log: Callable[[str], None] = lambda line: None,
    tracker: MlflowTracker | None = None,
) -> Any:
    for name in STAGES:
        if name in BEFORE:
            run_stage(name, spec, store=store)
    return run_stage("bias_evidence", spec, store=store, tracker=tracker, progress=Progress(log))


def by_title(tables: tuple[EvidenceTable, ...]) -> Mapping[str, EvidenceTable]:
    return {each.title: each for each in tables}


def test_planted_circles(circles_spec: DatasetSpec, store: ResultStore) -> None:
    logged: list[str] = []
    result = evidence_of(circles_spec, store, logged.append).result
    tables = by_title(read_evidence(result))
    _are_the_tables_of_circles(result, list(tables))
    assert [line.rpartition(": ")[0] for line in logged] == [f"bias evidence: {title}" for title in tables]
    _lie_far_from_what_is_left(tables["Distance to the nearest train rows (given)"])
    _are_alike_where_removed(tables["Similarity of kept and removed rows (given)"], result)
    _fool_a_simple_model(tables["A simple model that the filter did not use"])
    assert tables["Possible label errors (given)"].table.num_rows == 20
    rows = pq.read_table(store.current("filtered_sets", "small_circles").part("given").file("rows.parquet"))
    _have_a_nearest_kept_row(rows.to_pylist(), result)
    _count_every_train_row(tables["Suspected label errors on either side (given)"])


def _are_the_tables_of_circles(result: PublishedResult, titles: list[str]) -> None:
    assert titles == [
        "Cues of the removed rows (given)",
        "Classes kept and removed (given)",
        "Train rows removed by iteration and class (given)",
        "Attributes kept and removed (given)",
        "Scores of kept and removed rows (given)",
        "Distance to the nearest train rows (given)",
        "Distance to the nearest train rows by class (given)",
        "Similarity of kept and removed rows (given)",
        "Possible label errors (given)",
        "Suspected label errors on either side (given)",
        "A simple model that the filter did not use",
    ]
    assert result.summary == {"given": {"tables": 10}}
    assert {path.name for path in result.path.glob("*.parquet")} == {
        *(f"given-{number:02d}.parquet" for number in range(10)),
        "given-cues.parquet",
        "given-nearest_kept.parquet",
        "given-similarities.parquet",
        "all-representations-00.parquet",
    }


def _lie_far_from_what_is_left(near: EvidenceTable) -> None:
    """Test rows with bias features have none of their kind left: far more than fewer rows explain."""
    at_ten = {row["when"]: row for row in near.table.to_pylist() if row["k"] == 10}
    assert at_ten["after"]["within_class"] > 2.5 * at_ten["random"]["within_class"]
    assert at_ten["after"]["queries"] == 200
    assert f"{at_ten['after']['within_class']:.4f} after it" in near.caption
    assert "Mean cosine distance from 200 rows of the other splits" in near.caption
    assert "random sample" not in near.caption


def _are_alike_where_removed(similarity: EvidenceTable, result: PublishedResult) -> None:
    """Removed rows share their bias features; the circles' own two are the same in all directions."""
    alike = similarity.table.to_pylist()
    assert [(row["label_name"], row["side"]) for row in alike[:3]] == [
        (alike[0]["label_name"], side) for side in ("kept", "removed", "random")
    ]
    for kept, removed, random in (alike[:3], alike[3:]):
        assert kept["mean_similarity"] + 0.2 < random["mean_similarity"] < removed["mean_similarity"]
    pairs = read_similarities(result)["given"]
    assert [one[0].label_name for one in pairs] == [alike[0]["label_name"], alike[3]["label_name"]]
    assert pairs[0][0].similarities.shape == (12, 12)


def _fool_a_simple_model(adversary: EvidenceTable) -> None:
    full, random, filtered = adversary.table.to_pylist()
    assert full["accuracy"] > 0.95
    assert random["accuracy"] > filtered["accuracy"] + 0.1
    assert f"features in five-fold cross-validation: {100 * full['accuracy']:.1f} %" in adversary.caption


def _have_a_nearest_kept_row(rows: list[dict[str, Any]], result: PublishedResult) -> None:
    """Every removed train row has one, of the other class."""
    train = {row["row_id"]: row for row in rows if row["split"] == "train"}
    nearest = read_by_representation(result, "nearest_kept")["given"].to_pylist()
    assert [row["row_id"] for row in nearest] == [row_id for row_id, row in train.items() if not row["kept"]]
    for row in nearest:
        assert train[row["nearest_kept"]]["kept"]
        assert train[row["nearest_kept"]]["label"] != train[row["row_id"]]["label"]
        assert -1 <= row["similarity"] <= 1


def _count_every_train_row(suspected: EvidenceTable) -> None:
    train_shares, _ = suspected.table.to_pylist()
    assert train_shares["kept_rows"] + train_shares["removed_rows"] == 400
    assert train_shares["quarantined"] == 0
    assert "Taken out" not in suspected.caption


def finite(column: pa.ChunkedArray) -> list[float]:
    return sorted(value for value in column.to_pylist() if value is not None and np.isfinite(value))


def test_two_representations_are_compared_and_every_number_is_in_mlflow(
    circles_content: dict[str, Any], store: ResultStore, tracking_home: Path, tmp_path: Path
) -> None:
    content = {**circles_content, "representations": {"given": {"kind": "identity"}, "again": {"kind": "identity"}}}
    tracker = MlflowTracker(None, tracking_home)
    result = evidence_of(parse_spec(content), store, tracker=tracker).result
    client = MlflowClient(tracking_uri=f"sqlite:///{tracking_home}/mlflow/mlflow.db")
    parent = client.get_run(result.manifest["provenance"]["tracking"]["run_id"])
    below = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
    children = client.search_runs([parent.info.experiment_id], below)
    assert {run.info.run_name for run in children} == {"given", "again"}
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    runs = {run.info.run_name: run for run in children} | {"bias_evidence": parent}
    tables = read_evidence(result)
    assert len(tables) == 2 * 10 + 2
    _are_compared(by_title(tables))
    logged = 0
    for each in tables:
        title, _, suffix = each.title.partition(" (")
        run = runs[suffix.removesuffix(")") or "bias_evidence"]
        name = title.lower().replace(" ", "_")
        copy = client.download_artifacts(run.info.run_id, f"tables/{name}.json", str(tmp_path))
        whole = json.loads(Path(copy).read_text())
        assert whole["columns"] == each.table.column_names
        assert len(whole["data"]) == each.table.num_rows
        metrics = {key: value for key, value in run.data.metrics.items() if key.startswith(f"{name}/")}
        for column in each.table.column_names:
            kind = each.table.schema.field(column).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                continue
            values = sorted(value for key, value in metrics.items() if key.endswith(f".{column}"))
            if values or not finite(each.table[column]):
                assert values == finite(each.table[column]), (each.title, column)
                logged += len(values)
            else:  # it names the rows
                assert column in ("k", "row_id", "iteration"), (each.title, column)
                assert all(
                    any(str(value) in key.partition("/")[2].split(".") for key in metrics)
                    for value in each.table[column].to_pylist()
                )
    assert logged == sum(len([key for key in run.data.metrics if "/" in key]) for run in runs.values()) > 400
    index = client.download_artifacts(parent.info.run_id, "evidence.json", str(tmp_path))
    assert [entry["caption"] for entry in json.loads(Path(index).read_text())["tables"]] == [
        each.caption for each in tables
    ]


def test_what_was_removed_is_held_against_what_was_planted(circles_content: dict[str, Any], store: ResultStore) -> None:
    plain = evidence_of(parse_spec(circles_content), store)
    found = evidence_of(parse_spec({**circles_content, "planted": {"biased": "yes"}}), store)
    assert plain.result.key != found.result.key
    assert read_planted(plain.result) == ()
    tables = by_title(read_evidence(found.result))
    assert list(tables)[1:3] == [
        "Planted rows among the removed (given)",
        "Planted rows removed in each iteration (given)",
    ]
    (removal,) = read_planted(found.result)
    shares = tables["Attributes kept and removed (given)"].table.to_pylist()
    (biased,) = [row for row in shares if (row["split"], row["attribute"], row["value"]) == ("train", "biased", "yes")]
    assert (removal.representation, removal.attribute, removal.values) == ("given", "biased", ("yes",))
    assert (removal.rows, removal.planted_rows) == (400, 300)
    assert removal.removed_planted_rows == biased["removed_rows"]
    assert removal.precision == biased["removed_share"]
    assert removal.recall == 1 - biased["share_kept"]
    first = tables["Planted rows among the removed (given)"]
    assert first.table.to_pylist()[0]["precision"] == removal.precision
    assert removal.recall is not None
    assert f"{100 * removal.recall:.1f} % of all planted ones were among them" in first.caption
    by_iteration = tables["Planted rows removed in each iteration (given)"].table
    assert sum(by_iteration["removed_rows"].to_pylist()) == removal.removed_rows
    assert found.result.summary["given"]["planted"]["biased"] == {
        "precision": removal.precision,
        "precision_by_chance": 0.75,
        "recall": removal.recall,
        "recall_by_chance": removal.removed_rows / 400,
    }


def _are_compared(tables: Mapping[str, EvidenceTable]) -> None:
    overlap = tables["Overlap of the rows that representations removed"]
    (row,) = overlap.table.to_pylist()
    assert (row["first"], row["second"], row["jaccard"]) == ("given", "again", 1.0)
    assert row["kendall_tau"] == pytest.approx(1)
    assert 0.5 < row["expected_jaccard"] < 0.8
    assert f"is 1.00, against {row['expected_jaccard']:.2f}" in overlap.caption
    adversary = tables["A simple model that the filter did not use"].table.to_pylist()
    assert [(row["set"], row["representation"]) for row in adversary] == [
        ("full", None),
        *((name, representation) for representation in ("given", "again") for name in ("random", "filtered")),
    ]


def test_another_seed_gives_other_evidence_under_another_key(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore
) -> None:
    content = feature_files()
    first = evidence_of(parse_spec({**content, "seed": 0}), store)
    again = evidence_of(parse_spec({**content, "seed": 0}), store)
    other = evidence_of(parse_spec({**content, "seed": 1}), store)
    assert again.cached
    assert first.result.key != other.result.key
    assert first.result.data_version != other.result.data_version


def test_distances_in_features_of_a_model_that_saw_all_train_rows(store: ResultStore) -> None:
    network = {"kind": "timm_image", "architecture": "test_resnet", "image_size": 16, "epochs": 2, "batch_size": 32}
    content: dict[str, Any] = {
        "name": "few_digits",
        "source": {"format": "digits"},
        "limit": {"train": 150, "test": 40},
        "warmup": {"size": 50},
        "representations": {"net": network},
        "filter": {
            "target_size": 60,
            "train_size": 40,
            "slice_size": 20,
            "n_partitions": 4,
            "threshold": 0.0,
            "evaluation_rows": "kept",
        },
        "evaluators": {"linear": {"kind": "linear"}},
        "distance_encoder": network,
    }
    logged: list[str] = []
    result = evidence_of(parse_spec(content), store, logged.append).result
    assert "training distance_encoder on all 150 train rows" in logged
    part = result.part("distance_encoder")
    assert (part.summary["encoded_rows"], part.summary["steps"]) == (190, 10)
    features, rows = open_features(part), read_rows(part)
    assert features.shape == (190, part.summary["width"])
    assert rows["split"].to_pylist().count("train") == 150

    tables = by_title(read_evidence(result))
    own, paper = (
        {row["when"]: row for row in tables[f"Distance to the nearest train rows ({where})"].table.to_pylist()}
        for where in ("net", "net, in features of a model trained on all rows")
    )
    assert [own[when]["train_rows"] for when in ("before", "after")] == [100, 60]
    assert [paper[when]["train_rows"] for when in ("before", "after")] == [150, 60]
    sums = tables["Nearest train rows as sums of similarities (net)"]
    assert sums.table.column_names[-4:] == ["top1", "top5", "top10", "top50"]
    assert set(sums.table["side"].to_pylist()) == {"within", "vs others"}
    assert "40 rows of the other splits to all train rows" in sums.caption
    assert "sample" not in sums.caption

    logged.clear()
    changed = content | {"filter": {**content["filter"], "n_partitions": 5}}
    again = evidence_of(parse_spec(changed), store, logged.append).result
    assert again.key != result.key
    assert again.part("distance_encoder").key == part.key
    assert not any("distance_encoder" in line for line in logged)


def test_a_model_for_distances_that_does_not_fit_is_refused_before_anything_is_trained(
    circles_content: dict[str, Any], store: ResultStore
) -> None:
    spec = parse_spec({**circles_content, "distance_encoder": {"kind": "timm_image", "architecture": "test_resnet"}})
    with pytest.raises(
        ModelError, match="distance_encoder: a model of kind 'timm_image' needs rows of type image, but"
    ):
        evidence_of(spec, store)


def text_rows(annotators: list[list[int]]) -> Examples:
    table = {
        "row_id": pa.array(range(4), pa.int64()),
        "split": ["train"] * 4,
        "label": pa.array([0, 1, 0, 1], pa.int64()),
        "annotator_labels": pa.array(annotators, pa.list_(pa.int64())),
        "text": ["<i>a", "b", "c", "d"],
    }
    return Examples(pa.table(table), ("no", "yes"))


def filtered_rows(**columns: Any) -> pa.Table:
    table = {
        "row_id": pa.array(range(4), pa.int64()),
        "split": ["train"] * 4,
        "label": pa.array([0, 1, 0, 1], pa.int64()),
        "kept": [True, True, False, False],
        "predictability": pa.array([0.5, 0.25, 1.0, 1.0], pa.float32()),
        "label_probability": pa.array([0.25, 0.125, 0.75, 1.0], pa.float32()),
    }
    return pa.table(table | columns)


def test_annotators_are_compared_where_there_are_any() -> None:
    raw = text_rows([[0, 1], [1, 1], [0, 0], [1]])
    (found,) = evidence_tables.annotator_tables("net", filtered_rows(), raw)
    assert "Share of single annotators who gave the row's label: 75.0 % of kept and 100.0 % of removed train" in (
        found.caption
    )
    assert found.table["kept_unanimous"].to_pylist() == [0.5]
    assert list(evidence_tables.annotator_tables("net", filtered_rows(), text_rows([[], [], [], []]))) == []


def test_suspects_are_named_with_their_range() -> None:
    (found,) = evidence_tables.suspect_tables("net", filtered_rows(), text_rows([[0], [0], [0], [1]]))
    assert found.caption.startswith("The 4 rows whose own label had the lowest probability")
    assert "(0.12 to 1), 2 of them kept" in found.caption
    assert found.table["text"].to_pylist()[:2] == ["b", "<i>a"]
    none = filtered_rows(label_probability=pa.array([None] * 4, pa.float32()))
    assert list(evidence_tables.suspect_tables("net", none, text_rows([[], [], [], []]))) == []


def test_representations_that_removed_nothing_are_said_to() -> None:
    rows = filtered_rows(kept=[True] * 4)
    (found,) = evidence_tables.overlap_tables({"a": rows, "b": rows})
    assert "with another none was removed in any pair." in found.caption
    assert list(evidence_tables.overlap_tables({"a": rows})) == []


class Part:
    """What a published part of `embeddings` looks like to its readers."""

    def __init__(self, folder: Path, features: np.ndarray, rows: pa.Table) -> None:
        self._folder = folder
        np.save(folder / "features.npy", features)
        pq.write_table(rows, folder / "rows.parquet")

    def file(self, name: str) -> Path:
        return self._folder / name


@pytest.mark.parametrize(("classes", "by_class_rows"), [(2, 24), (6, 18), (30, None)])
def test_many_classes_are_shown_in_fewer_rows(tmp_path: Path, classes: int, by_class_rows: int | None) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(120) % classes
    rows = pa.table(
        {
            "row_id": pa.array(range(120), pa.int64()),
            "split": ["train"] * 120,
            "label": pa.array(labels, pa.int64()),
            "kept": (rng.random(120) < 0.5).tolist(),
        }
    )
    part: Any = Part(tmp_path, rng.normal(size=(120, 3)).astype(np.float32), rows)
    names = tuple(f"c{label}" for label in range(classes))
    first, *rest = evidence_tables.neighbour_tables("net", rows, part, names, seed=0)
    assert "from the train rows themselves to their k nearest" in first.caption
    assert [each.table.num_rows for each in rest] == ([] if by_class_rows is None else [by_class_rows])


def test_suspects_on_either_side_and_those_taken_out() -> None:
    columns = {"row_id": [1, 9], "split": ["train", "train"], "quarantined": [False, True]}
    suspects = pa.table(columns)
    (found,) = evidence_tables.label_noise_tables("net", filtered_rows(), suspects)
    (row,) = [row for row in found.table.to_pylist() if row["split"] == "train"]
    assert row["quarantined"] == 1
    assert found.caption.endswith("Taken out before the first iteration: 1 suspect.")
    assert "rarely are so many labels wrong" in found.caption  # one of four rows
    none = suspects.slice(0, 0)
    (few,) = evidence_tables.label_noise_tables("net", filtered_rows(), none)
    assert "rarely are so many labels wrong" not in few.caption
    assert list(evidence_tables.label_noise_tables("net", filtered_rows(), None)) == []


def test_filters_whose_pools_differ_are_compared_on_all_their_rows() -> None:
    """Each filter quarantines other suspected rows, which are then in no pool of its own."""
    rng = np.random.default_rng(3)
    labels = np.arange(200) % 2
    features = rng.normal(size=(200, 3)) + 4 * labels[:, None]
    table = pa.table(
        {
            "row_id": np.arange(200),
            "split": ["train"] * 200,
            "label": labels,
            "features": pa.FixedSizeListArray.from_arrays(pa.array(features.ravel(), pa.float32()), 3),
        }
    )
    raw = Examples(table, ("a", "b"))

    def filtered(row_ids: np.ndarray) -> pa.Table:
        kept = row_ids % 4 < 2
        return pa.table({"row_id": row_ids, "split": ["train"] * len(row_ids), "kept": kept})

    filters = {"first": filtered(np.arange(0, 180)), "second": filtered(np.arange(20, 200))}
    (found,) = evidence_tables.adversary_tables(filters, raw, seed=0)
    rows = {(row["set"], row["representation"]): row["rows"] for row in found.table.to_pylist()}
    assert rows["full", None] == 200
    assert rows["filtered", "first"] == rows["filtered", "second"] == 90
