"""Cleaned copies of `.npy` files of features, labels and groups: fewer columns, other rows."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aflite_assets.array_files import ArrayFileError, open_array
from aflite_assets.errors import DataError
from aflite_assets.fixing.weighting import WEIGHT_COLUMN
from aflite_assets.specs.sources import FeatureFiles

_COLUMN = "column "


def column_name(place: int) -> str:
    """Return the name of a feature without one, as a scan calls it; `place` counts from 0."""
    return f"{_COLUMN}{place}"


def copy_features(
    split: str,
    files: FeatureFiles,
    to: Path,
    *,
    dropped: Sequence[str],
    rows: np.ndarray | None,
    weights: np.ndarray | None = None,
) -> dict[str, str]:
    """Write the arrays of a split into the folder `to`, and return their names by the fields of `FeatureFiles`.

    Weights stand in a file of their own, which has no such field.

    Args:
        split: the split's name, with which the files' names begin.
        files: the original's.
        to: a folder that exists.
        dropped: features that are left out, by `column_name`.
        rows: positions of the rows that are kept, int64, in their new order; None for all.
        weights: per row, float64; None if rows have none.

    Raises:
        DataError: a file is no plain array.
    """
    places = [int(name.removeprefix(_COLUMN)) for name in dropped]
    written = {}
    for field, name in files.model_dump(exclude_none=True).items():
        try:
            array = open_array(name)
        except ArrayFileError as error:
            raise DataError(
                f"split {split!r}: {name!r} is not a plain .npy file ({error}); save an array of numbers"
            ) from error
        array = np.delete(array, places, axis=1) if field == "features" and places else array
        written[field] = f"{split}_{field}.npy"
        np.save(to / written[field], array if rows is None else array[rows], allow_pickle=False)
    if weights is not None:
        np.save(to / f"{split}_{WEIGHT_COLUMN}.npy", weights)
    return written
