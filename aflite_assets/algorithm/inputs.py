"""Inputs of a run: the arrays are checked once, read in blocks of limited size, and hashed.

This module finds all errors in the arrays, and all conflicts between arrays and settings, before any fitting. The
module `settings.py` makes the checks that need no arrays.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import TypeGuard

import numpy as np

from aflite_assets.algorithm.settings import FilterSettings, check_sizes
from aflite_assets.algorithm.vocabulary import RowWords, check_row_words
from aflite_assets.errors import InvalidInputError

_DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Inputs:
    """Checked input arrays with one entry per row. `features` may be a memory map. The arrays are never changed.

    `labels` is int64. `classes` holds the distinct labels, ascending. `groups` is int64 or None, and `score_only` is
    bool. `counted` is a bool array, True for the rows that count towards the target size. `copies` is int64 or None.
    Exact copies of a row have the same number in `copies`. `words` is None or holds the words of every row.
    """

    features: np.ndarray
    labels: np.ndarray
    classes: np.ndarray
    groups: np.ndarray | None
    score_only: np.ndarray
    counted: np.ndarray
    copies: np.ndarray | None = None
    words: RowWords | None = None

    @property
    def trainable_rows(self) -> np.ndarray:
        """Ascending numbers of the rows that classifiers may be trained on."""
        return np.flatnonzero(~self.score_only)


def check_inputs(
    features: object,
    labels: object,
    *,
    groups: object,
    score_only: object,
    memory_limit: int,
    counted: object = None,
    copies: object = None,
    words: object = None,
) -> Inputs:
    """Check the arrays and return them as `Inputs`. The features are read in blocks and not copied."""
    matrix = _check_features(features, memory_limit=memory_limit)
    rows = len(matrix)
    label_array = _whole_numbers("labels", labels, rows)
    if label_array.min() < 0:
        raise InvalidInputError(
            f"`labels` has the value {label_array.min()} for row {int(label_array.argmin())}, but labels must be at "
            "least 0; leave out rows without a label"
        )
    mask = _check_score_only(score_only, rows)
    counted_mask = _check_counted(counted, mask)
    trainable = np.unique(label_array[~mask])
    if len(trainable) < 2:
        raise InvalidInputError(
            f"all rows to train on have the same label ({trainable[0]}); give rows of at least two classes"
        )
    group_array = None if groups is None else _whole_numbers("groups", groups, rows)
    copy_array = None if copies is None else _whole_numbers("copies", copies, rows)
    row_words = None if words is None else check_row_words(words, rows)
    classes = np.unique(label_array)
    needed = prediction_row_bytes(matrix.shape[1], len(classes))
    if memory_limit < needed:
        raise InvalidInputError(
            f"`memory_limit` is {memory_limit}, but the prediction of one row needs {needed} bytes; raise "
            "`memory_limit`"
        )
    return Inputs(matrix, label_array, classes, group_array, mask, counted_mask, copy_array, row_words)


def check_run(*, seed: object, device: object, memory_limit: object) -> None:
    """Check all arguments of a run except the data and the settings."""
    if not _is_whole(seed) or not 0 <= seed < 2**64:
        raise InvalidInputError(
            f"`seed` is {seed!r}, but it must be a whole number from 0 to 2**64 - 1; give an int in this range"
        )
    if device not in _DEVICES:
        raise InvalidInputError(f"`device` is {device!r}, which is unknown; give one of {', '.join(_DEVICES)}")
    if device == "cuda":
        import torch  # what needs no GPU needs no torch

        if not torch.cuda.is_available():
            raise InvalidInputError(
                f'`device` is "cuda", but torch {torch.__version__} finds no usable GPU; use "auto" or "cpu", or '
                "install a torch build with CUDA and a matching driver"
            )
    if not _is_whole(memory_limit) or memory_limit < 1:
        raise InvalidInputError(
            f"`memory_limit` is {memory_limit!r}, but it must be a positive whole number of bytes; give, for example, "
            "2**30 for one GiB"
        )


def check_train_size(inputs: Inputs, settings: FilterSettings) -> None:
    """Check that a training set can be drawn and that some rows are left to hold out."""
    rows = inputs.trainable_rows
    if settings.train_size >= len(rows):
        raise InvalidInputError(
            f"`train_size` is {settings.train_size}, but there are only {len(rows)} rows to train on; lower "
            "`train_size`, so that some rows can be held out"
        )
    if inputs.groups is None:
        return
    smallest = np.unique(inputs.groups[rows], return_counts=True)[1].min()
    if smallest > settings.train_size:
        raise InvalidInputError(
            f"`train_size` is {settings.train_size}, but the smallest group has {smallest} rows; raise `train_size`, "
            "or give smaller groups"
        )


def check_filter_sizes(inputs: Inputs, settings: FilterSettings) -> None:
    """Check that the sizes in the settings are consistent with each other, with the number of rows and with the group
    sizes.
    """
    check_sizes(settings, pool_rows=len(inputs.trainable_rows), counted_rows=int(inputs.counted.sum()))
    check_train_size(inputs, settings)
    if settings.remove == "groups":
        _check_group_removal(inputs, settings)
    if settings.ranking == "vocabulary":
        _check_vocabulary(inputs)
    elif inputs.score_only.any() and not settings.holds_others:
        name = "ties" if settings.ties != "random" else "balance"
        raise InvalidInputError(
            f"`score_only` is True for {int(inputs.score_only.sum())} rows, but `{name}` is "
            f'"{getattr(settings, name)}", which gives no single cut-off score for such rows; leave the rows out, or '
            f"leave `{name}` out"
        )


def check_partitions(partitions: Iterable[object], inputs: Inputs) -> list[np.ndarray]:
    """Check the given training sets, and return each set as an array of ascending int64 row numbers."""
    if isinstance(partitions, np.ndarray) and partitions.ndim == 1:
        raise InvalidInputError(
            "`partitions` is a single 1-d array; give a list with one array of training row numbers per partition"
        )
    checked = [_check_partition(number, rows, inputs) for number, rows in enumerate(partitions)]
    if not checked:
        raise InvalidInputError("`partitions` is empty; give at least one array of training row numbers, or None")
    return checked


def fingerprint(
    inputs: Inputs, settings: FilterSettings, *, seed: int, keep_probabilities: bool, memory_limit: int
) -> str:
    """Return the SHA-256 hash of the arrays, settings and seed, in hexadecimal.

    The hash does not depend on the device or on `memory_limit`, which only limits the size of blocks. A run can
    therefore be resumed on another machine. The hash depends on the words if rows are ranked by words.
    """
    words = inputs.words if settings.ranking == "vocabulary" else None
    header = {
        "settings": settings.as_dict(),
        "seed": int(seed),
        "keep_probabilities": bool(keep_probabilities),
        "shape": inputs.features.shape,
        "dtype": inputs.features.dtype.str,
        "grouped": inputs.groups is not None,
        **({} if inputs.copies is None else {"copies": True}),
        **({} if words is None else {"words": True}),
    }
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    row_bytes = inputs.features.shape[1] * inputs.features.itemsize
    for block in row_blocks(len(inputs.features), row_bytes=row_bytes, memory_limit=memory_limit):
        digest.update(np.ascontiguousarray(inputs.features[block]).data)
    word_arrays = () if words is None else (words.offsets, words.numbers)
    for array in (inputs.labels, inputs.score_only, inputs.counted, inputs.groups, inputs.copies, *word_arrays):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def row_blocks(n_rows: int, *, row_bytes: int, memory_limit: int) -> Iterator[slice]:
    """Yield consecutive slices of the rows. Each slice has at least one row and, if possible, takes at most
    `memory_limit` bytes.
    """
    step = max(1, memory_limit // row_bytes)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def prediction_row_bytes(width: int, n_classes: int) -> int:
    """Return the number of bytes that one row needs during prediction. A row needs its features twice in float64,
    original and centred. A row also needs three float64 values per class: a decision value, a probability, and the
    probability in the dataset's class order.
    """
    return 8 * (2 * width + 3 * n_classes)


def _check_features(features: object, *, memory_limit: int) -> np.ndarray:
    matrix = np.asarray(features)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInputError(
            f"`features` has the shape {matrix.shape}, but it must be a 2-d array with at least one row and one "
            "column; give an array of shape rows x width"
        )
    if matrix.dtype.kind not in "iuf" or matrix.dtype.itemsize > 8:
        raise InvalidInputError(
            f"`features` has the dtype {matrix.dtype}, but it must contain numbers of at most 64 bits; convert it, "
            "for example with `astype(np.float32)`"
        )
    for block in row_blocks(len(matrix), row_bytes=matrix.shape[1] * matrix.itemsize, memory_limit=memory_limit):
        finite = np.isfinite(matrix[block])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise InvalidInputError(
                f"`features` has the value {matrix[block][row, column]} in row {block.start + row}, column {column}, "
                "but all values must be finite; repair such rows, or leave them out"
            )
    return matrix


def _whole_numbers(name: str, values: object, rows: int) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != (rows,):
        raise InvalidInputError(
            f"`{name}` has the shape {array.shape}, but `features` has {rows} rows; give a 1-d array with one entry "
            "per row"
        )
    if array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"`{name}` has the dtype {array.dtype}, but it must contain integers; number the values, for example with "
            "`np.unique(values, return_inverse=True)[1]`"
        )
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise InvalidInputError(
            f"`{name}` has the value {array.max()}, which does not fit into int64; renumber the values from 0"
        )
    return array.astype(np.int64)


def _mask(name: str, values: object, rows: int, *, meaning: str) -> np.ndarray:
    mask = np.array(values)
    if mask.shape != (rows,) or mask.dtype != np.bool_:
        raise InvalidInputError(
            f"`{name}` has the shape {mask.shape} and the dtype {mask.dtype}, but `features` has {rows} rows; give a "
            f"bool array with one entry per row, True for rows that {meaning}"
        )
    return mask


def _check_score_only(score_only: object, rows: int) -> np.ndarray:
    if score_only is None:
        return np.zeros(rows, dtype=bool)
    mask = _mask("score_only", score_only, rows, meaning="are scored and never trained on")
    if mask.all():
        raise InvalidInputError(
            "`score_only` is True for every row, so there are no rows to train on; give False for at least two rows"
        )
    return mask


def _check_counted(counted: object, score_only: np.ndarray) -> np.ndarray:
    """Return a bool array that is True for the rows that count towards the target size. By default, every row that may
    be trained on counts.
    """
    if counted is None:
        return ~score_only
    mask = _mask("counted", counted, len(score_only), meaning="count towards `target_size`")
    if (mask & score_only).any():
        raise InvalidInputError(
            f"`counted` and `score_only` are both True for row {int((mask & score_only).argmax())}, but rows that are "
            "only scored are never counted; set one of the two to False"
        )
    return mask


def _check_group_removal(inputs: Inputs, settings: FilterSettings) -> None:
    if inputs.groups is None:
        raise InvalidInputError('`remove` is "groups", but `groups` is None; give `groups`, or use `remove="rows"`')
    largest = np.unique(inputs.groups[inputs.trainable_rows], return_counts=True)[1].max()
    if largest > settings.slice_size:
        raise InvalidInputError(
            f"`slice_size` is {settings.slice_size}, but the largest group has {largest} rows and `remove` is "
            '"groups"; raise `slice_size`, or use `remove="rows"`'
        )


def _check_vocabulary(inputs: Inputs) -> None:
    if inputs.words is None:
        raise InvalidInputError(
            '`ranking` is "vocabulary", but `words` is None; give the words of each row as `RowWords(offsets, '
            'numbers)`, or use `ranking="predictability"`'
        )
    if inputs.score_only.any():
        raise InvalidInputError(
            f'`score_only` is True for {int(inputs.score_only.sum())} rows, but `ranking` is "vocabulary", which '
            'gives no cut-off score for such rows; leave the rows out, or use `ranking="predictability"`'
        )


def check_row_numbers(name: str, rows: object, n_rows: int) -> np.ndarray:
    """Check an array of row numbers, and return the numbers as ascending int64."""
    array = np.asarray(rows)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise InvalidInputError(
            f"{name} has the shape {array.shape} and the dtype {array.dtype}, but it must be a 1-d array of row "
            "numbers; turn a bool mask into row numbers with `np.flatnonzero`"
        )
    ordered = np.unique(array).astype(np.int64)
    if len(ordered) < len(array):
        raise InvalidInputError(f"{name} contains a row twice; give each row once")
    outside = ordered[(ordered < 0) | (ordered >= n_rows)]
    if len(outside):
        raise InvalidInputError(
            f"{name} contains row {outside[0]}, but the rows of `features` are numbered from 0 to {n_rows - 1}; give "
            "row numbers in this range"
        )
    return ordered


def _check_partition(number: int, rows: object, inputs: Inputs) -> np.ndarray:
    where = f"`partitions[{number}]`"
    ordered = check_row_numbers(where, rows, len(inputs.labels))
    if inputs.score_only[ordered].any():
        row = ordered[inputs.score_only[ordered]][0]
        raise InvalidInputError(
            f"{where} contains row {row}, for which `score_only` is True; remove the row from the partition, or set "
            "`score_only` to False for this row"
        )
    held_out = np.setdiff1d(inputs.trainable_rows, ordered, assume_unique=True)
    if not len(held_out):
        raise InvalidInputError(f"{where} contains every row, so no row is held out; leave at least one row out")
    split = [] if inputs.groups is None else np.intersect1d(inputs.groups[ordered], inputs.groups[held_out]).tolist()
    if split:
        raise InvalidInputError(
            f"{where} contains only a part of group {split[0]}; include all rows of a group, or no row"
        )
    return ordered


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)
