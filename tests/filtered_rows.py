"""A filtered set of chosen rows, for statistics that read nothing else of a filter."""

from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.data.examples import Examples

_ITERATION = (
    "iteration", "rows_in", "train_rows_in", "scored_rows_in", "removed", "train_removed", "scored_removed", "cutoff",
    "representation_bias", "rows_never_held_out",
)  # fmt: skip


def filtered(raw: Examples, kept: np.ndarray, **settings: Any) -> FilteredSet:
    """Rows of which `kept` (bool) stayed, without scores."""
    rows = raw.table.select(["row_id", "split", "label"]).append_column("kept", pa.array(kept))
    for name in ("removed_in_iteration", "predictability", "label_probability"):
        rows = rows.append_column(name, pa.nulls(len(rows), pa.float32()))
    return FilteredSet("net", pa.table({name: [0] for name in _ITERATION}), "THRESHOLD", (), rows, settings)
