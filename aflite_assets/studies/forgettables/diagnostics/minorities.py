"""Word overlap, negation words and attributes, compared between the rows of one class and all other rows.

The comparison is for forgettable rows, which contain minority rows of a class (Yaghoobzadeh et al., EACL 2021, section
5.1).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.data.examples import Examples

WORD = re.compile(r"[\w']+")
"""A run of word characters and apostrophes, so that contractions are words."""

MOST_VALUES = 20
"""Largest number of values of an attribute; an attribute with more values identifies single rows and is left out."""

_ATTRIBUTE = "attribute."


def words(text: str) -> frozenset[str]:
    """Return the distinct words of a text in lower case, with plain apostrophes."""
    return frozenset(WORD.findall(text.lower().replace("\u2019", "'")))


@dataclass(frozen=True, eq=False)
class RowMeasures:
    """Two measures of each row, float64 of shape (rows,).

    `overlap`: Jaccard index of the words of both texts, in [0, 1]. `negated`: 1 if the second text contains a negation
    word, and 0 otherwise.
    """

    overlap: np.ndarray
    negated: np.ndarray


def measure_rows(examples: Examples, *, negation: Collection[str]) -> RowMeasures:
    """Compute overlap and negation of pairs of texts in one pass; two texts without words have an overlap of 0."""
    wanted = frozenset(word.lower().replace("\u2019", "'") for word in negation)
    overlap, negated = np.zeros(len(examples)), np.zeros(len(examples))
    pairs = zip(examples.texts("text"), examples.texts("text_pair"), strict=True)
    for row, (text, text_pair) in enumerate(pairs):
        first, second = words(text), words(text_pair)
        together = len(first | second)
        overlap[row] = len(first & second) / together if together else 0.0
        negated[row] = not wanted.isdisjoint(second)
    return RowMeasures(overlap, negated)


def _attributes(examples: Examples) -> Iterator[tuple[tuple[str, str], np.ndarray]]:
    for column in examples.table.column_names:
        if not column.startswith(_ATTRIBUTE):
            continue
        values = np.array([str(value) for value in examples.table[column].to_pylist()], dtype=object)
        names = sorted(set(values.tolist()))
        if len(names) <= MOST_VALUES:
            yield from (
                ((column.removeprefix(_ATTRIBUTE), name), (values == name).astype(np.float64)) for name in names
            )


@dataclass(frozen=True)
class GroupMean:
    """Mean of a measure over one group of rows.

    `measure`: "overlap", "negation", or an attribute as "name = value". `group`: "positive" or "negative" for a class,
    "others" for the rows of every other class, or "all rows". `deviation`: standard deviation over rows, with the
    divisor rows - 1. Mean and deviation are NaN if there are too few rows.
    """

    measure: str
    group: str
    rows: int
    mean: float
    deviation: float


def group_means(
    measures: RowMeasures, labels: np.ndarray, chosen: np.ndarray, *, positive: int, negative: int
) -> list[GroupMean]:
    """Return mean overlaps and shares of rows with negation for the `chosen` rows (bool).

    The mean overlap is computed for class `positive` and for the other classes (Table 2 of the paper). The share with
    negation is computed for class `negative` and for the other classes (Table 3).
    """
    groups = (
        ("overlap", "positive", measures.overlap, labels == positive),
        ("overlap", "others", measures.overlap, labels != positive),
        ("negation", "negative", measures.negated, labels == negative),
        ("negation", "others", measures.negated, labels != negative),
    )
    return [_mean(measure, group, values[inside & chosen]) for measure, group, values, inside in groups]


def attribute_shares(examples: Examples, chosen: np.ndarray) -> list[GroupMean]:
    """Return the share of the `chosen` rows (bool) with each value of each attribute.

    Attributes with more than `MOST_VALUES` values are left out.
    """
    return [_mean(f"{name} = {value}", "all rows", present[chosen]) for (name, value), present in _attributes(examples)]


def _mean(measure: str, group: str, values: Sequence[float] | np.ndarray) -> GroupMean:
    rows = len(values)
    mean = float(np.mean(values)) if rows else float("nan")
    deviation = float(np.std(values, ddof=1)) if rows > 1 else float("nan")
    return GroupMean(measure, group, rows, mean, deviation)
