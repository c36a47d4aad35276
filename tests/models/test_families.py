"""Kinds of models that another package adds: a whole run with an encoder and an evaluator of its own, and refusals."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from aflite_assets.models.family_registry import kinds_for

ROOT = Path(__file__).parents[2]
MODULE = Path(__file__).parent / "tiny_package" / "tiny_models.py"
BOTH = {"network": "tiny_models:NETWORK", "bayes": "tiny_models:BAYES"}


def install(folder: Path, families: dict[str, str], *, version: str = "1.5") -> Path:
    """Install the package as an installer leaves it: a module, and metadata with its entry points."""
    metadata = folder / f"tiny_models-{version}.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(MODULE, folder)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tiny-models\nVersion: {version}\n")
    lines = [f"{name} = {value}" for name, value in families.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[aflite_assets.models]", *lines, ""]))
    return folder


def run_with(package: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    variables = {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{package}",
        "AFLITE_HOME": str(home / "home"),
        "AFLITE_DATASETS": str(home),
    }
    command = [sys.executable, "-m", "aflite_assets.command_line.main", *arguments]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a table of two classes whose first column tells them, and its file."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 360)
    columns = rng.normal(size=(360, 3)).round(3)
    columns[:, 0] += 2 * labels
    lines = [f"{a},{b},{c},{label}" for (a, b, c), label in zip(columns, labels, strict=True)]
    for split, rows in {"train": lines[:270], "test": lines[270:]}.items():
        (tmp_path / f"{split}.csv").write_text("\n".join(["a,b,c,label", *rows, ""]))
    network = {"kind": "tiny_network", "epochs": 4}
    content = {
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
        "columns": {"features": ["a", "b", "c"], "label": "label"},
        "warmup": {"size": 60},
        "representations": {"network": network},
        "filter": {"target_size": 0.6, "n_partitions": 8, "slice_size": 0.1},
        "evaluators": {"network": network, "bayes": {"kind": "naive_bayes"}},
        "seeds": [0],
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


def test_a_package_brings_an_encoder_and_an_evaluator(home: Path, tmp_path: Path) -> None:
    site = install(tmp_path / "site", BOTH)
    done = run_with(site, "refresh", "own", "--no-tracking", home=home)
    assert done.returncode == 0, done.stderr
    results = home / "home" / "results"
    encoders, grid = manifest_of(results, "warmup_models"), manifest_of(results, "evaluator_models")
    assert encoders["summary"]["network"]["steps"] == 8.0
    assert {name: grid["summary"][name] for name in ("cells", "failed")} == {"cells": 12, "failed": 0}
    package = {"package": "tiny-models 1.5"}
    assert encoders["made_from"]["fields"]["contents"] == {"representations": {"network": package}}
    assert grid["made_from"]["fields"]["contents"] == {"evaluators": {"network": package, "bayes": package}}
    assert (results / "benchmark_report" / "own").is_dir()


def manifest_of(results: Path, stage: str) -> dict[str, Any]:
    (path,) = (results / stage / "own").glob("*/manifest.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ({"one": "tiny_models:MISSING"}, "'tiny_models:MISSING' as a model family, but the family cannot be loaded"),
        ({"one": "tiny_models:NOT_A_FAMILY"}, "set it to a class derived from `TrainingSpec` or `ClassicalSpec`"),
        ({"one": "tiny_models:BAYES", "two": "tiny_models:BAYES"}, "'naive_bayes' already exists in tiny-models 1.5"),
    ],
)
def test_a_family_that_cannot_be_used_is_refused_with_its_package(
    tmp_path: Path, families: dict[str, str], message: str
) -> None:
    done = run_with(install(tmp_path / "site", families), "list", home=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr
    assert "the package tiny-models" in done.stderr


def test_kinds_are_offered_by_the_rows_that_they_read() -> None:
    assert kinds_for("features") == "'identity', or 'linear' or 'rbf_svm' as evaluator"
    assert kinds_for("image") == "'timm_image', or 'linear' or 'rbf_svm' as evaluator"
