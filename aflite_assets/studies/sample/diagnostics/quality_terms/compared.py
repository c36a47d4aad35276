"""Quality terms of all rows, of the kept rows, and of random sets with the same number of rows as were kept."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.record_tables import table_of
from aflite_assets.errors import InvalidInputError
from aflite_assets.studies.sample.diagnostics.quality_terms.items import Items, TextItems, text_items
from aflite_assets.studies.sample.diagnostics.quality_terms.terms import (
    difference_deviation_term,
    difference_term,
    evenness_term,
    label_spread_term,
    length_range_term,
    length_term,
    rarity_term,
    vocabulary_term,
)

DRAWS = 10
"""Number of random sets with which a term is compared."""

RARE = {"words": 0.01, "bigrams": 0.01, "trigrams": 0.002, "sentences": None}
"""Largest share of all occurrences of a rare item, in term t2 of c2; None: only items that occur once are rare."""

_SCHEMA = pa.schema(
    {
        "component": pa.string(),
        "items": pa.string(),
        "label_name": pa.string(),
        "term": pa.string(),
        "before": pa.float64(),
        "random_mean": pa.float64(),
        "random_least": pa.float64(),
        "random_most": pa.float64(),
        "kept": pa.float64(),
        "beside_random": pa.string(),
        "formula": pa.string(),
    }
)

_Key = tuple[str, str, str | None, str, str]
"""Component, items, label, name and formula of a term."""


@dataclass(frozen=True, eq=False)
class _Counted:
    """The items (words, word sequences, sentences) of all rows.

    Words are also counted by label: item i of `pairs` is the word `pair_words[i]` in rows with the label
    `pair_labels[i]`.
    """

    items: TextItems
    labels: np.ndarray
    label_names: Sequence[str]
    pairs: Items
    pair_words: np.ndarray
    pair_labels: np.ndarray


def quality_terms(examples: Examples, kept: np.ndarray, *, seed: int, draws: int = DRAWS) -> pa.Table:
    """Compute the terms of all rows, of the kept rows, and of `draws` random sets of the kept rows' size.

    Only sets of the same size can be compared, because most terms depend on the size of the set, even for random rows.
    The column `before` is computed from all rows, so its terms cannot be compared with the terms of smaller sets.

    Args:
        examples: rows with texts, usually the train rows that entered a filter.
        kept: ids of the kept rows, all within `examples`.
        seed: seed of the random sets; set i is drawn with the seed (seed, i), and rows are drawn independently of
            groups.
        draws: number of random sets, at least 1.

    Returns:
        A table with one row per term. The columns are `component` (vocabulary, c1, c2, c5, c6), `items` (words,
        bigrams, trigrams, sentences, lengths), `label_name` (null: all rows), `term`, `before`, `random_mean`,
        `random_least`, `random_most`, `kept`, `beside_random` and `formula`. Values of terms are float64. A value is
        NaN if the term is undefined on the set (see `terms`). The values in `random_*` are NaN if the term is undefined
        on at least one random set. `beside_random` compares the kept set with the random sets: "over all", "under all"
        or "among them", or null if a number is missing. Terms of length differences exist only for pairs of texts, and
        terms within a label only for labels that occur.

    Raises:
        InvalidInputError: the rows have no texts, `kept` contains rows outside `examples`, or `draws` is less than 1.
    """
    columns = [examples.table[name] for name in ("text", "text_pair") if name in examples.table.column_names]
    chosen = np.isin(examples.row_ids, kept)
    if not columns or int(chosen.sum()) != len(kept):
        raise InvalidInputError(
            f"there are {len(columns)} text columns, and {int(chosen.sum())} of the {len(kept)} kept rows are among "
            "the rows; give rows with texts, and include each kept row once"
        )
    if draws < 1:
        raise InvalidInputError(f"`draws` is {draws}; set it to at least 1")
    counted = _counted(text_items(columns), examples.labels, examples.label_names)
    before = dict(_terms(counted, np.ones(len(examples), dtype=bool), pairs=len(columns) == 2))
    mine = dict(_terms(counted, chosen, pairs=len(columns) == 2))
    random = [
        dict(_terms(counted, _drawn(len(examples), len(kept), seed, number), pairs=len(columns) == 2))
        for number in range(draws)
    ]
    records = []
    for key, value in before.items():
        drawn = np.array([one[key] for one in random])
        among = (float(drawn.mean()), float(drawn.min()), float(drawn.max()))
        component, items, label, term, formula = key
        beside = _beside(mine[key], drawn)
        records.append((component, items, label, term, value, *among, mine[key], beside, formula))
    return table_of(records, _SCHEMA)


def _counted(items: TextItems, labels: np.ndarray, label_names: Sequence[str]) -> _Counted:
    classes = len(label_names)
    keys = pa.array(items.words.numbers.astype(np.int64) * classes + labels[items.words.rows]).dictionary_encode()
    numbers = keys.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    distinct = keys.dictionary.to_numpy(zero_copy_only=False)
    pairs = Items(numbers, items.words.rows, len(distinct))
    return _Counted(items, labels, label_names, pairs, distinct // classes, distinct % classes)


def _drawn(rows: int, size: int, seed: int, number: int) -> np.ndarray:
    drawn = np.zeros(rows, dtype=bool)
    drawn[np.random.default_rng([seed, number]).choice(rows, size, replace=False)] = True
    return drawn


def _terms(counted: _Counted, chosen: np.ndarray, *, pairs: bool) -> Iterator[tuple[_Key, float]]:
    items, rows = counted.items, int(chosen.sum())
    counts = {name: getattr(items, name).counts(chosen) for name in RARE}
    present = int((counts["words"] > 0).sum())
    yield ("vocabulary", "words", None, "distinct", "V"), float(present)
    yield ("vocabulary", "words", None, "vanished", "V before - V"), float(items.words.distinct - present)
    yield ("c1", "words", None, "t1", "V / X"), vocabulary_term(present, rows)
    lengths = items.lengths[chosen[items.sentences.rows]]
    yield ("c1", "lengths", None, "t2", "sd(l)"), length_term(lengths)
    yield ("c1", "lengths", None, "t3", "mean of sgn((l - 3)(30 - l))"), length_range_term(lengths)
    for name, share in RARE.items():
        rare = "c = 1" if share is None else f"c <= {share:g} C"
        yield ("c2", name, None, "T1", "1 / sd(c / K)"), evenness_term(counts[name])
        yield (
            ("c2", name, None, "T2", f"(sum of c where {rare}, less the others) / C"),
            rarity_term(counts[name], share),
        )
    if pairs:
        differences = items.differences[chosen]
        differences = differences[~np.isnan(differences)]
        yield ("c5", "lengths", None, "deviation", "sd(|dl|) / N"), difference_deviation_term(differences)
        yield ("c5", "lengths", None, "sum", "N / (1 + sum of |dl|)"), difference_term(differences)
    yield from _terms_of_labels(counted, chosen, rows)


def _terms_of_labels(counted: _Counted, chosen: np.ndarray, rows: int) -> Iterator[tuple[_Key, float]]:
    with_labels, present = counted.pairs.counts(chosen), np.unique(counted.labels)
    spread = label_spread_term(with_labels, counted.pair_words, len(present), rows)
    yield ("c6", "words", None, "spread", "N / (1 + sum of sd of c over labels)"), spread
    order = np.argsort(counted.pair_labels, kind="stable")
    ends = np.cumsum(np.bincount(counted.pair_labels, minlength=len(counted.label_names)))
    by_label = np.split(with_labels[order], ends[:-1])
    rare = RARE["words"]
    for label in present.tolist():
        name, counts = counted.label_names[label], by_label[label]
        yield ("c6", "words", name, "T1", "1 / sd(c / K)"), evenness_term(counts)
        yield (
            ("c6", "words", name, "T2", f"(sum of c where c <= {rare:g} C, less the others) / C"),
            rarity_term(counts, rare),
        )


def _beside(value: float, drawn: np.ndarray) -> str | None:
    if np.isnan(value) or np.isnan(drawn).any():
        return None
    if value > drawn.max():
        return "over all"
    return "under all" if value < drawn.min() else "among them"
