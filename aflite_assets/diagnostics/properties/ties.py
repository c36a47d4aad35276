"""Associations ("ties") between a property and the label: the class that each value of the property points to.

This module also draws sets of rows in which the property and the label are not associated. The properties of a dataset
are listed in `values`. The stage `analysis` decides whether models rely on a property.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.diagnostics.score_tests import FEWEST_ROWS, MOST_VALUES, label_ties

MOST_POINTING = 16
"""Largest number of a property's values that may point to a class; all other values are treated as one."""

NOWHERE = -1
"""Code that replaces the class for values that do not point to a class."""


@dataclass(frozen=True, eq=False)
class Tie:
    """Association of a property's values with the label, estimated on train rows.

    `names`: the values that point to a class. `points_to`: the class (int) that each value in `names` points to.
    `p_value`: the p-value of the most significant value, adjusted for all values and classes (Bonferroni).

    `overlap`, in [0, 1]: the largest share of each class's rows that can be kept if the property must have the same
    distribution in all classes. `overlap` is 1 if the property is not associated with any class.
    """

    names: tuple[str, ...]
    points_to: np.ndarray
    p_value: float
    overlap: float


def learn_tie(values: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> Tie:
    """Return the association of a property's values with the classes of train rows.

    A value points to the class that is most significantly more frequent among rows with the value than among all rows.
    The difference must be significant at 5 % over all values and classes together (`label_ties`). Only the
    `MOST_POINTING` most significant values point to a class.

    Args:
        values: the value of each row as text, dtype object.
        labels: the class of each row, int64.
        groups: a code per row, equal for rows of one group, because tests treat groups as units; None if there are no
            groups.
    """
    from scipy.sparse import csc_array

    names, counts = np.unique(values.astype(str), return_counts=True)
    asked = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    names = names[asked[(counts[asked] >= FEWEST_ROWS) & (counts[asked] <= len(values) - FEWEST_ROWS)]]
    if not len(names):
        return Tie((), np.zeros(0, dtype=np.int64), 1.0, 1.0)
    present = csc_array((values.astype(str)[:, None] == names).astype(np.float64))
    ties = label_ties(present, labels, groups)
    p_values = np.minimum(1.0, len(names) * ties.p_values)
    surest = [place for place in np.argsort(p_values, kind="stable")[:MOST_POINTING] if p_values[place] <= 0.05]
    points_to = ties.labels[surest].astype(np.int64)
    pointing = tuple(str(names[place]) for place in surest)
    overlap = _shares(_codes(values, pointing), labels).min(axis=0).sum() if pointing else 1.0
    return Tie(pointing, points_to, float(p_values.min()), float(overlap))


def pointed(values: np.ndarray, tie: Tie) -> np.ndarray:
    """Return, for each row, the class (int64) that the row's value points to, or `NOWHERE` if the value points to no
    class.
    """
    return np.append(tie.points_to, NOWHERE)[_codes(values, tie.names)]


def independent_rows(
    values: np.ndarray, labels: np.ndarray, tie: Tie, rng: np.random.Generator, *, share: float = 1.0
) -> np.ndarray:
    """Draw rows in which the property has the same distribution in all classes; the class shares do not change.

    Let a_kv be the share of value v among the rows of class k. Of the rows with value v in class k, the share min_j
    a_jv / a_kv is kept. With this rule, each class keeps the share `tie.overlap` of its rows. The fraction `share`, in
    (0, 1], of the rows to keep is drawn. Returns a bool per row.
    """
    codes = _codes(values, tie.names)
    shares, classes = _shares(codes, labels), np.unique(labels)
    least = share * shares.min(axis=0)
    kept = np.zeros(len(labels), dtype=bool)
    for place, label in enumerate(classes):
        own = np.flatnonzero(labels == label)
        for code in np.flatnonzero(shares[place]):
            rows = own[codes[own] == code]
            kept[rng.choice(rows, min(round(least[code] * len(own)), len(rows)), replace=False)] = True
    return kept


def _codes(values: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return the position of each row's value in `names`, or the length of `names` if the value is not listed."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(value, len(names)) for value in values.astype(str)], dtype=np.int64)


def _shares(codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return an array (classes, codes) with the share of each class's rows that have each code."""
    _, classes = np.unique(labels, return_inverse=True)
    counts = np.zeros((int(classes.max()) + 1, int(codes.max()) + 1))
    np.add.at(counts, (classes, codes), 1)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
