"""What Dagster is told about the columns of published tables, and where each comes from."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.assets.display.columns import column_metadata, column_parents, column_types
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import examples_schema, load_examples, save_examples
from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline

pytestmark = pytest.mark.usefixtures("undrawn")

TABLES = [
    "raw_dataset", "challenge_sets", "warmup_split", "embeddings", "filtered_sets", "control_sets",
    "published_dataset", "evaluator_models",
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    """Every stage of sentence pairs with groups, and a challenge set with categories of its own."""
    folder = tmp_path_factory.mktemp("pairs")
    for name, rows in (("train", 240), ("test", 60), ("other", 30)):
        label = [row % 3 for row in range(rows)]
        columns: dict[str, Any] = {
            "premise": [f"premise {row // 3} of {name}" for row in range(rows)],
            "hypothesis": [f"word{row % 3} hypothesis {row}" for row in range(rows)],
            "label": label,
        }
        if name == "other":
            columns["kind"] = ["odd" if row % 2 else "even" for row in range(rows)]
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    challenge = {
        "source": {"format": "parquet", "splits": {"test": str(folder / "other.parquet")}},
        "columns": {"text": "premise", "text_pair": "hypothesis"},
        "labels": ["entailment", "neutral", "contradiction"],
        "category": "kind",
    }
    spec = parse_spec(
        {
            "name": "pairs",
            "source": {"format": "parquet", "splits": {n: str(folder / f"{n}.parquet") for n in ("train", "test")}},
            "columns": {"text": "premise", "text_pair": "hypothesis", "group": "premise"},
            "labels": ["entailment", "neutral", "contradiction"],
            "warmup": {"size": 60},
            "representations": {
                "small": {"kind": "small_transformer", "epochs": 1, "width": 8, "layers": 1, "heads": 1}
            },
            "filter": {"target_size": 60, "train_size": 60, "slice_size": 60, "n_partitions": 4},
            "evaluators": {"linear": {"kind": "linear"}},
            "seeds": [0],
            "challenge_sets": {"other": challenge},
        }
    )
    store = ResultStore(folder / "results")
    run_pipeline(spec, store=store)
    return store


def test_every_table_says_what_its_columns_are(store: ResultStore) -> None:
    for name in STAGES:
        result = store.current(name, "pairs")
        metadata = column_metadata(result, store)
        assert ("dagster/column_schema" in metadata) == (name in TABLES), name
        for column in metadata.get("dagster/column_schema", dg.TableSchema([])).columns:
            assert column.description, f"{name}.{column.name}"


def test_types_are_those_of_the_files(store: ResultStore) -> None:
    assert column_types(store.current("raw_dataset", "pairs")) == {
        "row_id": "int64", "source_id": "string", "split": "string", "label": "int64", "text": "string",
        "text_pair": "string", "group": "int64",
    }  # fmt: skip
    assert column_types(store.current("challenge_sets", "pairs"))["attribute.category.kind"] == "string"
    assert column_types(store.current("embeddings", "pairs")) == {
        "row_id": "int64", "split": "string", "label": "int64", "group": "int64",
        "warmup_label_probability": "float", "features": "float32[8]",
    }  # fmt: skip
    assert column_types(store.current("evaluator_models", "pairs"))["probabilities"] == "list<element: float>"
    assert column_types(store.current("bias_evidence", "pairs")) == {}


def test_parents_are_columns_that_an_input_of_the_asset_has(store: ResultStore) -> None:
    seen = set()
    for name, stage in STAGES.items():
        for column, parents in column_parents(store.current(name, "pairs"), store).items():
            assert parents, f"{name}.{column}"
            for asset, parent in parents:
                assert asset in stage.input_names, f"{name}.{column}"
                assert parent in column_types(store.current(asset, "pairs")), f"{name}.{column} <- {asset}.{parent}"
                seen.add((name, asset))
    assert ("evaluator_models", "challenge_sets") in seen
    assert ("control_sets", "filtered_sets") in seen


def test_a_label_can_be_followed_from_the_published_dataset_to_the_source(store: ResultStore) -> None:
    published = column_parents(store.current("published_dataset", "pairs"), store)
    assert published["label"] == (("raw_dataset", "label"),)
    assert published["predictability"] == (("filtered_sets", "predictability"),)
    assert published["weight"] == (("filtered_sets", "label_probability"), ("filtered_sets", "label"))
    filtered = column_parents(store.current("filtered_sets", "pairs"), store)
    assert filtered["label"] == (("embeddings", "label"),)
    assert filtered["kept"] == (("embeddings", "features"), ("embeddings", "label"), ("embeddings", "group"))
    embedded = column_parents(store.current("embeddings", "pairs"), store)
    assert embedded["features"] == (("raw_dataset", "text"), ("raw_dataset", "text_pair"))
    assert column_parents(store.current("raw_dataset", "pairs"), store) == {}


def test_lineage_is_in_dagsters_words(store: ResultStore) -> None:
    metadata = column_metadata(store.current("warmup_split", "pairs"), store)
    assert metadata["dagster/column_lineage"] == dg.TableColumnLineage(
        {"row_id": [dg.TableColumnDep("raw_dataset", "row_id")], "label": [dg.TableColumnDep("raw_dataset", "label")]}
    )
    described = {each.name: each.description for each in metadata["dagster/column_schema"].columns}
    assert described["row_id"] == "the row's position in the source, before any row is dropped; from raw_dataset.row_id"
    assert "dagster/column_lineage" not in column_metadata(store.current("raw_dataset", "pairs"), store)


def test_images_are_columns_though_they_lie_in_a_file_of_their_own(tmp_path: Path) -> None:
    image = pa.array([{"bytes": b"x", "path": None}], pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    table = pa.table({"row_id": [0], "image": image, "label": [0]})
    save_examples(Examples(table, ("one",)), tmp_path)
    assert examples_schema(tmp_path).names == load_examples(tmp_path).table.column_names == ["row_id", "image", "label"]
    types = column_types(PublishedResult("raw_dataset", "images", "key", tmp_path))
    assert types["image"] == "struct<bytes: binary, path: string>"


def test_a_folder_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"has no file rows-\*\.parquet; materialise again the asset that writes this file"
    ):
        examples_schema(tmp_path)
