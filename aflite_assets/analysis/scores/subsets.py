"""The subsets of a challenge set: by gold label, by category column, and by both. No scores."""

from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet

MAX_LABELS_APART = 4
"""Challenge sets with more gold labels than this are split by category alone."""


@dataclass(frozen=True, eq=False)
class Subset:
    """Some rows of a challenge set: `mask`, bool per row; the names are those of `tables.ChallengePart`."""

    column: str | None
    category: str | None
    label: str | None
    mask: np.ndarray


def whole_set(test_set: TestSet) -> Subset:
    """Return all rows of a test set."""
    return Subset(None, None, None, np.ones(len(test_set.row_ids), dtype=bool))


def subsets_of(test_set: TestSet) -> list[Subset]:
    """Gold labels, then per category column: its rows with any value, where some have none, then each value.

    Each of these is followed by its gold labels, where there are two to `MAX_LABELS_APART` of them in the set.
    """
    labels = _labels_apart(test_set)
    subsets = [Subset(None, None, name, mask) for name, mask in labels]
    for column, values in test_set.categories.items():
        texts = np.array([value or "" for value in values.tolist()], dtype=object)
        filled = texts != ""
        if filled.any() and not filled.all():
            subsets += _with_labels(column, None, filled, labels)
        for category in sorted(set(texts[filled].tolist())):
            subsets += _with_labels(column, category, np.asarray(texts == category), labels)
    return subsets


def _labels_apart(test_set: TestSet) -> list[tuple[str, np.ndarray]]:
    present = [c for c in range(len(test_set.label_names)) if np.any(test_set.labels == c)]
    if not 2 <= len(present) <= MAX_LABELS_APART:
        return []
    return [(test_set.label_names[c], test_set.labels == c) for c in present]


def _with_labels(
    column: str, category: str | None, inside: np.ndarray, labels: list[tuple[str, np.ndarray]]
) -> list[Subset]:
    halves = [Subset(column, category, name, inside & mask) for name, mask in labels if np.any(inside & mask)]
    # a category with one gold label is that half already
    return halves if len(halves) == 1 else [Subset(column, category, None, inside), *halves]


def zero_shot_subsets(test_set: TestSet) -> list[Subset]:
    """The whole set, then the smaller parts that the table shows: gold labels alone of sets without categories.

    Of a set with several category columns, a column with rows of no value (NLI Diagnostics) is the rows of any value,
    as in the paper; its values stand apart in the set's own table.
    """
    parts = subsets_of(test_set)
    if test_set.categories:
        parts = [part for part in parts if part.column is not None]
    if len(test_set.categories) > 1:
        summed = {part.column for part in parts if part.category is None}
        parts = [part for part in parts if part.category is None or part.column not in summed]
    return [whole_set(test_set), *(part for part in parts if not part.mask.all())]


def category_parts(test_set: TestSet) -> list[Subset]:
    """Each category of a challenge set, once; none of a natural test set."""
    first: dict[tuple[str, str | None], Subset] = {}
    for part in zero_shot_subsets(test_set) if test_set.challenge else ():
        if part.column is not None:
            # the whole category stands before its gold labels; of one label alone there is only that half
            first.setdefault((part.column, part.category), part)
    return list(first.values())


def compared_subsets(test_set: TestSet) -> list[Subset]:
    """Parts of a challenge set that are compared: gold labels alone, then those of the zero-shot table; two or none.

    On the whole set a gain on one gold label hides a loss on another (HANS's halves).
    """
    if not test_set.challenge:
        return []
    labels = [part for part in subsets_of(test_set) if part.column is None]
    parts = labels + [part for part in zero_shot_subsets(test_set) if part.column is not None]
    return parts if len(parts) > 1 else []


TestedPart = tuple[TestSet, Subset]


def tested_parts(data: BenchmarkData) -> list[TestedPart]:
    """Every test set whole, then the parts of challenge sets that are compared."""
    return [(one, part) for one in data.test_sets for part in (whole_set(one), *compared_subsets(one))]
