"""How fast the filter is on this machine: real iterations of the algorithm on features of the right shape.

The speed of models is in `model_timing`.
"""

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from aflite_assets.algorithm import FilterSettings, score_rows
from aflite_assets.command_line.preview.run_plan import RunPlan, pool_in_iteration

CLASS_SPACE_SHARE = 0.9
"""Share of the variance of a trained encoder's features that lies along its classes; SNLI's with MiniLM have 0.98."""

ROOT_MEAN_SQUARE = 0.5
"""Size of one feature; pooled outputs of transformers have 0.35, of convolutional networks about 1."""

MOST_FEATURE_BYTES = 2**27
MOST_ROWS = 50_000
ENOUGH_SECONDS = 0.4
"""An iteration over in less is timed again, since what else runs on the machine only ever adds."""


@dataclass(frozen=True)
class FilterTiming:
    """`row`: seconds of an iteration for each row that enters it, measured with `rows` rows and the planned share of
    training rows.
    """

    row: float
    rows: int


def measure_filter(
    settings: FilterSettings, features: np.ndarray, labels: np.ndarray, *, pool_rows: int, rows_per_group: int
) -> FilterTiming:
    """Time an iteration of `settings` on shuffled rows x width `features`, where the plan has `pool_rows`.

    `rows_per_group` is the mean size of groups, 1 for a dataset without.
    """
    rows = len(labels)
    share = min(1.0, rows / pool_rows)
    trained = min(max(round(settings.train_size * share), rows_per_group, 2), rows - max(rows_per_group, 1))
    timed = replace(settings, train_size=trained)
    groups = None if rows_per_group < 2 else np.arange(rows) // rows_per_group
    _seconds(timed, features, labels, groups)  # compiles
    seconds = _seconds(timed, features, labels, groups)
    if seconds < ENOUGH_SECONDS:
        seconds = min(seconds, _seconds(timed, features, labels, groups))
    return FilterTiming(seconds / rows, rows)


def scored_rows(plan: RunPlan) -> int:
    """Rows that enter the most iterations; those that are only scored go at the rate of the pool."""
    total = 0.0
    for iteration in range(plan.most_iterations):
        pool = pool_in_iteration(plan, iteration)
        total += pool + plan.scored_rows * pool / plan.pool_rows
    return round(total)


def rows_to_measure(plan: RunPlan, width: int) -> int:
    """Rows of features that a measurement needs: the plan's, within bounds of memory and time."""
    return min(plan.pool_rows + plan.scored_rows, MOST_ROWS, max(1000, MOST_FEATURE_BYTES // (4 * width)))


def encoder_like_features(rows: int, width: int, n_classes: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features rows x width float32 as a trained encoder gives them, and their labels int64.

    The classes' means are the corners of a simplex with as much variance between as within; the rest of the variance
    is spread over all directions. On these logistic regression takes as long as on real encoders' features.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(rows) % n_classes)
    dimensions = min(n_classes - 1, width)
    centred = np.eye(n_classes) - 1 / n_classes
    means = centred @ np.linalg.svd(centred)[2][:dimensions].T
    means /= np.sqrt((means**2).sum(axis=1).mean())
    inside = means[labels] + rng.normal(size=(rows, dimensions)) / math.sqrt(dimensions)
    directions = np.linalg.qr(rng.normal(size=(width, dimensions)))[0]
    along = math.sqrt(CLASS_SPACE_SHARE / 2) * inside @ directions.T * math.sqrt(width)
    around = math.sqrt(1 - CLASS_SPACE_SHARE) * rng.normal(size=(rows, width))
    return (ROOT_MEAN_SQUARE * (along + around)).astype(np.float32), labels


def _seconds(settings: FilterSettings, features: np.ndarray, labels: np.ndarray, groups: np.ndarray | None) -> float:
    started = time.perf_counter()
    score_rows(features, labels, settings=settings, seed=0, groups=groups)
    return time.perf_counter() - started
