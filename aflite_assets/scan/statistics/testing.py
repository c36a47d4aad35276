"""Tests of chosen rules on the held-out half: permutation tests for artefacts, score tests for candidates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aflite_assets.diagnostics.score_tests import score_test

PERMUTATIONS = 999
"""Number of permutations of the labels between units, so the smallest p-value of a cut is 0.001."""

_AT_ONCE = 250
_RATIO = 1.25
"""Maximum ratio of the sizes of two units that exchange their labels."""


def permutation_p_values(
    present: np.ndarray,
    rule_labels: np.ndarray,
    labels: np.ndarray,
    units: np.ndarray,
    rng: np.random.Generator,
    *,
    by_size: bool = True,
) -> np.ndarray:
    """Return p-values that are adjusted for all rules together by the maximum statistic (maxT, Westfall and Young
    1993).

    Args:
        present: which rows meet each rule, float32 of shape (rows, rules).
        rule_labels: class of each rule, int64.
        labels: class of each row, int64.
        units: codes of rows that belong together; whole units exchange their labels.
        rng: random generator for the permutations.
        by_size: if True, units exchange labels only with units of similar size. If `by_size` is False, a correlation
            between unit size and label counts as an effect.

    The statistic is the share of the class that meets the rule minus the share of the rest, divided by the standard
    deviation of this difference over the permutations. If the size of units depends on the class and `by_size` is
    False, every property of large units appears to be a cue.
    """
    observed = _differences(present, rule_labels, labels[:, None])[:, 0]
    order = unit_permutations(units, rng, by_size=by_size)
    blocks = []
    for start in range(0, PERMUTATIONS, _AT_ONCE):
        count = min(_AT_ONCE, PERMUTATIONS - start)
        permuted = np.column_stack([labels[next(order)] for _ in range(count)])
        blocks.append(_differences(present, rule_labels, permuted))
    null = np.concatenate(blocks, axis=1)
    mean, deviation = null.mean(axis=1, keepdims=True), null.std(axis=1, keepdims=True)
    scale = np.where(deviation > 1e-9, deviation, np.inf)
    largest = ((null - mean) / scale).max(axis=0)
    statistic = (observed - mean[:, 0]) / scale[:, 0]
    return np.asarray((1 + (largest[None, :] >= statistic[:, None] - 1e-9).sum(axis=1)) / (1 + PERMUTATIONS))


def _differences(present: np.ndarray, rule_labels: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the difference of shares for each rule and column of labels, of shape (rules, columns)."""
    found = np.zeros((present.shape[1], labels.shape[1]))
    total = present.sum(axis=0)[:, None]
    for label in np.unique(rule_labels):
        own = rule_labels == label
        is_class = (labels == label).astype(np.float32)
        sizes = is_class.sum(axis=0)
        inside = present[:, own].T @ is_class
        found[own] = inside / np.maximum(sizes, 1) - (total[own] - inside) / np.maximum(len(labels) - sizes, 1)
    return found


def unit_permutations(units: np.ndarray, rng: np.random.Generator, *, by_size: bool = True) -> Iterator[np.ndarray]:
    """Yield permutations without end. A permutation gives, for each row, the row from which it takes its label, int64.

    Units that consist of a single row exchange labels with each other. A unit of several rows takes the labels of a
    unit of similar size, in random order. Some labels of a larger unit are left out, and labels of a smaller unit are
    repeated. If `by_size` is False, units exchange labels with units of any size.
    """
    _, codes, sizes = np.unique(units, return_inverse=True, return_counts=True)
    alone = sizes[codes] == 1
    if alone.all():
        while True:
            yield rng.permutation(len(units))
    single = np.flatnonzero(alone & by_size)  # units of one row form a separate stratum
    larger = np.setdiff1d(np.arange(len(units)), single)
    exchanges = _exchanges(codes[larger], rng, by_size=by_size)
    while True:
        source = np.empty(len(units), dtype=np.int64)
        source[single] = rng.permutation(single)
        source[larger] = larger[next(exchanges)]
        yield source


