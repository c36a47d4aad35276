"""The small datasets that tests make results of: their specs as plain values, and what writes their files."""

import copy
from pathlib import Path
from typing import Any

import numpy as np

CIRCLES_SOURCE: dict[str, Any] = {
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
}
IDENTITY = {"given": {"kind": "identity"}}
LINEAR = {"linear": {"kind": "linear"}}
SMALL_TRANSFORMER: dict[str, Any] = {
    "kind": "small_transformer",
    "vocabulary": 100,
    "width": 8,
    "layers": 1,
    "heads": 1,
    "max_length": 16,
    "epochs": 4,
    "learning_rate": 0.02,
}
"""The smallest text model that learns the template pairs."""


def circles(name: str, **changes: Any) -> dict[str, Any]:
    """Planted circles of 400 train and 200 test rows, of which a linear evaluator is trained with one seed."""
    content = {
        "name": name,
        "title": f"{name.partition('_')[0].capitalize()} <circles>",
        "source": CIRCLES_SOURCE,
        "labels": ["inner", "outer"],
        "representations": IDENTITY,
        "filter": {"target_size": 0.2, "train_size": 0.1, "slice_size": 0.2, "n_partitions": 16},
        "evaluators": LINEAR,
        "seeds": [0],
        "report": {"scatter_features": [0, 1]},
    }
    return copy.deepcopy(content | changes)


def template_pairs(*, train: int, test: int, warmup: float | str, epochs: int = 4, **filtering: Any) -> dict[str, Any]:
    """Sentence pairs with a planted word, encoded by a small transformer that so many rows are spent on."""
    content = {
        "name": "templates",
        "source": {"format": "template_nli", "splits": {"train": train, "test": test}, "planted_share": 0.6, "seed": 0},
        "warmup": {"size": warmup},
        "representations": {"small": SMALL_TRANSFORMER | {"epochs": epochs}},
        "filter": {"n_partitions": 4, "stop_at_chance": False, **filtering},
        "evaluators": LINEAR,
        "seeds": [0],
    }
    return copy.deepcopy(content)


def feature_vectors(folder: Path, *, nan_row: int | None = None, **labels: Any) -> dict[str, Any]:
    """Three features of two overlapping classes in files of this folder, 120 train and 40 test rows.

    `train_labels` and `test_labels` replace the labels; `nan_row` is a train row with a feature that is no number.
    """
    splits: dict[str, dict[str, str]] = {}
    rng = np.random.default_rng(0)
    for split, rows in (("train", 120), ("test", 40)):
        classes = np.arange(rows) % 2
        features = rng.normal(size=(rows, 3)).astype(np.float32) + classes[:, None]
        if split == "train" and nan_row is not None:
            features[nan_row, 1] = np.nan
        arrays = {"features": features, "labels": labels.get(f"{split}_labels", classes)}
        splits[split] = {kind: str(folder / f"{split}_{kind}.npy") for kind in arrays}
        for kind, values in arrays.items():
            np.save(splits[split][kind], values)
    return {
        "name": "vectors",
        "source": {"format": "features", "splits": splits},
        **copy.deepcopy(VECTOR_SETTINGS),
    }


VECTOR_SETTINGS: dict[str, Any] = {
    "representations": IDENTITY,
    "filter": {"target_size": 60, "train_size": 20, "slice_size": 20, "n_partitions": 8},
    "evaluators": LINEAR,
    "seeds": [0],
}
"""What is done with three features of 120 train rows, wherever they come from."""
