"""Row weights with which a cue no longer predicts the label, and the strength of cues in weighted rows.

The functions of this module remove no row.
"""

from dataclasses import replace

import numpy as np

from aflite_assets.errors import DataError
from aflite_assets.fixing.rebalancing import count_cells
from aflite_assets.scan.cues import Cue, ScanResult
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.scan import LEAST_BALANCED
from aflite_assets.scan.statistics.effects import balanced_accuracy, wilson

WEIGHT_COLUMN = "cue_weight"
"""Name of the weight column in a cleaned copy."""

_DIGITS = 6


def balancing_weights(carriers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return row weights with which rows with the cue, and rows without the cue, have the class shares of all rows.

    Args:
        carriers: bool of shape (rows, cues), True if the row has the cue. All combinations of cues with positive
            weights get the same class shares.
        labels: class of each row, int64 from 0.

    Returns:
        Weights of shape (rows,), float64 with six significant digits. The mean of the positive weights is about 1.
        If a combination of cues has no rows of a class, all rows of the combination get weight 0.

    The method is reweighing (Kamiran and Calders 2012). The weight is the number of rows of the combination times the
    number of rows of the class, divided by the number of all rows times the number of rows of the class with the
    combination.

    Raises:
        DataError: there are no rows, or no combination has rows of all classes.
    """
    cells, classes, counts = count_cells(carriers, labels)
    usable = (counts > 0).all(axis=1)
    if not usable.any():
        raise DataError(
            "neither the rows with the cue nor the rows without it contain every class, so no weights can remove the "
            "cue; collect more rows, or choose another `--by`"
        )
    own = counts[usable]
    weights = np.zeros_like(counts)
    shares = counts.sum(axis=0) / counts.sum()
    weights[usable] = own.sum(axis=1, keepdims=True) * shares / own
    rounded = np.array([float(f"{weight:.{_DIGITS}g}") for weight in weights.ravel()]).reshape(weights.shape)
    return np.asarray(rounded[cells, classes])


def effective_rows(weights: np.ndarray) -> float:
    """Return the effective sample size of weighted rows, which is (sum of weights)^2 / sum of squares (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def weighted_result(result: ScanResult, rows: ScanRows, weights: np.ndarray) -> ScanResult:
    """Return the scan's result, reduced to the cues that still predict the label in weighted rows.

    Args:
        result: the scan of all `rows`.
        rows: the scanned rows.
        weights: weight of each row, float64; weights of rows in other sets are ignored.

    A cue, or its negation, is kept if the lower bound of its weighted balanced accuracy reaches the scan's threshold.
    The function does not search for other cues, and does not test the artefacts together.
    """
    own = np.flatnonzero(rows.scanned)
    classes = {name: number for number, name in enumerate(rows.label_names)}
    cues = []
    for place, cue in enumerate(result.cues):
        is_class = rows.labels[own] == classes[cue.label]
        carried = np.asarray(result.carriers[own, place], dtype=bool)
        after = _weighted_cue(cue, carried, is_class, weights[own], result.row_units[own])
        cues += [after] if after.low >= LEAST_BALANCED else []
    return replace(result, cues=tuple(cues), surface=None)


def _weighted_cue(cue: Cue, carried: np.ndarray, is_class: np.ndarray, weights: np.ndarray, units: np.ndarray) -> Cue:
    """Return the cue with its weighted balanced accuracy, or the negated cue if the negated cue is stronger."""
    found = [_balanced(one, is_class, weights, units) for one in (carried, ~carried)]
    balanced, low, high = max(found)
    return replace(cue, balanced=balanced, low=low, high=high)


def _balanced(
    carried: np.ndarray, is_class: np.ndarray, weights: np.ndarray, units: np.ndarray
) -> tuple[float, float, float]:
    inside, outside = (_share(carried[rows], weights[rows], units[rows]) for rows in (is_class, ~is_class))
    balanced, low, high = balanced_accuracy(inside, outside)
    return float(balanced[0]), float(low[0]), float(high[0])


def _share(carried: np.ndarray, weights: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the weighted share of rows with the cue, and Wilson's interval of this share, computed with the effective
    number of rows.

    The effective number of rows is derived from the variance of a ratio of sums over units.
    """
    total = float(weights.sum())
    if not total:
        return np.zeros(1), np.zeros(1), np.ones(1)
    share = float(weights @ carried) / total
    _, codes = np.unique(units, return_inverse=True)
    variance = float((np.bincount(codes, weights * (carried - share)) ** 2).sum()) / total**2
    known = effective_rows(weights)
    effective = min(share * (1 - share) / variance, known) if variance > 0 else known
    shares = np.array([share])
    return shares, *wilson(shares, np.array([max(effective, 1.0)]))