def _exchanges(units: np.ndarray, rng: np.random.Generator, *, by_size: bool) -> Iterator[np.ndarray]:
    """Yield permutations of labels between whole units, as described in `unit_permutations`."""
    _, codes, sizes = np.unique(units, return_inverse=True, return_counts=True)
    ascending = np.argsort(sizes, kind="stable")
    stratum = np.zeros(len(sizes), dtype=np.int64)
    if by_size:
        stratum[ascending] = size_strata(sizes[ascending])
    in_strata = np.argsort(stratum, kind="stable")
    starts = np.append(0, np.cumsum(sizes))[:-1]
    own = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(units)) - starts[own]
    by_unit = np.argsort(codes, kind="stable")
    while True:
        donors = np.empty(len(sizes), dtype=np.int64)
        donors[in_strata] = np.argsort(stratum + rng.random(len(sizes)))
        shuffled = np.argsort(codes + rng.random(len(units)))
        donor = donors[own]
        source = np.empty(len(units), dtype=np.int64)
        source[by_unit] = shuffled[starts[donor] + place * sizes[donor] // sizes[own]]
        yield source


def size_strata(sizes: np.ndarray) -> np.ndarray:
    """Return a stratum number for each size. Sizes in one stratum differ by at most the factor `_RATIO`.

    The sizes must be in ascending order.
    """
    strata, first, number = np.zeros(len(sizes), dtype=np.int64), 1, 0
    for place, size in enumerate(sizes.tolist()):
        if size > _RATIO * first:
            number, first = number + 1, size
        strata[place] = number
    return strata


def score_p_values(present: Any, rule_labels: np.ndarray, labels: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return unadjusted one-sided p-values of the rules; variances are computed between units.

    `present`: sparse, shape (rows, rules). The statistic follows Student's t distribution with units - 1 degrees of
    freedom.
    """
    from scipy.special import stdtr  # importing scipy.stats takes most of a second

    z = np.zeros(present.shape[1])
    for label in np.unique(rule_labels):
        own = np.flatnonzero(rule_labels == label)
        one_stratum = np.zeros(len(labels), dtype=np.int64)
        z[own], _ = score_test(present[:, own], (labels == label).astype(np.float64), one_stratum, units)
    return np.asarray(stdtr(max(len(np.unique(units)) - 1, 1), -z))


def over_cuts(p_values: Sequence[float], cuts: int) -> float:
    """Return twice the median p-value over the cuts (Meinshausen, Meier and Buehlmann 2009, JASA 104:1671).

    A cut in which the rule was not chosen counts as p = 1. With five cuts, the rule must therefore be chosen in at
    least three.
    """
    filled = sorted([*p_values, *[1.0] * (cuts - len(p_values))])
    return min(1.0, 2 * float(np.median(filled)))


def false_discovery_set(p_values: Mapping[Any, float], rate: float, *, tests: int) -> set[Any]:
    """Return the keys that are significant at a false discovery rate of at most `rate`.

    `p_values` are already multiplied by the number of tested rules. For such p-values, the step-up rule of Benjamini
    and Yekutieli (2001) divides only by the sum of 1/i over all `tests`. For several cuts, see Meinshausen, Meier and
    Buehlmann (2009). `tests`: the number of rules that could have been chosen, counted as pairs of a property and a
    class.
    """
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    scale = harmonic_sum(max(tests, len(ordered)))
    last = max((rank for rank, (_, p) in enumerate(ordered, 1) if p <= rate * rank / scale), default=0)
    return {key for key, _ in ordered[:last]}


def harmonic_sum(tests: int) -> float:
    """Return the sum of 1/i for i from 1 to `tests`."""
    return float((1 / np.arange(1, tests + 1)).sum())
