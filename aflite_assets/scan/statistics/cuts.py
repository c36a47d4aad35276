"""Random cuts, which divide the rows into two halves. Cues are chosen on one half and tested on the other half.

Rows of one unit stay in the same half.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RowHalves:
    """Row positions of two halves, int64, ascending: cues are chosen on `chosen_on` and tested on `tested_on`."""

    chosen_on: np.ndarray
    tested_on: np.ndarray


def draw_cut(rows: np.ndarray, labels: np.ndarray, units: np.ndarray, rng: np.random.Generator) -> RowHalves:
    """Divide rows into two halves that have about the same number of rows of each class. Rows of one unit are put into
    the same half.

    Args:
        rows: positions of the rows to divide, int64.
        labels: class of each row in `rows`, int64.
        units: unit of each row in `rows`, int64.
        rng: random generator that assigns the units to the halves.
    """
    _, codes = np.unique(units, return_inverse=True)
    sizes = np.bincount(codes)
    usual = _usual_class(codes, labels)
    order = rng.permutation(len(sizes))
    order = order[np.lexsort((-sizes[order] * (sizes[order] > 1), usual[order]))]  # large units first
    side = np.zeros(len(sizes), dtype=bool)
    for label in np.unique(usual):
        own = order[usual[order] == label]
        side[own] = _balanced(sizes[own], bool(rng.integers(2)))
    tested = side[codes]
    return RowHalves(rows[~tested], rows[tested])


def _usual_class(codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the most frequent class of each unit."""
    classes, numbers = np.unique(labels, return_inverse=True)
    pairs, counts = np.unique(codes * len(classes) + numbers, return_counts=True)
    order = np.lexsort((counts, pairs // len(classes)))
    last = np.append(np.diff(pairs[order] // len(classes)) > 0, True)
    return np.asarray(pairs[order][last] % len(classes))


def _balanced(sizes: np.ndarray, first: bool) -> np.ndarray:
    """Assign each unit to the half that has fewer rows so far. Return a bool per unit, True for the second half."""
    side = np.zeros(len(sizes), dtype=bool)
    ahead = 0
    for place, size in enumerate(sizes.tolist()):
        second = ahead > 0 if ahead else first ^ bool(place % 2)
        side[place] = second
        ahead += -size if second else size
    return side
