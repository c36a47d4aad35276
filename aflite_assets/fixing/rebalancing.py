"""Subsets of rows in which a cue predicts nothing, because rows with the cue and rows without it have the same class
shares as the dataset.
"""

import numpy as np

from aflite_assets.errors import DataError


def rebalanced_rows(carriers: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the largest subset in which rows with the cue, and rows without it, have the class shares of the dataset.

    Args:
        carriers: bool of shape (rows, cues), True if the row has the cue. All combinations of cues that keep rows get
            the same class shares.
        labels: class of each row, int64 from 0.
        rng: random generator that chooses the kept rows.

    Returns:
        Positions of the kept rows, int64, ascending. Every class keeps rows.

    The class shares are those of all combinations of cues that have rows of every class; other combinations keep no
    row. Other shares would keep more rows, but nearly all of them of one class: with three sources, each of which gave
    82 % of one of three classes, 83 % of the kept rows were of one class.

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
    shares = own.sum(axis=0) / own.sum()
    sizes = (own / shares).min(axis=1, keepdims=True)
    kept = np.zeros_like(counts)
    kept[usable] = np.minimum(np.rint(sizes * shares), own)
    return kept if kept.sum(axis=0).all() else None
