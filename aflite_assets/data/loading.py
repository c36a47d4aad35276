"""Loading of a source as one Arrow table per split, with the source's own columns. `raw_table` interprets them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.array_files import ArrayFileError, open_array
from aflite_assets.data.formats.choices import answer_rows, choice_tables
from aflite_assets.data.formats.image_folders import image_paths, image_table
from aflite_assets.data.formats.preferences import preference_rows, preference_tables
from aflite_assets.data.formats.row_places import places_in_files, with_files
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.data.hub.datasets import load_hub, source_commit
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.values import plain
from aflite_assets.data.synthetic.circles import circles, list_column
from aflite_assets.data.synthetic.digits import digits
from aflite_assets.data.synthetic.template_nli import template_nli
from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.results.file_hashes import FileHashes
from aflite_assets.specs.sources import (
    ChoiceSource,
    CirclesSource,
    DigitsSource,
    FeatureFiles,
    FeatureSource,
    HubSource,
    ImageFolderSource,
    MultipleChoiceSource,
    PreferenceSource,
    SourceSpec,
    TableSource,
    TemplateNliSource,
    as_tuple,
    hub_of,
)


def content_fingerprint(source: SourceSpec, *, hashes: FileHashes | None = None) -> dict[str, str | int]:
    """Return an identifier of a source's content; it is empty for generated data.

    For files, the identifier contains their number and one SHA-256 over their paths and contents. For a hub dataset,
    the identifier contains the current commit of the revision. `hashes` looks up or computes the hashes of files; by
    default, hashes are stored in `AFLITE_HOME`.

    Raises:
        MissingDataError: a file or folder is missing, or the hub cannot be reached.
        DataError: the hub has no such dataset or revision.
        UnsettledDataError: `hashes` has a time limit or watches for changes, and a file cannot be hashed yet.
    """
    hub = hub_of(source)
    if hub is not None:
        return {"commit": source_commit(hub)}
    _require_files(source)
    files = source.files()
    files += [
        folder / path for folder in dict.fromkeys(_image_folders(source).values()) for path in image_paths(folder)
    ]
    if not files:
        return {}
    digests = (hashes or FileHashes()).of(files)
    named = [f"{path}\0{digest}" for path, digest in zip(files, digests, strict=True)]
    return {"files": len(files), "sha256": hashlib.sha256("\n".join(named).encode()).hexdigest()}


def load_source(source: SourceSpec, *, rows: int | None = None) -> dict[str, pa.Table]:
    """Load every split of a source as a table with the source's own columns.

    Image folders have the columns `image`, `label` (from the folder's name or the label file) and `path`. Feature files
    have the columns `features`, `label` and optionally `group`. `rows` is for previews: of hub datasets and image
    folders, which are slow to read, only about `rows` rows of each split are read. The images in these previews are not
    hashed.

    Raises:
        MissingDataError: a file or folder is missing, or a hub dataset is neither cached nor reachable.
        DataError: a file cannot be read in its format.
    """
    _require_files(source)
    match source:
        case CirclesSource():
            return circles(source)
        case DigitsSource():
            return digits(source)
        case TemplateNliSource():
            return template_nli(source)
        case HubSource():
            return {split: _naming_no_files(table) for split, table in load_hub(source, rows=rows).items()}
        case FeatureSource():
            return {split: _feature_table(split, files) for split, files in source.splits.items()}
        case ImageFolderSource():
            return {split: image_table(split, place, rows=rows) for split, place in source.splits.items()}
        case MultipleChoiceSource():
            return choice_tables(source, _rows_of(source))
        case PreferenceSource():
            return preference_tables(source, _rows_of(source))
        case TableSource():
            tables = {split: _file_table(source, split, as_tuple(names)) for split, names in source.splits.items()}
            return {split: _naming_no_files(table) for split, table in tables.items()}


def source_places(source: SourceSpec) -> dict[str, pa.Table]:
    """Return, by split, the file, row and line of each row of `load_source`.

    The tables have the same columns as the tables of `places_in_files`. For multiple choice and preference data, every
    answer gets the place of the table row that contains it. The result is empty for sources other than table files.

    Raises:
        MissingDataError: a file is missing.
        DataError: a file cannot be read in its format.
    """
    _require_files(source)
    if isinstance(source, FeatureSource):
        return {split: _feature_places(split, files) for split, files in source.splits.items()}
    if not isinstance(source, TableSource | ChoiceSource):
        return {}
    if isinstance(source, ChoiceSource):
        read = answered_rows(source)
        found = {split: (places_in_files(one.table), one.rows) for split, one in read.items()}
        return {
            split: known.take(pa.array(rows, pa.int64())) for split, (known, rows) in found.items() if known is not None
        }
    tables = {split: _file_table(source, split, as_tuple(names)) for split, names in source.splits.items()}
    return {split: known for split, table in tables.items() if (known := places_in_files(table)) is not None}


@dataclass(frozen=True, eq=False)
class AnsweredRows:
    """The table rows of one split of multiple choice or preference data, and the answers in them.

    `table`: the rows of the files or the hub dataset. `rows`: the row number in `table` (from 0) of each answer, in the
    order of the rows of `load_source`.
    """

    table: pa.Table
    rows: Sequence[int]


def answered_rows(source: ChoiceSource) -> dict[str, AnsweredRows]:
    """Return, by split, the original table rows of multiple choice or preference data.

    Raises:
        MissingDataError: a file is missing.
        DataError: a file cannot be read in its format.
    """
    _require_files(source)
    tables = _rows_of(source)
    rows = answer_rows(source, tables) if isinstance(source, MultipleChoiceSource) else preference_rows(source, tables)
    return {split: AnsweredRows(table, rows[split]) for split, table in tables.items()}


def _rows_of(source: ChoiceSource) -> dict[str, pa.Table]:
    """Return, by split, all table rows of a multiple choice or preference source; a question may have several rows."""
    table = source.table
    if isinstance(table, HubSource):
        return {split: _naming_no_files(rows) for split, rows in load_hub(table).items()}
    return {split: _file_table(table, split, as_tuple(names)) for split, names in table.splits.items()}


def _feature_places(split: str, files: FeatureFiles) -> pa.Table:
    rows = len(_array(split, files.features, dimensions=2))
    return pa.table(
        {
            "file": pa.array([files.features] * rows, pa.string()).dictionary_encode(),
            "file_row": np.arange(rows, dtype=np.int64),
            "line": pa.nulls(rows, pa.int64()),
        }
    )


def at_content(source: SourceSpec, content: Mapping[str, Any]) -> SourceSpec:
    """Return the source with the content that a key records. A hub dataset is set to the key's commit; other sources
    are unchanged.
    """
    hub = hub_of(source)
    if hub is None or "commit" not in content:
        return source
    pinned = hub.model_copy(update={"revision": content["commit"], "newest": False})
    return source.model_copy(update={"table": pinned}) if isinstance(source, ChoiceSource) else pinned


def _image_folders(source: SourceSpec) -> dict[str, Path]:
    """Return the folders of image files, by the place in the spec that names the folder."""
    if isinstance(source, TableSource) and source.images is not None:
        return {"`images`": Path(source.images)}
    if not isinstance(source, ImageFolderSource):
        return {}
    return {f"split {split!r}": folder for split, folder in zip(source.splits, source.folders(), strict=True)}


def _require_files(source: SourceSpec) -> None:
    for place, folder in _image_folders(source).items():
        if not folder.is_dir():
            raise MissingDataError(f"{place}: the folder {str(folder)!r} does not exist; correct the path")
    missing = [path for path in source.files() if not path.is_file()]
    if missing and missing[0].is_dir():
        raise MissingDataError(
            f"{str(missing[0])!r} is a folder, but a file is needed; name a file or a list of files in the dataset's "
            "YAML file"
        )
    if missing:
        raise MissingDataError(
            f"the file {str(missing[0])!r} does not exist; correct its path in the dataset's YAML file"
        )


def _naming_no_files(table: pa.Table) -> pa.Table:
    """Return the table with images as bytes, without file paths.

    Only tables from image folders may contain paths. In a file or dataset from elsewhere, a row could name any file on
    this computer. The content of such a file would then be published with the dataset.
    """
    for number, name in enumerate(table.column_names):
        column = table.column(number)
        column = plain(column) if "struct" in str(column.type) else column
        if column.type == IMAGE_TYPE:
            kept = [field for field in IMAGE_TYPE if field.name != "sha256"]
            parts = [
                pa.StructArray.from_arrays(chunk.flatten()[: len(kept)], fields=kept, mask=chunk.is_null())
                for chunk in column.chunks
            ]
            table = table.set_column(number, name, pa.chunked_array(parts, pa.struct(kept)))
    return table


def _file_table(source: TableSource, split: str, names: tuple[str, ...]) -> pa.Table:
    tables = [read_table_file(source, Path(name)) for name in names]
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
        return with_files(whole, source, [(name, part.num_rows) for name, part in zip(names, tables, strict=True)])
    except pa.ArrowException as error:
        raise DataError(
            f"split {split!r}: the files {list(names)} have incompatible columns ({error}); give all files the same "
            "columns"
        ) from error


def _feature_table(split: str, files: FeatureFiles) -> pa.Table:
    features = _array(split, files.features, dimensions=2)
    columns = {"label": _array(split, files.labels, dimensions=1)}
    if files.groups is not None:
        columns["group"] = _array(split, files.groups, dimensions=1)
    for name, values in columns.items():
        if len(values) != len(features):
            raise DataError(
                f"split {split!r}: there are {len(features)} rows of features but {len(values)} values of `{name}`; "
                "save files that contain the same rows in the same order"
            )
    return pa.table({"features": list_column(features), **columns})


def _array(split: str, name: str, *, dimensions: int) -> np.ndarray:
    try:
        array = open_array(name)
    except ArrayFileError as error:
        raise DataError(
            f"split {split!r}: {name!r} is not a valid .npy file of numbers ({error}); save an array of numbers "
            "without Python objects"
        ) from error
    if array.ndim != dimensions or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            f"split {split!r}: the array in {name!r} has {array.ndim} dimensions and the type {array.dtype}; save "
            f"numbers in {dimensions} dimension{'s' if dimensions > 1 else ''}"
        )
    if 0 in array.shape[1:]:  # the header of an empty array could contain any number of rows
        raise DataError(
            f"split {split!r}: the rows of the array in {name!r} are empty; save an array of the shape (rows, features)"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)
