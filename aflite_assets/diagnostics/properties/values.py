"""Properties of a dataset's rows, with each row's value: attributes, lengths, words, and feature columns.

Artefacts are listed in `artefacts`, and associations with the label are tested in `ties`. Properties of typography and
of files are in `scan`, and cues of removed rows are in `evidence.cues`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale, source_values
from aflite_assets.data.words import WORD
from aflite_assets.diagnostics.evidence.lengths import lengths
from aflite_assets.diagnostics.evidence.word_artifacts import occurrences
from aflite_assets.diagnostics.numbers import as_numbers, measured_numbers, number_in
from aflite_assets.diagnostics.properties.artefacts import Reason, is_identifier, reason_of
from aflite_assets.diagnostics.record_tables import bin_edges, binned
from aflite_assets.diagnostics.score_tests import FEWEST_ROWS, label_ties

ORDERED = 0.8
"""Smallest tie of the ranges of a number to the labels, as a share of the tie of its single values."""

LEAST_DEVIATIONS = 3.0
"""Smallest tie of the ranges, in standard deviations of chance."""

MISSING = "none"
"""Value of rows that lack an attribute."""


@dataclass(frozen=True, eq=False)
class Property:
    """A property of rows: its name, its kind and a function that reads its values.

    `kind`: attribute, length, word, topic word, column, or the kind of a cue that the scan found. In datasets with a
    single text per row, words are topic words, because a word may name the topic of the text.

    `name`: name of the attribute, length, column or cue; for a word, name of the text column. `word`: the word, or "".
    `read`: a function that gets rows and the name of their set, and returns each row's value. `reason`: why the
    property is not part of the task, or None if the property may be part of the task. `edges`: edges of the bins for
    numeric values, or None if the values are names.
    """

    kind: str
    name: str
    read: Callable[[Examples, str], np.ndarray | None]
    reason: Reason | None = None
    word: str = ""
    edges: np.ndarray | None = None

    def values(self, rows: Examples, of_set: str = "train") -> np.ndarray | None:
        """Return each row's value as text (dtype object), or None if the rows of the set do not have the property."""
        raw = self.read(rows, of_set)
        if raw is None or self.edges is None:
            return raw
        return binned(raw, self.edges)


def properties_of(
    train: Examples,
    *,
    irrelevant: Sequence[str] = (),
    feature_names: Sequence[str] = (),
    scale: Scale | None = None,
) -> tuple[Property, ...]:
    """Return the properties of a dataset; numeric values are binned at quantiles of the train rows.

    `irrelevant`: names of attributes and columns that the dataset's YAML file declares not to be part of the task.
    `feature_names`: names of the feature columns, in order; by default "column 0" and so on. `scale`: the scale by
    which the features were standardised, or None; values are in the source's units.

    A feature column is a property only if the column is in `irrelevant` or is an identifier. All other feature columns
    are the task's own input. For each text column, only the word that is most associated with a class is a property.
    """
    declared = frozenset(irrelevant)
    found = [*attribute_properties(train, declared), *_columns(train, declared, feature_names, scale)]
    if train.modality == "text":
        found += [*_lengths(train), *_words(train)]
    return tuple(found)


def attribute_properties(train: Examples, declared: frozenset[str] = frozenset()) -> Iterator[Property]:
    """Yield the attributes as properties; `declared`: names of attributes that are no part of the task.

    The raw table has attributes as text. Attributes of many different numbers are numeric. Few different numbers may be
    codes, so they are numeric only if neighbouring numbers go with the same classes (`is_ordered`).
    """
    for column in train.table.column_names:
        if not column.startswith("attribute."):
            continue
        name = column.removeprefix("attribute.")
        values = train.table[column].to_pylist()
        numbers = measured_numbers(values)
        if numbers is None and (few := as_numbers(values)) is not None and is_ordered(few, train.labels):
            numbers = few

        def read(
            rows: Examples, of_set: str, column: str = column, numeric: bool = numbers is not None
        ) -> np.ndarray | None:
            if column not in rows.table.column_names:
                return None
            values = rows.table[column].to_pylist()
            if numeric:
                return np.array([number_in(value) for value in values])
            return np.array([MISSING if value is None else value for value in values], dtype=object)

        reason = reason_of("attribute", declared=name in declared)
        one = Property("attribute", name, read, reason)
        if numbers is not None:
            one = replace(one, edges=bin_edges(numbers), reason=reason or _identifier_reason(name, numbers))
        yield one


