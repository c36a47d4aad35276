"""Selections of test rows: the test set of a report's summary, and parts of a set by gold label, category column, or
both.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.inputs.records import TestSet

MAX_LABELS_APART = 4
"""Largest number of gold labels by which a challenge set is split. With more labels, the set is split only by
category.
"""

MAX_CLASSES_APART = 20
"""Largest number of gold labels by which a natural test set is split. With more labels, only the whole set is
scored.
"""

PartName = tuple[str | None, str | None, str | None]
"""The category column, category and gold label of a part of a challenge set; None means any value."""


class Part:
    """A part of a test set: rows with a certain `category` in a `column`, or with a gold `label`; None means any
    value.
    """

    column: str | None
    label: str | None

    @property
    def whole(self) -> bool:
        """True if the part is not limited to a category or gold label. A whole part may still be limited to the
        filtered rows.
        """
        return self.column is None and self.label is None


@dataclass(frozen=True, eq=False)
class Subset(Part):
    """Some rows of a test set: `mask` (bool per row), with the category column, category and gold label; None means any
    value.
    """

    column: str | None
    category: str | None
    label: str | None
    mask: np.ndarray

    @property
    def name(self) -> PartName:
        """Tuple of category column, category and gold label."""
        return self.column, self.category, self.label


def headline_split(names: list[str]) -> str | None:
    """Return the name of the natural test set that the report's summary uses: test, else validation, else the first of
    `names`.
    """
    return next((name for name in ("test", "validation", *names) if name in names), None)


def headline_set(test_sets: Iterable[TestSet]) -> TestSet | None:
    """Return the natural test set that the report's summary uses, or None if there is no natural test set."""
    natural = {one.name: one for one in test_sets if not one.challenge}
    name = headline_split(list(natural))
    return None if name is None else natural[name]


def whole_set(test_set: TestSet) -> Subset:
    """Return all rows of a test set."""
    return Subset(None, None, None, np.ones(len(test_set.row_ids), dtype=bool))


def gold_labels(test_set: TestSet, *, most: int) -> list[Subset]:
    """Return the rows of each gold label. Return nothing unless the set has two to `most` gold labels."""
    masks = [(name, test_set.labels == number) for number, name in enumerate(test_set.label_names)]
    labels = [Subset(None, None, name, mask) for name, mask in masks if mask.any()]
    return labels if 2 <= len(labels) <= most else []


def subsets_of(test_set: TestSet) -> list[Subset]:
    """Return the parts of a test set: first its gold labels, then each value of each category column.

    If some rows have no value in a column, the rows with any value are one more part. Each part by category is followed
    by its gold labels, if the set has two to `MAX_LABELS_APART` gold labels.
    """
    labels = gold_labels(test_set, most=MAX_LABELS_APART)
    subsets = list(labels)
    for column, values in test_set.categories.items():
        texts = np.array([value or "" for value in values.tolist()], dtype=object)
        filled = texts != ""
        categories: dict[str | None, np.ndarray] = {}
        if filled.any() and not filled.all():
            categories[None] = filled
        categories |= {text: np.asarray(texts == text) for text in sorted(set(texts[filled].tolist()))}
        for category, inside in categories.items():
            halves = [Subset(column, category, each.label, inside & each.mask) for each in labels]
            halves = [half for half in halves if half.mask.any()]
            # a category with only one gold label is not split
            subsets += halves if len(halves) == 1 else [Subset(column, category, None, inside), *halves]
    return subsets


def scored_parts(test_set: TestSet) -> list[Subset]:
    """Return the whole test set and then its parts. Models of every train set are scored on the whole test set and on
    each part.
    """
    parts = subsets_of(test_set) if test_set.challenge else gold_labels(test_set, most=MAX_CLASSES_APART)
    return [whole_set(test_set), *parts]


def zero_shot_subsets(test_set: TestSet) -> list[Subset]:
    """Return the whole set, then its parts in the zero-shot table. If the set has no categories, the parts are its gold
    labels.

    If a set has several category columns (as NLI Diagnostics has), a column that is empty for some rows gives one part:
    the rows with any value. The set's own table shows the single values of a column that is empty for some rows.
    """
    parts = subsets_of(test_set)
    if test_set.categories:
        parts = [part for part in parts if part.column is not None]
    if len(test_set.categories) > 1:
        summed = {part.column for part in parts if part.category is None}
        parts = [part for part in parts if part.category is None or part.column not in summed]
    return [whole_set(test_set), *(part for part in parts if not part.mask.all())]


def category_parts(test_set: TestSet) -> list[Subset]:
    """Return each category of a challenge set once. A natural test set has no categories."""
    first: dict[tuple[str, str | None], Subset] = {}
    for part in zero_shot_subsets(test_set) if test_set.challenge else ():
        if part.column is not None:
            # The whole category comes before its gold labels. With only one gold label, it is not split.
            first.setdefault((part.column, part.category), part)
    return list(first.values())


def compared_parts(test_set: TestSet) -> list[Subset]:
    """Return the whole set, then the parts of a challenge set: first gold labels, then the parts in the zero-shot
    table.

    The function returns the whole set alone, or the whole set with at least two parts. The parts matter because a gain
    on one gold label can hide a loss on another, as in the two halves of HANS.
    """
    whole = [whole_set(test_set)]
    if not test_set.challenge:
        return whole
    labels = [part for part in subsets_of(test_set) if part.column is None]
    parts = labels + [part for part in zero_shot_subsets(test_set) if part.column is not None]
    return whole + parts if len(parts) > 1 else whole
