"""A planted benchmark in which rows with one value of an attribute are harder, on natural and on challenge rows."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import AttributeValues, BenchmarkData, Cell, TestSet
from tests.planted_reports import NLI, planted_predictions

WOOD = {"test": ("oak", "pine", "pine", "pine"), "plain": ("oak", "oak", "oak", "pine")}
"""Per test set, the values of four rows of one class in a row."""


def _test_set(name: str, rows: int) -> TestSet:
    kept = {} if name == "plain" else {"roberta": np.ones(rows, dtype=bool)}
    start = 0 if name == "plain" else 2000
    labels = np.arange(rows) // 4 % 3
    return TestSet(name, name == "plain", np.arange(start, start + rows), labels, NLI, kept, collected="constructed")


def wood_benchmark(
    planted: BenchmarkData, *, oak: Mapping[str, float] = {"test": 0.5, "plain": 0.5}, pine: float = 0.9
) -> BenchmarkData:
    """Three trainings of `linear` on `full`: right on exactly these shares of rows with oak, and with pine.

    `test` has 1,200 rows, 300 of them oak, and `plain` 1,200 rows, 900 of them oak; values are in all three classes.
    """
    sets = tuple(_test_set(name, 1200) for name in ("test", "plain"))
    values = {one.name: np.array(WOOD[one.name] * 300, dtype=object) for one in sets}
    cells = []
    for seed in range(3):
        tables = []
        for one in sets:
            right = np.zeros(1200, dtype=bool)
            for value, share in (("oak", oak[one.name]), ("pine", pine)):
                for label in range(3):
                    own = np.flatnonzero((values[one.name] == value) & (one.labels == label))
                    right[own[: round(share * len(own))]] = True
            predicted = planted_predictions(one, right, 3)
            tables.append(pa.table({"test_set": [one.name] * 1200, "row_id": one.row_ids, "predicted": predicted}))
        cells.append(Cell("linear", "full", None, seed, 1200, "done", None, pa.concat_tables(tables)))
    return replace(planted, test_sets=sets, cells=tuple(cells), attributes=(AttributeValues("wood", True, values),))
