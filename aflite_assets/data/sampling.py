"""Seeded random draws of rows that keep class shares and never split a group."""

import numpy as np

from aflite_assets.errors import DataError, InvalidInputError


def resolve_count(count: float | int, rows: int, *, field: str, kind: str) -> int:
    """Return a count unchanged, or convert a share of `rows` to a whole number.

    `kind` describes the rows in messages.

    Raises:
        DataError: the count is larger than `rows`, or the share rounds to 0 rows.
    """
    size = count if isinstance(count, int) else round(count * rows)
    if size > rows:
        raise DataError(
            f"`{field}` is {count:,}, but there are only {rows:,} {kind}; set it to at most {rows:,}, or to a share "
            "such as 0.5"
        )
    if size < 1:
        raise DataError(
            f"`{field}` is {count}, but this share of the {rows:,} {kind} rounds to 0 rows; set it to a share of at "
            f"least {1 / max(rows, 1):.2g}, or to a number of rows"
        )
    return size


def stratified_sample(
    labels: np.ndarray, groups: np.ndarray | None, size: int, *, rng: np.random.Generator
) -> np.ndarray:
    """Draw `size` rows in whole groups, keeping the class shares of all rows.

    `labels`: int64 (rows,); `groups`: int64 (rows,) or None. The quota of each class is computed by the largest
    remainder method. Groups are drawn in random order. First, groups that fit the quotas of their classes are drawn,
    and then further groups that fit `size`. With groups, the draw may be smaller than `size`, and classes may miss
    their quotas.

    Returns the row numbers, ascending int64.

    Raises:
        InvalidInputError: `size` is not in 0..rows.
    """
    if not 0 <= size <= len(labels):
        raise InvalidInputError(
            f"`size` is {size}, but only {len(labels)} rows can be drawn; give a number from 0 to {len(labels)}"
        )
    quota = class_quotas(np.bincount(labels, minlength=1) if len(labels) else np.zeros(1, int), size)
    if groups is None:
        order = rng.permutation(len(labels))
        rank = _rank_within_class(labels[order])
        return np.sort(order[rank < quota[labels[order]]])
    return _whole_groups(labels, groups, size, quota, rng)


def class_quotas(counts: np.ndarray, size: int) -> np.ndarray:
    """Split `size` over classes in proportion to `counts` (int64).

    Quotas are rounded down. The remaining rows go to the classes with the largest remainders. If remainders are equal,
    the class with the lower number comes first.
    """
    quota, remainder = np.divmod(counts * size, max(counts.sum(), 1))
    extra = np.argsort(-remainder, kind="stable")[: size - quota.sum()]
    quota[extra] += 1
    return quota


def _rank_within_class(labels: np.ndarray) -> np.ndarray:
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - starts
    return rank


def _whole_groups(
    labels: np.ndarray, groups: np.ndarray, size: int, quota: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    _, group_of_row = np.unique(groups, return_inverse=True)
    # Counts are stored only for the classes in each group, because most groups have few of many classes.
    pairs, rows = np.unique(group_of_row * len(quota) + labels, return_counts=True)
    classes, bounds = (
        pairs % len(quota),
        np.searchsorted(pairs, np.arange(group_of_row.max(initial=-1) + 2) * len(quota)),
    )
    order = rng.permutation(len(bounds) - 1)
    taken = np.zeros(len(order), bool)
    drawn, total = np.zeros(len(quota), np.int64), 0
    for limit in (quota, np.full(len(quota), size)):
        for group in order[~taken[order]].tolist():
            inside = slice(bounds[group], bounds[group + 1])
            within = drawn[classes[inside]] + rows[inside] <= limit[classes[inside]]
            if total + rows[inside].sum() <= size and within.all():
                taken[group] = True
                drawn[classes[inside]] += rows[inside]
                total += int(rows[inside].sum())
            if total == size:
                break
    return np.flatnonzero(taken[group_of_row])
