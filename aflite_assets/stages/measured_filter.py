"""How fast the filter's classifiers are on this machine: real fits of the algorithm on features of the right shape."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from aflite_assets.algorithm import FilterSettings, score_rows
from aflite_assets.stages.plan import RunPlan, pool_in_iteration

CLASS_SPACE_SHARE = 0.9
"""Share of the variance of a trained encoder's features that lies along its classes; SNLI's with MiniLM have 0.98."""

ROOT_MEAN_SQUARE = 0.5
"""Size of one feature; pooled outputs of transformers have 0.35, of convolutional networks about 1."""

ENOUGH_SECONDS = 0.4
"""A difference of times below this is mostly noise."""

MOST_PARTITIONS = 33
MOST_FEATURE_BYTES = 2**27
MOST_HELD_OUT = 20_000
FEW_HELD_OUT = 100
SMALLEST_TRAIN_SIZE = 500


@dataclass(frozen=True)
class FilterSpeed:
    """Seconds of one partition: `fit` for a classifier at the planned train size, `row` for each held-out row.

    `train_size` rows were really fitted on; where that is below the planned size, `fit` is extrapolated by `growth`,
    the power of the rows with which it grows. `spent` is what the measurement took.
    """

    fit: float
    row: float
    train_size: int
    growth: float
    spent: float


def measure_filter(
    settings: FilterSettings, features: np.ndarray, labels: np.ndarray, *, rows_per_group: int
) -> FilterSpeed:
    """Time `score_rows` with few partitions; `features` are shuffled rows x width, at least train size + 1 of them.

    `rows_per_group` is the mean size of groups, 1 for a dataset without.
    """
    started = time.perf_counter()
    groups = None if rows_per_group < 2 else np.arange(len(labels)) // rows_per_group
    clock = _Clock(settings, features, labels, groups)
    planned = min(settings.train_size, len(labels) - max(rows_per_group, 1))
    size = min(planned, max(SMALLEST_TRAIN_SIZE, rows_per_group))
    seconds, growth = clock.partition(size, len(labels)), 1.0
    while size < planned and seconds < ENOUGH_SECONDS * 4:
        larger = min(planned, size * 2)
        after = clock.partition(larger, len(labels))
        growth = min(max(math.log(after / seconds) / math.log(larger / size), 1.0), 2.0)
        size, seconds = larger, after
    fewer = min(size + max(FEW_HELD_OUT, rows_per_group), len(labels))
    fit = min(clock.partition(size, fewer), seconds)
    row = (seconds - fit) / max(len(labels) - fewer, 1)
    return FilterSpeed(fit * (settings.train_size / size) ** growth, row, size, growth, time.perf_counter() - started)


def held_out_rows(plan: RunPlan) -> int:
    """Predictions of all partitions of the most iterations; rows that are only scored go at the rate of the pool."""
    total = 0.0
    for iteration in range(plan.most_iterations):
        pool = pool_in_iteration(plan, iteration)
        total += pool - plan.settings.train_size + plan.scored_rows * pool / plan.pool_rows
    return round(total * plan.settings.n_partitions)


def rows_to_measure(plan: RunPlan, width: int) -> int:
    """Rows of features that a measurement needs: the plan's, within bounds of memory and time."""
    held_out = plan.pool_rows + plan.scored_rows - plan.settings.train_size
    wanted = plan.settings.train_size + min(held_out, MOST_HELD_OUT)
    return max(min(wanted, MOST_FEATURE_BYTES // (4 * width)), min(wanted, 2 * SMALLEST_TRAIN_SIZE))


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


@dataclass(frozen=True)
class _Clock:
    settings: FilterSettings
    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None

    def partition(self, train_size: int, rows: int) -> float:
        """Seconds of one partition of the first `rows`: the slope over partitions, so that checks drop out."""
        one = self._seconds(train_size, rows, 1)
        more = 3
        while (difference := self._seconds(train_size, rows, more) - one) < ENOUGH_SECONDS and more < MOST_PARTITIONS:
            more = min(2 * more - 1, MOST_PARTITIONS)
        return max(difference, 1e-6) / (more - 1)

    def _seconds(self, train_size: int, rows: int, partitions: int) -> float:
        """The shorter of two runs where that is quick, since what else runs on the machine only ever adds."""
        settings = replace(self.settings, train_size=train_size, n_partitions=partitions)
        first = self._run(settings, rows)
        return first if first >= ENOUGH_SECONDS else min(first, self._run(settings, rows))

    def _run(self, settings: FilterSettings, rows: int) -> float:
        groups = None if self.groups is None else self.groups[:rows]
        started = time.perf_counter()
        score_rows(self.features[:rows], self.labels[:rows], settings=settings, seed=0, groups=groups)
        return time.perf_counter() - started
