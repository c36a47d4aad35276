"""From a source's tables to the raw table: ids, labels, groups and one kind of input, checked against the spec."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import DataError
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.labels import read_labels
from aflite_assets.sources.loading import content_hash
from aflite_assets.sources.sampling import stratified_sample
from aflite_assets.sources.source_specs import (
    CirclesSource,
    DigitsSource,
    FeatureSource,
    ImageFolderSource,
    SourceSpec,
)
from aflite_assets.sources.specs import ColumnsSpec

_INPUTS = ("features", "text", "image")


@dataclass(frozen=True)
class RawTable:
    """The rows kept, and per split how many the source had, how many had no label and were dropped."""

    examples: Examples
    source_rows: Mapping[str, int]
    unlabelled_rows: Mapping[str, int]


def implied_columns(source: SourceSpec, columns: ColumnsSpec) -> ColumnsSpec:
    """The spec's columns, completed by what the source's format says of itself."""
    implied: dict[str, Any] = {}
    match source:
        case FeatureSource():
            grouped = any(files.groups for files in source.splits.values())
            implied = {"features": "features", "group": "group" if grouped else None}
        case ImageFolderSource():
            implied = {"image": "image", "id": "path"}
        case CirclesSource():
            implied = {"features": "features", "attributes": ("biased", "flipped")}
        case DigitsSource():
            implied = {"image": "image", "id": "id"}
    missing = {name: value for name, value in implied.items() if name not in columns.model_fields_set}
    return columns.model_copy(update=missing)


def build_raw_table(
    tables: Mapping[str, pa.Table],
    *,
    columns: ColumnsSpec,
    label_names: tuple[str, ...] | None,
    unlabelled: tuple[int | str | None, ...],
    limit: Mapping[str, int] | None,
    seed: int,
) -> RawTable:
    """Give a source's columns the names and types of the raw dataset's contract.

    `row_id` counts the source's rows over all splits in their order, before anything is dropped. Rows whose label is
    in `unlabelled` are dropped and counted; then `limit` draws rows per split (stratified, in whole groups).

    Raises:
        DataError: a column is missing, a label is unknown, a split is empty, train has one class, a text is missing,
            a feature is not finite, feature rows differ in width, or an id repeats within a split.
    """
    for split, table in tables.items():
        _require_columns(split, table, columns)
    labels = read_labels(
        {split: table[columns.label] for split, table in tables.items()}, names=label_names, unlabelled=unlabelled
    )
    groups = _group_numbers(tables, columns.group)
    parts, start = [], 0
    for number, (split, table) in enumerate(tables.items()):
        part = _contract_table(split, table, columns, labels.numbers[split], groups.get(split), start)
        start += table.num_rows
        part = part.filter(pc.greater_equal(part["label"], 0))
        _check_split(split, part)
        wanted = (limit or {}).get(split)
        if wanted is not None and wanted < part.num_rows:
            group = part["group"].to_numpy() if "group" in part.column_names else None
            rng = np.random.default_rng([seed, number])
            part = part.take(stratified_sample(part["label"].to_numpy(), group, wanted, rng=rng))
        parts.append(part)
    _check_widths(parts)
    return RawTable(
        Examples(pa.concat_tables(parts), labels.names),
        {split: table.num_rows for split, table in tables.items()},
        {split: int((numbers < 0).sum()) for split, numbers in labels.numbers.items()},
    )


def _require_columns(split: str, table: pa.Table, columns: ColumnsSpec) -> None:
    known = table.column_names
    wanted = {"label": columns.label, "id": columns.id, "group": columns.group}
    wanted |= {name: getattr(columns, name) for name in ("text", "text_pair", "image")}
    features = columns.features
    listed = features if isinstance(features, tuple) else (features,)
    for field, column in [*wanted.items(), *(("features", name) for name in (*listed, *columns.attributes))]:
        if column is not None and column not in known:
            near = difflib.get_close_matches(column, known, n=1)
            raise DataError(
                f"split {split!r} has no column {column!r} that columns.{field} names (it has {known})"
                + (f"; did you mean {near[0]!r}?" if near else "; correct the spec")
            )
    if all(getattr(columns, name) is None for name in _INPUTS):
        raise DataError(f"columns names no input (split {split!r} has {known}); set columns.text, image or features")


def _contract_table(
    split: str,
    table: pa.Table,
    columns: ColumnsSpec,
    labels: np.ndarray,
    groups: np.ndarray | None,
    start: int,
) -> pa.Table:
    inputs = _inputs(split, table, columns)
    fields: dict[str, Any] = {
        "row_id": np.arange(start, start + table.num_rows, dtype=np.int64),
        "source_id": _source_ids(split, table, columns.id, inputs),
        "split": pa.array([split] * table.num_rows, pa.string()),
        "label": labels,
        **inputs,
    }
    if groups is not None:
        fields["group"] = groups
    for name in columns.attributes:
        fields[f"attribute.{name}"] = pa.array([str(value) for value in table[name].to_pylist()], pa.string())
    return pa.table(fields)


def _inputs(split: str, table: pa.Table, columns: ColumnsSpec) -> dict[str, pa.Array]:
    if columns.features is not None:
        return {"features": _feature_column(split, table, columns.features)}
    if columns.image is not None:
        return {"image": table[columns.image].combine_chunks()}
    names = {"text": columns.text, "text_pair": columns.text_pair}
    return {field: _text_column(split, table, name) for field, name in names.items() if name is not None}


def _text_column(split: str, table: pa.Table, name: str) -> pa.Array:
    values = table[name].to_pylist()
    missing = [row for row, value in enumerate(values) if value is None]
    if missing:
        raise DataError(
            f"split {split!r}: column {name!r} has no text in {len(missing)} rows (first: row {missing[0]}); "
            "fill them or drop them from the source"
        )
    return pa.array([value if isinstance(value, str) else str(value) for value in values], pa.string())


def _feature_column(split: str, table: pa.Table, names: str | tuple[str, ...]) -> pa.Array:
    from aflite_assets.sources.synthetic import list_column

    try:
        if isinstance(names, tuple):
            matrix = np.column_stack([table[name].to_numpy().astype(np.float32) for name in names])
        else:
            column = table[names].combine_chunks()
            widths = np.unique(pc.list_value_length(column).to_numpy(zero_copy_only=False))
            if len(widths) > 1:
                raise DataError(
                    f"split {split!r}: feature rows have {widths.min():g} to {widths.max():g} values; "
                    "every row must have the same number"
                )
            matrix = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(len(column), -1)
    except (ValueError, TypeError, pa.ArrowException) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"split {split!r}: columns.features {names!r} cannot be read as numbers ({error})") from error
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise DataError(
            f"split {split!r}: {(~finite).sum()} of {len(finite)} rows have features that are NaN or infinite "
            f"(first: row {np.flatnonzero(~finite)[0]}); replace or drop them in the source"
        )
    return list_column(matrix)


def _source_ids(split: str, table: pa.Table, name: str | None, inputs: Mapping[str, pa.Array]) -> pa.Array:
    if name is not None:
        ids = [str(value) for value in table[name].to_pylist()]
        seen: set[str] = set()
        for row, value in enumerate(ids):
            if value in seen:
                raise DataError(
                    f"split {split!r}: id {value!r} of column {name!r} repeats (row {row}); "
                    "name a column of unique ids, or none to use content hashes"
                )
            seen.add(value)
        return pa.array(ids, pa.string())
    columns = [_hashable(values) for values in inputs.values()]
    return pa.array([content_hash(*row) for row in zip(*columns, strict=True)], pa.string())


def _hashable(values: pa.Array) -> list[Any]:
    if pa.types.is_struct(values.type):
        return [image["sha256"] or image["bytes"] for image in values.to_pylist()]
    if pa.types.is_list(values.type):
        return [row.tobytes() for row in values.flatten().to_numpy().reshape(len(values), -1)]
    return values.to_pylist()


def _group_numbers(tables: Mapping[str, pa.Table], name: str | None) -> dict[str, np.ndarray]:
    """Number the values of the group column over all splits, in order of appearance."""
    if name is None:
        return {}
    values = pa.chunked_array([pa.array(table[name].to_pylist()) for table in tables.values()])
    numbers = values.combine_chunks().dictionary_encode().indices
    if numbers.null_count:
        raise DataError(f"column {name!r} names no group in {numbers.null_count} rows; every row needs one")
    ends = np.cumsum([table.num_rows for table in tables.values()])
    return dict(zip(tables, np.split(numbers.to_numpy().astype(np.int64), ends[:-1]), strict=True))


def _check_split(split: str, part: pa.Table) -> None:
    if part.num_rows == 0:
        raise DataError(f"split {split!r} has no labelled row; correct the source or drop the split from the spec")
    classes = pc.unique(part["label"]).to_pylist()
    if split == "train" and len(classes) < 2:
        raise DataError(f"split 'train' has one class only (class number {classes[0]}); filtering needs at least two")


def _check_widths(parts: list[pa.Table]) -> None:
    if "features" not in parts[0].column_names:
        return
    widths = {part["split"][0].as_py(): len(part["features"][0]) for part in parts}
    if len(set(widths.values())) > 1:
        raise DataError(f"splits have features of different widths {widths}; all splits must have the same columns")
