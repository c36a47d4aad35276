"""Reviews of two classes in files, of which a share of one class has an ellipsis: an artefact that the scan finds."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ("plot", "music", "cast", "scene", "light", "voice", "story", "tone")


def write_reviews(path: Path, rows: int, *, seed: int, share: float) -> list[int]:
    """Write reviews of two classes; `share` of "good" have an ellipsis. Returns the rows that have one."""
    rng = np.random.default_rng(seed)
    carriers = []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "label"])
        for row in range(rows):
            label = ("bad", "good")[int(rng.integers(2))]
            has = label == "good" and rng.random() < share
            carriers += [row] * has
            words = " ".join(rng.choice(WORDS, 12).tolist())
            writer.writerow([f"{words} {row} {'…' if has else 'end'}.", label])
    return carriers


def planted_reviews(folder: Path, *, share: float, rows: int = 600, **changes: Any) -> dict[str, Any]:
    """A dataset of reviews in files of this folder; on its challenge set the ellipsis tells nothing."""
    write_reviews(folder / "train.csv", rows, seed=1, share=share)
    write_reviews(folder / "test.csv", 200, seed=3, share=share)
    write_reviews(folder / "clean.csv", 200, seed=2, share=0.0)
    columns = {"text": "review", "label": "label"}

    def source(**names: str) -> dict[str, Any]:
        return {"format": "csv", "splits": {split: str(folder / f"{name}.csv") for split, name in names.items()}}

    return {
        "name": "reviews",
        "source": source(train="train", test="test"),
        "columns": columns,
        "labels": ["bad", "good"],
        "representations": {"words": {"kind": "small_transformer", "epochs": 1}},
        "evaluators": {"linear": {"kind": "linear"}},
        "challenge_sets": {"clean": {"source": source(test="clean"), "columns": columns, "labels": ["bad", "good"]}},
        **changes,
    }
