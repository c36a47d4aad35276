"""Standardisation of feature columns to mean 0 and standard deviation 1 in the train rows.

The means and deviations (the scale) are saved in a file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.circles import list_column
from aflite_assets.errors import DataError
from aflite_assets.results.files import write_json

SCALE_FILE = "scale.json"

_DIGITS = 6
"""Number of significant decimal digits that float32 preserves."""


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of each feature column over the train rows, float64 (width,).

    Mean and standard deviation are in the source's units. The deviation of a column that is constant in the train rows
    is set to 1.
    """

    mean: np.ndarray
    deviation: np.ndarray
    constant: tuple[int, ...]

    @classmethod
    def of(cls, examples: Examples) -> Self:
        """Compute the mean and standard deviation of each feature column over the train rows.

        Raises:
            DataError: the rows have no features, or all columns are constant.
        """
        if examples.modality != "features":
            raise DataError(
                f"`standardise` is for feature vectors, but the rows are of the kind '{examples.modality}'; remove "
                "`standardise`"
            )
        train = examples.in_split("train").features.astype(np.float64)
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        # Because of rounding, the computed deviation of equal numbers is small but not always 0.
        constant = (train == train[:1]).all(axis=0)
        if constant.all():
            raise DataError(
                f"standardise: all {len(mean)} feature columns are constant in the {len(train)} train rows, so they "
                "contain no information; correct `columns.features` or the source"
            )
        return cls(mean, np.where(constant, 1.0, deviation), tuple(int(column) for column in np.flatnonzero(constant)))

    def applied(self, examples: Examples) -> Examples:
        """Return the same rows with standardised features, float32.

        Raises:
            DataError: a standardised number exceeds the range of float32.
        """
        with np.errstate(over="ignore"):
            features = ((examples.features - self.mean) / self.deviation).astype(np.float32)
        if not np.isfinite(features).all():
            row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
            raise DataError(
                f"standardise: a feature of the row with the id {examples.row_ids[row]} exceeds the range of float32 "
                "after division by the train rows' standard deviation; correct the value in the source"
            )
        place = examples.table.column_names.index("features")
        return Examples(examples.table.set_column(place, "features", list_column(features)), examples.label_names)

    def save(self, folder: Path) -> None:
        """Save the means and standard deviations in the folder of a result."""
        numbers = {"mean": self.mean.tolist(), "deviation": self.deviation.tolist(), "constant": list(self.constant)}
        write_json(folder / SCALE_FILE, numbers)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the means and standard deviations that `save` wrote, or None if the features were not standardised."""
        file = folder / SCALE_FILE
        if not file.is_file():
            return None
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(np.array(kept["mean"]), np.array(kept["deviation"]), tuple(kept["constant"]))

    def of_column(self, column: int) -> "Scale":
        """Return the scale of a single feature column."""
        return Scale(self.mean[[column]], self.deviation[[column]], ())


def source_values(features: np.ndarray, scale: Scale | None) -> np.ndarray:
    """Convert float32 features to float64 in the source's units, and remove the rounding errors of float32.

    `features`: shape (rows, width). `scale`: the scale by which the features were standardised, or None.
    """
    values = features.astype(np.float64)
    sizes = np.abs(values)
    if scale is not None:
        values = values * scale.deviation + scale.mean
        sizes = np.maximum(np.abs(values), scale.deviation)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        after_point = _DIGITS - np.ceil(np.log10(sizes))
        power = 10.0 ** np.abs(after_point)  # whole numbers stay whole: 10.0**-2 is not an exact number
        rounded = np.where(after_point >= 0, np.rint(values * power) / power, np.rint(values / power) * power)
    return np.where(np.isfinite(rounded), rounded, values)
