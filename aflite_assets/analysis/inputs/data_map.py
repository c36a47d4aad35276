"""A data map as a report shows it: where an evaluator's train rows lie, and which of them filtering kept."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import InvalidInputError

COLUMNS = ("guid", "index", "confidence", "variability", "correctness", "row_id", "kept")
"""The first five as in the tables that Swayamdipta et al. 2020 write."""


@dataclass(frozen=True, eq=False)
class DataMap:
    """The data map of an evaluator trained on all train rows, beside what one representation's filter kept.

    `table` has `COLUMNS`: guid is the source's id, index the row's place in the table, `kept` null for rows that never
    entered the filter. `seeds` and `epochs`: trainings averaged over, and epochs of each; 0 for a map that is `given`
    with the dataset, whose evaluator is none of ours.

    Raises:
        InvalidInputError: a column is missing.
    """

    evaluator: str
    representation: str
    seeds: int
    epochs: int
    table: pa.Table
    given: bool = False

    def __post_init__(self) -> None:
        missing = [name for name in COLUMNS if name not in self.table.column_names]
        if missing:
            raise InvalidInputError(
                f"data map of {self.evaluator!r}: the table lacks {missing}; it has {self.table.column_names}"
            )

    @property
    def name(self) -> str:
        """Names its file and its figure."""
        return f"{self.representation}.{self.evaluator}"

    @property
    def title(self) -> str:
        """Whose it is."""
        return "Data map given with the dataset" if self.given else f"Data map of {self.evaluator}"

    @property
    def entered(self) -> pa.Table:
        """The rows that entered the filter."""
        return self.table.filter(pc.is_valid(self.table["kept"]))

    def mean(self, column: str, *, kept: bool) -> float | None:
        """Of confidence, variability or correctness over the kept or the removed rows; None where there are none."""
        rows = self.entered
        values = rows[column].to_numpy()[rows["kept"].to_numpy(zero_copy_only=False) == kept]
        return float(np.mean(values)) if len(values) else None
