"""Detection of rows that occur several times in a source, and their removal before splits are drawn.

`diagnostics.data_checks.repeats` counts the copies that are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from aflite_assets.data.raw_table.columns import content_digests
from aflite_assets.errors import DataError


@dataclass(frozen=True)
class DroppedCopies:
    """Numbers of dropped rows by split of the source; splits without such rows are left out.

    `duplicates`: rows with the same input and label as an earlier row of their split. `conflicting`: rows that are kept
    although another row of their split has the same input and a different label. `shared_group`: train rows whose group
    also occurs in another split. `shared_input`: all other train rows that were dropped because their input, or with
    `whole_groups` an input in their group, also occurs in another split.
    """

    duplicates: Mapping[str, int] = field(default_factory=dict)
    conflicting: Mapping[str, int] = field(default_factory=dict)
    shared_group: int = 0
    shared_input: int = 0


def without_copies(
    labels: Mapping[str, np.ndarray],
    inputs: Mapping[str, Mapping[str, pa.Array | pa.ChunkedArray]],
    groups: Mapping[str, np.ndarray],
    *,
    duplicates: bool,
    between_splits: bool,
    whole_groups: bool = False,
) -> tuple[dict[str, np.ndarray], DroppedCopies]:
    """Return the positions (ascending int64) of the labelled rows to keep in each split, and a `DroppedCopies`.

    `labels`: int64 by split, negative for rows without a label; `groups`: int64 by split, or empty.

    With `duplicates`, only the first of all rows of a split with the same input and label is kept. Rows with the same
    input and different labels are all kept. With `between_splits`, train rows are dropped if their group or whole input
    occurs in another split. With `whole_groups` (for multiple choice), all other rows in the groups of dropped train
    rows are dropped too.

    Raises:
        DataError: `between_splits` would leave no train row.
    """
    rows = {split: np.flatnonzero(numbers >= 0) for split, numbers in labels.items()}
    codes = _codes(inputs)
    twice: dict[str, int] = {}
    conflicting: dict[str, int] = {}
    if duplicates:
        for split, positions in rows.items():
            pairs = np.column_stack([codes[split][positions], labels[split][positions]])
            kept = positions[np.sort(np.unique(pairs, axis=0, return_index=True)[1])]
            counts = np.unique(codes[split][kept], return_counts=True)[1]
            twice[split], conflicting[split] = len(positions) - len(kept), int(counts[counts > 1].sum())
            rows[split] = kept
    dropped = DroppedCopies(_present(twice), _present(conflicting))
    others = [split for split in rows if split != "train"]
    if not (between_splits and others and "train" in rows):
        return rows, dropped
    train = rows["train"]
    same_group, same_input = shared_rows(
        (codes["train"][train], groups["train"][train] if groups else None),
        (
            np.concatenate([codes[split][rows[split]] for split in others]),
            np.concatenate([groups[split][rows[split]] for split in others]) if groups else None,
        ),
        whole_groups=whole_groups,
    )
    leaves = same_group | same_input
    if leaves.all():
        raise DataError(
            f"`between_splits: drop` would drop all {len(train)} train rows, because every train row shares its group "
            "or input with a row of another split; set `between_splits: keep`, or draw a test split with `holdout`"
        )
    rows["train"] = train[~leaves]
    return rows, DroppedCopies(dropped.duplicates, dropped.conflicting, int(same_group.sum()), int(same_input.sum()))


Coded = tuple[np.ndarray, np.ndarray | None]
"""Codes of the inputs of rows, and their groups or None; rows with equal inputs, or of one group, have equal codes."""


def shared_rows(train: Coded, others: Coded, *, whole_groups: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the train rows that `between_splits: drop` drops: for their group, and only for their input.

    `others`: the rows of all other splits. With `whole_groups`, a train row is dropped with its whole group.
    """
    codes, own = train
    other_codes, elsewhere = others
    same_group = np.zeros(len(codes), bool) if own is None or elsewhere is None else np.isin(own, elsewhere)
    same_input = np.isin(codes, other_codes) & ~same_group
    if whole_groups and own is not None:
        same_input = np.isin(own, own[same_input]) & ~same_group
    return same_group, same_input


def _codes(inputs: Mapping[str, Mapping[str, pa.Array | pa.ChunkedArray]]) -> dict[str, np.ndarray]:
    """Return a number per row. Rows have the same number if their inputs are equal byte for byte, even in different
    splits.
    """
    numbers: dict[bytes, int] = {}
    return {
        split: np.array([numbers.setdefault(digest, len(numbers)) for digest in content_digests(columns)], np.int64)
        for split, columns in inputs.items()
    }


def _present(counts: Mapping[str, int]) -> dict[str, int]:
    return {split: count for split, count in counts.items() if count}
