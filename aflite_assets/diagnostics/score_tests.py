"""Score tests of many cues at once: whether rows with a cue are removed, or have a certain label, more often than
others.

All cues of all rows are given as one sparse array. The cues themselves are found in `evidence.cues` and
`properties.values`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Enrichment:
    """Results of `enrichment`, one number per cue.

    `rows`: number of rows with the cue. `removed`: number of removed rows with the cue. `expected`: the expected value
    of `removed` if the same number of rows of each class had been removed at random. `p_values`: one-sided p-values. If
    `enrichment` got signs, `removed` and `expected` count only rows of the classes with which the cue is associated.
    """

    rows: np.ndarray
    removed: np.ndarray
    expected: np.ndarray
    p_values: np.ndarray


def enrichment(
    present: Any,
    removed: np.ndarray,
    labels: np.ndarray,
    groups: np.ndarray | None,
    signs: np.ndarray | None = None,
) -> Enrichment:
    """Test, for each cue, whether rows with the cue were removed more often than random rows of the same classes.

    `signs`, of shape (classes in ascending order, cues): 1 for classes with which the cue is associated, and -1 for
    other classes (`class_signs`). If `signs` is None, every sign is 1. If a cue predicts the label by itself, the
    filter removes rows with the cue in the associated classes. In the other classes, it removes rows without the cue.
    Without signs, the effects in the associated classes and in the other classes would cancel out.

    The expected number is a sum over classes. The summand of a class is its number of rows with the cue, times the
    removed share of the class's rows. The p-value is the larger of two p-values. The first p-value is from the
    stratified score test with variances between groups of rows (`score_test`).

    The second p-value is also valid if only few rows have the cue (Mantel 1963, Journal of the American Statistical
    Association 58:690). The statistic of the second test is z = sum_k s_k (O_k - E_k) / sqrt(sum_k V_k) over classes k.
    The signs are s_k, observed and expected removals are O_k and E_k, and the variances V_k are hypergeometric. The sum
    in the numerator is moved towards zero by 0.5.
    """
    from scipy.stats import norm

    outcome = removed.astype(np.float64)
    z, _ = score_test(present, outcome, labels, groups, signs)
    _, strata = np.unique(labels, return_inverse=True)
    rows, gone = _by_stratum(present, np.ones(len(strata)), strata), _by_stratum(present, outcome, strata)
    sizes, left = np.bincount(strata)[:, None], np.bincount(strata, outcome)[:, None]
    signs = np.ones_like(rows) if signs is None else signs
    expected = rows * left / sizes
    variance = rows * (sizes - rows) * left * (sizes - left) / (sizes**2 * np.maximum(sizes - 1, 1))
    above = (signs * (gone - expected)).sum(axis=0)
    error = np.sqrt(variance.sum(axis=0))
    counted = np.divide(np.maximum(above - 0.5, 0.0), error, out=np.zeros_like(error), where=error > 0)
    own = signs > 0
    p_values = np.maximum(norm.sf(z), norm.sf(counted))
    removed_rows, expected_rows = (np.where(own, each, 0.0).sum(axis=0) for each in (gone, expected))
    return Enrichment(rows.sum(axis=0).astype(np.int64), removed_rows.astype(np.int64), expected_rows, p_values)


def class_signs(present: Any, labels: np.ndarray) -> np.ndarray:
    """Return an array (classes, cues): 1 if the cue is more frequent in the class than in all rows, otherwise -1."""
    _, strata = np.unique(labels, return_inverse=True)
    rows = _by_stratum(present, np.ones(len(strata)), strata)
    shares = rows / np.bincount(strata)[:, None]
    return np.where(shares > rows.sum(axis=0) / len(labels), 1.0, -1.0)


def _by_stratum(present: Any, values: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Return an array (strata, cues): the sum of `values` over the rows of the stratum that have the cue."""
    from scipy.sparse import csr_array

    inside = csr_array((values, (strata, np.arange(len(strata)))), shape=(int(strata.max()) + 1, len(strata)))
    return np.asarray((inside @ csr_array(present)).toarray())


