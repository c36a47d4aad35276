"""Terms of the Data Quality Index (DQI).

The terms are not combined into one index, because no source defines the combination precisely. Mishra et al. 2020
(arXiv 2005.00816) name seven components, c1 to c7. The formulas are from the authors' public notebooks. The paper of
Mishra and Sachdeva ("Do We Need to Create Big Datasets to Learn a Task?", SustaiNLP 2020) contains no formula. All
standard deviations have the divisor n - 1. A term is NaN if its divisor is 0 or if there are no items.
"""

import numpy as np

SHORTEST, LONGEST = 3, 30
"""Bounds of a sentence's length: lengths between the bounds increase t3, other lengths decrease it."""


def vocabulary_term(distinct_words: int, rows: int) -> float:
    """Return the first term of c1 (vocabulary): t1 = V / X, with V distinct words in X rows; a pair is one row.

    Mishra and Sachdeva (2020) rank rows only by this term. The term t1 depends on the size of the set: it falls as rows
    are added, even if the rows are not repetitive.
    """
    return distinct_words / rows if rows else np.nan


def length_term(lengths: np.ndarray) -> float:
    """Return the second term of c1 (vocabulary): t2 = sd(l), with l (`lengths`) words in each sentence."""
    return _deviation(lengths)


def length_range_term(lengths: np.ndarray) -> float:
    """Return the third term of c1 (vocabulary): t3 = mean of sgn((l - 3)(30 - l)) over sentence lengths l, in [-1, 1].

    A length of exactly 3 or 30 counts as -1.
    """
    inside = (lengths - SHORTEST) * (LONGEST - lengths) > 0
    return float(np.where(inside, 1, -1).mean()) if len(lengths) else np.nan


def evenness_term(counts: np.ndarray) -> float:
    """Return the first term of c2 (frequency of items): 1 / sd(c / K), for K distinct items with counts c.

    The term is NaN if all items are equally frequent. `counts` may include items with count 0, which are ignored. The
    term grows with the size of the set.
    """
    present = counts[counts > 0]
    deviation = _deviation(present)  # exactly 0 for equal whole numbers
    return len(present) / deviation if deviation > 0 else np.nan


def rarity_term(counts: np.ndarray, most_share: float | None) -> float:
    """Return the second term of c2 (frequency of items): (sum of rare counts - sum of frequent counts) / C, in [-1, 1].

    C is the sum of all counts. An item is rare if its count c is at most `most_share` * C or, if `most_share` is None,
    if c is 1. Items with count 0 are ignored.
    """
    total = int(counts.sum())
    if not total:
        return np.nan
    rare = counts <= (1 if most_share is None else most_share * total)
    return float(2 * counts[rare].sum() - total) / total


def difference_deviation_term(differences: np.ndarray) -> float:
    """Return a term of c5 (length differences): sd(|dl|) / N for N pairs of texts.

    |dl| (`differences`) is the difference in the number of words between the two texts of a pair.
    """
    return _deviation(differences) / len(differences) if len(differences) else np.nan


def difference_term(differences: np.ndarray) -> float:
    """Return a term of c5 (length differences): N / (1 + sum of |dl|) for N pairs of texts.

    |dl| is the difference in the number of words between the two texts of a pair.
    """
    return float(len(differences) / (1 + differences.sum())) if len(differences) else np.nan


def label_spread_term(counts: np.ndarray, items: np.ndarray, labels: int, rows: int) -> float:
    """Return a term of c6 (items by label): N / (1 + sum over items of sd(c)) for N `rows`.

    sd(c) is the standard deviation of an item's count over labels. The term is NaN if there is only one label.

    `counts`: the count of each pair of an item and a label. `items`: the number of each pair's item, from 0. A missing
    pair of an item and a label has the count 0. `labels`: number of labels.
    """
    if labels < 2 or not rows:
        return np.nan
    mean = np.bincount(items, weights=counts) / labels
    squares = np.bincount(items, weights=(counts - mean[items]) ** 2) + (labels - np.bincount(items)) * mean**2
    return float(rows / (1 + np.sqrt(squares / (labels - 1)).sum()))


def _deviation(values: np.ndarray) -> float:
    """Return the standard deviation, or NaN if there are fewer than two values."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
