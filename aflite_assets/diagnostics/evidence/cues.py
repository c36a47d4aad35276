"""What marks the rows that filtering removed: words, lengths, attributes, partial inputs, columns; tests, no drawing.

A mark is shown where rows that have it were removed more often than class-matched random draws would remove them, and
where it goes with a label by itself (unless the dataset's file says that it was planted). Tests count groups of rows.
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
from aflite_assets.diagnostics.evidence.lengths import length_marks
from aflite_assets.diagnostics.evidence.word_artifacts import occurrences
from aflite_assets.diagnostics.record_tables import factorize, table_of

Kind = Literal["attribute", "partial input", "word", "length", "column"]

FEWEST_ROWS = 20
"""Marks in fewer rows are not tested: the tests are about sums of many."""

MOST_VALUES = 50
"""Values of one attribute that are tested, the most frequent ones."""

_TIED = 0.05
"""A mark with a lower p-value is said to go with its class."""

_BINS = 20
"""Into which a feature column is cut, at its quantiles."""

_FOLDS = 5

_SAME_ROWS = 0.8
"""Words that share so much of the rows that have one of them (Jaccard) are one mark."""

_MOST_COMPARED = 500
"""Words that are compared for standing in the same rows, the most telling ones."""

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
        ("counts", pa.bool_()),
        ("class_shares", pa.list_(pa.float64())),
        ("same_rows_as", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of one kind on the same rows: `names` (name, value) of each, and which rows have it.

    `present`: scipy CSC matrix rows x marks of 0 and 1, float64. `rows`: positions of these rows among the train rows;
    None for all. `planted`: bool per mark; such a mark need not go with a label. `at_chance`: for partial inputs the
    share of rows that are right by chance, which being right must exceed; None for marks that must go with a label.
    `counts`: whether such a mark alone is a shortcut; else it is a hint, which may be the task itself. `of_its_class`:
    only rows that have the class the mark goes with are asked whether they were removed. Every row has some length, so
    that where long texts of one class and short ones of the other go, lengths alone would cancel out.
    """

    kind: Kind
    names: list[tuple[str, str]]
    present: Any
    counts: bool
    rows: np.ndarray | None = None
    planted: np.ndarray | None = None
    at_chance: float | None = None
    of_its_class: bool = False


def removal_cues(train: pa.Table, examples: Examples, *, planted: Mapping[str, Collection[str]], seed: int) -> pa.Table:
    """Every mark that was tested, most telling first.

    Attributes, lengths of texts, what one text of a pair gives away alone, and words of pairs count as shortcuts; words
    of single texts and feature columns are hints, since a word may name the topic and a column may be the task.

    Args:
        train: the filtered set's train rows, with `row_id` and `kept`.
        examples: rows that include all of `train`.
        planted: the values of each attribute that mark a row as planted.
        seed: of the folds of partial inputs and columns.

    Returns:
        Columns kind, name (of the attribute, text column, length or feature), value (of the attribute or length, or the
        word; empty for others), label_name (the class that the mark goes with, null where there is none, and for
        planted attributes, partial inputs and columns), class_share (of the rows with the mark, those of that class),
        rows and removed_rows (with the mark), share_removed (of the removed rows, those with the mark; of lengths those
        that also have its class), share_expected (the same of as many random rows of each class), p_value (one-sided,
        of one test by itself), counts, class_shares (of the rows with the mark, those of each class, in order), and
        same_rows_as (of a word that stands in nearly the same rows as a more telling one of its text: that word).
    """
    chosen = examples.select(train["row_id"].to_numpy())
    removed = ~train["kept"].to_numpy().astype(bool)
    if not removed.any() or removed.all():
        return table_of([], CUES)
    records: list[tuple[Any, ...]] = []
    for marks in _all_marks(chosen, planted, seed):
        of_kind = sorted(_records(marks, removed, chosen), key=lambda record: record[9])
        leaders = _same_rows(marks, [record[1:3] for record in of_kind]) if marks.kind == "word" else {}
        records += [(*record, leaders.get(record[1:3])) for record in of_kind]
    return table_of(sorted(records, key=lambda record: record[9]), CUES)


