"""Small datasets of each kind of input that walk the whole pipeline in seconds."""

import copy
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec

CIRCLES: dict[str, Any] = {
    "name": "small_circles",
    "title": "Small <circles>",
    "source": {
        "format": "circles",
        "splits": {"train": 400, "test": 200},
        "inner_radius": 1.0,
        "outer_radius": 3.0,
        "radius_deviation": 0.15,
        "biased_share": 0.75,
        "bias_width": 8,
        "bias_mean": 1.0,
        "bias_deviation": 0.1,
        "noise_deviation": 0.1,
        "flipped_share": 0.05,
    },
    "labels": ["inner", "outer"],
    "representations": {"given": {"kind": "identity"}},
    "filter": {"target_size": 0.2, "train_size": 0.1, "slice_size": 0.2, "n_partitions": 16},
    "evaluators": {"linear": {"kind": "linear"}, "rbf_svm": {"kind": "rbf_svm"}},
    "seeds": [0, 1],
    "report": {"scatter_features": [0, 1]},
}


@pytest.fixture
def store(home: Path) -> ResultStore:
    return ResultStore(home / "results")


@pytest.fixture
def circles_content() -> dict[str, Any]:
    """The spec as plain values, free to be changed."""
    return copy.deepcopy(CIRCLES)


@pytest.fixture
def circles_spec(circles_content: dict[str, Any]) -> DatasetSpec:
    return parse_spec(circles_content)


@pytest.fixture
def feature_files(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """A spec whose features are written to files: two overlapping classes, 120 train and 40 test rows."""

    def make(**changes: Any) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        splits = {}
        for split, rows in (("train", 120), ("test", 40)):
            labels = changes.get(f"{split}_labels", np.arange(rows) % 2)
            features = rng.normal(size=(rows, 3)).astype(np.float32) + np.arange(rows)[:, None] % 2
            if split == "train" and "nan_row" in changes:
                features[changes["nan_row"], 1] = np.nan
            np.save(tmp_path / f"{split}_x.npy", features)
            np.save(tmp_path / f"{split}_y.npy", labels)
            splits[split] = {"features": str(tmp_path / f"{split}_x.npy"), "labels": str(tmp_path / f"{split}_y.npy")}
        return {
            "name": "vectors",
            "source": {"format": "features", "splits": splits},
            "representations": {"given": {"kind": "identity"}},
            "filter": {"target_size": 60, "train_size": 20, "slice_size": 20, "n_partitions": 8},
            "evaluators": {"linear": {"kind": "linear"}},
            "seeds": [0],
        }

    return make


@pytest.fixture(scope="session")
def first_walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A dataset of features of which every stage was made: its spec as plain values, and the folder of its results."""
    folder = tmp_path_factory.mktemp("walk")
    splits: dict[str, dict[str, str]] = {}
    for split, rows in (("train", 120), ("test", 40)):
        labels = np.arange(rows) % 2
        arrays = {"features": np.random.default_rng(0).normal(size=(rows, 3)) + labels[:, None], "labels": labels}
        splits[split] = {}
        for kind, values in arrays.items():
            splits[split][kind] = str(folder / f"{split}_{kind}.npy")
            np.save(splits[split][kind], values)
    content = {
        "name": "vectors",
        "source": {"format": "features", "splits": splits},
        "representations": {"given": {"kind": "identity"}},
        "filter": {"target_size": 60, "train_size": 20, "slice_size": 20, "n_partitions": 8},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0],
    }
    from aflite_assets.stages.pipeline import run_pipeline

    run_pipeline(parse_spec(content), store=ResultStore(folder / "results"))
    return content, folder


@pytest.fixture
def made_vectors(first_walk: tuple[dict[str, Any], Path], store: ResultStore) -> Iterator[dict[str, Any]]:
    """That dataset with results in this test's store; its source files are put back afterwards."""
    content, folder = first_walk
    shutil.copytree(folder / "results", store.root)
    files = {path: path.read_bytes() for path in folder.glob("*.npy")}
    yield copy.deepcopy(content)
    for path, before in files.items():
        path.write_bytes(before)
