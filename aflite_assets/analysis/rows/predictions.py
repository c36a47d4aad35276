"""Predictions of single test rows, with a key that is unique over test sets: what all accuracies are made of."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.rows.table import lines_of
from aflite_assets.analysis.scores.accuracy import correct_rows
from aflite_assets.data.examples import Examples

TEST_ROWS_FILE, PREDICTIONS_FILE = "test_rows.parquet", "predictions.parquet"

TEST_ROWS = pa.schema(
    [
        ("test_row", pa.string()),
        ("test_set", pa.string()),
        ("row_id", pa.int64()),
        ("source_id", pa.string()),
        ("text", pa.string()),
        ("text_pair", pa.string()),
        ("label", pa.string()),
        ("group", pa.int64()),
        ("kept_by", pa.list_(pa.string())),
        ("categories", pa.map_(pa.string(), pa.string())),
    ]
)
"""Every row, or question, that evaluators are tested on. `test_row` is its key, "<test set>/<row id>".

`source_id`: the source's own id, or a hash of the content; of a question its right answer's. `text`, `text_pair`: null
where rows have none. `label`: its gold class in the test set's own names. `group`: rows that belong together, null
where each is its own. `kept_by`: the representations whose filter kept it, and "<representation>.<train set>" for the
laws of other train sets; null where no filter saw the set. `categories`: a text by column.
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


def write_predictions(data: BenchmarkData, tested: Mapping[str, Examples], folder: Path) -> None:
    """Write both files into a folder that is there, one training after the other; `tested` has the rows by test set.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    keys = {one.name: pa.array([f"{one.name}/{row}" for row in one.row_ids], pa.string()) for one in data.test_sets}
    trained = chain(data.forgettables.cells, data.cells)  # a training of a second phase may be in both
    cells = {(one.evaluator, one.train_set, one.representation, one.seed): one for one in trained}
    with pq.ParquetWriter(folder / TEST_ROWS_FILE, TEST_ROWS, compression="zstd") as writer:
        for test_set in data.test_sets:
            writer.write_table(_test_rows(test_set, keys[test_set.name], tested[test_set.name]))
    with pq.ParquetWriter(folder / PREDICTIONS_FILE, PREDICTIONS, compression="zstd") as writer:
        for cell in cells.values():
            known = [
                _predictions(cell, keys[one.name], correct)
                for one in data.test_sets
                if isinstance(correct := correct_rows(cell, one), np.ndarray)
            ]
            if known:
                writer.write_table(pa.concat_tables(known))


def _test_rows(test_set: TestSet, keys: pa.Array, examples: Examples) -> pa.Table:
    rows, source = len(keys), lines_of(examples.table, test_set.row_ids)
    laws = dict(test_set.kept) | {".".join(names): kept for names, kept in test_set.own_kept.items()}
    kept = [[name for name, each in laws.items() if each[place]] for place in range(rows)]
    columns: dict[str, Any] = {
        "test_row": keys,
        "test_set": [test_set.name] * rows,
        "row_id": test_set.row_ids,
        "label": np.array(test_set.label_names, object)[test_set.labels],
        "group": [None] * rows if test_set.groups is None else test_set.groups,
        "kept_by": kept if laws else [None] * rows,
        "categories": [[(name, of[place]) for name, of in test_set.categories.items()] for place in range(rows)],
    }
    for name in ("source_id", "text", "text_pair"):
        known = name in source.column_names
        columns[name] = source[name].cast(pa.string()) if known else pa.nulls(rows, pa.string())
    return pa.table({name: columns[name] for name in TEST_ROWS.names}, TEST_ROWS)


def _predictions(cell: Cell, keys: pa.Array, correct: np.ndarray) -> pa.Table:
    training = {name: [getattr(cell, name)] * len(keys) for name in PREDICTIONS.names[:4]}
    return pa.table(training | {"test_row": keys, "correct": correct.astype(np.float64)}, PREDICTIONS)
