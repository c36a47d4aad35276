"""Which rows carry the planted cue, by score and setting: `python -m benchmarks.rows [draws] [SET ...] [--workers N]`.

Parameter grid: four planted sets of `benchmarks.row_sets`, a seed per draw (0 and up), 32 partitions, train share 15 %,
slices of 5 %, threshold 0.75, target 40 %. All scores see the same features; those of training read one logistic
regression over 20 epochs of stochastic descent. Evaluators: logistic regression and an RBF SVM, on clean rows and on
rows whose cue names another class. Random rows are as many as were kept, of any class.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from aflite_assets.algorithm import FilterResult, FilterSettings, filter_dataset
from benchmarks.row_scores import Dynamics, cross_validated, dynamics, knn_shapley
from benchmarks.row_sets import SETS, PlantedRows

DRAWS = 5
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "the paper's order": {},
    "ties: label_probability": {"ties": "label_probability"},
    "rank: label_probability": {"ranking": "label_probability"},
    "balance: classes": {"balance": "classes"},
    "rank and balance": {"ranking": "label_probability", "balance": "classes"},
}
HARD_SHARE = 0.2
"""Share of the rows with the cue, the hardest first, that the rival prunes (ICLR 2025)."""


@dataclass(frozen=True)
class Draw:
    """The AUC of each score, and what each way of choosing rows keeps."""

    scored: dict[str, float]
    kept: dict[str, dict[str, float]]


def draw(name: str, seed: int) -> Draw:
    """Make one draw of a planted set, score its rows and filter it, on one thread."""
    with threadpool_limits(1):
        data = SETS[name](seed)
        result, training = filtered(data, {}, seed), dynamics(data.features, data.labels, seed=seed)
        return Draw(aucs(data, scores(data, result, training, seed)), outcomes(data, result, training, seed))


def main(draws: int, names: Sequence[str], *, workers: int) -> None:
    """Print, per set, the AUC of each score and what each setting keeps."""
    started = time.perf_counter()
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        jobs = {name: [pool.submit(draw, name, seed) for seed in range(draws)] for name in names}
        for name, made in jobs.items():
            drawn = [one.result() for one in made]
            show(name, [one.scored for one in drawn], [one.kept for one in drawn])
    print(f"\n{time.perf_counter() - started:.0f} s with {workers} workers")


def show(name: str, scored: Sequence[Mapping[str, float]], kept: Sequence[Mapping[str, Mapping[str, float]]]) -> None:
    """Print the two tables of a set."""
    print(f"\n## {name}, {len(scored)} draws\n\n| score | AUC |\n|---|--:|")
    for score in sorted(scored[0], key=lambda one: -np.mean([drawn[one] for drawn in scored])):
        print(f"| {score} | {interval([drawn[score] for drawn in scored], 1)} |")
    columns = list(kept[0]["the paper's order"])
    print(f"\n| rows | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    for option in kept[0]:
        cells = [interval([drawn[option][column] for drawn in kept], 100) for column in columns]
        print(f"| {option} | {' | '.join(cells)} |", flush=True)


def interval(values: Sequence[float], scale: int) -> str:
    """Return the mean and half the width of its 95 % interval over draws (normal), as text; blank where nothing is
    known.
    """
    known = np.array(values, dtype=float) * scale
    if np.isnan(known).any():
        return ""
    half = 1.96 * known.std(ddof=1) / len(known) ** 0.5 if len(known) > 1 else float("nan")
    return f"{known.mean():.2f} ± {half:.2f}" if scale == 1 else f"{known.mean():.1f} ± {half:.1f}"


def filtered(data: PlantedRows, changes: Mapping[str, Any], seed: int) -> FilterResult:
    """Return the filter's run on the rows with some settings changed."""
    rows = len(data.labels)
    sizes = {"target_size": 0.4, "train_size": 0.15, "slice_size": 0.05}
    counts: dict[str, Any] = {name: round(share * rows) for name, share in sizes.items()}
    settings = FilterSettings(**counts, n_partitions=32, threshold=0.75, **changes)
    return filter_dataset(data.features, data.labels, settings=settings, seed=seed, device="cpu")


