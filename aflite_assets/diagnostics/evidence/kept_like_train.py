"""Whether filtering kept the rows of other splits as it kept train rows, in all and by class. Nothing is filtered."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pyarrow as pa

LEAST_DIFFERENCE = 1.0
"""Points of difference in kept shares that a reader need not know of, however sure they are."""

_FALSE_ALARMS = 0.0027
"""Chance of any alarm for one split when nothing differs: three standard deviations, shared by the comparisons."""


@dataclass(frozen=True)
class KeptShare:
    """Shares kept of one split's and of the train split's rows, in [0, 1]; `label` None for rows of all classes.

    `by_chance`: points by which the two shares differ at most by chance, all comparisons of the split together, taking
    rows of a group as kept or removed together.
    """

    split: str
    label: int | None
    rows: int
    share: float
    train_share: float
    by_chance: float

    @property
    def difference(self) -> float:
        """The split's share less the train split's, in points."""
        return 100 * (self.share - self.train_share)

    @property
    def alike(self) -> bool:
        """Whether chance explains the difference, or it is under a point."""
        return abs(self.difference) <= max(self.by_chance, LEAST_DIFFERENCE)


def kept_shares(rows: pa.Table, *, splits: tuple[str, ...]) -> tuple[KeptShare, ...]:
    """Kept shares of each of `splits` beside the train split's: all rows first, then each class that both have.

    Args:
        rows: of a filtered set: split, label, kept, and group where rows have groups.
        splits: those that the filter took part in, without train.
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
    """Return a sentence for each split that was not kept as the train split was; of the classes the one that differs
    most.
    """
    sentences = []
    for split in dict.fromkeys(share.split for share in shares):
        unlike = [share for share in shares if share.split == split and not share.alike]
        if not unlike:
            continue
        worst = unlike[0] if unlike[0].label is None else max(unlike, key=lambda share: abs(share.difference))
        of = "rows" if worst.label is None else f"rows of class {worst.label}"
        sentences.append(
            f"Of the {split} {of} {100 * worst.share:.1f} % were kept, of the train {of} "
            f"{100 * worst.train_share:.1f} %; by chance they would differ by at most {worst.by_chance:.1f} points. "
            f"Filtered {split} and train rows do not have the same distribution: compare models on all {split} rows, "
            "or pool the split (filter.evaluation_rows)."
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
    """Rows over the mean size of the group that a row is in: how many there are if a group's rows share one fate."""
    sizes = np.unique(groups, return_counts=True)[1]
    return float(sizes.sum() ** 2 / (sizes.astype(np.float64) ** 2).sum())
