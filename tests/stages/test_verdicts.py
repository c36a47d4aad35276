"""Whole runs of small made datasets whose verdict is known: noise, a hypothesis without signal, a planted word."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import run_pipeline

pytestmark = pytest.mark.usefixtures("undrawn")

Report = dict[str, Any]
ROWS = {"train": 2_400, "test": 400}


@pytest.fixture(scope="module")
def few_permutations() -> None:
    """All of them: verdicts are what is over chance."""


def report_of(folder: Path, tables: dict[str, pa.Table], **spec: Any) -> tuple[Report, dict[str, Any]]:
    """The report of a dataset of these splits, and what its stages said."""
    for split, table in tables.items():
        pq.write_table(table, folder / f"{split}.parquet")
    content = {
        "name": "made",
        "source": {"format": "parquet", "splits": {split: str(folder / f"{split}.parquet") for split in tables}},
        "representations": {"given": {"kind": "identity"}},
        "filter": {"target_size": 0.4, "train_size": 0.1, "slice_size": 0.1, "n_partitions": 16},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0, 1],
    }
    made = run_pipeline(DatasetSpec.model_validate(content | spec), store=ResultStore(folder / "results"))
    report = json.loads(made["benchmark_report"].result.file("report.json").read_text(encoding="utf-8"))
    return report, {name: stage.result.summary for name, stage in made.items()}


def noise(rows: int, seed: int, *, shares: tuple[float, float] = (0.5, 0.5)) -> pa.Table:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 6)).astype(np.float32)
    return pa.table({"features": features.tolist(), "label": rng.choice(2, rows, p=shares)})


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.425, 0.575)])
def test_random_labels_are_nothing_found_and_kept_whole(tmp_path: Path, shares: tuple[float, float]) -> None:
    tables = {split: noise(rows, seed, shares=shares) for seed, (split, rows) in enumerate(ROWS.items())}
    report, summaries = report_of(tmp_path, tables, columns={"features": "features"})
    assert report["verdict"]["code"] == "nothing_found"
    assert report["verdict"]["sentence"].startswith("Nothing found: linear classifiers predict ")
    assert report["verdict"]["details"][0].startswith(
        "Nothing was removed; filtered is the whole set of 2,400 train rows"
    )
    assert summaries["filtered_sets"]["given"]["stop_reason"] == "NOTHING_LEARNT"
    assert summaries["filtered_sets"]["given"]["kept"] == ROWS
    assert {cell["train_set"] for cell in report["cells"]} == {"full"}


def pairs(rows: int, seed: int) -> pa.Table:
    """Pairs of random words with labels of 57.5 and 42.5 % that go with none of them."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(list("abcdefghij"), 4)) for _ in range(2 * rows)]
    labels = rng.choice(2, rows, p=[0.575, 0.425])
    return pa.table({"premise": texts[:rows], "hypothesis": texts[rows:], "label": labels})


def test_a_hypothesis_without_signal_is_nothing_found_though_one_class_goes(tmp_path: Path) -> None:
    encoder = {"kind": "small_transformer", "vocabulary": 100, "width": 8, "layers": 1, "heads": 1, "max_length": 12,
               "epochs": 1, "learning_rate": 0.01, "inputs": ["text_pair"]}  # fmt: skip
    report, summaries = report_of(
        tmp_path,
        {"train": pairs(2_600, 0), "test": pairs(400, 1)},
        columns={"text": "premise", "text_pair": "hypothesis"},
        warmup={"size": 300},
        representations={"hypothesis": encoder},
        filter={"target_size": 0.4, "train_size": 0.1, "slice_size": 0.1, "n_partitions": 16, "preset": "paper"},
    )
    assert report["verdict"]["code"] == "nothing_found"
    assert sum(summaries["filtered_sets"]["hypothesis"]["kept"].values()) < 2_700


def test_a_rare_class_is_learnt_though_hardly_a_row_is_given_it(tmp_path: Path) -> None:
    """Of classes of 95 and 5 % classifiers predict the larger one nearly always, whatever they learnt."""
    tables = {}
    for seed, (split, rows) in enumerate(ROWS.items()):
        rng = np.random.default_rng(seed)
        labels = (rng.random(rows) < 0.05).astype(np.int64)
        features = rng.normal(size=(rows, 3)) + 1.2 * labels[:, None] * np.eye(3)[0]
        tables[split] = pa.table({"features": features.tolist(), "label": labels})
    report, summaries = report_of(tmp_path, tables, columns={"features": "features"})
    bias = report["verdict"]["evidence"]["bias"]
    assert bias["rows"]["high"] < 2
    assert bias["probabilities"]["low"] > 2
    assert bias["probabilities"]["shuffled_labels"] == pytest.approx(0.5, abs=0.01)
    assert report["verdict"]["code"] == "learnable_no_shortcut_shown"
    assert summaries["filtered_sets"]["given"]["stop_reason"] != "NOTHING_LEARNT"


def marked(rows: int, seed: int, *, share: float, right: float) -> pa.Table:
    """Two weak columns of the task and two of a mark that names the label, with the mark as an attribute."""
    rng = np.random.default_rng(seed)
    labels, present, rightly = rng.integers(0, 2, rows), rng.random(rows) < share, rng.random(rows) < right
    named = np.where(rightly, labels, 1 - labels)
    task = rng.normal(size=(rows, 2)) + 0.8 * np.eye(2)[labels]
    features = np.column_stack([task, 4 * (present & (named == 0)), 4 * (present & (named == 1))]).astype(np.float32)
    marks = np.where(present, np.where(rightly, "right", "wrong"), "none")
    says = np.where(present, np.where(named == 1, "one", "zero"), "none")
    return pa.table({"features": features.tolist(), "label": labels, "mark": marks, "says": says})


def test_a_planted_mark_is_a_shortcut(tmp_path: Path) -> None:
    tables = {"train": marked(2_400, 0, share=0.6, right=0.95), "test": marked(400, 1, share=0.6, right=0.95)}
    pq.write_table(marked(800, 2, share=1.0, right=0.0), tmp_path / "reversed.parquet")
    columns = {"features": "features", "attributes": ["mark", "says"]}
    report, _ = report_of(
        tmp_path,
        tables,
        columns=columns,
        planted={"mark": "right"},
        irrelevant=["says"],
        seeds=[0, 1, 2],
        challenge_sets={
            "reversed": {
                "source": {"format": "parquet", "splits": {"test": str(tmp_path / "reversed.parquet")}},
                "columns": {"features": "features", "attributes": ["says"]},
            }
        },
    )
    assert report["verdict"]["code"].startswith("shortcut_found")
    assert "models lean on the attribute says, declared irrelevant: “linear” follows" in report["verdict"]["sentence"]
    assert "Removed more often than random rows of their classes: mark = right (" in report["verdict"]["details"][2]


def test_an_easy_task_is_no_shortcut(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def easy(rows: int) -> pa.Table:
        labels = rng.integers(0, 2, rows)
        return pa.table({"features": (rng.normal(size=(rows, 4)) + 2 * labels[:, None]).tolist(), "label": labels})

    report, _ = report_of(
        tmp_path, {"train": easy(2_400), "test": easy(400)}, columns={"features": "features"}, holdout={"fresh": 0.2},
        filter={"target_size": 0.4, "train_size": 0.1, "slice_size": 0.1, "n_partitions": 16,
                "evaluation_rows": {"fresh": "kept"}},
    )  # fmt: skip
    assert report["verdict"]["code"] == "learnable_no_shortcut_shown"
