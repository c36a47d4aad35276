"""Two filterings of one representation by different rankings: which they are, and how alike the rows are they kept."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KeptOverlap:
    """How alike two sets of train rows are that two rankings left.

    `train_set`: filtered or filtered_<name>. Of the `rows` train rows that both filtered, `first_kept` and
    `second_kept` are left by each and `both_kept` by both. `jaccard`: these over the rows that either left, in [0, 1];
    `by_chance`: its mean over two random sets of these sizes. Both are None where neither left a row.
    """

    train_set: str
    rows: int
    first_kept: int
    second_kept: int
    both_kept: int
    jaccard: float | None
    by_chance: float | None


@dataclass(frozen=True)
class RankingPair:
    """A filtered set and another of the same representation that was ranked otherwise.

    `representation` and `against` name the two in the report, `rankings` by what each was ranked.
    """

    representation: str
    against: str
    rankings: tuple[str, str]
    overlaps: tuple[KeptOverlap, ...]
