"""Weights of rows with which a cue tells nothing, and what cues tell with them. Every row stays."""

from dataclasses import replace

import numpy as np

from aflite_assets.errors import DataError
from aflite_assets.fixing.rebalancing import count_cells
from aflite_assets.scan.cues import Cue, ScanResult
from aflite_assets.scan.effects import balanced_accuracy, wilson
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.scan import LEAST_BALANCED

WEIGHT_COLUMN = "cue_weight"
"""The column of weights in a cleaned copy."""

_DIGITS = 6


def balancing_weights(carriers: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return weights with which carriers and other rows have the same class shares: those of all rows.

    Args:
        carriers: which rows carry each cue, bool of shape (rows, cues). Of several cues every combination is balanced.
        labels: class of each row, int64 from 0.

    Returns:
        Weights of shape (rows,), float64 of six significant digits, with a mean of about 1 over rows that weigh
        anything. Rows of a combination that lacks a class weigh 0, since no weight balances them.

    This is reweighing (Kamiran and Calders 2012): rows of the combination times rows of the class, over all rows times
    the rows that have both.

    Raises:
        DataError: there are no rows, or every combination lacks a class.
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
    """Return how many rows of equal weights say as much: (sum of weights)^2 / sum of squares (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def weighted_result(result: ScanResult, rows: ScanRows, weights: np.ndarray) -> ScanResult:
    """Return the scan's result with the cues that still tell the label if rows are weighted.

    Args:
        result: the scan of `rows`, of which it scanned all.
        rows: the scanned rows.
        weights: per row, float64; those of other sets do not matter.

    A cue stays if the lower end of its balanced accuracy with weights reaches the scan's bound, for its class or
    against it. Other cues than those of the result are not looked for, nor all artefacts together.
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
    """Return the cue with its balanced accuracy with weights, of the opposite if that tells more."""
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
    """Return the weighted share of carriers with Wilson's interval for as many rows as its variance says.

    The variance is that of a ratio of sums over units.
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
