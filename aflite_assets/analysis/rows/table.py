"""Tables of single rows as files: the filtered rows, which the report page shows, and the predictions of test rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, FilteredSet, TestSet
from aflite_assets.analysis.scores.accuracy import finished_rows
from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.circles import list_column
from aflite_assets.studies import functions

ROWS_FILE = "rows.parquet"

PVI_FILE = "pvi.parquet"
"""File with the pointwise V-information of rows of every natural test set; it exists if an evaluator gives
probabilities.
"""

DATA_MAPS_FOLDER = "data_maps"
"""Folder of the files `<representation>.<evaluator>.parquet` with data maps, for evaluators that record their
training.
"""

ROW_FACTS = pa.schema(
    [
        ("row_id", pa.int64()),
        ("predictability_by_iteration", pa.list_(pa.float32())),
        ("predicted_instead", pa.list_(pa.int64())),
        ("predicted_instead_share", pa.list_(pa.float32())),
        ("nearest_kept", pa.int64()),
        ("nearest_similarity", pa.float32()),
        ("suggested_label", pa.int64()),
        ("suggested_probability", pa.float32()),
    ]
)
"""Facts about the rows of one filtering beyond its outcome; all but the first are null if nothing is stored.
`predictability_by_iteration`: a value in [0, 1] per iteration that the row entered, null before it was first held out.
`predicted_instead`: the wrong classes that classifiers predicted most often, with their shares of the row's held-out
predictions. `nearest_kept`: the row id of the most similar kept row of another class, with the similarity in [-1, 1].
`suggested_label`: the likely correct class of a row with a suspected label error; `suggested_probability`: the
probability of this class, in [0, 1], by models that were not trained on the row.
"""

INFORMATION = pa.schema(
    [
        ("evaluator", pa.string()),
        ("test_set", pa.string()),
        ("row_id", pa.int64()),
        ("label", pa.int64()),
        ("pvi", pa.float32()),
        ("seeds", pa.int64()),
    ]
)
"""Columns of the pointwise V-information of natural test rows in bits, averaged over `seeds`; null for a class without
train rows.
"""

_OUTCOME = {
    "kept": pa.bool_(),
    "removed_in_iteration": pa.int64(),
    "predictability": pa.float32(),
    "label_probability": pa.float32(),
}
_CLASSES = ("label", "annotator_labels", "predicted_instead", "suggested_label")
"""Columns of class numbers, or of lists of class numbers, that are published as class names."""


@dataclass(frozen=True, eq=False)
class RowTables:
    """Tables about single rows, read from their published files.

    `read`: a function that returns the lines of `ROWS_FILE` for one representation. `information`: pointwise
    V-information of test rows, with the columns `INFORMATION`. `data_maps`: one table per representation and evaluator,
    with the columns `inputs.records.DATA_MAP_COLUMNS`.
    """

    read: Callable[[str], pa.Table]
    information: pa.Table
    data_maps: Mapping[tuple[str, str], pa.Table]


def write_row_tables(data: BenchmarkData, folder: Path) -> None:
    """Write `ROWS_FILE`, one representation after the other. Write `PVI_FILE` and the data maps too if there are data
    for these files.
    """
    first = data.filtered[0]
    schema = row_table(data, replace(first, rows=first.rows.slice(0, 0))).schema
    with pq.ParquetWriter(folder / ROWS_FILE, schema, compression="zstd") as writer:
        for one in data.filtered:
            writer.write_table(row_table(data, one))
    if data.row_information is not None:
        pq.write_table(data.row_information.cast(INFORMATION), folder / PVI_FILE)
    for each in data.data_maps:
        (folder / DATA_MAPS_FOLDER).mkdir(exist_ok=True)
        pq.write_table(each.table, folder / DATA_MAPS_FOLDER / f"{each.representation}.{each.evaluator}.parquet")


def read_row_tables(folder: Path) -> RowTables:
    """Return the tables that `write_row_tables` wrote."""
    path = folder / PVI_FILE
    maps = {file.stem.partition("."): file for file in sorted((folder / DATA_MAPS_FOLDER).glob("*.parquet"))}
    return RowTables(
        lambda name: pq.read_table(folder / ROWS_FILE, filters=[("representation", "=", name)]),
        pq.read_table(path) if path.is_file() else INFORMATION.empty_table(),
        {(representation, evaluator): pq.read_table(file) for (representation, _, evaluator), file in maps.items()},
    )


def lines_of(table: pa.Table, row_ids: np.ndarray | pa.Array | Sequence[int]) -> pa.Table:
    """Return the table's lines for the given row ids, in the given order. Rows that are not in the table get nulls."""
    return table.take(pc.index_in(pa.array(row_ids, pa.int64()), value_set=table["row_id"]))


