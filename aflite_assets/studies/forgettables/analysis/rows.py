"""Columns of `rows.parquet` on how weak models learnt each row."""

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.table import lines_of
from aflite_assets.studies.forgettables.analysis.records import Forgettables

_LEARNT = {"forgotten": "forgetting_events", "right": "right", "presentations": "presentations"}
"""Columns on training runs of weak models, by the columns of `LearntRows.counts` with the same content."""


def learning(data: BenchmarkData, row_ids: np.ndarray) -> dict[str, pa.Array]:
    """Return columns on how each training run of a weak model learnt the rows. Rows on which the weak model was not
    trained have nulls.

    Each training run has the int64 columns `forgotten.<weak model>.<seed>`, `right.<...>` and `presentations.<...>`.
    These columns count how often the weak model forgot the row, predicted the row correctly and was trained on the row.
    If row sets were drawn from the training run, the column `forgettable_sets.<...>` names the sets that contain the
    row.
    """
    columns: dict[str, pa.Array] = {}
    sets: dict[str, pa.Array] = {}
    for one in Forgettables.of(data).learnt:
        name, found = f"{one.weak_model}.{one.seed}", lines_of(one.counts, row_ids)
        columns |= {f"{kind}.{name}": found[column] for kind, column in _LEARNT.items()}
        if one.sets is not None:
            members = {each: set(rows.tolist()) for each, rows in one.sets.items()}
            known = found["row_id"].to_pylist()
            inside = [None if row is None else [each for each, rows in members.items() if row in rows] for row in known]
            sets[f"forgettable_sets.{name}"] = pa.array(inside, pa.list_(pa.string()))
    return columns | sets


PART = learning
