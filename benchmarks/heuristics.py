"""How near the heuristics come to the optimum (AFOpt) on searchable data: `python benchmarks/heuristics.py`.

Parameter grid: data seeds 0 to 5; 12 rows of two classes, three columns of standard normal noise, and on 8 of the
rows a shortcut: 2 away from 0 in the first column, on the side of the label. Every method keeps 7 rows (the random
one: mean over all subsets of 7), training sets have 4 rows, the heuristics draw 64 partitions per iteration,
threshold 0, slices of 1, 2 and 3 rows, the filter's seed is that of the data. Under a minute on one core.
"""

from itertools import combinations
from time import perf_counter

import numpy as np

from aflite_assets.algorithm import BiasTable, FilterSettings, exact_bias, filter_dataset, optimal_subset
from aflite_assets.algorithm.settings import Selection

SEEDS = range(6)
ROWS, SHORTCUT_ROWS, KEPT, TRAIN_SIZE, PARTITIONS, SHIFT = 12, 8, 7, 4, 64, 2.0
HEURISTICS: dict[str, tuple[Selection, int]] = {
    "greedy, one at a time": ("greedy", 1),
    "greedy slices of 2": ("greedy", 2),
    "greedy slices of 3": ("greedy", 3),
    "Gumbel samples of 3": ("gumbel", 3),
}
Outcome = tuple[float, float]
"""Exact representation bias of what was kept, and how many of its rows have the shortcut."""


def main() -> None:
    """Filter each dataset in every way and print means over the datasets."""
    started = perf_counter()
    outcomes = [_outcomes(seed) for seed in SEEDS]
    best = np.array([outcome["optimum (AFOpt)"][0] for outcome in outcomes])
    print(
        f"| kept | exact bias: mean | lowest | highest | over the optimum | optimum found | shortcut rows of {KEPT} |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in outcomes[0]:
        bias, shortcuts = np.array([outcome[name] for outcome in outcomes]).T
        found = int((bias == best).sum())
        print(
            f"| {name} | {bias.mean():.3f} | {bias.min():.3f} | {bias.max():.3f} | {(bias - best).mean():.3f} "
            f"| {found} of {len(SEEDS)} | {'' if name == 'all rows' else f'{shortcuts.mean():.1f}'} |"
        )
    print(f"\n{perf_counter() - started:.0f} s")


def _outcomes(seed: int) -> dict[str, Outcome]:
    features, labels = _planted(seed)
    optimum = optimal_subset(features, labels, target_size=KEPT, train_size=TRAIN_SIZE)
    table = optimum.table
    heuristics = {name: _judged(table, _filtered(features, labels, seed, *how)) for name, how in HEURISTICS.items()}
    return {
        "all rows": _judged(table, np.arange(ROWS)),
        f"random {KEPT} rows": _random(table),
        **heuristics,
        "optimum (AFOpt)": _judged(table, optimum.kept_rows),
    }


def _planted(seed: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(ROWS) % 2
    features = np.random.default_rng(seed).normal(size=(ROWS, 3))
    shortcut = slice(SHORTCUT_ROWS)
    features[shortcut, 0] = SHIFT * (2 * labels[shortcut] - 1)
    return features, labels


def _filtered(features: np.ndarray, labels: np.ndarray, seed: int, selection: Selection, slice_size: int) -> np.ndarray:
    settings = FilterSettings(
        target_size=KEPT,
        train_size=TRAIN_SIZE,
        slice_size=slice_size,
        n_partitions=PARTITIONS,
        threshold=0.0,
        selection=selection,
    )
    kept = filter_dataset(features, labels, settings=settings, seed=seed).kept_rows
    if len(kept) != KEPT:
        raise SystemExit(f"{selection}, {slice_size}: {len(kept)} rows kept, not {KEPT}: not comparable.")
    return kept


def _judged(table: BiasTable, rows: np.ndarray) -> Outcome:
    return exact_bias(table, rows), float((rows < SHORTCUT_ROWS).sum())


def _random(table: BiasTable) -> Outcome:
    judged = [_judged(table, np.array(rows)) for rows in combinations(range(ROWS), KEPT)]
    bias, shortcuts = np.mean(judged, axis=0)
    return float(bias), float(shortcuts)


if __name__ == "__main__":
    main()
