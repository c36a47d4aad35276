"""Generation of circles with planted artifacts, as tables like those that are read from files."""

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.specs.sources import CirclesSource

_LIST_VALUES = 2**31 - 1
"""Largest number of values in a list column, because Arrow numbers them with 32 bits."""


def circles(source: CirclesSource) -> dict[str, pa.Table]:
    """Draw the splits of a circles dataset.

    Columns: `features` list<float32> (x, y, then the bias features), `label` int64 (the given label: 0 inner, 1 outer),
    `biased` and `flipped` as "yes" or "no". Labels are flipped only in `source.flipped_splits`. Each split has its own
    stream of random numbers, determined by the seed and the split's name.
    """
    return {
        split: _circles_split(
            source, rows, np.random.default_rng([source.seed, *split.encode()]), flip=split in source.flipped_splits
        )
        for split, rows in source.splits.items()
    }


def _circles_split(source: CirclesSource, rows: int, rng: np.random.Generator, *, flip: bool) -> pa.Table:
    circle = np.arange(rows) % 2
    radius = np.where(circle == 0, source.inner_radius, source.outer_radius)
    radius = radius + rng.normal(0, source.radius_deviation, rows)
    angle = rng.uniform(0, 2 * np.pi, rows)
    biased = _share_of_each_class(circle, source.biased_share, rng)
    flipped = biased & flip & (rng.random(rows) < source.flipped_share)
    label = np.where(flipped, 1 - circle, circle)
    means = np.where(label == 1, source.bias_mean, -source.bias_mean)[:, None]
    bias = means + rng.normal(0, source.bias_deviation, (rows, source.bias_width))
    noise = rng.normal(0, source.noise_deviation, (rows, source.bias_width))
    cues = np.where(biased[:, None], bias, noise)
    features = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), cues]).astype(np.float32)
    order = rng.permutation(rows)
    return pa.table(
        {
            "features": list_column(features[order]),
            "label": label[order],
            "biased": _yes_no(biased[order]),
            "flipped": _yes_no(flipped[order]),
        }
    )


def _share_of_each_class(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        chosen[rng.choice(rows, round(share * len(rows)), replace=False)] = True
    return chosen


def _yes_no(flags: np.ndarray) -> pa.Array:
    return pa.array(np.where(flags, "yes", "no"))


def list_column(matrix: np.ndarray) -> pa.Array:
    """Convert a matrix of rows x width to one list<float32> column.

    Raises:
        DataError: the matrix has more numbers than such a column can contain.
    """
    if matrix.size > _LIST_VALUES:
        raise DataError(
            f"{len(matrix)} rows of {matrix.shape[1]} features are {matrix.size} numbers, but a split can contain at "
            f"most {_LIST_VALUES}; set `limit`, or use fewer features"
        )
    offsets = np.arange(len(matrix) + 1, dtype=np.int32) * np.int32(matrix.shape[1])
    return pa.ListArray.from_arrays(offsets, pa.array(matrix.reshape(-1).astype(np.float32)))
