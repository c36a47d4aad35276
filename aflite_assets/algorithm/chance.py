"""The bias that linear classifiers reach without any tie between features and labels: passes over permuted labels.

Filtering itself is in filtering.py; what a verdict makes of these passes is the report's.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from aflite_assets.algorithm.inputs import check_inputs, check_run
from aflite_assets.algorithm.partitions import Purpose, fill_in_order, generator
from aflite_assets.algorithm.records import ChanceScores
from aflite_assets.algorithm.scoring import score_rows
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.errors import InvalidInputError

PASSES = 20
"""A bias that is over all of them is over chance at the level 1/21, one-sided."""

MOST_PARTITIONS = 16
"""Of one pass: its bias is a mean over all rows, which more partitions hardly move."""

MOST_ROWS = 20_000
"""Of one pass: a larger pool is sampled, in whole groups, and trained on the same share of it."""


def score_permuted(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    settings: FilterSettings,
    seed: int,
    rows: ArrayLike | None = None,
    iteration: int = 0,
    groups: ArrayLike | None = None,
    passes: int = PASSES,
    most_rows: int = MOST_ROWS,
    device: str = "auto",
    memory_limit: int = 2**30,
) -> ChanceScores:
    """Score the rows `passes` times, each time with labels permuted (`permute_labels`), as one iteration scores them.

    What is left then is what class shares and groups give by themselves. A permutation test of a classifier's accuracy
    in this sense: Ojala and Garriga (2010), "Permutation tests for studying classifier performance", JMLR 11, test 1.

    Args:
        features: rows x width, finite numbers, as for `score_rows`.
        labels: one integer of 0 or more per row, at least two classes.
        settings: as for `score_rows`, with at most `MOST_PARTITIONS` partitions.
        seed: from 0 to 2**64 - 1; `iteration` draws anew for the pool of a later iteration.
        rows: the numbers of the rows to score, all by default.
        groups: one integer per row; rows of a group are never split between training and held-out side.
        passes: how many permutations.
        most_rows: larger pools are sampled, in whole groups; `train_size` then falls in proportion.
        device, memory_limit: as for `score_rows`.

    Raises:
        InvalidInputError: anything above is not as described.
    """
    if passes < 1:
        raise InvalidInputError(f"passes must be at least 1; received {passes}: give the number of permutations.")
    check_run(seed=seed, device=device, memory_limit=memory_limit)
    inputs = check_inputs(features, labels, groups=groups, score_only=None, memory_limit=memory_limit)
    rng = generator(seed, Purpose.PERMUTATION, iteration)
    pool = np.arange(len(inputs.labels)) if rows is None else np.asarray(rows)
    chosen = pool[_sample(None if inputs.groups is None else inputs.groups[pool], len(pool), most_rows, rng)]
    small = _of_share(settings, len(chosen) / len(pool))
    matrix, own, classes = inputs.features[chosen], inputs.labels[chosen], inputs.classes
    own_groups = None if inputs.groups is None else inputs.groups[chosen]
    bias, class_bias = np.empty(passes), np.full((passes, len(classes)), np.nan)
    for number in range(passes):
        permuted = permute_labels(own, own_groups, rng)
        scores = score_rows(
            matrix,
            permuted,
            settings=small,
            seed=int(rng.integers(2**63)),
            groups=own_groups,
            device=device,
            memory_limit=memory_limit,
        )
        bias[number] = scores.representation_bias
        class_bias[number] = class_means(scores.predictability, permuted, classes)
    return ChanceScores(bias, class_bias, len(chosen))


def _of_share(settings: FilterSettings, share: float) -> FilterSettings:
    """The settings of a pass over this share of the pool."""
    return replace(
        settings,
        n_partitions=min(settings.n_partitions, MOST_PARTITIONS),
        train_size=max(2, round(settings.train_size * share)),
    )


def permute_labels(labels: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """The labels in random order; with groups, in an order that keeps what groups are like.

    Groups of one size exchange their labels as they stand together, which are then shuffled within each: a group of
    one class stays one, and a premise with a hypothesis per label keeps a row of each.
    """
    if groups is None:
        return rng.permutation(labels)
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    in_groups = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    permuted = np.empty_like(labels)
    for size in np.unique(sizes):
        places = in_groups[starts[sizes == size][:, None] + np.arange(size)]
        blocks = rng.permuted(labels[places[rng.permutation(len(places))]], axis=1)
        permuted[places] = blocks
    return permuted


def class_means(predictability: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Mean predictability of the scored rows of each class, float64, NaN without one."""
    scored = ~np.isnan(predictability)
    codes = np.searchsorted(classes, labels[scored])
    rows = np.bincount(codes, minlength=len(classes))
    sums = np.bincount(codes, predictability[scored].astype(np.float64), minlength=len(classes))
    return np.divide(sums, rows, out=np.full(len(classes), np.nan), where=rows > 0)


def _sample(groups: np.ndarray | None, rows: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers, ascending: all, or whole groups in random order that together fit into `most` rows."""
    if rows <= most:
        return np.arange(rows)
    codes = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    order = rng.permutation(len(sizes))
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[fill_in_order(sizes[order], most)]] = True
    return np.flatnonzero(chosen[codes])
