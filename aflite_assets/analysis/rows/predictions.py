"""Predictions of single test rows, with a key that is unique over test sets: what all accuracies are made of."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import correct_rows

TEST_ROWS_FILE, PREDICTIONS_FILE = "test_rows.parquet", "predictions.parquet"

TEST_ROWS = pa.schema(
    [
        ("test_row", pa.string()),
        ("test_set", pa.string()),
        ("row_id", pa.int64()),
        ("label", pa.string()),
        ("group", pa.int64()),
        ("kept_by", pa.list_(pa.string())),
        ("categories", pa.map_(pa.string(), pa.string())),
    ]
)
"""Every row, or question, that evaluators are tested on. `test_row` is its key, "<test set>/<row id>".

`label`: its gold class in the test set's own names. `group`: rows that belong together, null where each is its own.
`kept_by`: the representations whose filter kept it, null for challenge sets. `categories`: a text by column.
"""

PREDICTIONS = pa.schema(
    [
        ("evaluator", pa.string()),
        ("representation", pa.string()),
        ("train_set", pa.string()),
        ("seed", pa.int64()),
        ("test_row", pa.string()),
        ("correct", pa.float64()),
    ]
)
"""Every finished training on every `test_row`; `correct` is 0 or 1, of a question the credit for it in [0, 1]."""


def write_predictions(data: BenchmarkData, folder: Path) -> None:
    """Write both files into a folder that is there, one training after the other.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    keys = {test_set.name: row_keys(test_set) for test_set in data.test_sets}
    with pq.ParquetWriter(folder / TEST_ROWS_FILE, TEST_ROWS, compression="zstd") as writer:
        for test_set in data.test_sets:
            writer.write_table(_test_rows(test_set, keys[test_set.name]))
    with pq.ParquetWriter(folder / PREDICTIONS_FILE, PREDICTIONS, compression="zstd") as writer:
        for cell in _trainings(data):
            known = [
                _predictions(cell, keys[one.name], correct)
                for one in data.test_sets
                if isinstance(correct := correct_rows(cell, one), np.ndarray)
            ]
            if known:
                writer.write_table(pa.concat_tables(known))


def row_keys(test_set: TestSet) -> pa.Array:
    """The key of each row of a test set, in its order."""
    return pa.array([f"{test_set.name}/{row_id}" for row_id in test_set.row_ids.tolist()], pa.string())


def _trainings(data: BenchmarkData) -> Iterable[Cell]:
    """The trainings of the report, then those of second phases that are not among them."""
    others = () if data.forgettables is None else data.forgettables.cells
    found = {(one.evaluator, one.train_set, one.representation, one.seed): one for one in chain(others, data.cells)}
    return found.values()


def _test_rows(test_set: TestSet, keys: pa.Array) -> pa.Table:
    rows = len(keys)
    kept = [[name for name, rows_kept in test_set.kept.items() if rows_kept[place]] for place in range(rows)]
    categories = [[(name, values[place]) for name, values in test_set.categories.items()] for place in range(rows)]
    columns = {
        "test_row": keys,
        "test_set": [test_set.name] * rows,
        "row_id": test_set.row_ids,
        "label": np.array(test_set.label_names, object)[test_set.labels],
        "group": [None] * rows if test_set.groups is None else test_set.groups,
        "kept_by": [None] * rows if test_set.challenge else kept,
        "categories": categories,
    }
    return pa.table(columns, TEST_ROWS)


def _predictions(cell: Cell, keys: pa.Array, correct: np.ndarray) -> pa.Table:
    training = {name: [getattr(cell, name)] * len(keys) for name in PREDICTIONS.names[:4]}
    return pa.table(training | {"test_row": keys, "correct": correct.astype(np.float64)}, PREDICTIONS)
