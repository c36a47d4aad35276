"""Tests for cues of the rows that filtering removed: words, lengths, attributes, partial inputs and feature columns.

A cue is a property that some rows have, such as containing a certain word. A cue is reported if two conditions hold.
First, rows with the cue were removed more often than random rows of the same classes. Second, the cue is associated
with a label by itself, or the dataset's YAML file declares it as planted. The tests treat groups of rows as the
independent units. A cue describes the removed rows and need not be a shortcut: easy rows of a task have cues as well.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.data.words import WORD
from aflite_assets.diagnostics.data_checks.partial_input import held_out_right, held_out_solved
from aflite_assets.diagnostics.evidence.lengths import length_cues
from aflite_assets.diagnostics.evidence.word_artifacts import occurrences
from aflite_assets.diagnostics.numbers import measured_numbers
from aflite_assets.diagnostics.record_tables import bin_edges, binned, factorize, table_of
from aflite_assets.diagnostics.score_tests import (
    FEWEST_ROWS,
    MOST_VALUES,
    LabelTies,
    class_signs,
    enrichment,
    label_ties,
    sum_by_stratum,
)

Kind = Literal["attribute", "partial input", "word", "length", "column"]

RARE = "rare values"
"""Name of the value that combines all rare values of an attribute."""

_TIED = 0.05
"""A cue is associated with its class if its p-value is below this limit."""

_BINS = 20
"""Number of quantile bins for a feature column."""

_FOLDS = 5

_SAME_ROWS = 0.8
"""Smallest Jaccard index of two words' rows at which the words count as one cue."""

_MOST_COMPARED = 500
"""Largest number of words that are compared with each other; these are the most significant words."""

