"""The class `Examples`: rows of a dataset as a table with the columns of `raw_dataset`, for models and statistics."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.rows import rows_at
from aflite_assets.errors import DataError

Modality = Literal["features", "text", "image"]


@dataclass(frozen=True)
class Examples:
    """Labelled rows of a dataset with exactly one kind of input.

    `table` has these columns: `row_id` (int64), `source_id` (string), `split` (string), `label` (int64), and the input:
    `features` (list<float32>), or `text` with an optional `text_pair`, or `image` (struct of bytes, path, sha256).
    Optional columns are `group` (int64), `question` (int64), `annotator_labels` (list<int64> of class numbers, empty if
    no annotator labelled the row) and columns named `attribute.*`. `label_names[c]` is the name of class `c`.
    """

    table: pa.Table
    label_names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def modality(self) -> Modality:
        """The kind of input: text, image or features."""
        names = set(self.table.column_names)
        if "features" in names:
            return "features"
        return "text" if "text" in names else "image"

    @cached_property
    def row_ids(self) -> np.ndarray:
        """Positions of the rows in the source, int64."""
        return self.table["row_id"].to_numpy()

    @cached_property
    def labels(self) -> np.ndarray:
        """Class number of each row, int64."""
        return self.table["label"].to_numpy()

    @cached_property
    def features(self) -> np.ndarray:
        """Feature matrix, float32 of shape (rows, width); only for datasets of feature vectors."""
        chunks = [chunk for chunk in self.table["features"].chunks if len(chunk)]
        parts = [np.asarray(chunk.flatten().to_numpy(), np.float32).reshape(len(chunk), -1) for chunk in chunks]
        if len(parts) < 2:
            return parts[0] if parts else np.empty((0, 0), np.float32)
        return np.concatenate(parts)

    @property
    def groups(self) -> np.ndarray | None:
        """Group number of each row, int64, or None if the dataset has no groups."""
        return self.table["group"].to_numpy() if "group" in self.table.column_names else None

    @property
    def questions(self) -> np.ndarray | None:
        """Question number of each row, int64; equal to the group number if the dataset has no questions."""
        return self.table["question"].to_numpy() if "question" in self.table.column_names else self.groups

    def with_groups(self, groups: np.ndarray) -> "Examples":
        """Return the same rows with other groups (int64, one per row)."""
        column = pa.array(groups, pa.int64())
        names = self.table.column_names
        if "group" in names:
            return replace(self, table=self.table.set_column(names.index("group"), "group", column))
        return replace(self, table=self.table.append_column("group", column))

    def without_groups(self) -> "Examples":
        """Return the same rows without groups."""
        return self if self.groups is None else replace(self, table=self.table.drop_columns(["group"]))

    def texts(self, column: Literal["text", "text_pair"] = "text") -> list[str]:
        """Return the texts of one column, in row order."""
        return self.table[column].to_pylist()

    def image_bytes(self, row: int) -> bytes:
        """Return the encoded image at position `row`, as stored in the source.

        Raises:
            DataError: the file of the image was deleted or changed after `raw_dataset` was materialised.
        """
        from aflite_assets.data.images import read_image

        return read_image(self.table["image"][row].as_py())

    def in_split(self, split: str) -> "Examples":
        """Return the rows of one split, in order."""
        inside = pc.equal(self.table["split"], split).to_numpy()
        return Examples(rows_at(self.table, np.flatnonzero(inside)), self.label_names)

    def select(self, row_ids: Iterable[int]) -> "Examples":
        """Return the rows with these ids, in the given order.

        Raises:
            DataError: an id is not among the rows.
        """
        wanted = np.asarray(list(row_ids), dtype=np.int64)
        order = np.argsort(self.row_ids, kind="stable")
        positions = np.searchsorted(self.row_ids[order], wanted)
        clipped = np.minimum(positions, len(order) - 1) if len(order) else positions
        missing = wanted[self.row_ids[order[clipped]] != wanted] if len(order) else wanted
        if len(missing):
            raise DataError(
                f"{len(missing)} of {len(wanted)} row ids are not in this table (first: {missing[0]}), so the ids and "
                "the table come from different versions; materialise the upstream assets again"
            )
        return Examples(rows_at(self.table, order[clipped]), self.label_names)
