"""Measure what of the paper's Figure 2 holds on the bundled circles: `python benchmarks/circles.py [draws]`.

Parameter grid: circles_1 to circles_4 as bundled (threshold 0.95) and again with threshold 0.75; five draws of the data
(seeds 0 to 4; the unbiased challenge set has 100 more; the filter's seed is that of the data); the test rows share the
pool. Every run takes the pipeline's own stages up to the evaluators, in a temporary store. The evaluators have no
randomness. The random control has as many train rows of each class as the filter kept. About five minutes on one core.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.paths import configure_libraries
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import BUNDLED, parse_spec
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.stage import CellFilter

NAMES = ("circles_1", "circles_2", "circles_3", "circles_4")
THRESHOLDS = (0.95, 0.75)
DRAWS = 5
MODELS = ("linear", "rbf_svm")
NEEDED = list(STAGES)[: list(STAGES).index("evaluator_models") + 1]
CELLS = CellFilter(train_sets=("full", "filtered", "random_matched"))

Outcome = Mapping[str, float]
"""Shares in [0, 1] of one run: of rows kept and of test rows answered rightly."""

COLUMNS = {
    "biased kept": "biased",
    "unbiased kept": "unbiased",
    "flipped kept": "flipped",
    "linear without biases": "linear_without_biases full",
    "linear": "linear full",
    "linear after": "linear filtered",
    "linear on random rows": "linear random_matched",
    "RBF SVM without biases": "rbf_svm_without_biases full",
    "RBF SVM": "rbf_svm full",
    "RBF SVM after": "rbf_svm filtered",
    "RBF SVM on random rows": "rbf_svm random_matched",
    "RBF SVM after, unbiased set": "rbf_svm unbiased",
}


def _at_most(key: str, most: float) -> Callable[[Outcome], bool]:
    return lambda one: one[key] <= most


def _at_least(key: str, least: float) -> Callable[[Outcome], bool]:
    return lambda one: one[key] >= least


def _gain(one: Outcome, model: str) -> float:
    return one[f"{model} full"] - one[f"{model}_without_biases full"]


def _loss(one: Outcome, model: str) -> float:
    return one[f"{model} full"] - one[f"{model} filtered"]


def _loss_at_random(one: Outcome, model: str) -> float:
    return one[f"{model} full"] - one[f"{model} random_matched"]


CLAIMS: Mapping[str, Callable[[Outcome], bool]] = {
    "without biases no line tells the circles apart (at most 70 %)": _at_most("linear_without_biases full", 0.7),
    "without biases an RBF SVM does (at least 85 %)": _at_least("rbf_svm_without_biases full", 0.85),
    "biases help the linear model clearly (at least 1 point)": lambda one: _gain(one, "linear") >= 0.01,
    "biases help the RBF SVM clearly (at least 1 point)": lambda one: _gain(one, "rbf_svm") >= 0.01,
    "without biases the RBF SVM is not perfect": lambda one: one["rbf_svm_without_biases full"] < 1,
    "with biases the RBF SVM is not perfect": lambda one: one["rbf_svm full"] < 1,
    "fewer biased rows (at most 10 % of those kept, of 75 %)": _at_most("biased share", 0.1),
    "hard again for the linear model (at most 60 %)": _at_most("linear filtered", 0.6),
    "still solvable by the RBF SVM (at least 85 %)": _at_least("rbf_svm filtered", 0.85),
    "AFLite lowers the linear model more than the RBF SVM": lambda one: _loss(one, "linear") > _loss(one, "rbf_svm"),
    "random rows lower neither (at most 2 points)": lambda one: (
        max(_loss_at_random(one, name) for name in MODELS) <= 0.02
    ),
    "most flipped rows go": lambda one: one["flipped"] < 0.5,
    "most unbiased rows stay (ours: at least 90 %)": _at_least("unbiased", 0.9),
}
"""Sentences of section 3 of Figure 2, with numbers of ours where it has none."""


def main(draws: int) -> None:
    """Run the grid and print two tables per threshold: means with ranges, and in how many draws each claim holds."""
    configure_libraries()
    started = time.perf_counter()
    for threshold in THRESHOLDS:
        found = {name: [_run(name, threshold, seed) for seed in range(draws)] for name in NAMES}
        print(f"\nthreshold {threshold}\n\n| % | {' | '.join(NAMES)} |\n|---|{'--:|' * len(NAMES)}")
        for title, key in COLUMNS.items():
            print(f"| {title} | {' | '.join(_spread([one[key] for one in found[name]]) for name in NAMES)} |")
        print(f"\n| holds in draws of {draws} | {' | '.join(NAMES)} |\n|---|{'--:|' * len(NAMES)}")
        for claim, holds in CLAIMS.items():
            print(f"| {claim} | {' | '.join(_counted(found[name], claim, holds) for name in NAMES)} |")
    print(f"\n{time.perf_counter() - started:.0f} s")


def _spread(values: Sequence[float]) -> str:
    if np.isnan(values).any():
        return ""
    mean, low, high = (f"{100 * value:.1f}" for value in (np.mean(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low} to {high})"


def _counted(outcomes: Sequence[Outcome], claim: str, holds: Callable[[Outcome], bool]) -> str:
    if "flipped" in claim and np.isnan(outcomes[0]["flipped"]):
        return ""
    return str(sum(holds(one) for one in outcomes))


def _run(name: str, threshold: float, seed: int) -> Outcome:
    spec = _drawn(name, threshold, seed)
    with tempfile.TemporaryDirectory() as folder:
        store = ResultStore(Path(folder))
        for stage in NEEDED:
            run_stage(stage, spec, store=store, cells=CELLS)
        return {**_kept(store, spec.name), **_accuracies(store, spec.name)}


def _drawn(name: str, threshold: float, seed: int) -> DatasetSpec:
    """Return the bundled dataset with data and filter of this seed."""
    content = yaml.safe_load((BUNDLED / f"{name}.yaml").read_text(encoding="utf-8"))
    content["source"]["seed"] = content["seed"] = seed
    content["seeds"] = [0]
    content["filter"] |= {"threshold": threshold, "evaluation_rows": "pooled"}
    content["challenge_sets"]["unbiased"]["source"]["seed"] = seed + 100
    return parse_spec({"name": name, **content})


def _kept(store: ResultStore, name: str) -> dict[str, float]:
    """Shares of the biased, unbiased and flipped train rows that were kept, and of biased rows among those kept."""
    raw = load_examples(store.current("raw_dataset", name).path).in_split("train")
    biased, flipped = (np.array(raw.table[f"attribute.{flag}"].to_pylist()) == "yes" for flag in ("biased", "flipped"))
    kept = np.isin(raw.row_ids, _kept_ids(store, name))
    return {
        "biased": float(kept[biased].mean()),
        "unbiased": float(kept[~biased].mean()),
        "flipped": float(kept[flipped].mean()) if flipped.any() else np.nan,
        "biased share": float(biased[kept].mean()),
    }


def _kept_ids(store: ResultStore, name: str) -> np.ndarray:
    rows = pq.read_table(store.current("filtered_sets", name).part("given_features").file("rows.parquet"))
    ids: np.ndarray = rows.filter(rows["kept"])["row_id"].to_numpy()
    return ids


def _accuracies(store: ResultStore, name: str) -> dict[str, float]:
    """Trained on full and tested on all test rows; trained on filtered and tested on the kept ones, and on unbiased."""
    test = load_examples(store.current("raw_dataset", name).path).in_split("test")
    unbiased = load_examples(store.current("challenge_sets", name).path / "unbiased")
    kept = np.isin(test.row_ids, _kept_ids(store, name))
    grid, accuracies = store.current("evaluator_models", name), {}
    for cell in pq.read_table(grid.file("cells.parquet")).to_pylist():
        if cell["status"] != "done":
            continue
        said = pq.read_table(grid.part(cell["name"]).file("predictions.parquet"))
        answers = {
            split: said.filter(np.asarray(said["test_set"]) == split)["predicted"].to_numpy()
            for split in ("test", "unbiased")
        }
        right = answers["test"] == test.labels
        where = right[kept] if cell["train_set"] == "filtered" else right
        accuracies[f"{cell['evaluator']} {cell['train_set']}"] = float(where.mean())
        if cell["train_set"] == "filtered":
            accuracies[f"{cell['evaluator']} unbiased"] = float((answers["unbiased"] == unbiased.labels).mean())
    return accuracies


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