def _all_marks(rows: Examples, planted: Mapping[str, Collection[str]], seed: int) -> Iterator[Marks]:
    yield from _attributes(rows, planted)
    if rows.modality == "text":
        yield from _words(rows)
        names, present = length_marks(rows)
        pairs = "text_pair" in rows.table.column_names
        # A single text may be longer for a word in it, which is tested too, or for what it says.
        yield Marks("length", names, _matrix(present), counts=pairs, of_its_class=True)
        if pairs:
            yield from _partial_inputs(rows, seed)
    if rows.modality == "features":
        yield _columns(rows, seed)


def _records(marks: Marks, removed: np.ndarray, rows: Examples) -> Iterator[tuple[Any, ...]]:
    places = np.arange(len(removed)) if marks.rows is None else marks.rows
    labels, gone = rows.labels[places], removed[places]
    groups = None if rows.groups is None else rows.groups[places]
    if not len(marks.names) or not gone.any() or gone.all():
        return
    tied = label_ties(marks.present, labels, groups) if marks.at_chance is None else None
    asked = _of_class(marks.present, labels, tied.labels) if tied and marks.of_its_class else marks.present
    enriched = enrichment(asked, gone, labels, groups)
    by_class = _rows_by_class(marks.present, labels, len(rows.label_names))
    left = np.asarray(marks.present.T @ gone.astype(np.float64)).ravel()
    for number, (name, value) in enumerate(marks.names):
        if not FEWEST_ROWS <= enriched.rows[number] <= len(gone) - FEWEST_ROWS:
            continue
        p_value, label, class_share = _goes_with(marks, number, tied, groups)
        having = by_class[number]
        yield (
            marks.kind,
            name,
            value,
            None if label is None else rows.label_names[label],
            class_share,
            int(having.sum()),
            int(left[number]),
            float(enriched.removed[number] / gone.sum()),
            float(enriched.expected[number] / gone.sum()),
            max(float(enriched.p_values[number]), p_value),
            marks.counts,
            (having / having.sum()).tolist(),
        )


def _goes_with(
    marks: Marks, number: int, tied: "LabelTies | None", groups: np.ndarray | None
) -> tuple[float, int | None, float | None]:
    """p-value of a mark giving the label away by itself; the class that it goes with, if any, and its share."""
    if tied is None:
        assert marks.at_chance is not None
        right = np.asarray(marks.present[:, [number]].todense()).ravel()
        return _over(right, marks.at_chance, groups), None, None
    if marks.planted is not None and marks.planted[number]:
        return 0.0, None, None
    p_value = float(tied.p_values[number])
    if p_value >= _TIED:
        return p_value, None, None
    return p_value, int(tied.labels[number]), float(tied.shares[number])


def _of_class(present: Any, labels: np.ndarray, classes: np.ndarray) -> Any:
    """The marks of rows whose label is the mark's own of `classes` alone."""
    from scipy.sparse import csc_array

    entries = present.tocoo()
    inside = labels[entries.row] == classes[entries.col]
    return csc_array((entries.data[inside], (entries.row[inside], entries.col[inside])), shape=present.shape)


def _rows_by_class(present: Any, labels: np.ndarray, classes: int) -> np.ndarray:
    """Rows with each mark, marks x classes."""
    from scipy.sparse import csr_array

    in_classes = csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(classes, len(labels)))
    return np.asarray((in_classes @ csr_array(present)).toarray().T)


