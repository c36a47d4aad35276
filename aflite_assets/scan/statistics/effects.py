"""Effect sizes of rules: balanced accuracy with an interval that accounts for units.

P-values are computed in `testing`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

Z_95 = 1.959964
"""Half the width of a 95 % interval of the normal distribution, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of rules, as float64 arrays with one value per rule: balanced accuracy and its 95 % interval in [0, 1],
    and shares of rows.

    `carriers`: the number of rows that meet each rule. `precision`: among the rows that meet the rule, the share of
    rows that have the class. `precision_without`: among the rows that do not meet the rule, the share of rows that have
    another class. A share among no rows is 0.
    """

    balanced: np.ndarray
    low: np.ndarray
    high: np.ndarray
    carriers: np.ndarray
    precision: np.ndarray
    precision_without: np.ndarray


def measure_effects(present: Any, is_class: np.ndarray, units: np.ndarray) -> Effects:
    """Measure the balanced accuracy of rules for one class, on rows that were not used to choose the rules.

    Args:
        present: the rows that meet each rule, sparse csc_array of shape (rows, rules).
        is_class: bool of shape (rows,), with at least one True and one False.
        units: codes of rows that belong together, int64.

    Balanced accuracy is 0.5 + (a - b) / 2, where a share a of the class and a share b of the rest meet the rule. The
    interval of the difference is Newcombe's hybrid score interval (1998, Statistics in Medicine 17:873, method 10). The
    numbers of rows in the class and in the rest are divided by the design effect of the units.
    """
    inside, outside = (_share(present, rows, units) for rows in (is_class, ~is_class))
    carriers = np.asarray(present.sum(axis=0)).ravel()
    precision = inside[0] * is_class.sum() / np.maximum(carriers, 1)
    without = (1 - outside[0]) * (~is_class).sum() / np.maximum(len(is_class) - carriers, 1)
    return Effects(*balanced_accuracy(inside, outside), carriers, precision, without)


def balanced_accuracy(
    inside: tuple[np.ndarray, np.ndarray, np.ndarray], outside: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the balanced accuracy of rules and the bounds of its 95 % interval, in [0, 1].

    `inside`, `outside`: the share of rows that meet each rule, among the rows of the class and among the rest, and the
    bounds of the share's interval.
    """
    apart = inside[0] - outside[0]
    below = np.hypot(inside[0] - inside[1], outside[2] - outside[0])
    above = np.hypot(inside[2] - inside[0], outside[0] - outside[1])
    return 0.5 + apart / 2, 0.5 + (apart - below) / 2, 0.5 + (apart + above) / 2


def _share(present: Any, rows: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the share of rows that meet each rule, and Wilson's interval for the effective number of rows."""
    from scipy.sparse import csr_array

    own = csr_array(present)[np.flatnonzero(rows)]
    count = own.shape[0]
    share = np.asarray(own.sum(axis=0)).ravel().astype(np.float64) / max(count, 1)
    _, codes = np.unique(units[rows], return_inverse=True)
    sizes = np.bincount(codes).astype(np.float64)
    effective = np.full(len(share), float(count))
    if len(sizes) < count:
        in_units = csr_array((np.ones(count), (codes, np.arange(count))), shape=(len(sizes), count)) @ own
        squares = np.asarray(in_units.multiply(in_units).sum(axis=0)).ravel()
        cross = np.asarray(in_units.T @ sizes).ravel()
        variance = (squares - 2 * share * cross + share**2 * (sizes**2).sum()) / count**2
        plain = share * (1 - share) / count
        design = np.divide(variance, plain, out=np.ones_like(plain), where=plain > 0)
        effective = count / np.maximum(np.maximum(design, 1.0), 1.0)
    return share, *wilson(share, np.maximum(effective, 1.0))


def wilson(share: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper bounds of Wilson's 95 % interval (1927) for several shares, each a share of `count`
    rows.
    """
    middle = (share + Z_95**2 / (2 * count)) / (1 + Z_95**2 / count)
    half = Z_95 / (1 + Z_95**2 / count) * np.sqrt(share * (1 - share) / count + Z_95**2 / (4 * count**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