@dataclass(frozen=True, eq=False)
class LabelTies:
    """Results of `label_ties`, one entry per cue.

    `labels`: the class with which the cue is most strongly associated. `shares`: the class's share among the rows with
    the cue. `p_values`: adjusted for the number of classes (Bonferroni).
    """

    labels: np.ndarray
    shares: np.ndarray
    p_values: np.ndarray


def label_ties(present: Any, labels: np.ndarray, groups: np.ndarray | None) -> LabelTies:
    """Test for each cue whether any label is more frequent among rows with the cue than among all rows."""
    from scipy.stats import norm

    classes = np.unique(labels)
    one_stratum = np.zeros(len(labels), dtype=np.int64)
    z = np.stack(
        [score_test(present, (labels == label).astype(np.float64), one_stratum, groups)[0] for label in classes], axis=1
    )
    best = z.argmax(axis=1)
    rows = np.maximum(np.asarray(present.sum(axis=0)).ravel(), 1)
    of_class = np.stack([np.asarray(present.T @ (labels == label).astype(np.float64)).ravel() for label in classes])
    shares = of_class[best, np.arange(len(best))] / rows
    return LabelTies(classes[best], shares, np.minimum(1.0, len(classes) * norm.sf(z.max(axis=1))))


def score_test(
    present: Any,
    outcome: np.ndarray,
    strata: np.ndarray,
    groups: np.ndarray | None,
    signs: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers per cue: z, and the expected sum of outcomes over the rows with the cue.

    The expectation assumes that the cue is uninformative within strata. Let e_i be the outcome of row i minus the mean
    of its stratum. Let x_i be the indicator of the cue (0 or 1) minus the cue's share in the stratum. The statistic is
    z = sum_i e_i x_i / sqrt(G/(G-1) sum_g (sum_{i in g} e_i x_i)^2). In the formula, g runs over the G groups. The
    statistic z is the score test of a stratified comparison with variances between groups (Liang and Zeger 1986,
    Biometrika 73:13, section 3). If the outcomes or the cue do not vary within any stratum, z is 0. With `signs`
    (values 1 and -1, of shape (strata in ascending order, cues)), x_i is multiplied by the sign of its stratum.
    """
    from scipy.sparse import csr_array

    _, strata = np.unique(strata, return_inverse=True)
    sizes = np.bincount(strata)
    means = np.bincount(strata, outcome) / sizes
    residuals = outcome - means[strata]
    entries = csr_array(present).tocoo()
    row, cue = entries.row, entries.col
    n_strata, n_cues = len(sizes), entries.shape[1]

    def in_strata(values: np.ndarray) -> np.ndarray:
        """Return an array (strata, cues) of sums of `values`, one per entry."""
        cells = np.bincount(strata[row] * n_cues + cue, values, minlength=n_strata * n_cues)
        return np.asarray(cells.reshape(n_strata, n_cues))

    rows_in_strata, signed = in_strata(entries.data), entries.data
    shares = rows_in_strata / sizes[:, None]
    if signs is not None:
        shares, signed = shares * signs, signed * signs[strata[row], cue]
    weighted = signed * residuals[row]
    total = np.bincount(cue, weighted, minlength=n_cues)
    if groups is None:
        count = len(outcome)
        squares = np.bincount(cue, weighted * weighted, minlength=n_cues)
        cross = (shares * in_strata(weighted * residuals[row])).sum(axis=0)
        rest = np.bincount(strata, residuals * residuals) @ shares**2
    else:
        own = np.unique(groups, return_inverse=True)[1]
        count = int(own.max()) + 1
        of_cues = csr_array((weighted, (own[row], cue)), shape=(count, n_cues))
        of_strata = csr_array((residuals, (own, strata)), shape=(count, n_strata))
        squares = np.bincount(of_cues.indices, of_cues.data * of_cues.data, minlength=n_cues)
        cross = np.einsum("sk,ks->k", shares, (of_cues.T @ of_strata).toarray())
        rest = np.einsum("sk,st,tk->k", shares, (of_strata.T @ of_strata).toarray(), shares)
    variance = np.maximum(squares - 2 * cross + rest, 0.0) * count / max(count - 1, 1)
    error = np.sqrt(variance)
    z = np.divide(total, error, out=np.zeros_like(total), where=error > 1e-9)
    return z, means @ rows_in_strata
