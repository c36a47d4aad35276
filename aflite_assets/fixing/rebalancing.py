"""A subset of rows in which a cue tells nothing: the classes have the same shares among carriers and all others."""

import numpy as np

from aflite_assets.errors import DataError

_ROUNDS = 20


def rebalanced_rows(carriers: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many rows as possible of which carriers and other rows have the same class shares.

    Args:
        carriers: which rows carry each cue, bool of shape (rows, cues). Of several cues every combination is balanced.
        labels: class of each row, int64 from 0.
        rng: decides which rows are kept.

    Returns:
        Positions of the kept rows, int64, ascending. Every class keeps rows.

    With n rows of class k in cell c, the kept rows are x_k a_c with x_k = min over c of n_ck / a_c. Their number is a
    convex function of each a_c between the points n_ck / x_k, so that the largest number is at one of these. For one
    cue that is the exact optimum; for several it is a coordinate ascent.

    Raises:
        DataError: neither the rows with the cue nor those without it hold all classes, so that no subset does.
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
    """Return the cell of each row, the place of its class among those that occur, and the rows per cell and class.

    A cell is a combination of cues, by `carriers`: bool of shape (rows, cues).

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
    """Return how many rows of each cell and class are kept, float64 whole numbers of the shape of `counts`."""
    usable = (counts > 0).all(axis=1)
    if not usable.any():
        return None
    own = counts[usable]
    factors = own.sum(axis=1) / own.sum()
    for _ in range(_ROUNDS):
        before = _total(own, factors)
        for cell in range(len(own)):
            factors = _best_factor(own, factors, cell)
        if _total(own, factors) <= before * (1 + 1e-9):
            break
    kept = np.zeros_like(counts)
    kept[usable] = np.minimum(np.rint(_shared(own, factors) * factors[:, None]), own)
    return kept if kept.sum(axis=0).all() else None


def _shared(counts: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return x_k, the largest number of rows of each class that every cell can give in proportion to its factor."""
    with np.errstate(divide="ignore"):
        shared: np.ndarray = (counts / factors[:, None]).min(axis=0)
    return shared


def _total(counts: np.ndarray, factors: np.ndarray) -> float:
    return float(_shared(counts, factors).sum() * factors.sum())


def _best_factor(counts: np.ndarray, factors: np.ndarray, cell: int) -> np.ndarray:
    """Return the factors with that of one cell replaced by the one with which the most rows are kept."""
    others = np.arange(len(counts)) != cell
    if not others.any():
        return factors
    candidates = counts[cell] / _shared(counts[others], factors[others])
    if factors[others].any():
        candidates = np.append(candidates, 0.0)
    tried = [np.where(others, factors, candidate) for candidate in candidates.tolist()]
    return max([factors, *tried], key=lambda one: _total(counts, one))
