"""Similarities of a class's kept, removed and random rows as a report shows them; computed in `diagnostics`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.wording import counted

SIDES = ("kept", "removed", "random")


@dataclass(frozen=True, eq=False)
class SimilarityBlock:
    """Rows of one class on one side.

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
    """One class, its number and name, with its blocks in the order of `SIDES`."""

    label: int
    name: str
    blocks: tuple[SimilarityBlock, ...]


def class_similarities(table: pa.Table) -> tuple[ClassSimilarity, ...]:
    """The records of a published table of similarities, classes in its order."""
    records = table.to_pylist()
    blocks: dict[tuple[int, str], list[SimilarityBlock]] = {}
    for row in records:
        matrix = np.array(row["similarities"], np.float32)
        block = SimilarityBlock(
            row["side"], row["rows"], row["used_rows"], row["mean_similarity"], tuple(row["row_ids"]), matrix
        )
        blocks.setdefault((row["label"], row["label_name"]), []).append(block)
    return tuple(ClassSimilarity(label, name, tuple(sides)) for (label, name), sides in blocks.items())


def lowest_similarity(classes: Sequence[ClassSimilarity]) -> float:
    """Where the colour scale of all blocks begins: their lowest similarity of two rows, a multiple of 0.1 below it."""
    lowest = min(
        (float(block.similarities.min(initial=1)) for class_ in classes for block in class_.blocks), default=0.0
    )
    return max(float(np.floor(10 * min(lowest, 0.9)) / 10), -1.0)


def means_text(one: ClassSimilarity) -> str:
    """Mean similarities of a class in words, with the rows that they are over."""
    return ", ".join(f"{block.side} {similarity_text(block.mean)} ({_of(block)})" for block in one.blocks)


def similarity_text(similarity: float) -> str:
    """A similarity with three decimals and a true minus sign; what rounds to zero has no sign."""
    return f"{round(similarity, 3) + 0.0:.3f}".replace("-", "\N{MINUS SIGN}")


def _of(block: SimilarityBlock) -> str:
    if block.used_rows == block.rows:
        return counted(block.rows, "row")
    return f"{block.used_rows:,} of {counted(block.rows, 'row')}"
