"""`aflite fix --by weights`: every row stays as it was, and the new column makes the cue tell nothing."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from aflite_assets.specs.registry import load_spec
from aflite_assets.specs.sources import TableSource
from benchmarks.detection_kinds import draw_texts

Run = Callable[..., tuple[int, str, str]]


def _reviews(path: Path, count: int = 900, *, names: bool = True) -> Path:
    """Reviews of which six in ten of class yes end in an ellipsis, and one in twenty of class no."""
    rng = np.random.default_rng(0)
    of_yes = rng.random(count) < 0.5
    marked = rng.random(count) < np.where(of_yes, 0.6, 0.05)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if names:
            writer.writerow(("review", "label"))
        for text, yes, carries in zip(draw_texts(rng, count), of_yes, marked, strict=True):
            writer.writerow((text.rstrip(".!?") + "\u2026" if carries else text, "yes" if yes else "no"))
    return path


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _yes_by_carriers(rows: list[dict[str, str]]) -> tuple[float, float]:
    """The weighted share of yes among rows with the ellipsis, and among the others."""
    marked = np.array(["\u2026" in row["review"] for row in rows])
    of_yes = np.array([row["label"] == "yes" for row in rows], dtype=float)
    weights = np.array([float(row["cue_weight"]) for row in rows])
    with_it, without = (np.average(of_yes[own], weights=weights[own]) for own in (marked, ~marked))
    return float(with_it), float(without)


def test_weights_of_a_bare_file_balance_the_cue_and_change_nothing_else(run: Run, tmp_path: Path) -> None:
    path = _reviews(tmp_path / "reviews.csv")
    code, out, err = run("fix", path, "--cue", 1, "--by", "weights", "--to", tmp_path / "new")
    assert (code, err.startswith("Taking cue 1: ")) == (0, True)
    assert out.startswith("Cue 1 is gone: \u201cellipsis sign (\u2026) (review)\u201d for class \u201cyes\u201d")
    assert "and does not with the weights." in out
    assert "needs --skip cue_weight." in out
    before, after = _read(path), _read(tmp_path / "new" / "reviews.csv")
    assert [{key: row[key] for key in ("review", "label")} for row in after] == before
    share = np.mean([row["label"] == "yes" for row in before])
    assert _yes_by_carriers(after) == pytest.approx((share, share), abs=1e-5)
    spec = load_spec(tmp_path / "new" / "reviews_fixed.yaml")
    assert (spec.columns.text, spec.columns.attributes) == ("review", ())
    code, out, _ = run("scan", tmp_path / "new" / "reviews.csv", "--skip", "cue_weight", "--json")
    assert (code, json.loads(out)["cues"][0]["name"]) == (1, "ellipsis sign (\u2026) (review)")


def _dataset(folder: Path, **settings: Any) -> Path:
    rows = _reviews(folder / "all.csv", 1_500, names=False).read_text(encoding="utf-8").splitlines(keepends=True)
    for name, part in (("train", rows[:600]), ("more", rows[600:1_100]), ("test", rows[1_100:])):
        (folder / f"{name}.csv").write_text("".join(part), encoding="utf-8")
    source = {"format": "csv", "header": False, "names": ["review", "label"]}
    spec = {
        "source": {**source, "splits": {"train": ["train.csv", "more.csv"], "test": "test.csv"}},
        "columns": {"text": "review"},
        "representations": {"net": {"kind": "small_transformer"}},
        "evaluators": {"linear": {"kind": "linear"}},
        **settings,
    }
    path = folder / "reviews.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def test_every_split_of_a_dataset_has_weights_of_its_own_rows(run: Run, tmp_path: Path) -> None:
    path = _dataset(tmp_path)
    code, out, err = run("fix", path, "--cue", 1, "--by", "weights", "--to", tmp_path / "new", "--json")
    assert (code, err.startswith("Taking cue 1: ")) == (0, True)
    told = json.loads(out)
    assert (told["mended"], told["is_weighted"], told["rows"]) == (True, True, {"before": 1_100, "after": 1_100})
    assert told["cues"][0]["after"] is None
    spec = load_spec(tmp_path / "new" / "reviews_fixed.yaml")
    assert isinstance(spec.source, TableSource)
    assert spec.source.names == ("review", "label", "cue_weight")
    assert spec.source.splits == {split: str(tmp_path / "new" / f"{split}.csv") for split in ("train", "test")}
    for split, count in (("train", 1_100), ("test", 400)):
        lines = (tmp_path / "new" / f"{split}.csv").read_text(encoding="utf-8").splitlines()
        rows = [dict(zip(("review", "label", "cue_weight"), row, strict=True)) for row in csv.reader(lines)]
        assert len(rows) == count
        share = np.mean([row["label"] == "yes" for row in rows])
        assert _yes_by_carriers(rows) == pytest.approx((share, share), abs=1e-5)
    assert run("check", "--no-timing", tmp_path / "new" / "reviews_fixed.yaml")[0] == 0


def test_rows_that_are_not_read_and_folders_without_columns_are_refused(run: Run, tmp_path: Path) -> None:
    path = _dataset(tmp_path / "data", limit={"train": 800})
    code, _, err = run("fix", path, "--cue", 1, "--by", "weights", "--to", tmp_path / "new")
    assert (code, "`limit` in 'reviews.yaml' leaves most rows unread" in err) == (2, True)
    assert not (tmp_path / "new").exists()
    for place in range(300):
        folder = tmp_path / "photos" / ("cat" if place % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (place % 200, 9, 9)).save(folder / f"{place}.{'png' if place % 2 else 'bmp'}")
    code, _, err = run("fix", tmp_path / "photos", "--cue", 1, "--by", "weights", "--to", tmp_path / "new")
    assert (code, "a folder of images without a metadata file has no column for weights" in err) == (
        2,
        True,
    )


def test_weights_of_feature_files_stand_beside_them(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 800)
    features = rng.normal(size=(800, 4)).astype(np.float32)
    features[:, 2] += labels
    np.save(tmp_path / "x.npy", features)
    np.save(tmp_path / "y.npy", labels)
    spec = {
        "source": {"format": "features", "splits": {"train": {"features": "x.npy", "labels": "y.npy"}}},
        "holdout": {"test": 0.2},
        "representations": {"given": {"kind": "identity"}},
        "evaluators": {"linear": {"kind": "linear"}},
    }
    path = tmp_path / "cells.yaml"
    path.write_text(yaml.safe_dump(spec))
    code, out, err = run("fix", path, "--cue", 1, "--by", "weights", "--to", tmp_path / "new")
    assert (code, err.startswith("Taking cue 1: ")) == (0, True), out
    weights = np.load(tmp_path / "new" / "train_cue_weight.npy")
    assert weights.shape == (800,)
    assert weights.mean() == pytest.approx(1, abs=1e-4)
    assert np.array_equal(np.load(tmp_path / "new" / "train_features.npy"), features)
