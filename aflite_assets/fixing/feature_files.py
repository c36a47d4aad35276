"""Cleaned copies of `.npy` files of features, labels and groups, without some columns or rows."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aflite_assets.array_files import ArrayFileError, open_array
from aflite_assets.errors import DataError
from aflite_assets.fixing.weighting import WEIGHT_COLUMN
from aflite_assets.specs.sources import FeatureFiles

_COLUMN = "column "


def column_name(place: int) -> str:
    """Return the name that the scan gives to an unnamed feature column. `place`: number of the column, from 0."""
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
    """Write the arrays of a split into the folder `to`, and return the file names by field of `FeatureFiles`.

    Weights are written to a separate file that is not a field of `FeatureFiles`.

    Args:
        split: the name of the split; file names begin with it.
        files: the files of the original.
        to: a folder that exists.
        dropped: names of the features to leave out (`column_name` names unnamed features).
        rows: positions of the kept rows, int64, in their new order; None for all rows.
        weights: one weight per row, float64; None if rows have no weights.

    Raises:
        DataError: a file is not a plain array.
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
