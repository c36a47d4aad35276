"""The columns of the published folder: the user's own under their names, and the columns that the project adds."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import as_tuple

FATE_COLUMNS = ("status", "predictability", "removed_in_iteration", "weight")
"""Values that the filter assigns to a row: columns of `full_tagged`."""

_ATTRIBUTE = "attribute."
_INPUTS = ("text", "text_pair", "image", "features")
_PREFIX = "aflite_"


@dataclass(frozen=True)
class PublishedColumns:
    """Names of the raw table's columns in the published folder.

    `inputs`: the source's names by the raw table's names. `column_per_feature`: whether each feature has a column of
    its own, as in the source, instead of one column of lists. `label`: the source's name of the label column.
    `attributes`: the raw table's name of each attribute by the source's name. `own`: the name of each column that the
    project adds; it begins with "aflite_" if the source has a column of the plain name. `ids_given`: whether `id` is
    the source's own.
    """

    inputs: Mapping[str, tuple[str, ...]]
    column_per_feature: bool
    label: str
    attributes: Mapping[str, str]
    own: Mapping[str, str]
    ids_given: bool

    @classmethod
    def of(cls, raw: Examples, columns: ColumnsSpec) -> "PublishedColumns":
        """Determine the names for a raw table; `columns` are the columns that the dataset's YAML file names."""
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
            taken.remove("id")  # the source's ids are what the column holds
        # Sources that make texts and images name no columns, and give ids themselves; features have none.
        ids_given = columns.id is not None or (
            raw.modality != "features" and all(getattr(columns, name) is None for name in inputs)
        )
        added = ["id", *([] if ids_given else ["content_hash"]), "source_row"]
        added += [name for name in ("group", "annotator_labels") if name in there]
        own = {name: free_name(name, taken) for name in (*added, *FATE_COLUMNS)}
        return cls(inputs, isinstance(columns.features, tuple), columns.label, attributes, own, ids_given)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The source's columns that are published, in their order: inputs, label, attributes."""
        return (*(name for names in self.inputs.values() for name in names), self.label, *self.attributes)

    @property
    def raw_columns(self) -> dict[str, str]:
        """The raw table's column by the published name, without columns that come from the filter's results."""
        from_raw = {"id": "source_id" if self.ids_given else "row_id", "content_hash": "source_id"}
        from_raw |= {"source_row": "row_id", "group": "group", "annotator_labels": "annotator_labels"}
        return {
            **{name: raw for raw, names in self.inputs.items() for name in names},
            self.label: "label",
            **self.attributes,
            **{name: from_raw[own] for own, name in self.own.items() if own in from_raw},
        }


def free_name(name: str, taken: set[str]) -> str:
    """Return a name for a column that is not among those taken."""
    while name in taken:
        name = f"{_PREFIX}{name}"
    return name


def published_table(raw: Examples, names: PublishedColumns, source_rows: Mapping[str, int]) -> pa.Table:
    """Return every row in the raw table's order: id, inputs, label, attributes, and then its place and group.

    `source_row` (int64) counts from 0 within the row's split of the source. `source_rows` gives the number of rows by
    split, in the source's order. `id` is the source's own id, or the source's split and that number, as in "train-17".
    """
    table, own = raw.table, names.own
    splits, numbers = source_rows_of(raw.row_ids, source_rows)
    ids = (
        table["source_id"] if names.ids_given else pa.array([f"{s}-{n}" for s, n in zip(splits, numbers, strict=True)])
    )
    columns: dict[str, pa.Array | pa.ChunkedArray] = {own["id"]: ids}
    for raw_name, given in names.inputs.items():
        columns |= _split_features(raw, given) if names.column_per_feature else {given[0]: table[raw_name]}
    columns[names.label] = table["label"]
    columns |= {name: table[column] for name, column in names.attributes.items()}
    if "group" in own:
        columns[own["group"]] = table["group"]
    columns[own["source_row"]] = pa.array(numbers, pa.int64())
    if "annotator_labels" in own:
        columns[own["annotator_labels"]] = table["annotator_labels"]
    if "content_hash" in own:
        columns[own["content_hash"]] = table["source_id"]
    return pa.table(columns)


def source_rows_of(row_ids: np.ndarray, source_rows: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """Return, for each row, its split in the source and its number there; `row_id` counts over all splits."""
    ends = np.cumsum(list(source_rows.values()))
    places = np.searchsorted(ends, row_ids, side="right")
    names = list(source_rows)
    return [names[place] for place in places.tolist()], (row_ids - np.r_[0, ends][places]).tolist()


def _split_features(raw: Examples, names: tuple[str, ...]) -> dict[str, pa.Array]:
    """Return a float32 column per feature, as in the source."""
    matrix = raw.features
    return {name: pa.array(np.ascontiguousarray(matrix[:, place])) for place, name in enumerate(names)}
