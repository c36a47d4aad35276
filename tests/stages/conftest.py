"""Small datasets of each kind of input that walk the whole pipeline in seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.results import ResultStore
from aflite_assets.sources.registry import parse_spec
from aflite_assets.sources.specs import DatasetSpec

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
    import copy

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
