"""What a model's input told it about single rows (PVI), as a report shows it; computed in `diagnostics`."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.errors import InvalidInputError

_SCHEMA = pa.schema(
    [
        ("evaluator", pa.string()),
        ("test_set", pa.string()),
        ("row_id", pa.int64()),
        ("label", pa.int64()),
        ("pvi", pa.float32()),
        ("seeds", pa.int64()),
    ]
)


@dataclass(frozen=True, eq=False)
class RowInformation:
    """Pointwise V-information of a natural test set's rows under an evaluator trained on full, mean over `seeds`.

    `row_ids`, `labels` int64 and `values` (bits, float64, NaN for a class without train rows) have an entry per row.

    Raises:
        InvalidInputError: the lengths differ.
    """

    evaluator: str
    test_set: str
    row_ids: np.ndarray
    labels: np.ndarray
    values: np.ndarray
    seeds: int

    def __post_init__(self) -> None:
        lengths = [len(self.row_ids), len(self.labels), len(self.values)]
        if len(set(lengths)) > 1:
            raise InvalidInputError(
                f"PVI of {self.evaluator!r} on {self.test_set!r}: row_ids, labels and values have {lengths} entries"
            )

    @property
    def table(self) -> pa.Table:
        """evaluator, test_set, row_id, label, pvi (null for NaN), seeds."""
        rows = len(self.values)
        columns = (
            pa.array([self.evaluator] * rows, pa.string()),
            pa.array([self.test_set] * rows, pa.string()),
            pa.array(self.row_ids),
            pa.array(self.labels),
            pa.array(self.values.astype(np.float32), mask=np.isnan(self.values)),
            pa.array(np.full(rows, self.seeds, np.int64)),
        )
        return pa.table(list(columns), _SCHEMA)
