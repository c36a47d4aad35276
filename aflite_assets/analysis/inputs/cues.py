"""Records of the evidence about removed rows: cues, planted shortcuts and similarities. The evidence is computed in
`diagnostics`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Literal

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.intervals import CONFIDENCE
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.p_values import holm

LEAST_SHARE = 0.01
"""A cue is named if at least this share of the removed rows carries the cue."""

OF_ITS_QUESTION = "of its question"
"""Suffix in the value of a length if the length is an answer's rank among the answers of its question."""


@dataclass(frozen=True)
class RemovedCue:
    """A tested cue, with its share of the removed rows and its share of random rows of the same classes.

    `kind`: attribute, partial input (one text of a pair predicts the label), word, text length, or feature column.
    `label_name`: the class that the cue is most associated with. `class_share`: the share of class `label_name` among
    the rows with the cue. `class_shares`: the shares of all classes among the rows with the cue, in the dataset's
    order. `share_removed`, `share_expected`: among the removed and among the random rows, the share of rows that carry
    the cue and have a class associated with the cue. All shares lie in [0, 1]; `adjusted_p` is adjusted by Holm's
    method over all cues. `same_rows_as`: a more informative word that occurs in nearly the same rows. `alike`: less
    informative words that occur in nearly the same rows as this cue. `elsewhere`: the share of rows with the cue in
    each challenge set.
    """

    kind: Literal["attribute", "partial input", "word", "length", "column"]
    name: str
    value: str
    label_name: str | None
    class_share: float | None
    rows: int
    removed_rows: int
    share_removed: float
    share_expected: float
    p_value: float
    adjusted_p: float
    class_shares: tuple[float, ...] = ()
    same_rows_as: str | None = None
    alike: tuple[str, ...] = ()
    elsewhere: tuple[tuple[str, float], ...] = ()

    @property
    def share_kept(self) -> float:
        """Share of the cue's rows that filtering kept."""
        return 1 - self.removed_rows / self.rows

    @property
    def shown(self) -> bool:
        """True if rows with the cue make up at least `LEAST_SHARE` of the removed rows and were removed more often than
        by chance.
        """
        return self.share_removed >= LEAST_SHARE and self.adjusted_p <= 1 - CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class FilteringCue(RemovedCue):
    """A cue in the rows that one filtering removed."""

    representation: str


CUES = TidyTable("cues", FilteringCue, derived=("shown", "share_kept"))


def read_cues(table: pa.Table) -> tuple[RemovedCue, ...]:
    """Read the published cues in the published order, with p-values adjusted for the number of tested cues."""
    rows = table.to_pylist()
    adjusted = holm([row["p_value"] for row in rows])
    alike: dict[tuple[str, str, str | None], tuple[str, ...]] = {}
    for row in rows:
        key = row["kind"], row["name"], row["same_rows_as"]
        alike[key] = (*alike.get(key, ()), row["value"])
        row["class_shares"] = tuple(row["class_shares"])
    return tuple(
        RemovedCue(**row, adjusted_p=p_value, alike=alike.get((row["kind"], row["name"], row["value"]), ()))
        for row, p_value in zip(rows, adjusted, strict=True)
    )


def telling(cues: Sequence[RemovedCue]) -> list[RemovedCue]:
    """Return the cues that a report names, in the given order.

    If several words occur in the same rows, only one word is returned. Cues of text length nearly agree with each
    other, so only one length cue is returned. The returned length cue is the rank of an answer by length within its
    question, or the first length cue if there is no cue of rank.
    """
    words = {(cue.name, cue.value) for cue in cues if cue.kind == "word"}
    cues = [cue for cue in cues if (cue.name, cue.same_rows_as) not in words]
    lengths = [cue for cue in cues if cue.kind == "length"]
    if not lengths:
        return cues
    chosen = next((cue for cue in lengths if cue.value.endswith(OF_ITS_QUESTION)), lengths[0])
    return [chosen if cue is lengths[0] else cue for cue in cues if cue is lengths[0] or cue.kind != "length"]


@dataclass(frozen=True)
class PlantedRemoval:
    """Number of train rows that entered the filter, and number of removed rows. Entered and removed rows are counted
    among all rows and among planted rows.

    A row is planted if its value of `attribute` is one of `values`.
    """

    representation: str
    attribute: str
    values: tuple[str, ...]
    rows: int
    planted_rows: int
    removed_rows: int
    removed_planted_rows: int

    @property
    def precision(self) -> float | None:
        """Share of planted rows among the removed rows."""
        return self.removed_planted_rows / self.removed_rows if self.removed_rows else None

    @property
    def precision_by_chance(self) -> float | None:
        """Share of planted rows among all rows, which is the precision of removing rows at random."""
        return self.planted_rows / self.rows if self.rows else None

    @property
    def recall(self) -> float | None:
        """Share of removed rows among the planted rows."""
        return self.removed_planted_rows / self.planted_rows if self.planted_rows else None

    @property
    def recall_by_chance(self) -> float | None:
        """Share of removed rows among all rows, which is the recall of removing rows at random."""
        return self.removed_rows / self.rows if self.rows else None


PLANTED = TidyTable(
    "planted", PlantedRemoval, derived=("precision", "precision_by_chance", "recall", "recall_by_chance")
)


@dataclass(frozen=True)
class MeanSimilarity:
    """Mean cosine similarity over all pairs of rows of one class and one `side` (kept, removed or random).

    `rows`: number of rows with this class and side. `used_rows`: number of rows in the sample that the mean is computed
    on.
    """

    representation: str
    label: int
    label_name: str
    side: str
    rows: int
    used_rows: int
    mean: float


SIMILARITIES = TidyTable("similarities", MeanSimilarity)


@dataclass(frozen=True, eq=False)
class SimilarityBlock(MeanSimilarity):
    """A mean similarity, and the pairwise similarities of a few example rows.

    `similarities` is float32 in [-1, 1], in the order of `row_ids`.
    """

    row_ids: Sequence[int]
    similarities: np.ndarray


ClassBlocks = tuple[SimilarityBlock, ...]
"""The sides of one class: kept, removed and random."""


def class_similarities(representation: str, table: pa.Table) -> tuple[ClassBlocks, ...]:
    """Return the records of a published table of similarities by class, in the table's order."""
    blocks = []
    for row in table.to_pylist():
        mean, similarities = row.pop("mean_similarity"), np.array(row.pop("similarities"), np.float32)
        blocks.append(SimilarityBlock(representation, mean=mean, similarities=similarities, **row))
    return tuple(tuple(sides) for _, sides in groupby(blocks, attrgetter("label")))
