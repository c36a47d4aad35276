"""Inputs that are copies of the label: feature columns and text columns with exactly one value per class."""

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.feature_columns import blocks
from aflite_assets.diagnostics.record_tables import text_codes

_LOG_MOST_CHANCE = math.log(0.001)
_FIRST_ROWS = 10_000
"""Number of rows that are checked first.

If a text column has more distinct texts than classes in these rows, it is not a copy and is not read further.
"""


def label_copies(examples: Examples, in_train: np.ndarray) -> dict[int | str, int]:
    """Find copies of the label among the feature columns or the text columns; features must be finite.

    For each copy of the label, return the number of rows outside train that have the value of their class in train.
    Keys are the numbers of feature columns, from 0, or "text" and "text_pair".

    `in_train`: bool mask of the train rows. In a copy, all train rows of a class have the same value, and no two
    classes have the same value. A constant column is no copy of the label, and a column with a different value in each
    row is no copy either.

    If there are few train rows, or if nearly all train rows are in one class, a column may be a copy of the label by
    chance. If a copy by chance is too probable, no column is reported. The probability of a copy by chance is at most A
    B / C. A is the number of columns, B the number of ways to assign values to classes, and C the number of
    arrangements of the labels.
    """
    labels, agreeing = examples.labels, dict[int | str, int]()
    columns = examples.features.shape[1] if examples.modality == "features" else 1
    if _log_chance(labels[in_train], columns) > _LOG_MOST_CHANCE:
        return agreeing
    if examples.modality == "features":
        features = examples.features
        for column, values in _one_to_one(features, labels, in_train).items():
            agreeing[column] = _agreeing(features[:, column], values, labels, ~in_train)
    for name in [name for name in ("text", "text_pair") if name in examples.table.column_names]:
        texts = examples.table[name]
        if pc.count_distinct(texts.filter(pa.array(in_train))[:_FIRST_ROWS]).as_py() > len(examples.label_names):
            continue
        codes = text_codes(texts)[:, None]
        for values in _one_to_one(codes, labels, in_train).values():
            agreeing[name] = _agreeing(codes[:, 0], values, labels, ~in_train)
    return agreeing


def _log_chance(labels: np.ndarray, columns: int) -> float:
    """Return the logarithm of an upper bound on the expected number of random columns that are copies of the labels."""
    counts = np.unique(labels, return_counts=True)[1]
    arrangements = math.lgamma(counts.sum() + 1) - sum(math.lgamma(count + 1) for count in counts)
    return math.log(max(columns, 1)) + math.lgamma(len(counts) + 1) - arrangements


def _one_to_one(values: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> dict[int, dict[int, float]]:
    """Return the columns of a matrix that are copies of the labels in `rows` (bool), with each class's value."""
    classes, first, counts = np.unique(labels[rows], return_index=True, return_counts=True)
    if (counts > 1).sum() < 2:
        return {}
    of_class = values[np.flatnonzero(rows)[first]]
    ordered = np.sort(of_class, axis=0)
    columns = np.flatnonzero((ordered[1:] != ordered[:-1]).all(axis=0))
    codes = np.searchsorted(classes, labels[rows])
    start = 0
    for block in blocks(values, rows):
        if not len(columns):
            break
        expected = of_class[codes[start : start + len(block)]]
        columns = columns[(block[:, columns] == expected[:, columns]).all(axis=0)]
        start += len(block)
    return {
        column: dict(zip(classes.tolist(), of_class[:, column].tolist(), strict=True)) for column in columns.tolist()
    }


def _agreeing(values: np.ndarray, of_class: Mapping[int, float], labels: np.ndarray, rows: np.ndarray) -> int:
    """Return a bool per row, True if the row has the value of its class."""
    return int(sum((values[rows & (labels == label)] == value).sum() for label, value in of_class.items()))
