"""Class sizes: the number of rows per class and split, and the differences of class shares between two sets of rows."""

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.record_tables import split_masks, table_of
from aflite_assets.errors import InvalidInputError

_BALANCE = pa.schema(
    {
        "split": pa.string(),
        "label": pa.int64(),
        "label_name": pa.string(),
        "rows": pa.int64(),
        "share": pa.float64(),
    }
)


def label_balance(examples: Examples) -> pa.Table:
    """Count the rows of each class in each split.

    The columns are `split`, `label`, `label_name`, `rows` and `share` (of the split's rows, in [0, 1]). Splits are in
    order of appearance. A class without rows has a count of 0.
    """
    records = []
    for split, inside in split_masks(examples.table):
        counts = np.bincount(examples.labels[inside], minlength=len(examples.label_names))
        for label, rows in enumerate(counts.tolist()):
            records.append((split, label, examples.label_names[label], rows, rows / counts.sum()))
    return table_of(records, _BALANCE)


@dataclass(frozen=True)
class SplitBalance:
    """Sizes of the largest and the smallest non-empty class in one split, and the names of the empty classes.

    Shares are relative to the split's rows, in [0, 1]. `ratio` is the size of the largest class divided by the size of
    the smallest class.
    """

    split: str
    rows: int
    largest: str
    largest_share: float
    smallest: str
    smallest_share: float
    ratio: float
    absent: tuple[str, ...]


def split_balances(examples: Examples) -> tuple[SplitBalance, ...]:
    """Return the `SplitBalance` of every split, in order of appearance."""
    rows = label_balance(examples).to_pylist()
    return tuple(_split_balance(split, list(classes)) for split, classes in groupby(rows, key=itemgetter("split")))


def _split_balance(split: str, classes: list[dict[str, Any]]) -> SplitBalance:
    present = [class_ for class_ in classes if class_["rows"]]
    *_, smallest = largest, *_ = sorted(present, key=itemgetter("rows"), reverse=True)
    return SplitBalance(
        split,
        sum(class_["rows"] for class_ in classes),
        largest["label_name"],
        largest["share"],
        smallest["label_name"],
        smallest["share"],
        largest["rows"] / smallest["rows"],
        tuple(class_["label_name"] for class_ in classes if not class_["rows"]),
    )


def class_shares_moved(before: np.ndarray, after: np.ndarray, *, classes: int) -> np.ndarray:
    """Return the change of each class's share between two sets of rows, in percentage points.

    Args:
        before: class numbers of the first set's rows, int, in [0, classes).
        after: class numbers of the second set's rows.
        classes: number of classes.

    Returns:
        One float64 per class, in [-100, 100]; negative if the share decreased. The changes of all classes sum to 0.

    Raises:
        InvalidInputError: one of the sets has no rows, so class shares are undefined.
    """
    return 100 * (_shares("after", after, classes) - _shares("before", before, classes))


def _shares(name: str, labels: np.ndarray, classes: int) -> np.ndarray:
    if not len(labels):
        raise InvalidInputError(f"`{name}` has no rows, so its class shares are undefined; give at least one row")
    if labels.min() < 0 or labels.max() >= classes:
        raise InvalidInputError(
            f"`{name}` has class numbers from {labels.min()} to {labels.max()}, but `classes` is {classes}; give the "
            "number of classes of the whole dataset"
        )
    return np.bincount(labels, minlength=classes) / len(labels)
