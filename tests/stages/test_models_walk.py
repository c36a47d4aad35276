"""The walk with trained encoders: texts with a tiny transformer, images with a tiny convolutional network."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Image, load_dataset

from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline
from aflite_assets.stages.shared.published import read_control_sets

pytestmark = pytest.mark.usefixtures("undrawn")

WORDS = ["the", "a", "dog", "cat", "runs", "sleeps", "park", "house", "red", "big"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random transformer of width 16 with a vocabulary of a few words."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder = tmp_path_factory.mktemp("checkpoint")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "not", "and"]))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertForSequenceClassification(
            BertConfig(
                vocab_size=17,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=32,
                max_position_embeddings=32,
            )
        )
    model.save_pretrained(folder)
    BertTokenizer(str(vocabulary)).save_pretrained(folder)
    return str(folder)


def _sentences(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 2
    return pa.table(
        {
            "premise": [" ".join(rng.choice(WORDS, 3)) for _ in range(rows)],
            "hypothesis": [" ".join([*rng.choice(WORDS, 2), "not" if label else "and"]) for label in labels],
            "label": labels,
            "kind": np.where(np.arange(rows) % 4 < 2, "first", "second"),
        }
    )


def _text_spec(checkpoint: str, folder: Path) -> DatasetSpec:
    """Sentence pairs in files, a tiny encoder, and a challenge set with names and categories of its own."""
    for split, rows in (("train", 160), ("test", 40), ("odd", 24)):
        pq.write_table(_sentences(rows, len(split)), folder / f"{split}.parquet")
    model: dict[str, Any] = {
        "kind": "huggingface_text",
        "checkpoint": checkpoint,
        "max_length": 16,
        "epochs": 2,
        "batch_size": 16,
        "learning_rate": 0.005,
    }
    columns = {"text": "premise", "text_pair": "hypothesis"}
    return parse_spec(
        {
            "name": "pairs",
            "source": {
                "format": "parquet",
                "splits": {"train": str(folder / "train.parquet"), "test": str(folder / "test.parquet")},
            },
            "columns": columns,
            "labels": ["yes", "no"],
            "limit": {"train": 120},
            "warmup": {"size": 40},
            "representations": {"tiny": model},
            "filter": {"target_size": 0.5, "train_size": 20, "slice_size": 0.2, "n_partitions": 8, "threshold": 0.5},
            "evaluators": {"linear": {"kind": "linear", "inputs": ["text_pair"]}, "tiny": model},
            "seeds": [0],
            "challenge_sets": {
                "odd": {
                    "source": {"format": "parquet", "splits": {"test": str(folder / "odd.parquet")}},
                    "columns": columns,
                    "labels": ["right", "wrong"],
                    "category": "kind",
                    "map": {"yes": "right", "no": "wrong"},
                }
            },
        }
    )


def test_text_walk(checkpoint: str, tmp_path: Path, store: ResultStore) -> None:
    results = run_pipeline(_text_spec(checkpoint, tmp_path), store=store)

    names = {control.name for control in read_control_sets(results["control_sets"].result)}
    assert {"random", "random_matched", "single_pass_model", "single_pass_linear"} <= names
    embedded = results["embeddings"].result.summary["tiny"]
    assert (embedded["rows"], embedded["width"]) == (80 + 40, 16)
    page = results["benchmark_report"].result.file("report.html").read_text()
    assert "Trial run: the spec limits the dataset to 120 of 160 train rows, 40 of 40 test rows." in page
    grid = results["evaluator_models"].result
    dynamics = pq.read_table(grid.part("tiny.full.0").file("dynamics.parquet"))
    assert dynamics.num_rows == 2 * 80
    predictions = pq.read_table(grid.part("linear.full.0").file("predictions.parquet")).to_pandas()
    assert predictions.groupby("test_set").size().to_dict() == {"odd": 24, "test": 40}
    odd = predictions[predictions.test_set == "odd"]
    assert (odd.predicted.to_numpy() == np.arange(24) % 2).all()

    folder = str(results["published_dataset"].result.path)
    cache = str(tmp_path / "cache")
    kept = results["filtered_sets"].result.summary["tiny"]["kept"]
    filtered = load_dataset(folder, "filtered", cache_dir=cache)
    assert {split: len(rows) for split, rows in filtered.items()} == kept
    assert filtered["train"].features["label"] == ClassLabel(names=["yes", "no"])
    random = load_dataset(folder, "random", cache_dir=cache)
    assert {split: len(rows) for split, rows in random.items()} == kept
    tagged = load_dataset(folder, "full_tagged", cache_dir=cache)["train"].to_pandas()
    assert tagged.status.value_counts().to_dict()["warm-up"] == 40
    assert tagged.weight.dropna().between(0.25, 4).all()
    assert len(tagged.weight.dropna()) == 80
    weights = results["published_dataset"].result.summary["weights"]["tiny"]
    assert 0.5 < weights["mean"] < 2
    assert tagged[tagged.status == "warm-up"].weight.isna().all()
    assert {"premise", "hypothesis"} < set(tagged.columns)
    assert (tagged.id == [f"train-{row}" for row in tagged.source_row]).all()
    assert tagged.source_row.is_unique
    assert tagged.source_row.max() > 120


def test_image_walk(tmp_path: Path, store: ResultStore) -> None:
    network = {"kind": "timm_image", "architecture": "test_resnet", "image_size": 16, "epochs": 1, "batch_size": 32}
    spec = parse_spec(
        {
            "name": "few_digits",
            "source": {"format": "digits"},
            "limit": {"train": 150, "test": 40},
            "warmup": {"size": 50},
            "representations": {"net": network},
            "filter": {"target_size": 50, "train_size": 40, "slice_size": 25, "n_partitions": 4, "threshold": 0.0},
            "evaluators": {"linear": {"kind": "linear"}, "net": network},
            "seeds": [0],
        }
    )
    results = run_pipeline(spec, store=store)
    assert results["evaluator_models"].result.summary["failed"] == 0
    assert results["filtered_sets"].result.summary["net"]["kept"]["train"] == 50
    filtered = load_dataset(
        str(results["published_dataset"].result.path), "filtered", split="train", cache_dir=str(tmp_path / "cache")
    )
    assert filtered.features["image"] == Image()
    assert filtered[0]["image"].size == (8, 8)
