"""Where the rows of a dataset stand in its source's files, and what their columns are called there."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.choices import RIGHT
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.errors import DataError
from aflite_assets.reports.inputs.source_rows import SOURCE_PLACES, SourceRows
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ColumnsSpec
from aflite_assets.specs.sources import FeatureSource, MultipleChoiceSource, SourceSpec, TableSource, as_tuple


def read_source_rows(raw_result: PublishedResult, raw: Examples, columns: ColumnsSpec) -> SourceRows:
    """The places of the raw table's rows, by the source that it was made from.

    Files and lines are looked up in the files as they are now, where their content is still the one that the raw table
    was made from; otherwise, and for sources that are no files of rows, they are null.
    """
    made_from = raw_result.manifest["made_from"]["fields"]
    source: SourceSpec = TypeAdapter(SourceSpec).validate_python(made_from["source"])
    scale = Scale.load(raw_result.path)
    features = columns.features if isinstance(columns.features, tuple) else None
    return SourceRows(
        _places(raw.row_ids, raw_result.summary["source_rows"], _in_files(source, made_from["contents"]["source"])),
        _column_names(source, columns, raw),
        features if raw.modality == "features" else None,
        None if scale is None else scale.mean,
        None if scale is None else scale.deviation,
        raw.label_names.index(RIGHT) if isinstance(source, MultipleChoiceSource) and RIGHT in raw.label_names else None,
    )


def _column_names(source: SourceSpec, columns: ColumnsSpec, raw: Examples) -> dict[str, str]:
    """The source's names of the raw table's texts; of answers in several columns "answer"."""
    if isinstance(source, MultipleChoiceSource):
        answers = as_tuple(source.answers)
        return {
            "text": " + ".join(as_tuple(source.question)),
            "text_pair": answers[0] if len(answers) == 1 else "answer",
        }
    named = {"text": columns.text, "text_pair": columns.text_pair}
    return {name: given for name, given in named.items() if given is not None and name in raw.table.column_names}


def _in_files(source: SourceSpec, content: Mapping[str, object]) -> dict[str, pa.Table]:
    """By split the places in the files, in the order of the source's rows; empty where they are not known now."""
    from aflite_assets.data.loading import content_fingerprint, source_places

    if not isinstance(source, TableSource | MultipleChoiceSource | FeatureSource):
        return {}
    try:
        return source_places(source) if content_fingerprint(source) == content else {}
    except DataError:  # a file is missing or was replaced since
        return {}


def _places(row_ids: np.ndarray, source_rows: Mapping[str, int], in_files: Mapping[str, pa.Table]) -> pa.Table:
    """`row_id` counts the source's rows over its splits in their order."""
    ends = np.cumsum(list(source_rows.values()))
    starts = np.r_[0, ends]
    splits = np.searchsorted(ends, row_ids, side="right")
    rows = row_ids - starts[splits]
    names = pa.array(list(source_rows), pa.string())
    files: pa.Array = pa.nulls(len(row_ids), pa.string())
    lines: pa.Array = pa.nulls(len(row_ids), pa.int64())
    shown = _short_names([path for table in in_files.values() for path in table["file"].unique().to_pylist()])
    for number, (split, known) in enumerate((split, in_files.get(split)) for split in source_rows):
        if known is None or known.num_rows != source_rows[split]:
            continue
        mine = splits == number
        place = known.take(pa.array(rows[mine]))
        paths = pa.array([shown[path] for path in place["file"].to_pylist()], pa.string())
        files = pc.replace_with_mask(files, pa.array(mine), paths)
        lines = pc.replace_with_mask(lines, pa.array(mine), place["line"].combine_chunks())
    columns = [pa.array(row_ids), names.take(pa.array(splits)), pa.array(rows), files, lines]
    return pa.table([column.cast(one.type) for column, one in zip(columns, SOURCE_PLACES, strict=True)], SOURCE_PLACES)


def _short_names(paths: list[str]) -> dict[str, str]:
    """Each path below the folder that all are in."""
    folders = [str(Path(path).parent) for path in paths]
    if not folders:
        return {}
    shared = os.path.commonpath(folders) if all(map(os.path.isabs, folders)) else ""
    return {path: os.path.relpath(path, shared) if shared else path for path in paths}
