"""A tiny dataset that trains no network."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def feature_content(tmp_path: Path) -> dict[str, Any]:
    """Two overlapping classes, 120 train and 40 test rows, as the plain values of a spec."""
    rng = np.random.default_rng(0)
    splits = {}
    for split, rows in (("train", 120), ("test", 40)):
        labels = np.arange(rows) % 2
        np.save(tmp_path / f"{split}_x.npy", rng.normal(size=(rows, 3)).astype(np.float32) + labels[:, None])
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
