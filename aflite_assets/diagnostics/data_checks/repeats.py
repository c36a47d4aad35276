"""Rows whose whole input occurs more than once: in two splits, within train, or with different labels.

Near-duplicates do not count as repeats.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import read_image
from aflite_assets.diagnostics.record_tables import content_codes, first_rows, split_masks, text_codes

SHOWN_CONFLICTS = 5


@dataclass(frozen=True)
class RepeatCount:
    """Number of rows outside the train split whose code also occurs in the train split.

    `codes`: number of such codes. `train_rows`: number of train rows with such a code. `rows`: number of such rows
    outside train. `share`: `rows` divided by the number of all rows outside train, or 0 if there are no rows outside
    train. `by_split`: number of such rows in each split other than train. `row_ids`: ids of the first few such rows
    outside train, in row order.
    """

    codes: int
    train_rows: int
    rows: int
    share: float
    by_split: Mapping[str, int]
    row_ids: tuple[int, ...]


@dataclass(frozen=True)
class TrainRepeats:
    """Numbers of train rows whose whole input also occurs in another train row.

    `same_label`: number of rows with the same input and label as a row of another group. `same_label_ids`: ids of the
    first few rows that `same_label` counts. `conflicting`: number of rows with the same input as a row with another
    label. `conflicting_inputs`: number of different inputs of the rows that `conflicting` counts. A row may be counted
    both in `same_label` and in `conflicting`. `conflicts`: the row ids of the first few conflicting inputs, one tuple
    per input, in row order.
    """

    train_rows: int
    same_label: int
    same_label_ids: tuple[int, ...]
    conflicting: int
    conflicting_inputs: int
    conflicts: tuple[tuple[int, ...], ...]


def input_codes(examples: Examples) -> np.ndarray:
    """Return a number per row (int64, from 0); rows with byte-identical input have the same number.

    An input is the pair of `text` and `text_pair`, the bytes of the features, or the image's SHA-256 hash.
    """
    if examples.modality == "features":
        return content_codes(row.data for row in examples.features)
    if examples.modality == "image":
        return content_codes(_image_sha256(image.as_py()) for image in examples.table["image"])
    codes = text_codes(examples.table["text"]) + 1
    if "text_pair" in examples.table.column_names:
        pairs = text_codes(examples.table["text_pair"]) + 1
        codes = codes * (pairs.max(initial=0) + 1) + pairs
    return np.unique(codes, return_inverse=True)[1]


def _image_sha256(image: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(image["sha256"]) if image["sha256"] else hashlib.sha256(read_image(image)).digest()


def repeats_across_splits(examples: Examples, codes: np.ndarray) -> RepeatCount:
    """Count the rows outside train whose code also occurs in train.

    `codes`: the result of `input_codes`, or the groups of the rows.
    """
    masks = dict(split_masks(examples.table))
    train = masks.pop("train", np.zeros(len(examples), dtype=bool))
    shared = np.intersect1d(codes[train], codes[~train])
    inside = np.isin(codes, shared)
    repeated = inside & ~train
    return RepeatCount(
        codes=len(shared),
        train_rows=int((inside & train).sum()),
        rows=int(repeated.sum()),
        share=float(repeated.sum() / max((~train).sum(), 1)),
        by_split={split: int((inside & mask).sum()) for split, mask in masks.items()},
        row_ids=first_rows(examples.row_ids[repeated]),
    )


def repeats_in_train(examples: Examples, codes: np.ndarray) -> TrainRepeats:
    """Count the train rows with the same input as another train row, separately for equal and different labels.

    `codes`: the numbers that `input_codes` returns for the rows.
    """
    train = dict(split_masks(examples.table)).get("train", np.zeros(len(examples), dtype=bool))
    ids, inputs = examples.row_ids[train], codes[train]
    pairs = np.unique(inputs * len(examples.label_names) + examples.labels[train], return_inverse=True)[1]
    same = _sizes(pairs) > (1 if examples.groups is None else _sizes_in_groups(pairs, examples.groups[train]))
    conflicting = _sizes(inputs) > _sizes(pairs)
    in_conflict = inputs[conflicting]
    shown = list(dict.fromkeys(in_conflict.tolist()))[:SHOWN_CONFLICTS]
    return TrainRepeats(
        train_rows=len(ids),
        same_label=int(same.sum()),
        same_label_ids=first_rows(ids[same]),
        conflicting=len(in_conflict),
        conflicting_inputs=len(np.unique(in_conflict)),
        conflicts=tuple(first_rows(ids[inputs == conflicting]) for conflicting in shown),
    )


def _sizes(codes: np.ndarray) -> np.ndarray:
    """Return, for each row, the number of rows with the same code."""
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return counts[inverse]


def _sizes_in_groups(codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
    numbers, inverse = np.unique(groups, return_inverse=True)
    return _sizes(codes * len(numbers) + inverse)
