"""What is known of single rows of one filtering beyond its outcome: scores by iteration, other classes, neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import InvalidInputError

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
"""All but the first are null where nothing is stored; see `RowFacts`."""


@dataclass(frozen=True, eq=False)
class RowFacts:
    """Facts about the rows of one filtering, those of earlier versions of a result null.

    `table` has the columns `ROW_FACTS`, each row once. `predictability_by_iteration`: a value in [0, 1] per iteration
    that the row entered, null before it was first held out. `predicted_instead`: the classes that classifiers gave most
    often in place of its label, with the share of its held-out predictions. `nearest_kept`: row id of the most similar
    kept row of another class, in [-1, 1]. `suggested_label`: of a suspected label error the class that it may be,
    `suggested_probability` what models gave that class where they did not see the row, in [0, 1].

    Raises:
        InvalidInputError: a column is missing, or a row stands there twice.
    """

    table: pa.Table

    def __post_init__(self) -> None:
        if not self.table.schema.equals(ROW_FACTS):
            raise InvalidInputError(f"row facts have the schema {self.table.schema}; it must be {ROW_FACTS}")
        if len(pc.unique(self.table["row_id"])) != self.table.num_rows:
            raise InvalidInputError("row facts name a row twice; each row has one line")

    def of(self, row_ids: np.ndarray) -> pa.Table:
        """The facts of these rows, in their order; nulls for rows without any."""
        places = pc.index_in(pa.array(row_ids, pa.int64()), value_set=self.table["row_id"])
        found = self.table.take(places)
        return found.set_column(0, "row_id", pa.array(row_ids, pa.int64()))


def row_facts(
    rows: pa.Table,
    scores: Iterable[tuple[int, pa.Table]],
    *,
    instead: pa.Table | None = None,
    nearest: pa.Table | None = None,
    suspects: pa.Table | None = None,
) -> RowFacts:
    """Facts from the tables of stored results, where there are any; one iteration's scores are held at a time.

    Args:
        rows: every row of the filtering: row_id, removed_in_iteration (null: kept).
        scores: per iteration, from 0 on, its number and the rows that entered it: row_id and predictability.
        instead: row_id, then label_<rank> and share_<rank>, null where there are no more.
        nearest: row_id, nearest_kept, similarity.
        suspects: row_id, suggested_label, suggested_probability.
    """
    row_ids = rows["row_id"].to_numpy()
    columns = {
        "row_id": pa.array(row_ids),
        "predictability_by_iteration": _by_iteration(rows, scores),
        **_instead(row_ids, instead),
        "nearest_kept": _looked_up(row_ids, nearest, "nearest_kept", pa.int64()),
        "nearest_similarity": _looked_up(row_ids, nearest, "similarity", pa.float32()),
        "suggested_label": _looked_up(row_ids, suspects, "suggested_label", pa.int64()),
        "suggested_probability": _looked_up(row_ids, suspects, "suggested_probability", pa.float32()),
    }
    return RowFacts(pa.table([columns[field.name].cast(field.type) for field in ROW_FACTS], ROW_FACTS))


def _by_iteration(rows: pa.Table, scores: Iterable[tuple[int, pa.Table]]) -> pa.Array:
    """A list per row, as long as the iterations that it entered; null where no scores are stored."""
    row_ids = rows["row_id"].to_numpy()
    removed_in = pc.fill_null(rows["removed_in_iteration"], -1).to_numpy()
    order = np.argsort(row_ids, kind="stable")
    tables = dict(scores)
    if not tables or not len(row_ids):
        return pa.nulls(len(row_ids), pa.list_(pa.float32()))
    lengths = np.where(removed_in < 0, max(tables) + 1, removed_in + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.full(offsets[-1], np.nan, dtype=np.float32)
    for iteration, table in tables.items():
        asked = table["row_id"].to_numpy()
        places = order[np.minimum(np.searchsorted(row_ids[order], asked), len(order) - 1)]
        known = (row_ids[places] == asked) & (lengths[places] > iteration)
        values[offsets[places[known]] + iteration] = table["predictability"].to_numpy()[known]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, mask=np.isnan(values)))


def _instead(row_ids: np.ndarray, table: pa.Table | None) -> dict[str, pa.Array]:
    names = ("predicted_instead", "predicted_instead_share")
    kinds = (pa.list_(pa.int64()), pa.list_(pa.float32()))
    if table is None:
        return {name: pa.nulls(len(row_ids), kind) for name, kind in zip(names, kinds, strict=True)}
    places = pc.index_in(pa.array(row_ids), value_set=table["row_id"])
    found = table.take(places).to_pylist()
    ranks = [rank for rank in range(1, table.num_columns) if f"label_{rank}" in table.column_names]
    labels, shares = [], []
    for row in found:
        given = [(row[f"label_{rank}"], row[f"share_{rank}"]) for rank in ranks if row[f"label_{rank}"] is not None]
        labels.append(None if row["row_id"] is None else [label for label, _ in given])
        shares.append(None if row["row_id"] is None else [share for _, share in given])
    return {name: pa.array(each, kind) for name, each, kind in zip(names, (labels, shares), kinds, strict=True)}


def _looked_up(row_ids: np.ndarray, table: pa.Table | None, column: str, kind: pa.DataType) -> pa.Array:
    if table is None:
        return pa.nulls(len(row_ids), kind)
    found = table[column].take(pc.index_in(pa.array(row_ids), value_set=table["row_id"]))
    return found.combine_chunks().cast(kind)
