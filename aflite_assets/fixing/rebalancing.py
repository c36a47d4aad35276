"""Subsets of rows in which a cue predicts nothing, because rows with the cue and rows without it have the same class
shares.
"""

import numpy as np

from aflite_assets.errors import DataError

_ROUNDS = 20


def rebalanced_rows(carriers: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a large subset in which rows with the cue and rows without it have the same class shares.

    Args:
        carriers: bool of shape (rows, cues), True if the row has the cue. All combinations of cues that keep rows get
            the same class shares.
        labels: class of each row, int64 from 0.
        rng: random generator that chooses the kept rows.

    Returns:
        Positions of the kept rows, int64, ascending. Every class keeps rows.

    A cell c is a combination of cues. Cell c has a factor a_c and n_ck rows of class k. The subset keeps x_k a_c rows
    of class k in cell c, and x_k is the minimum of n_ck / a_c over all cells. The subset with the largest geometric
    mean of the classes' kept rows is chosen, each class weighted by its share: the largest number of rows alone would
    nearly remove classes. Between the points n_ck / x_k, the logarithm of this mean has no maximum in a_c, so only
    these points are tried. For one cue, the subset is the exact optimum; for several, coordinate ascent finds it.

    Raises:
        DataError: no combination of cues has rows of every class, or a class would keep no rows.
    """
    cells, classes, counts = count_cells(carriers, labels)
    kept = _kept_counts(counts)
    if kept is None:
        raise DataError(
            "neither the rows with the cue nor the rows without it contain enough rows of every class, so no subset "
            "can remove the cue and keep all classes; collect more rows, or choose another `--by`"
        )
    chosen = []
    for cell, place in np.ndindex(kept.shape):
        own = np.flatnonzero((cells == cell) & (classes == place))
        chosen.append(rng.choice(own, int(kept[cell, place]), replace=False))
    return np.sort(np.concatenate(chosen))


def count_cells(carriers: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three arrays: the cell of each row, the index of its class among the classes that occur, and the number of
    rows per cell and class.

    A cell is a combination of cues. `carriers`: bool of shape (rows, cues). The array of numbers of rows has shape
    (cells, classes).

    Raises:
        DataError: there are no rows.
    """
    if not len(labels):
        raise DataError("the file has no rows with a label; give a file with labels")
    found, cells = np.unique(carriers, axis=0, return_inverse=True)
    present, classes = np.unique(labels, return_inverse=True)
    counts = np.zeros((len(found), len(present)))
    np.add.at(counts, (cells.reshape(-1), classes), 1)
    return cells.reshape(-1), classes, counts


def _kept_counts(counts: np.ndarray) -> np.ndarray | None:
    """Return the number of rows to keep per cell and class, as whole numbers in a float64 array of the same shape as
    `counts`.
    """
    usable = (counts > 0).all(axis=1)
    if not usable.any():
        return None
    own = counts[usable]
    factors = own.sum(axis=1) / own.sum()
    for _ in range(_ROUNDS):
        before = _mean_size(own, factors)
        for cell in range(len(own)):
            factors = _best_factor(own, factors, cell)
        if _mean_size(own, factors) <= before + 1e-9:
            break
    kept = np.zeros_like(counts)
    kept[usable] = np.minimum(np.rint(_shared(own, factors) * factors[:, None]), own)
    return kept if kept.sum(axis=0).all() else None


def _shared(counts: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return x_k: the largest number such that every cell has at least its factor times x_k rows of class k."""
    with np.errstate(divide="ignore"):
        shared: np.ndarray = (counts / factors[:, None]).min(axis=0)
    return shared


def _mean_size(counts: np.ndarray, factors: np.ndarray) -> float:
    """Return the logarithm of the geometric mean of the kept rows by class, weighted by class shares."""
    shares = counts.sum(axis=0) / counts.sum()
    return float(shares @ np.log(_shared(counts, factors) * factors.sum()))


def _best_factor(counts: np.ndarray, factors: np.ndarray, cell: int) -> np.ndarray:
    """Replace one cell's factor by the value with the largest mean size of classes, and return all factors."""
    others = np.arange(len(counts)) != cell
    if not others.any():
        return factors
    candidates = counts[cell] / _shared(counts[others], factors[others])
    if factors[others].any():
        candidates = np.append(candidates, 0.0)
    tried = [np.where(others, factors, candidate) for candidate in candidates.tolist()]
    return max([factors, *tried], key=lambda one: _mean_size(counts, one))
