"""The bias that linear classifiers reach without any tie between features and labels: passes over permuted labels.

Filtering itself is in filtering.py; what a verdict makes of these passes is the report's.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aflite_assets.algorithm.inputs import check_inputs, check_run
from aflite_assets.algorithm.partitions import Purpose, fill_in_order, generator
from aflite_assets.algorithm.records import ChanceScores, Scores
from aflite_assets.algorithm.scoring import score_rows
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.errors import InvalidInputError

PASSES = 20
"""A bias that is over all of them is over chance at the level 1/21, one-sided."""

MOST_PARTITIONS = 16
"""Partitions of one pass: its bias is a mean over all rows, which more partitions hardly move."""

FEWEST_IN_BIN = 20
"""Groups of similar size that exchange their labels: with fewer, labels would hardly move."""

MOST_ROWS = 20_000
"""Rows of one pass: a larger pool is sampled, in whole groups, and trained on the same share of it."""


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
        device: as for `score_rows`.
        memory_limit: as for `score_rows`.

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
    given: dict[str, Any] = {"settings": small, "groups": own_groups, "device": device, "memory_limit": memory_limit}
    made = [_permuted_pass(matrix, permute_labels(own, own_groups, rng), rng, **given) for _ in range(passes)]
    probabilities = [
        class_means(p, labels, classes) for labels, one in made if (p := one.label_probability) is not None
    ]
    return ChanceScores(
        np.array([one.representation_bias for _, one in made]),
        np.stack([class_means(one.predictability, labels, classes) for labels, one in made]),
        len(chosen),
        float(np.mean([share_moved(own, labels) for labels, _ in made])),
        np.stack(probabilities) if probabilities else None,
    )


def _permuted_pass(
    features: np.ndarray, labels: np.ndarray, rng: np.random.Generator, **given: Any
) -> tuple[np.ndarray, Scores]:
    """Return the permuted labels, and what one pass with them scores."""
    return labels, score_rows(features, labels, seed=int(rng.integers(2**63)), **given)


def _of_share(settings: FilterSettings, share: float) -> FilterSettings:
    """Return the settings of a pass over this share of the pool."""
    return replace(
        settings,
        n_partitions=min(settings.n_partitions, MOST_PARTITIONS),
        train_size=max(2, round(settings.train_size * share)),
    )


def permute_labels(labels: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Return the labels in random order; with groups, in an order that keeps the make-up of groups.

    Groups exchange their labels as whole vectors within bins of similar sizes (`size_bins`), so a group of one class
    stays one, and a premise with a hypothesis per label keeps a row of each. Within each group the order is random. If
    the groups of a bin differ in size, a smaller group takes a random part of the larger one's labels, and a larger
    group is filled up from such remainders. If there are fewer than `FEWEST_IN_BIN` groups in all, rows are permuted
    one by one. The number of rows of each class never changes.
    """
    if groups is None:
        return rng.permutation(labels)
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < FEWEST_IN_BIN:
        return rng.permutation(labels)
    in_groups = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    permuted = np.empty_like(labels)
    for members in size_bins(sizes):
        donors = rng.permutation(members)
        longest = sizes[members].max()
        slots = np.arange(longest)
        # a donor's labels in random order, its missing places last
        keys = np.where(slots < sizes[donors][:, None], rng.random((len(members), longest)), 1.0)
        order = np.argsort(keys, axis=1, kind="stable")
        given = labels[in_groups[np.minimum(starts[donors][:, None] + order, len(labels) - 1)]]
        has, wants = slots < sizes[donors][:, None], slots < sizes[members][:, None]
        values = np.empty((len(members), longest), labels.dtype)
        values[has & wants] = given[has & wants]
        values[wants & ~has] = rng.permutation(given[has & ~wants])
        places = starts[members][:, None] + slots
        permuted[in_groups[places[wants]]] = values[wants]
    return permuted


def size_bins(sizes: np.ndarray) -> list[np.ndarray]:
    """Return group numbers in bins of similar sizes (in rows), each of at least `FEWEST_IN_BIN` groups.

    A size that has enough groups is a bin of its own. Rarer sizes are joined with the next larger ones; what is left
    over at the end joins the bin before it.
    """
    order = np.argsort(sizes, kind="stable")
    edges, start = [], 0
    for stop in np.flatnonzero(np.diff(sizes[order], append=-1)).tolist():
        if stop + 1 - start >= FEWEST_IN_BIN:
            edges.append(stop + 1)
            start = stop + 1
    if start < len(order) and edges:
        edges.pop()
    return [part for part in np.split(order, edges) if len(part)]


def share_moved(labels: np.ndarray, permuted: np.ndarray) -> float:
    """Return the share of rows with another label, over that of a free permutation, 1 - sum of squared class shares.

    About 1 if labels move freely, or if there is one class only; 0 if the groups leave them where they were.
    """
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    free = 1 - float((shares**2).sum())
    return float((labels != permuted).mean()) / free if len(shares) > 1 else 1.0


def class_means(values: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Mean of the rows of each class that have a value, float64, NaN without one."""
    scored = ~np.isnan(values)
    codes = np.searchsorted(classes, labels[scored])
    rows = np.bincount(codes, minlength=len(classes))
    sums = np.bincount(codes, values[scored].astype(np.float64), minlength=len(classes))
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