CUES = pa.schema(
    [
        ("kind", pa.string()),
        ("name", pa.string()),
        ("value", pa.string()),
        ("label_name", pa.string()),
        ("class_share", pa.float64()),
        ("rows", pa.int64()),
        ("removed_rows", pa.int64()),
        ("share_removed", pa.float64()),
        ("share_expected", pa.float64()),
        ("p_value", pa.float64()),
        ("class_shares", pa.list_(pa.float64())),
        ("same_rows_as", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class CandidateCues:
    """Cues of one kind that are tested on the same rows.

    `names`: name and value of each cue. `present`: a scipy CSC matrix (rows x cues, float64) with 1 if the row has the
    cue and 0 otherwise. `rows`: positions of the tested rows among the train rows; None for all train rows.

    `planted`: bool per cue; a planted cue need not be associated with a label. `at_chance`: for partial inputs, the
    share of rows that are predicted correctly by chance. The p-value of a partial input tests whether the share of
    correctly predicted rows is higher than `at_chance`. `at_chance` is None for all other cues, which must be
    associated with a label.
    """

    kind: Kind
    names: list[tuple[str, str]]
    present: Any
    rows: np.ndarray | None = None
    planted: np.ndarray | None = None
    at_chance: float | None = None


def removal_cues(train: pa.Table, examples: Examples, *, planted: Mapping[str, Collection[str]], seed: int) -> pa.Table:
    """Test all cues of the removed rows, and return them with the most significant cue first.

    Args:
        train: the filtered set's train rows, with `row_id` and `kept`.
        examples: the dataset's rows, which include every row of `train`.
        planted: for each attribute, the values of planted rows.
        seed: seed of the folds for partial inputs and feature columns.

    Returns:
        A table with one row per cue. `kind` is the kind of the cue. `name` is the attribute, text column, length or
        feature. `value` is the value of the attribute or length, or the word; it is empty for other kinds of cues.
        `label_name` is the class with which the cue is associated. `label_name` is null for planted attributes, partial
        inputs and feature columns, and for cues without an associated class. `class_share` is the share of the
        associated class among the rows with the cue, and `class_shares` are the shares of all classes in order. `rows`
        and `removed_rows` are the numbers of all rows and of removed rows with the cue. `share_removed` is the share of
        the removed rows that have the cue and belong to an associated class. `share_expected` is the expected value of
        `share_removed` if the same number of rows of each class were removed at random. `p_value` is one-sided and not
        adjusted for other tests. `same_rows_as` is a more significant word of the same text that occurs in nearly the
        same rows, or null.
    """
    chosen = examples.select(train["row_id"].to_numpy())
    removed = ~train["kept"].to_numpy().astype(bool)
    if not removed.any() or removed.all():
        return table_of([], CUES)
    records: list[tuple[Any, ...]] = []
    for cues in _candidates(chosen, planted, seed):
        of_kind = sorted(_records(cues, removed, chosen), key=lambda record: record[9])
        leaders = _same_rows(cues, [record[1:3] for record in of_kind]) if cues.kind == "word" else {}
        records += [(*record, leaders.get(record[1:3])) for record in of_kind]
    return table_of(sorted(records, key=lambda record: record[9]), CUES)


def _candidates(rows: Examples, planted: Mapping[str, Collection[str]], seed: int) -> Iterator[CandidateCues]:
    yield from _attributes(rows, planted)
    if rows.modality == "text":
        yield from _words(rows)
        names, present = length_cues(rows)
        yield CandidateCues("length", names, _matrix(present))
        if "text_pair" in rows.table.column_names:
            yield from _partial_inputs(rows, seed)
    if rows.modality == "features":
        yield _columns(rows, seed)


def _records(cues: CandidateCues, removed: np.ndarray, rows: Examples) -> Iterator[tuple[Any, ...]]:
    places = np.arange(len(removed)) if cues.rows is None else cues.rows
    labels, gone = rows.labels[places], removed[places]
    groups = None if rows.groups is None else rows.groups[places]
    if not len(cues.names) or not gone.any() or gone.all():
        return
    tied = label_ties(cues.present, labels, groups) if cues.at_chance is None else None
    enriched = enrichment(cues.present, gone, labels, groups, _signs(cues, labels))
    by_class = sum_by_stratum(cues.present, np.ones(len(labels)), labels, len(rows.label_names)).T
    left = np.asarray(cues.present.T @ gone.astype(np.float64)).ravel()
    for number, (name, value) in enumerate(cues.names):
        if not FEWEST_ROWS <= enriched.rows[number] <= len(gone) - FEWEST_ROWS:
            continue
        p_value, label, class_share = _goes_with(cues, number, tied, groups)
        having = by_class[number]
        yield (
            cues.kind,
            name,
            value,
            None if label is None else rows.label_names[label],
            class_share,
            int(having.sum()),
            int(left[number]),
            float(enriched.removed[number] / gone.sum()),
            float(enriched.expected[number] / gone.sum()),
            max(float(enriched.p_values[number]), p_value),
            (having / having.sum()).tolist(),
        )


def _goes_with(
    cues: CandidateCues, number: int, tied: "LabelTies | None", groups: np.ndarray | None
) -> tuple[float, int | None, float | None]:
    """Return the p-value of a cue's association with the label, the associated class, and the class's share.

    Class and share are None if the association is not significant.
    """
    if tied is None:
        assert cues.at_chance is not None
        right = np.asarray(cues.present[:, [number]].todense()).ravel()
        return _over(right, cues.at_chance, groups), None, None
    if cues.planted is not None and cues.planted[number]:
        return 0.0, None, None
    p_value = float(tied.p_values[number])
    if p_value >= _TIED:
        return p_value, None, None
    return p_value, int(tied.labels[number]), float(tied.shares[number])


def _signs(cues: CandidateCues, labels: np.ndarray) -> np.ndarray | None:
    """Return a sign for each class and cue, positive if the cue is more frequent in the class (`class_signs`).

    For planted cues, every sign is positive.
    """
    if cues.at_chance is not None:
        return None
    signs = class_signs(cues.present, labels)
    return signs if cues.planted is None else np.where(cues.planted, 1.0, signs)


def _same_rows(cues: CandidateCues, telling: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Map words in `telling` to an earlier word that occurs in the same text column and nearly the same rows.

    Words without such an earlier word are left out.
    """
    places = {name: place for place, name in enumerate(cues.names)}
    chosen = list(telling[:_MOST_COMPARED])
    if not chosen:
        return {}
    present = cues.present[:, [places[name] for name in chosen]]
    both = (present.T @ present).toarray()
    rows = both.diagonal()
    alike = both >= _SAME_ROWS * (rows[:, None] + rows - both)
    found: dict[tuple[str, str], str] = {}
    for number, name in enumerate(chosen):
        for other in np.flatnonzero(alike[number, :number]).tolist():
            if chosen[other] not in found and chosen[other][0] == name[0]:
                found[name] = chosen[other][1]
                break
    return found


def rows_with(examples: Examples, column: str, words: Collection[str]) -> dict[str, float]:
    """Return, for each lower-case word, the share of rows (in [0, 1]) with this word in the text column `column`."""
    found = dict.fromkeys(words, 0)
    for text in examples.table[column].to_pylist():
        for word in found.keys() & {match.lower() for match in WORD.findall(text or "")}:
            found[word] += 1
    return {word: rows / max(len(examples), 1) for word, rows in found.items()}


def _over(right: np.ndarray, chance: float, groups: np.ndarray | None) -> float:
    """Return the p-value for the hypothesis that the share of right rows is at most `chance`, with groups as units."""
    from scipy.stats import norm

    own = np.arange(len(right)) if groups is None else np.unique(groups, return_inverse=True)[1]
    share, count = float(right.mean()), int(own.max()) + 1
    error = (count / max(count - 1, 1) * float((np.bincount(own, right - share) ** 2).sum())) ** 0.5 / len(right)
    return float(norm.sf((share - chance) / error)) if error > 0 else float(share <= chance)


def _attributes(rows: Examples, planted: Mapping[str, Collection[str]]) -> Iterator[CandidateCues]:
    """Yield the values of each attribute as cues.

    Attributes of many different numbers are binned. In every other attribute, rare values are combined into one value.
    """
    for column in [name for name in rows.table.column_names if name.startswith("attribute.")]:
        name, values = column.removeprefix("attribute."), rows.table[column]
        known = planted.get(name, ())
        numbers = None if known else measured_numbers(values.to_pylist())
        if numbers is not None:
            values = pa.chunked_array([pa.array(binned(numbers, bin_edges(numbers)), mask=np.isnan(numbers))])
        codes, names = factorize(values.cast(pa.string()))
        counts = np.bincount(codes, minlength=len(names))
        order = [code for code in np.argsort(-counts, kind="stable").tolist() if names[code].is_valid]
        often = [code for code in order[:MOST_VALUES] if counts[code] >= FEWEST_ROWS or str(names[code]) in known]
        texts, present = [str(names[code]) for code in often], [codes == code for code in often]
        if rare := [code for code in order if code not in often]:
            texts, present = [*texts, RARE], [*present, np.isin(codes, rare)]
        if texts:
            of_planted = np.array([text in known for text in texts])
            yield CandidateCues(
                "attribute", [(name, text) for text in texts], _matrix(np.stack(present, axis=1)), planted=of_planted
            )


def _words(rows: Examples) -> Iterator[CandidateCues]:
    often = occurrences(rows).in_rows(FEWEST_ROWS)
    if often.vocabulary:
        yield CandidateCues("word", often.vocabulary, often.matrix(len(rows)))


def _partial_inputs(rows: Examples, seed: int) -> Iterator[CandidateCues]:
    """Yield a cue per text column, which a row has if the text alone predicts the row's label correctly.

    For multiple choice, only the answer texts are tested, because each question has both right and wrong answers.
    """
    choice = right_answers(rows) is not None
    columns: Sequence[Literal["text", "text_pair"]] = ("text_pair",) if choice else ("text", "text_pair")
    for column in columns:
        held_out = held_out_solved(rows, seed=seed) if choice else held_out_right(rows, column, seed=seed)
        if held_out is not None:
            present = _matrix(held_out.right[:, None])
            yield CandidateCues(
                "partial input", [(column, "")], present, rows=held_out.rows, at_chance=held_out.majority
            )


def _columns(rows: Examples, seed: int) -> CandidateCues:
    """Return a cue per feature column, which a held-out row has if the binned column alone predicts its label."""
    features, labels = rows.features, rows.labels
    folds = np.random.default_rng(seed).permutation(np.arange(len(labels)) % _FOLDS)
    if rows.groups is not None:
        codes = np.unique(rows.groups, return_inverse=True)[1]
        folds = np.random.default_rng(seed).permutation(np.arange(int(codes.max()) + 1) % _FOLDS)[codes]
    right = np.stack([_column_right(features[:, column], labels, folds) for column in range(features.shape[1])], axis=1)
    majority = float(np.bincount(labels).max() / len(labels))
    names = [(f"column {column}", "") for column in range(features.shape[1])]
    return CandidateCues("column", names, _matrix(right), at_chance=majority)


def _column_right(values: np.ndarray, labels: np.ndarray, folds: np.ndarray) -> np.ndarray:
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
    bins, classes = np.searchsorted(edges, values, side="right"), int(labels.max()) + 1
    right = np.zeros(len(labels), dtype=bool)
    for fold in range(_FOLDS):
        held_out = folds == fold
        counts = np.bincount(bins[~held_out] * classes + labels[~held_out], minlength=(len(edges) + 1) * classes)
        guesses = counts.reshape(-1, classes).argmax(axis=1)
        right[held_out] = guesses[bins[held_out]] == labels[held_out]
    return right


def _matrix(present: np.ndarray) -> Any:
    from scipy.sparse import csc_array

    return csc_array(present.astype(np.float64))
