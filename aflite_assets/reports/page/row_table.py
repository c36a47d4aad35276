"""Every row of every filtering as one table, for notebooks: what stands beside the page as `rows.parquet`."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.inputs.row_facts import ROW_FACTS, RowFacts
from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.circles import list_column
from aflite_assets.reports.page.row_learning import learning_columns

ROWS_FILE = "rows.parquet"

_OUTCOME = ("kept", "removed_in_iteration", "predictability", "label_probability")
_CLASSES = ("predicted_instead", "suggested_label")


def write_rows(data: BenchmarkData, path: Path) -> None:
    """Write the rows of all representations to a Parquet file, one representation after the other.

    Raises:
        DataError: a row of a filtering is not among the examples.
    """
    with pq.ParquetWriter(path, row_table(data, None).schema, compression="zstd") as writer:
        for filtered in data.filtered:
            writer.write_table(row_table(data, filtered))


def row_table(data: BenchmarkData, filtered: FilteredSet | None) -> pa.Table:
    """The rows of one filtering as people read them; without rows where it is None.

    Columns: representation, row_id, source_split, source_row (from 0, as published), source_file and source_line (from
    1; null where unknown), source_id, split, label (the class by name), text and text_pair, or image (the path of the
    image's file, null where the dataset holds the image itself), or the features in the source's units: a column
    feature.<name> each where the source has names, else the list features; status (kept, removed, or not filtered: of a
    split that the filter left alone, as in the published folder), kept, removed_in_iteration (null: it stayed),
    predictability and label_probability (null: never held out), the facts of `RowFacts` with classes by
    name, how weak models learnt the row (`learning_columns`), and where the dataset has them group, annotator_labels
    (names) and its attributes.

    Raises:
        DataError: a row of the filtering is not among the examples.
    """
    rows = filtered.rows if filtered is not None else None
    row_ids = np.empty(0, np.int64) if rows is None else rows["row_id"].to_numpy()
    names = pa.array(data.label_names, pa.string())
    inputs = _inputs(data, row_ids)
    facts = _facts(data, filtered).of(row_ids)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        "representation": pa.array([filtered.representation if filtered else ""] * len(row_ids), pa.string()),
        "row_id": pa.array(row_ids, pa.int64()),
    }
    if data.source.places.num_rows:
        places = data.source.of(row_ids)
        columns |= {name: places[name] for name in places.column_names}
    for name in inputs.column_names:
        if name not in columns:
            column = inputs[name]
            columns[name] = _named(column, names) if name in ("label", "annotator_labels") else column
    columns["status"] = pa.array([], pa.string()) if filtered is None else _status(filtered)
    kinds = dict(zip(_OUTCOME, (pa.bool_(), pa.int64(), pa.float32(), pa.float32()), strict=True))
    for name, kind in kinds.items():
        columns[name] = pa.array([], kind) if rows is None else rows[name].cast(kind)
    for field in list(ROW_FACTS)[1:]:
        columns[field.name] = _named(facts[field.name], names) if field.name in _CLASSES else facts[field.name]
    return pa.table(columns | learning_columns(data, row_ids))


def _status(filtered: FilteredSet) -> pa.Array:
    kept = filtered.rows["kept"].to_numpy(zero_copy_only=False)
    return pa.array(np.where(filtered.entered, np.where(kept, "kept", "removed"), "not filtered"), pa.string())


def _facts(data: BenchmarkData, filtered: FilteredSet | None) -> RowFacts:
    nothing = RowFacts(ROW_FACTS.empty_table())
    return nothing if filtered is None else data.row_facts.get(filtered.representation, nothing)


def _inputs(data: BenchmarkData, row_ids: np.ndarray) -> pa.Table:
    """The examples' columns for these rows, images as the paths of their files, features in the source's units."""
    examples, table = data.examples, data.examples.table
    if examples.modality == "features":
        return _with_features(data, examples.select(row_ids))
    if "image" in table.column_names:
        place = table.column_names.index("image")
        table = table.set_column(place, "image", pc.struct_field(table["image"], "path"))
    return Examples(table, examples.label_names).select(row_ids).table


def _with_features(data: BenchmarkData, rows: Examples) -> pa.Table:
    source, table = data.source, rows.table
    width = data.examples.features.shape[1]
    values = source.original(rows.features.reshape(-1, width)).astype(np.float32)
    place = table.column_names.index("features")
    if source.features is None:
        return table.set_column(place, "features", list_column(values))
    table = table.remove_column(place)
    for number, name in enumerate(source.features):
        table = table.add_column(place + number, f"feature.{name}", pa.array(np.ascontiguousarray(values[:, number])))
    return table


def _named(column: pa.Array | pa.ChunkedArray, names: pa.Array) -> pa.Array:
    """Class numbers, or lists of them, as the classes' names; null stays null."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_list(array.type):
        return names.take(array)
    named = names.take(array.flatten())
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), named, mask=pc.is_null(array))
