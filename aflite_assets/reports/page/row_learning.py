"""How weak models learnt the rows of the browser, and as columns of the table beside the page. No markup."""

from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.forgettables import LearntRow, LearntRows
from aflite_assets.analysis.inputs.records import BenchmarkData


class Learning:
    """The trainings of weak models, and how each learnt a row, as JSON values."""

    def __init__(self, data: BenchmarkData) -> None:
        self._trainings = _trainings(data)
        self._set_names = [list(one.sets) if one.sets is not None else [] for one in self._trainings]
        names = () if data.forgettables is None else data.forgettables.training_names
        self.shown = [
            {"name": name} | ({} if one.sets is None else {"sets": sets})
            for name, one, sets in zip(names, self._trainings, self._set_names, strict=True)
        ]

    def of(self, row_ids: np.ndarray) -> list[list[list[Any] | None] | None]:
        """Of each row per training [times forgotten, times right, times presented, numbers of its sets].

        None for a training that lacks the row, and in place of a row that all lack.
        """
        by_training = [
            [None if row is None else _values(row, names) for row in one.of(row_ids)]
            for one, names in zip(self._trainings, self._set_names, strict=True)
        ]
        rows = [[each[number] for each in by_training] for number in range(len(row_ids))]
        return [row if any(one is not None for one in row) else None for row in rows]


def _values(row: LearntRow, names: list[str]) -> list[Any]:
    return [row.events, row.right, row.presentations, [names.index(name) for name in row.sets]]


def _trainings(data: BenchmarkData) -> tuple[LearntRows, ...]:
    return () if data.forgettables is None else data.forgettables.learnt


def learning_columns(data: BenchmarkData, row_ids: np.ndarray) -> dict[str, pa.Array]:
    """Columns for a table of these rows, int64, null where a training lacks the row.

    Of each training `forgotten.<weak model>.<seed>`, `right.<...>` and `presentations.<...>`: how often it was
    forgotten, right and presented.
    """
    columns: dict[str, pa.Array] = {}
    for one in _trainings(data):
        places = one.places(row_ids)
        taken = pa.array(places, mask=places < 0)
        counts = {"forgotten": one.events, "right": one.right, "presentations": one.presentations}
        for name, values in counts.items():
            columns[f"{name}.{one.weak_model}.{one.seed}"] = pa.array(values, pa.int64()).take(taken)
    return columns
