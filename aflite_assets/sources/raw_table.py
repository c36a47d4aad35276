"""From a source's tables to the raw table: columns in their contract's form, unlabelled rows dropped, rows limited."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import DataError
from aflite_assets.sources.columns import (
    attribute_column,
    group_numbers,
    input_columns,
    require_columns,
    source_ids,
)
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.labels import read_labels
from aflite_assets.sources.sampling import stratified_sample
from aflite_assets.sources.source_specs import (
    CirclesSource,
    DigitsSource,
    FeatureSource,
    ImageFolderSource,
    SourceSpec,
)
from aflite_assets.sources.specs import ColumnsSpec


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
        DataError: a column is missing, a label is unknown, a split is empty, train has one class, a text, image,
            group or id is missing, a feature is not finite, feature rows differ in width, or an id repeats within a
            split.
    """
    for split, table in tables.items():
        if table.num_rows == 0:
            raise DataError(f"split {split!r} has no rows; correct the source or drop the split from the spec")
        require_columns(split, table, columns)
    labels = read_labels(
        {split: table[columns.label] for split, table in tables.items()}, names=label_names, unlabelled=unlabelled
    )
    groups = group_numbers(tables, columns.group)
    parts, start = [], 0
    for number, (split, table) in enumerate(tables.items()):
        part = _contract_table(split, table, columns, labels.numbers[split], groups.get(split), start)
        start += table.num_rows
        part = part.filter(pc.greater_equal(part["label"], 0))
        _check_classes(split, part, "correct the source or drop the split from the spec")
        wanted = (limit or {}).get(split, part.num_rows)
        if wanted < part.num_rows:
            part = _limited(part, wanted, np.random.default_rng([seed, number]))
            _check_classes(split, part, f"the limit of {wanted} rows leaves no more, raise it")
        parts.append(part)
    _check_widths(parts)
    return RawTable(
        Examples(pa.concat_tables(parts), labels.names),
        {split: table.num_rows for split, table in tables.items()},
        {split: int((numbers < 0).sum()) for split, numbers in labels.numbers.items()},
    )


def _contract_table(
    split: str, table: pa.Table, columns: ColumnsSpec, labels: np.ndarray, groups: np.ndarray | None, start: int
) -> pa.Table:
    inputs = input_columns(split, table, columns)
    fields: dict[str, Any] = {
        "row_id": np.arange(start, start + table.num_rows, dtype=np.int64),
        "source_id": source_ids(split, table, columns.id, inputs),
        "split": pa.array([split] * table.num_rows, pa.string()),
        "label": labels,
        **inputs,
    }
    if groups is not None:
        fields["group"] = groups
    return pa.table(fields | {f"attribute.{name}": attribute_column(table[name]) for name in columns.attributes})


def _limited(part: pa.Table, size: int, rng: np.random.Generator) -> pa.Table:
    groups = part["group"].to_numpy() if "group" in part.column_names else None
    return part.take(stratified_sample(part["label"].to_numpy(), groups, size, rng=rng))


def _check_classes(split: str, part: pa.Table, remedy: str) -> None:
    classes = pc.unique(part["label"]).to_pylist()
    if not classes:
        raise DataError(f"split {split!r} has no labelled row; {remedy}")
    if split == "train" and len(classes) < 2:
        raise DataError(
            f"split 'train' has one class only (class number {classes[0]}), filtering needs at least two; {remedy}"
        )


def _check_widths(parts: list[pa.Table]) -> None:
    if "features" not in parts[0].column_names:
        return
    widths = {part["split"][0].as_py(): len(part["features"][0]) for part in parts}
    if len(set(widths.values())) > 1:
        raise DataError(f"splits have features of different widths {widths}; all splits must have the same columns")
