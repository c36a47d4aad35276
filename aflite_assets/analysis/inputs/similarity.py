"""Similarities of a class's kept, removed and random rows as they were published; computed in `diagnostics`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True, eq=False)
class SimilarityBlock:
    """Rows of one class on one side: kept, removed or random.

    `rows` there are, `mean` is the mean cosine similarity over all pairs of `used_rows` of them; `row_ids` (int64) are
    those shown, `similarities` (shown x shown, float32 in [-1, 1]) theirs, in that order.
    """

    side: str
    rows: int
    used_rows: int
    mean: float
    row_ids: tuple[int, ...]
    similarities: np.ndarray


@dataclass(frozen=True, eq=False)
class ClassSimilarity:
    """One class, its number and name, with its blocks: kept, removed, random."""

    label: int
    name: str
    blocks: tuple[SimilarityBlock, ...]


@dataclass(frozen=True)
class MeanSimilarity:
    """Mean cosine similarity over all pairs of `used_rows` of the `rows` of one class on one side."""

    representation: str
    label: int
    label_name: str
    side: str
    rows: int
    used_rows: int
    mean: float


SIMILARITIES = TidyTable("similarities", MeanSimilarity)


def class_similarities(table: pa.Table) -> tuple[ClassSimilarity, ...]:
    """Return the records of a published table of similarities, classes in its order."""
    blocks: dict[tuple[int, str], list[SimilarityBlock]] = {}
    for row in table.to_pylist():
        numbers, matrix = (row["rows"], row["used_rows"], row["mean_similarity"]), np.array(row["similarities"], "f4")
        block = SimilarityBlock(row["side"], *numbers, tuple(row["row_ids"]), matrix)
        blocks.setdefault((row["label"], row["label_name"]), []).append(block)
    return tuple(ClassSimilarity(label, name, tuple(sides)) for (label, name), sides in blocks.items())


def mean_similarities(representation: str, classes: Sequence[ClassSimilarity]) -> Iterator[MeanSimilarity]:
    """Yield the mean of every class and side."""
    for one in classes:
        for of in one.blocks:
            yield MeanSimilarity(representation, one.label, one.name, of.side, of.rows, of.used_rows, of.mean)
