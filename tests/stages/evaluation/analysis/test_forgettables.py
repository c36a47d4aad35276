"""Accuracy by the threshold on one class's probability, from cells as they are published."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.results import PublishedResult
from aflite_assets.studies.forgettables.stages.analysis import THRESHOLDS, threshold_curves

LABELS = ("entailment", "neutral", "contradiction")
HANS = TestSet(
    "hans",
    True,
    np.arange(40) + 100,
    np.arange(40) % 2,
    ("entailment", "non-entailment"),
    {},
    class_map=np.array([0, 1, 1]),
)
PREDICTIONS = pa.table({"test_set": ["hans"], "row_id": [0], "predicted": [0]})


def trained(seed: int, train_set: str = "full", evaluator: str = "net") -> Cell:
    return Cell(evaluator, train_set, None, seed, 10, "done", None, PREDICTIONS)


def published(folder: Path, probabilities: dict[str, np.ndarray | None]) -> PublishedResult:
    """Cells by name whose predictions of `HANS` are stored in the opposite order, without probabilities for None."""
    for name, each in probabilities.items():
        rows = HANS.row_ids[::-1]
        stored = None if each is None else each[::-1].tolist()
        table = {
            "test_set": ["hans"] * len(rows),
            "row_id": rows,
            "probabilities": pa.array(stored or [None] * len(rows), pa.list_(pa.float32())),
        }
        (folder / name).mkdir()
        pq.write_table(pa.table(table), folder / name / "predictions.parquet")
    return cast(PublishedResult, SimpleNamespace(part=lambda name: SimpleNamespace(file=(folder / name).joinpath)))


def drawn(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet([1, 1, 1], 40).astype(np.float32)


def test_a_curve_is_the_mean_accuracy_over_seeds_at_each_threshold(tmp_path: Path) -> None:
    by_seed = {0: drawn(0), 1: drawn(1)}
    models = published(tmp_path, {f"net.full.{seed}": each for seed, each in by_seed.items()})
    cells = [trained(0), trained(1), trained(2, "forgettable_bow"), Cell("net", "full", None, 3, 10, "not run")]
    curve = list(threshold_curves(models, cells, [HANS], LABELS))
    assert [one.threshold for one in curve] == pytest.approx(THRESHOLDS.tolist())
    assert {(one.evaluator, one.test_set, one.class_name, one.seeds) for one in curve} == {
        ("net", "hans", "entailment", 2)
    }
    for one in curve:
        right = [np.mean((each[:, 0] > one.threshold) == (HANS.labels == 0)) for each in by_seed.values()]
        assert one.accuracy == pytest.approx(np.mean(right))
    best = max(one.accuracy for one in curve)
    (chosen,) = [one for one in curve if one.chosen]
    assert chosen.accuracy == best
    nearest = min(abs(one.threshold - 0.5) for one in curve if one.accuracy == best)
    assert abs(chosen.threshold - 0.5) == pytest.approx(nearest)


@pytest.mark.parametrize(
    "change",
    [
        {"challenge": False},
        {"label_names": ("entailment", "neutral", "contradiction")},
        {"class_map": np.array([0, 0, 1]), "labels": np.ones(40, np.int64)},
        {"class_map": np.array([-1, -1, -1])},
    ],
    ids=["a split", "three classes", "the other class alone", "no class"],
)
def test_sets_of_two_classes_of_which_one_is_one_of_the_datasets(tmp_path: Path, change: dict[str, Any]) -> None:
    models = published(tmp_path, {"net.full.0": drawn(0)})
    curve = list(threshold_curves(models, [trained(0)], [TestSet(**(vars(HANS) | change))], LABELS))
    assert {one.class_name for one in curve} == ({"contradiction"} if "labels" in change else set())


def test_an_evaluator_without_probabilities_has_no_curve(tmp_path: Path) -> None:
    models = published(tmp_path, {"net.full.0": None, "svm.full.0": drawn(1)})
    cells = [trained(0), trained(0, evaluator="svm")]
    assert {one.evaluator for one in threshold_curves(models, cells, [HANS], LABELS)} == {"svm"}
