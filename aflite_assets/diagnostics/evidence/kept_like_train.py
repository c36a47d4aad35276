"""Comparison of the share of rows kept in each split with the share kept in train, for all rows and for each class."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pyarrow as pa

LEAST_DIFFERENCE = 1.0
"""Differences of kept shares below this limit, in percentage points, are not reported, even if they are significant."""

_FALSE_ALARMS = 0.0027
"""Probability of any false alarm for one split, shared by all its comparisons; it corresponds to three standard
deviations.
"""


@dataclass(frozen=True)
class KeptShare:
    """The share of rows, in [0, 1], that filtering kept in one split (`share`) and in the train split (`train_share`).

    `label`: a class, or None for all classes together. `by_chance`: the largest difference of the two shares, in
    percentage points, that chance can explain. `by_chance` is a joint bound for all comparisons of the split. The bound
    also holds if all rows of a group are kept or removed together.
    """

    split: str
    label: int | None
    rows: int
    share: float
    train_share: float
    by_chance: float

    @property
    def difference(self) -> float:
        """The share of rows kept in the split minus the share kept in train, in percentage points."""
        return 100 * (self.share - self.train_share)

    @property
    def alike(self) -> bool:
        """True if the difference is less than one percentage point or can be explained by chance."""
        return abs(self.difference) <= max(self.by_chance, LEAST_DIFFERENCE)


def kept_shares(rows: pa.Table, *, splits: tuple[str, ...]) -> tuple[KeptShare, ...]:
    """Compare the share of rows kept in each split with the share kept in train, for all rows and per class.

    Classes that do not occur both in the split and in train are left out.

    Args:
        rows: the rows of a filtered set, with the columns `split`, `label`, `kept`, and `group` if rows have groups.
        splits: splits other than train that were filtered.
    """
    split_of, labels = rows["split"].to_numpy(zero_copy_only=False), rows["label"].to_numpy()
    groups = rows["group"].to_numpy() if "group" in rows.column_names else np.arange(rows.num_rows)
    kept = rows["kept"].to_numpy(zero_copy_only=False)
    train = split_of == "train"
    return tuple(
        share
        for split in splits
        if (inside := split_of == split).any() and train.any()
        for share in _shares_of(split, inside, train, labels, groups, kept)
    )


def unlike_train(shares: tuple[KeptShare, ...]) -> tuple[str, ...]:
    """Return a sentence for each split in which the share of kept rows differs significantly from the share in train.

    If the shares differ only within classes, the sentence names the class with the largest difference.
    """
    sentences = []
    for split in dict.fromkeys(share.split for share in shares):
        unlike = [share for share in shares if share.split == split and not share.alike]
        if not unlike:
            continue
        worst = unlike[0] if unlike[0].label is None else max(unlike, key=lambda share: abs(share.difference))
        of = "rows" if worst.label is None else f"rows of class {worst.label}"
        sentences.append(
            f"The filter kept {100 * worst.share:.1f} % of the {split} {of}, but {100 * worst.train_share:.1f} % of "
            f"the train {of}; by chance the shares would differ by at most {worst.by_chance:.1f} points. "
            f"Filtered {split} and train rows do not have the same distribution: compare models on all {split} rows, "
            "or pool the split (`filter.evaluation_rows`)."
        )
    return tuple(sentences)


def _shares_of(
    split: str, inside: np.ndarray, train: np.ndarray, labels: np.ndarray, groups: np.ndarray, kept: np.ndarray
) -> Iterator[KeptShare]:
    both = np.intersect1d(labels[inside], labels[train])
    chosen: list[int | None] = [None, *both.tolist()]
    deviations = NormalDist().inv_cdf(1 - _FALSE_ALARMS / 2 / len(chosen))
    for label in chosen:
        ours, theirs = (mask if label is None else mask & (labels == label) for mask in (inside, train))
        share, train_share = float(kept[ours].mean()), float(kept[theirs].mean())
        pooled = float(kept[ours | theirs].mean())
        error = (pooled * (1 - pooled) * (1 / _independent(groups[ours]) + 1 / _independent(groups[theirs]))) ** 0.5
        yield KeptShare(split, label, int(ours.sum()), share, train_share, 100 * deviations * error)


def _independent(groups: np.ndarray) -> float:
    """Return the effective number of rows: the number of rows divided by the mean size of a row's group.

    The effective number accounts for groups in which all rows are kept or removed together.
    """
    sizes = np.unique(groups, return_counts=True)[1]
    return float(sizes.sum() ** 2 / (sizes.astype(np.float64) ** 2).sum())
