"""Feature columns that are of little use to a linear model: constant, repeated, or on very different scales."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True)
class FeatureColumns:
    """Findings about the columns of a finite matrix; columns are numbered from 0.

    `constant`: columns with one value in all rows. `all_zero`: number of constant columns in which every value is zero.
    `repeated`: sets of at least two non-constant columns that are equal in every row. `deviations`: standard deviation
    of every column, float64.
    """

    constant: tuple[int, ...]
    all_zero: int
    repeated: tuple[tuple[int, ...], ...]
    deviations: np.ndarray


def all_finite(features: np.ndarray) -> bool:
    """Return True if no value of `features` (rows x width float32) is NaN or infinite."""
    return all(np.isfinite(block).all() for block in blocks(features, np.ones(len(features), bool)))


def feature_columns(features: np.ndarray, rows: np.ndarray) -> FeatureColumns:
    """Find constant and repeated columns of `features` (rows x width float32, finite), and compute deviations.

    Only the rows with True in the mask `rows` are used, and there must be at least one such row. The values 0 and -0
    are equal.
    """
    lowest = np.min([block.min(axis=0) for block in blocks(features, rows)], axis=0)
    highest = np.max([block.max(axis=0) for block in blocks(features, rows)], axis=0)
    constant = lowest == highest
    return FeatureColumns(
        constant=tuple(np.flatnonzero(constant).tolist()),
        all_zero=int((constant & (lowest == 0)).sum()),
        repeated=_repeated(features, rows, np.flatnonzero(~constant)),
        deviations=np.where(constant, 0.0, _deviations(features, rows)),
    )


def blocks(features: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows with True in the mask `rows`, in blocks and in order."""
    for start in range(0, len(features), _ROWS_AT_ONCE):
        inside = rows[start : start + _ROWS_AT_ONCE]
        if inside.any():
            yield features[start : start + _ROWS_AT_ONCE][inside]


def _deviations(features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    count = rows.sum()
    means = sum(block.sum(axis=0, dtype=np.float64) for block in blocks(features, rows)) / count
    squares = sum(np.square(block - means).sum(axis=0) for block in blocks(features, rows))
    return np.sqrt(np.asarray(squares) / count)


def _repeated(features: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[tuple[int, ...], ...]:
    hashes = {column: hashlib.blake2b(digest_size=16) for column in columns.tolist()}
    for block in blocks(features, rows):
        by_column = np.ascontiguousarray(block.T) + np.float32(0)  # adding 0 converts -0 to 0
        for column, content in hashes.items():
            content.update(by_column[column].data)
    equal: dict[bytes, list[int]] = {}
    for column, content in hashes.items():
        equal.setdefault(content.digest(), []).append(column)
    return tuple(tuple(same) for same in equal.values() if len(same) > 1)