def scores(data: PlantedRows, result: FilterResult, training: Dynamics, seed: int) -> dict[str, np.ndarray]:
    """Each score, float per row, turned so that rows of the cue should have the higher ones."""
    rows = len(data.labels)
    order = np.full(rows, -float(len(result.iterations)))
    order[result.removed_rows] = -result.removed_in_iteration
    first = filter_first_pass(data, seed)
    own, right = cross_validated(data.features, data.labels, seed=seed)
    assert result.label_probability is not None
    return {
        "predictability, first pass": first,
        "removal order": order,
        "label probability, first pass": result.label_probability,
        "one cross-validated pass, right or wrong": right,
        "self-confidence (cleanlab), cross-validated": own,
        "confidence (cartography)": training.confidence,
        "low variability (cartography)": -training.variability,
        "few forgettings": -training.forgettings,
        "low EL2N": -training.el2n,
        "outside the error set (JTT)": 1.0 - training.wrong_early,
        "kNN-Shapley": knn_shapley(data.features, data.labels, seed=seed),
        "random": np.random.default_rng([seed, 9]).random(rows),
    }


def filter_first_pass(data: PlantedRows, seed: int) -> np.ndarray:
    """Predictability of all rows in the first iteration."""
    rows = len(data.labels)
    settings = FilterSettings(
        target_size=rows, train_size=round(0.15 * rows), slice_size=1, n_partitions=32, threshold=0.75
    )
    result = filter_dataset(data.features, data.labels, settings=settings, seed=seed, device="cpu")
    return np.nan_to_num(result.predictability, nan=0.5)


def aucs(data: PlantedRows, by_score: Mapping[str, np.ndarray]) -> dict[str, float]:
    """AUC of each score for "carries the cue"; 0.5 is chance."""
    return {name: float(roc_auc_score(data.carries, np.nan_to_num(score))) for name, score in by_score.items()}


def outcomes(data: PlantedRows, result: FilterResult, training: Dynamics, seed: int) -> dict[str, dict[str, float]]:
    """Measure what each way of choosing rows keeps, and how models trained on it fare, beside as many random rows."""
    rng = np.random.default_rng([seed, 8])
    rows = np.arange(len(data.labels))
    found = {"all rows": judged(data, rows, rng)}
    for name, changes in OPTIONS.items():
        one = filtered(data, changes, seed) if changes else result
        found[name] = judged(data, one.kept_rows, rng)
    carriers = np.flatnonzero(data.carries)
    hardest = carriers[np.argsort(-training.el2n[carriers], kind="stable")][: round(HARD_SHARE * len(carriers))]
    found["hard rows with the cue pruned"] = judged(data, np.setdiff1d(rows, hardest), rng)
    return found


def judged(data: PlantedRows, kept: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Shares in [0, 1] of what was kept, and accuracies on clean and reversed rows beside random rows."""
    gone = np.setdiff1d(np.arange(len(data.labels)), kept)
    rare = int(np.bincount(data.labels).argmin())
    random = rng.choice(len(data.labels), len(kept), replace=False)
    return {
        "kept": len(kept) / len(data.labels),
        "planted recall": float(data.carries[gone].sum() / data.carries.sum()),
        "precision": float(data.carries[gone].mean()) if len(gone) else float("nan"),
        "wrong labels kept": float(data.wrong[kept].mean()),
        "smallest class": float((data.labels[kept] == rare).mean()),
        **{
            f"{name} {where}": value
            for name, fit in MODELS.items()
            for where, value in _beside(data, fit, kept, random)
        },
    }


def _linear() -> LogisticRegression:
    return LogisticRegression(max_iter=500)


MODELS: Mapping[str, Callable[[], Any]] = {"linear": _linear, "RBF": SVC}


def _beside(data: PlantedRows, fit: Callable[[], Any], kept: np.ndarray, random: np.ndarray) -> list[tuple[str, float]]:
    accuracies = []
    for name, rows in (("", kept), (", random", random)):
        if len(np.unique(data.labels[rows])) < 2:
            accuracies += [(f"clean{name}", float("nan")), (f"reversed{name}", float("nan"))]
            continue
        model = fit().fit(data.features[rows], data.labels[rows])
        accuracies += [
            (f"clean{name}", balanced(model.predict(data.clean[0]), data.clean[1])),
            (f"reversed{name}", balanced(model.predict(data.turned[0]), data.turned[1])),
        ]
    return accuracies


def balanced(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Mean over classes of the share answered rightly, in [0, 1]."""
    return float(np.mean([(predicted[labels == one] == one).mean() for one in np.unique(labels)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("draws", type=int, nargs="?", default=DRAWS)
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument("--workers", type=int, default=2, help="processes, one draw each (default: 2)")
    given = parser.parse_args()
    main(given.draws, given.sets or list(SETS), workers=given.workers)