def is_ordered(numbers: np.ndarray, labels: np.ndarray) -> bool:
    """Return True if ranges of a number are tied to the labels nearly as much as its single values are.

    Ties are chi-squared statistics minus their degrees of freedom. The tie of the ranges, which are those of
    `bin_edges`, must be significant, and at least `ORDERED` of the tie of the values.
    """
    known = np.isfinite(numbers)
    edges = bin_edges(numbers)
    by_range, by_value = (
        _chi_squared(codes, labels[known]) for codes in (np.searchsorted(edges, numbers[known]), numbers[known])
    )
    return by_range[0] > LEAST_DEVIATIONS * math.sqrt(2 * by_range[1]) and by_range[0] >= ORDERED * by_value[0]


def _chi_squared(values: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
    """Return the chi-squared statistic of values and labels minus its degrees of freedom, and these."""
    from scipy.stats.contingency import chi2_contingency, crosstab

    table = crosstab(values, labels).count
    if min(table.shape) < 2:
        return 0.0, 0
    found = chi2_contingency(table, correction=False)
    return float(found.statistic) - found.dof, int(found.dof)


def _identifier_reason(name: str, values: np.ndarray) -> Reason | None:
    return reason_of("identifier") if is_identifier(name, values) else None


def _columns(
    train: Examples, declared: frozenset[str], names: Sequence[str], scale: Scale | None
) -> Iterator[Property]:
    if train.modality != "features":
        return
    features = train.features
    for place in range(features.shape[1]):
        name = names[place] if place < len(names) else f"column {place}"
        own = None if scale is None else scale.of_column(place)
        values = _column_values(features[:, [place]], own)
        reason = reason_of("column", declared=name in declared) or _identifier_reason(name, values)
        if reason is None:
            continue

        def read(rows: Examples, of_set: str, place: int = place, own: Scale | None = own) -> np.ndarray:
            return _column_values(rows.features[:, [place]], own)

        yield Property("column", name, read, reason, edges=bin_edges(values))


def _column_values(column: np.ndarray, scale: Scale | None) -> np.ndarray:
    values = column.astype(np.float64) if scale is None else source_values(column, scale)
    return np.asarray(values[:, 0])


def _text_columns(rows: Examples) -> list[Literal["text", "text_pair"]]:
    columns: tuple[Literal["text", "text_pair"], ...] = ("text", "text_pair")
    return [column for column in columns if column in rows.table.column_names]


def _lengths(train: Examples) -> Iterator[Property]:
    for name, values in lengths(train):

        def read(rows: Examples, of_set: str, name: str = name) -> np.ndarray | None:
            return dict(lengths(rows)).get(name)

        yield Property("length", name, read, edges=bin_edges(values))


def _words(train: Examples) -> Iterator[Property]:
    """Return, for each text column, the word that is most associated with a class."""
    present = occurrences(train).in_rows(FEWEST_ROWS)
    if not present.vocabulary:
        return
    matrix = present.matrix(len(train))
    sure = label_ties(matrix, train.labels, train.groups).p_values * len(present.vocabulary) <= 0.05
    each = (matrix[train.labels == label].mean(axis=0) for label in np.unique(train.labels))
    shares = np.stack([np.asarray(one).ravel() for one in each])
    apart = np.where(sure, shares.max(axis=0) - shares.min(axis=0), 0.0)
    for column in _text_columns(train):
        own = np.array([name == column for name, _ in present.vocabulary])
        if not (own & sure).any():
            continue
        word = present.vocabulary[int(np.where(own, apart, -1.0).argmax())][1]

        def read(
            rows: Examples, of_set: str, column: Literal["text", "text_pair"] = column, word: str = word
        ) -> np.ndarray:
            has_word = [word in WORD.findall((text or "").lower()) for text in rows.texts(column)]
            return np.array(["yes" if has else "no" for has in has_word], dtype=object)

        yield Property("word" if len(_text_columns(train)) > 1 else "topic word", column, read, word=word)
