"""The representation bias that linear classifiers reach by chance. The bias is measured by passes over permuted labels.

The module `filtering.py` filters the rows. The verdict in the report uses the measured bias.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aflite_assets.algorithm.inputs import check_inputs, check_row_numbers, check_run
from aflite_assets.algorithm.partitions import Purpose, fill_in_order, generator
from aflite_assets.algorithm.records import ChanceScores
from aflite_assets.algorithm.scoring import score_permutations
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.errors import InvalidInputError

PASSES = 20
"""Number of passes over permuted labels. A bias above the biases of all passes is significant at the level 1/21,
one-sided.
"""

MOST_PARTITIONS = 16
"""Largest number of partitions in one pass. More partitions would hardly change the bias, because it is a mean over all
rows.
"""

FEWEST_IN_BIN = 20
"""Smallest number of groups in a bin of groups that exchange their labels. With fewer groups, labels would hardly
move.
"""

MOST_ROWS = 20_000
"""Largest number of rows in one pass. A larger pool is sampled in whole groups, and the training size is reduced in
proportion.
"""


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
    """Score the rows `passes` times as in one iteration of the filter. Each pass permutes the labels anew.

    With permuted labels, a classifier can use only the class shares and the groups. The method is the permutation test
    of a classifier's accuracy by Ojala and Garriga (2010), "Permutation tests for studying classifier performance",
    JMLR 11, test 1.

    Args:
        features: rows x width, finite numbers of at most 64 bits.
        labels: one integer of 0 or more per row, at least two classes.
        settings: settings of the filter, with at most `MOST_PARTITIONS` partitions.
        seed: from 0 to 2**64 - 1. With the same seed, each `iteration` has different permutations.
        rows: the numbers of the rows to score, each once, all by default. If all rows that are scored have one class,
            every prediction is right.
        groups: one integer per row; rows of a group are never split between training rows and held-out rows.
        passes: number of permutations.
        most_rows: the largest number of rows per pass. A larger pool is sampled in whole groups, and `train_size` is
            reduced in proportion, but not below the size of the smallest sampled group. The sample has at least two
            groups and every class of the pool, so it may be slightly larger.
        device: "cpu", "cuda", or "auto", the first GPU that torch can use.
        memory_limit: bytes of main memory that the passes may use.

    Raises:
        InvalidInputError: an argument is not as described above.
    """
    if passes < 1:
        raise InvalidInputError(f"`passes` is {passes}, but at least one permutation is needed; give a positive number")
    check_run(seed=seed, device=device, memory_limit=memory_limit)
    inputs = check_inputs(features, labels, groups=groups, score_only=None, memory_limit=memory_limit)
    rng = generator(seed, Purpose.PERMUTATION, iteration)
    n_rows = len(inputs.labels)
    pool = np.arange(n_rows) if rows is None else check_row_numbers("`rows`", rows, n_rows)
    groups_of_pool = None if inputs.groups is None else inputs.groups[pool]
    chosen = pool[_sample(groups_of_pool, inputs.labels[pool], most_rows, rng)]
    own, classes = inputs.labels[chosen], inputs.classes
    if (own == own[0]).all():
        return _of_one_class(classes == own[0], len(chosen), passes, settings)
    own_groups = None if inputs.groups is None else inputs.groups[chosen]
    smallest = 0 if own_groups is None else int(np.unique(own_groups, return_counts=True)[1].min())
    small = replace(
        settings,
        n_partitions=min(settings.n_partitions, MOST_PARTITIONS),
        train_size=max(2, smallest, round(settings.train_size * (len(chosen) / len(pool)))),
    )
    matrix = inputs.features[chosen]
    given: dict[str, Any] = {"settings": small, "groups": own_groups, "device": device, "memory_limit": memory_limit}
    drawn = [(permute_labels(own, own_groups, rng), int(rng.integers(2**63))) for _ in range(passes)]
    permuted = [labels for labels, _ in drawn]
    scores = score_permutations(matrix, permuted, seeds=[pass_seed for _, pass_seed in drawn], **given)
    made = list(zip(permuted, scores, strict=True))
    probabilities = [
        class_means(p, labels, classes) for labels, one in made if (p := one.label_probability) is not None
    ]
    return ChanceScores(
        np.array([one.representation_bias for one in scores]),
        np.stack([class_means(one.predictability, labels, classes) for labels, one in made]),
        len(chosen),
        float(np.mean([share_moved(own, labels) for labels in permuted])),
        np.stack(probabilities) if probabilities else None,
    )


def _of_one_class(is_class: np.ndarray, rows: int, passes: int, settings: FilterSettings) -> ChanceScores:
    """Return the scores of rows that all have one class: no permutation changes a label, and every prediction is right.

    `is_class`: bool per class of the input, True for the class of the rows.
    """
    of_class = np.tile(np.where(is_class, 1.0, np.nan), (passes, 1))
    return ChanceScores(
        np.ones(passes), of_class, rows, class_probability=None if settings.classifier == "linear_svm" else of_class
    )


def permute_labels(labels: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Return the labels in random order. If there are groups, each group keeps its mixture of classes.

    Within a bin of groups of similar size (`size_bins`), groups exchange all their labels at once. A group of one class
    still has one class afterwards, and a group with one row per label still has one row per label. Within each group,
    the labels are in random order. If the groups of a bin differ in size, a smaller group gets a random part of a
    larger group's labels. The labels that are left over are distributed at random among larger groups that received too
    few labels. If there are fewer than `FEWEST_IN_BIN` groups in all, single rows are permuted instead of groups. The
    number of rows of each class never changes.
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
    """Return bins of group numbers. The groups of a bin have similar numbers of rows, and each bin has at least
    `FEWEST_IN_BIN` groups.

    If enough groups have the same size, these groups form a separate bin. Groups of a rare size are joined with the
    groups of the next larger size. The remaining largest groups are added to the last bin.
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
    """Return the share of rows whose label changed, divided by the share that is expected in a permutation without
    groups.

    The expected share is 1 minus the sum of the squared class shares. The result is about 1 if all labels can move, or
    if there is only one class. The result is 0 if the groups keep every label in place.
    """
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    free = 1 - float((shares**2).sum())
    return float((labels != permuted).mean()) / free if len(shares) > 1 else 1.0


def class_means(values: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the mean value per class as float64, ignoring NaN. The mean is NaN for a class without any value."""
    scored = ~np.isnan(values)
    codes = np.searchsorted(classes, labels[scored])
    rows = np.bincount(codes, minlength=len(classes))
    sums = np.bincount(codes, values[scored].astype(np.float64), minlength=len(classes))
    return np.divide(sums, rows, out=np.full(len(classes), np.nan), where=rows > 0)


def _sample(groups: np.ndarray | None, labels: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return ascending row numbers: all rows, or a random sample of whole groups with at most `most` rows in total.

    If fewer than two groups fit into `most` rows, the two smallest groups are chosen. If no chosen group has a certain
    class, a random group with this class is added, because `class_bias` must cover the classes of the whole pool.
    """
    rows = len(labels)
    if rows <= most:
        return np.arange(rows)
    codes = np.arange(rows) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    order = rng.permutation(len(sizes))
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[fill_in_order(sizes[order], most)]] = True
    if chosen.sum() < 2:
        chosen = np.isin(np.arange(len(sizes)), np.argsort(sizes, kind="stable")[:2])
    for label in np.setdiff1d(labels, labels[chosen[codes]]):
        chosen[codes[rng.choice(np.flatnonzero(labels == label))]] = True
    return np.flatnonzero(chosen[codes])
