"""Columns of the published folder: the source's columns under their own names, and columns that the project adds."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import as_tuple
from aflite_assets.stages.shared.source_places import source_rows_of

FATE_COLUMNS = ("status", "predictability", "removed_in_iteration", "weight")
"""Columns that the filter adds to the configuration `full_tagged`."""

_ATTRIBUTE = "attribute."
_INPUTS = ("text", "text_pair", "image", "features")
_PREFIX = "aflite_"


@dataclass(frozen=True)
class PublishedColumns:
    """Names of the raw table's columns in the published folder.

    `inputs`: for each input column of the raw table, the source's column names. `column_per_feature`: True if each
    feature has its own column, False if one column has lists of features. `label`: the source's name of the label
    column. `attributes`: maps the source's name of each attribute to the name in the raw table. `own`: maps the plain
    name of each column that the project adds to the published name. The published name begins with "aflite_" if the
    source has a column with the plain name. `ids_given`: True if the published ids are ids from the source.
    """

    inputs: Mapping[str, tuple[str, ...]]
    column_per_feature: bool
    label: str
    attributes: Mapping[str, str]
    own: Mapping[str, str]
    ids_given: bool

    @classmethod
    def of(cls, raw: Examples, columns: ColumnsSpec) -> "PublishedColumns":
        """Determine the published names for a raw table; `columns` are the columns named in the dataset's YAML file."""
        there = raw.table.column_names
        inputs = {name: as_tuple(getattr(columns, name) or name) for name in _INPUTS if name in there}
        taken = {columns.label, *(name for names in inputs.values() for name in names)}
        if columns.id == "id":
            taken.add("id")
        attributes = {
            column.removeprefix(_ATTRIBUTE): column
            for column in there
            if column.startswith(_ATTRIBUTE) and column.removeprefix(_ATTRIBUTE) not in taken
        }
        taken |= attributes.keys()
        if columns.id == "id":
            taken.remove("id")  # the column `id` holds the source's ids
        # Sources that build texts and images themselves have no named columns and provide ids; features have no ids.
        ids_given = columns.id is not None or (
            raw.modality != "features" and all(getattr(columns, name) is None for name in inputs)
        )
        added = ["id", *([] if ids_given else ["content_hash"]), "source_row"]
        added += [name for name in ("group", "annotator_labels") if name in there]
        own = {name: free_name(name, taken) for name in (*added, *FATE_COLUMNS)}
        return cls(inputs, isinstance(columns.features, tuple), columns.label, attributes, own, ids_given)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The source's columns that are published, in order: inputs, label, attributes."""
        return (*(name for names in self.inputs.values() for name in names), self.label, *self.attributes)

    @property
    def raw_columns(self) -> dict[str, str]:
        """Names of columns of the raw table by published column name, without the columns that the filter adds."""
        from_raw = {"id": "source_id" if self.ids_given else "row_id", "content_hash": "source_id"}
        from_raw |= {"source_row": "row_id", "group": "group", "annotator_labels": "annotator_labels"}
        return {
            **{name: raw for raw, names in self.inputs.items() for name in names},
            self.label: "label",
            **self.attributes,
            **{name: from_raw[own] for own, name in self.own.items() if own in from_raw},
        }


def free_name(name: str, taken: set[str]) -> str:
    """Return `name`, prefixed with "aflite_" if the name is already taken."""
    while name in taken:
        name = f"{_PREFIX}{name}"
    return name


def published_table(raw: Examples, names: PublishedColumns, source_rows: Mapping[str, int]) -> pa.Table:
    """Return all rows in the raw table's order, with published column names.

    Columns are id, inputs, label and attributes, followed by group, source row, annotators' labels and content hash if
    they exist. The column of source rows (int64) numbers the rows of each split of the source from 0. `source_rows`:
    the number of rows per split, in the source's order. Ids are taken from the source. If the source has no ids, an id
    consists of split and source row, such as "train-17".
    """
    own, made = names.own, {name: raw.table[column] for name, column in names.raw_columns.items()}
    splits, numbers = source_rows_of(raw.row_ids, source_rows)
    if not names.ids_given:
        made[own["id"]] = pa.array([f"{split}-{number}" for split, number in zip(splits, numbers, strict=True)])
    made[own["source_row"]] = pa.array(numbers, pa.int64())
    if names.column_per_feature:
        places = enumerate(names.inputs["features"])
        made |= {name: pa.array(np.ascontiguousarray(raw.features[:, place])) for place, name in places}
    last = [own[name] for name in ("group", "source_row", "annotator_labels", "content_hash") if name in own]
    columns = {name: made[name] for name in (own["id"], *names.source_names, *last)}
    return pa.table(columns)
