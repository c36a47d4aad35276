"""Places of a dataset's rows in its source (split, row, file and line), and facts about the source for data checks."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from aflite_assets.analysis.inputs.source_rows import SOURCE_PLACES, brief_place
from aflite_assets.diagnostics.data_checks.context import SourceFacts
from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import ChoiceSource, FeatureSource, SourceSpec, TableSource
from aflite_assets.text import one_line
from aflite_assets.wording import truncate

_LONGEST_PLACE, _LONGEST_NAME = 120, 80


class RowPlaces:
    """A callable that returns the place of each row; it reads the source's files on its first call.

    `source_rows`: number of the source's rows per split, in the source's order. `content`: the source's content hash at
    the time when the dataset was read. Files that have changed since the dataset was read are not read again.
    """

    def __init__(self, source: SourceSpec, source_rows: Mapping[str, int], content: Mapping[str, object]) -> None:
        self._source, self._source_rows, self._content = source, source_rows, content

    def __call__(self, row_ids: Sequence[int]) -> list[str]:
        """Return the place of each row, such as "train.csv, line 9".

        If the source has no lines, the place is the split and the row number, counted from 0.
        """
        places = places_of(np.asarray(row_ids, np.int64), self._source_rows, self._in_files)
        return [truncate(one_line(brief_place(place)), _LONGEST_PLACE) for place in places.to_pylist()]

    @cached_property
    def _in_files(self) -> dict[str, pa.Table]:
        return places_in_files(self._source, self._content)


def source_of(raw_result: PublishedResult) -> SourceSpec:
    """Return the source from which a published raw dataset was read."""
    source: SourceSpec = TypeAdapter(SourceSpec).validate_python(raw_result.manifest["made_from"]["fields"]["source"])
    return source


def source_facts(raw_result: PublishedResult) -> SourceFacts:
    """Return the facts about a published raw dataset's source that are used in messages of the data checks."""
    fields, summary = raw_result.manifest["made_from"]["fields"], raw_result.summary
    return facts_of(
        RowPlaces(source_of(raw_result), summary["source_rows"], fields["contents"]["source"]),
        ColumnsSpec.model_validate(fields["columns"]),
        drop_duplicates="duplicates" in summary,
        drop_between_splits="between_splits" in summary,
        drawn_splits=frozenset(summary["rows"]) - frozenset(summary["source_rows"]),
    )


def facts_of(
    places: RowPlaces,
    columns: ColumnsSpec,
    *,
    drop_duplicates: bool,
    drop_between_splits: bool,
    drawn_splits: frozenset[str],
) -> SourceFacts:
    """Return the facts about a source for the messages of data checks.

    Column names are made printable and shortened.
    """
    features = columns.features if isinstance(columns.features, tuple) else None
    texts = {"text": columns.text, "text_pair": columns.text_pair}
    return SourceFacts(
        places,
        None if features is None else tuple(map(_printed, features)),
        {name: _printed(given) for name, given in texts.items() if isinstance(given, str)},
        drop_duplicates=drop_duplicates,
        drop_between_splits=drop_between_splits,
        drawn_splits=drawn_splits,
        allowed_label_copies=_allowed_copies(columns),
    )


def _allowed_copies(columns: ColumnsSpec) -> frozenset[int | str]:
    """Return the columns in `allow_label_copies`, under the names that the checks use.

    A feature column is named by its number, a text column by `text` or `text_pair`.
    """
    names: dict[int | str | None, int | str] = {columns.text: "text", columns.text_pair: "text_pair"}
    if isinstance(columns.features, tuple):
        names |= {name: number for number, name in enumerate(columns.features)}
    return frozenset(names.get(name, name) for name in columns.allow_label_copies)


def _printed(text: str) -> str:
    return truncate(one_line(text), _LONGEST_NAME)


def places_in_files(source: SourceSpec, content: Mapping[str, object]) -> dict[str, pa.Table]:
    """Return the places of the source's rows in its files, by split and in the source's order.

    The columns are those of `data.formats.row_places.places_in_files`. The result is empty if the source has no files,
    or if a file is missing or has changed.
    """
    from aflite_assets.data.loading import content_fingerprint, source_places

    if not isinstance(source, TableSource | ChoiceSource | FeatureSource):
        return {}
    try:
        return source_places(source) if content_fingerprint(source) == content else {}
    except DataError:  # a file is missing or was replaced since
        return {}


def places_of(row_ids: np.ndarray, source_rows: Mapping[str, int], in_files: Mapping[str, pa.Table]) -> pa.Table:
    """Return the places of the rows whose ids (int64) are in `row_ids`, with the columns `SOURCE_PLACES`.

    A row id is the row's position in the source, counted over all splits in the source's order.
    """
    splits, rows = source_rows_of(row_ids, source_rows)
    files: pa.Array = pa.nulls(len(row_ids), pa.string())
    lines: pa.Array = pa.nulls(len(row_ids), pa.int64())
    shown = _short_names([path for table in in_files.values() for path in table["file"].unique().to_pylist()])
    for split, known in in_files.items():
        if known.num_rows != source_rows.get(split):
            continue
        mine = splits == split
        place = known.take(pa.array(rows[mine]))
        paths = pa.array([shown[path] for path in place["file"].to_pylist()], pa.string())
        files = pc.replace_with_mask(files, pa.array(mine), paths)
        lines = pc.replace_with_mask(lines, pa.array(mine), place["line"].combine_chunks())
    columns = [pa.array(row_ids), pa.array(splits, pa.string()), pa.array(rows), files, lines]
    return pa.table([column.cast(one.type) for column, one in zip(columns, SOURCE_PLACES, strict=True)], SOURCE_PLACES)


def source_rows_of(row_ids: np.ndarray, source_rows: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each row id, the row's split in the source (text), and its number from 0 in this split (int64).

    Row ids are numbered consecutively over all splits.
    """
    ends = np.cumsum(list(source_rows.values()))
    places = np.searchsorted(ends, row_ids, side="right")
    return np.array(list(source_rows), dtype=object)[places], row_ids - np.r_[0, ends][places]


def _short_names(paths: list[str]) -> dict[str, str]:
    """Return each path relative to the deepest folder that contains all the paths."""
    folders = [str(Path(path).parent) for path in paths]
    if not folders:
        return {}
    shared = os.path.commonpath(folders) if all(map(os.path.isabs, folders)) else ""
    return {path: os.path.relpath(path, shared) if shared else path for path in paths}