def row_table(data: BenchmarkData, filtered: FilteredSet) -> pa.Table:
    """Return the rows of one filtering as a table for people to read.

    The first columns are `representation`, `row_id`, the columns of `SourceRows.places`, the inputs (`_inputs`), and
    `label` and `annotator_labels` as names. The next columns are `status`, `kept`, `removed_in_iteration` (null if
    kept), `predictability` and `label_probability` (null if never held out). `status` is "kept", "removed", or "not
    filtered" for a split that the filter did not use. The last columns are `ROW_FACTS`, with classes by name, and the
    columns that studies add. Raises DataError if a row is not among the examples.
    """
    rows, row_ids = filtered.rows, filtered.rows["row_id"].to_numpy()
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        "representation": pa.array([filtered.representation] * len(row_ids), pa.string()),
        "row_id": pa.array(row_ids, pa.int64()),
    }
    places = [data.source.of(row_ids)] if data.source.places.num_rows else []
    for table in (*places, _inputs(data, row_ids)):
        columns |= {name: table[name] for name in table.column_names if name not in columns}
    outcome = np.where(rows["kept"].to_numpy(zero_copy_only=False), "kept", "removed")
    columns["status"] = pa.array(np.where(filtered.entered, outcome, "not filtered"), pa.string())
    columns |= {name: rows[name].cast(kind) for name, kind in _OUTCOME.items()}
    facts = lines_of(data.row_facts.get(filtered.representation, ROW_FACTS.empty_table()), row_ids)
    columns |= {name: facts[name] for name in ROW_FACTS.names[1:]}
    names = pa.array(data.label_names, pa.string())
    columns |= {name: _named(columns[name], names) for name in _CLASSES if name in columns}
    for of_study in functions("analysis.rows"):
        columns |= of_study(data, row_ids)
    return pa.table(columns)


def _inputs(data: BenchmarkData, row_ids: np.ndarray) -> pa.Table:
    """Return the columns of the examples, with images as paths of image files and features in the source's units.

    A path is null if the dataset holds the image itself. If features have names, each feature has a column
    `feature.<name>`.
    """
    examples, source, table = data.examples, data.source, data.examples.table
    if "image" in table.column_names:
        place = table.column_names.index("image")
        table = table.set_column(place, "image", pc.struct_field(table["image"], "path"))
    rows = Examples(table, examples.label_names).select(row_ids)
    if examples.modality != "features":
        return rows.table
    place, width = table.column_names.index("features"), examples.features.shape[1]
    values = source.original(rows.features.reshape(-1, width)).astype(np.float32)
    if source.features is None:
        return rows.table.set_column(place, "features", list_column(values))
    table = rows.table.remove_column(place)
    for number, name in enumerate(source.features):
        table = table.add_column(place + number, f"feature.{name}", pa.array(np.ascontiguousarray(values[:, number])))
    return table


def _named(column: pa.Array | pa.ChunkedArray, names: pa.Array) -> pa.Array:
    """Replace class numbers, or lists of class numbers, by class names; null stays null."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_list(array.type):
        return names.take(array)
    return pa.ListArray.from_arrays(array.offsets, names.take(array.values), mask=pc.is_null(array))


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
"""Every row or question that evaluators are tested on; `docs/analysis.md` describes the columns."""

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
"""Every finished training run on every `test_row`; `correct` is 0 or 1 for a row, and the credit in [0, 1] for a
question.
"""


def write_predictions(data: BenchmarkData, tested: Mapping[str, Examples], folder: Path) -> None:
    """Write the files of test rows and of predictions into an existing folder, one training run after the other.

    `tested` has the rows of each test set. Raises DataError if predictions do not match the rows of their test set.
    """
    keys = {one.name: pa.array([f"{one.name}/{row}" for row in one.row_ids], pa.string()) for one in data.test_sets}
    trained = chain(data.second_phases.cells, data.cells)  # a training run of a second phase may be in both
    cells = {(one.evaluator, one.train_set, one.representation, one.seed): one for one in trained}
    with pq.ParquetWriter(folder / TEST_ROWS_FILE, TEST_ROWS, compression="zstd") as writer:
        for test_set in data.test_sets:
            writer.write_table(_test_rows(test_set, keys[test_set.name], tested[test_set.name]))
    with pq.ParquetWriter(folder / PREDICTIONS_FILE, PREDICTIONS, compression="zstd") as writer:
        for cell in cells.values():
            known = [(keys[one.name], right) for one in data.test_sets for right in finished_rows([cell], one)]
            if known:
                writer.write_table(pa.concat_tables([_predictions(cell, *each) for each in known]))


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