def _same_rows(marks: Marks, telling: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Of words that stand in nearly the same rows as one before them in `telling`: the first such of the same text."""
    places = {name: place for place, name in enumerate(marks.names)}
    chosen = list(telling[:_MOST_COMPARED])
    if not chosen:
        return {}
    present = marks.present[:, [places[name] for name in chosen]]
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
    """Of each lower-cased word the share of rows, in [0, 1], whose text has it; `column` is text or text_pair."""
    found = dict.fromkeys(words, 0)
    for text in examples.table[column].to_pylist():
        for word in found.keys() & {match.lower() for match in WORD.findall(text or "")}:
            found[word] += 1
    return {word: rows / max(len(examples), 1) for word, rows in found.items()}


@dataclass(frozen=True, eq=False)
class Enrichment:
    """Per mark: rows with it, those removed, how many class-matched draws would remove, and the one-sided p-value."""

    rows: np.ndarray
    removed: np.ndarray
    expected: np.ndarray
    p_values: np.ndarray


def enrichment(present: Any, removed: np.ndarray, labels: np.ndarray, groups: np.ndarray | None) -> Enrichment:
    """Whether rows with a mark were removed more often than as many random rows of each class.

    The expected number is the sum over classes of rows with the mark times the share of the class that was removed.
    The p-value is the larger of two: that of the stratified score test with variances between groups of rows
    (`score_test`), and the tail of the binomial with the expected share, which is right where marks are few.
    """
    from scipy.stats import binom, norm

    marked = np.asarray(present.sum(axis=0)).ravel()
    gone = np.asarray(present.T @ removed.astype(np.float64)).ravel()
    z, expected = score_test(present, removed.astype(np.float64), labels, groups)
    share = np.divide(expected, marked, out=np.zeros_like(expected), where=marked > 0)
    p_values = np.maximum(norm.sf(z), binom.sf(gone - 1, marked, share))
    return Enrichment(marked.astype(np.int64), gone.astype(np.int64), expected, p_values)


@dataclass(frozen=True, eq=False)
class LabelTies:
    """Per mark: the class that it goes with most, the share of its rows that have it, and the p-value, Bonferroni."""

    labels: np.ndarray
    shares: np.ndarray
    p_values: np.ndarray


def label_ties(present: Any, labels: np.ndarray, groups: np.ndarray | None) -> LabelTies:
    """Whether rows with a mark have one of the labels more often than rows do."""
    from scipy.stats import norm

    classes = np.unique(labels)
    one_stratum = np.zeros(len(labels), dtype=np.int64)
    z = np.stack(
        [score_test(present, (labels == label).astype(np.float64), one_stratum, groups)[0] for label in classes], axis=1
    )
    best = z.argmax(axis=1)
    rows = np.maximum(np.asarray(present.sum(axis=0)).ravel(), 1)
    of_class = np.stack([np.asarray(present.T @ (labels == label).astype(np.float64)).ravel() for label in classes])
    shares = of_class[best, np.arange(len(best))] / rows
    return LabelTies(classes[best], shares, np.minimum(1.0, len(classes) * norm.sf(z.max(axis=1))))


def score_test(
    present: Any, outcome: np.ndarray, strata: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """z of each mark, and the sum of outcomes that its rows would have if the mark meant nothing within a stratum.

    With residuals e_i of the outcome from its stratum's mean and x_i of the mark from its share in the stratum:
    z = sum_i e_i x_i / sqrt(G/(G-1) sum_g (sum_{i in g} e_i x_i)^2), the score test of a stratified comparison with
    variances between groups (Liang and Zeger 1986, Biometrika 73:13, section 3). 0 where nothing varies.
    """
    from scipy.sparse import csr_array

    _, strata = np.unique(strata, return_inverse=True)
    own = np.arange(len(outcome)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(strata)
    means = np.bincount(strata, outcome) / sizes
    residuals = outcome - means[strata]
    in_strata = csr_array((np.ones(len(strata)), (strata, np.arange(len(strata)))))
    in_groups = csr_array((np.ones(len(own)), (own, np.arange(len(own)))))
    marked = csr_array(present)
    rows_in_strata = (in_strata @ marked).toarray()
    shares = rows_in_strata / sizes[:, None]
    weighted = in_groups @ csr_array(marked.multiply(residuals[:, None]))
    by_stratum = in_groups @ csr_array(in_strata.T.multiply(residuals[:, None]))
    total = np.asarray(weighted.sum(axis=0)).ravel()
    squares = np.asarray(weighted.multiply(weighted).sum(axis=0)).ravel()
    cross = np.einsum("sk,ks->k", shares, (weighted.T @ by_stratum).toarray())
    rest = np.einsum("sk,st,tk->k", shares, (by_stratum.T @ by_stratum).toarray(), shares)
    count = int(own.max()) + 1
    variance = np.maximum(squares - 2 * cross + rest, 0.0) * count / max(count - 1, 1)
    error = np.sqrt(variance)
    z = np.divide(total, error, out=np.zeros_like(total), where=error > 1e-9)
    return z, means @ rows_in_strata


def _over(right: np.ndarray, chance: float, groups: np.ndarray | None) -> float:
    """p-value of a share of right rows being over `chance`, with a variance between groups."""
    from scipy.stats import norm

    own = np.arange(len(right)) if groups is None else np.unique(groups, return_inverse=True)[1]
    share, count = float(right.mean()), int(own.max()) + 1
    error = (count / max(count - 1, 1) * float((np.bincount(own, right - share) ** 2).sum())) ** 0.5 / len(right)
    return float(norm.sf((share - chance) / error)) if error > 0 else float(share <= chance)


def _attributes(rows: Examples, planted: Mapping[str, Collection[str]]) -> Iterator[Marks]:
    for column in [name for name in rows.table.column_names if name.startswith("attribute.")]:
        name = column.removeprefix("attribute.")
        codes, values = factorize(rows.table[column].cast(pa.string()))
        counts = np.bincount(codes, minlength=len(values))
        often = [code for code in np.argsort(-counts, kind="stable")[:MOST_VALUES].tolist() if values[code].is_valid]
        if not often:
            continue
        texts = [str(values[code].as_py()) for code in often]
        known = np.array([text in planted.get(name, ()) for text in texts])
        present = _matrix(np.stack([codes == code for code in often], axis=1))
        yield Marks("attribute", [(name, text) for text in texts], present, counts=True, planted=known)


def _words(rows: Examples) -> Iterator[Marks]:
    from scipy.sparse import csc_array

    often = occurrences(rows).in_rows(FEWEST_ROWS)
    if often.vocabulary:
        ones, shape = np.ones(len(often.words)), (len(rows), len(often.vocabulary))
        present = csc_array((ones, (often.rows, often.words)), shape=shape)
        yield Marks("word", list(often.vocabulary), present, counts="text_pair" in rows.table.column_names)


def _partial_inputs(rows: Examples, seed: int) -> Iterator[Marks]:
    """Of multiple choice only what the answers alone give away: every question has a right and a wrong answer."""
    choice = right_answers(rows) is not None
    columns: Sequence[Literal["text", "text_pair"]] = ("text_pair",) if choice else ("text", "text_pair")
    for column in columns:
        held_out = held_out_solved(rows, seed=seed) if choice else held_out_right(rows, column, seed=seed)
        if held_out is not None:
            present = _matrix(held_out.right[:, None])
            yield Marks("partial input", [(column, "")], present, True, rows=held_out.rows, at_chance=held_out.majority)


def _columns(rows: Examples, seed: int) -> Marks:
    """Whether each feature column alone, cut into bins at its quantiles, tells the label of held-out rows."""
    features, labels = rows.features, rows.labels
    folds = np.random.default_rng(seed).permutation(np.arange(len(labels)) % _FOLDS)
    if rows.groups is not None:
        codes = np.unique(rows.groups, return_inverse=True)[1]
        folds = np.random.default_rng(seed).permutation(np.arange(int(codes.max()) + 1) % _FOLDS)[codes]
    right = np.stack([_column_right(features[:, column], labels, folds) for column in range(features.shape[1])], axis=1)
    majority = float(np.bincount(labels).max() / len(labels))
    names = [(f"column {column}", "") for column in range(features.shape[1])]
    return Marks("column", names, _matrix(right), counts=False, at_chance=majority)


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
