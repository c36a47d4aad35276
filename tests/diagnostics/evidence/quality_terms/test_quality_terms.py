"""Items and terms against plain loops over words; sets of one size; what is no number."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.errors import InvalidInputError
from aflite_assets.studies.sample.diagnostics.quality_terms.compared import DRAWS, quality_terms
from aflite_assets.studies.sample.diagnostics.quality_terms.items import text_items
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

NAMES = ("yes", "no", "maybe")
WORDS = ("a", "b", "cat", "dog-house", "Run", "runs", "é")
Rows = Sequence[tuple[str | None, ...]]
Key = tuple[str, str, str | None, str]


def examples(rows: Rows, labels: Sequence[int] | None = None) -> Examples:
    columns = dict(zip(("text", "text_pair"), zip(*rows, strict=True), strict=False)) if rows else {"text": ()}
    return Examples(
        pa.table(
            {
                "row_id": pa.array(range(100, 100 + len(rows)), pa.int64()),
                "label": pa.array([0] * len(rows) if labels is None else labels, pa.int64()),
                **{name: pa.array(texts, pa.string()) for name, texts in columns.items()},
            }
        ),
        NAMES,
    )


def spread(counts: Sequence[float]) -> float:
    return stdev(counts) if len(counts) > 1 else math.nan


def inverse(value: float) -> float:
    return 1 / value if value > 0 else math.nan


def c2(items: Sequence[Any], most: float | None) -> tuple[float, float]:
    counts, total = Counter(items), len(items)
    t1 = inverse(spread([count / len(counts) for count in counts.values()]))
    rare = [1 if (count == 1 if most is None else count <= most * total) else -1 for count in counts.values()]
    signed = sum(sign * count for sign, count in zip(rare, counts.values(), strict=True))
    return t1, signed / total if total else math.nan


def oracle(rows: Rows, labels: Sequence[int], all_labels: Sequence[int]) -> dict[Key, float]:
    """Every term by loops over words, which split() finds: they have no signs here."""
    sentences = [text.lower().split() for row in rows for text in row if text is not None]
    words = [word for sentence in sentences for word in sentence]
    runs: dict[str, Sequence[Any]] = {
        "words": words,
        "bigrams": [pair for sentence in sentences for pair in pairwise(sentence)],
        "trigrams": [tuple(s[i : i + 3]) for s in sentences for i in range(len(s) - 2)],
        "sentences": [tuple(sentence) for sentence in sentences],
    }
    found: dict[Key, float] = {
        ("vocabulary", "words", None, "distinct"): len(set(words)),
        ("c1", "words", None, "t1"): len(set(words)) / len(rows) if rows else math.nan,
        ("c1", "lengths", None, "t2"): spread([len(sentence) for sentence in sentences]),
        ("c1", "lengths", None, "t3"): fmean(1 if 3 < len(s) < 30 else -1 for s in sentences)
        if sentences
        else math.nan,
    }
    for (name, items), most in zip(runs.items(), (0.01, 0.01, 0.002, None), strict=True):
        found["c2", name, None, "T1"], found["c2", name, None, "T2"] = c2(items, most)
    differences = [
        abs(len(row[0].split()) - len(row[1].split()))
        for row in rows
        if len(row) == 2 and row[0] is not None and row[1] is not None
    ]
    if rows and len(rows[0]) == 2:
        n = len(differences)
        found["c5", "lengths", None, "deviation"] = spread(differences) / n if n else math.nan
        found["c5", "lengths", None, "sum"] = n / (1 + sum(differences)) if n else math.nan
    by_label: dict[int, list[str]] = defaultdict(list)
    for row, label in zip(rows, labels, strict=True):
        by_label[label] += [word for text in row if text is not None for word in text.lower().split()]
    known = sorted(set(all_labels))
    total = (
        sum(spread([by_label[label].count(word) for label in known]) for word in set(words)) if len(known) > 1 else 0
    )
    found["c6", "words", None, "spread"] = len(rows) / (1 + total) if len(known) > 1 and rows else math.nan
    for label in known:
        terms = c2(by_label[label], 0.01)
        found["c6", "words", NAMES[label], "T1"], found["c6", "words", NAMES[label], "T2"] = terms
    return found


def values(table: pa.Table, column: str) -> dict[Key, float]:
    return {
        (row["component"], row["items"], row["label_name"], row["term"]): row[column]
        for row in table.to_pylist()
        if row["term"] != "vanished"
    }


texts = st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join))


@st.composite
def made_rows(draw: st.DrawFn) -> tuple[list[tuple[str | None, ...]], list[int], list[int]]:
    """Rows of one text or of two, their labels, and places of the rows that are kept."""
    width, size = draw(st.integers(1, 2)), draw(st.integers(1, 25))
    rows = [tuple(draw(st.lists(texts, min_size=width, max_size=width))) for _ in range(size)]
    labels = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    return rows, labels, sorted(draw(st.sets(st.integers(0, size - 1))))


@given(made_rows())
def test_every_term_is_that_of_plain_loops(made: tuple[list[tuple[str | None, ...]], list[int], list[int]]) -> None:
    rows, labels, kept = made
    table = quality_terms(examples(rows, labels), np.array(kept, dtype=np.int64) + 100, seed=1, draws=2)
    assert values(table, "before") == pytest.approx(oracle(rows, labels, labels), nan_ok=True)
    wanted = oracle([rows[place] for place in kept], [labels[place] for place in kept], labels)
    if not kept:
        wanted |= {key: math.nan for key in values(table, "kept") if key[0] == "c5"}
    assert values(table, "kept") == pytest.approx({key: wanted[key] for key in values(table, "kept")}, nan_ok=True)


def test_random_sets_are_those_of_seed_and_number() -> None:
    rng = np.random.default_rng(3)
    rows = [(" ".join(rng.choice(WORDS, 5)), " ".join(rng.choice(WORDS, 3))) for _ in range(40)]
    labels = rng.integers(0, 3, 40).tolist()
    kept = np.arange(100, 112)
    table = quality_terms(examples(rows, labels), kept, seed=7)
    drawn = []
    for number in range(DRAWS):
        places = np.random.default_rng([7, number]).choice(40, 12, replace=False)
        drawn.append(oracle([rows[i] for i in places], [labels[i] for i in places], labels))
    for key, mean in values(table, "random_mean").items():
        each = [one[key] for one in drawn]
        assert mean == pytest.approx(np.mean(each), nan_ok=True), key
        assert values(table, "random_least")[key] == pytest.approx(np.min(each), nan_ok=True)
        assert values(table, "random_most")[key] == pytest.approx(np.max(each), nan_ok=True)
    again = quality_terms(examples(rows, labels), kept, seed=7)
    assert again.equals(table) or str(again.to_pylist()) == str(table.to_pylist())
    assert not quality_terms(examples(rows, labels), kept, seed=8)["random_mean"].equals(table["random_mean"])


def one(table: pa.Table, **wanted: str) -> dict[str, Any]:
    (found,) = (row for row in table.to_pylist() if wanted.items() <= row.items())
    return found


def test_a_set_that_keeps_the_words_is_over_all_random_ones() -> None:
    rows = [(f"the same word{i if i < 40 else ''}",) for i in range(200)]
    table = quality_terms(examples(rows), np.arange(100, 140), seed=0)
    vocabulary = one(table, component="c1", term="t1")
    assert (vocabulary["before"], vocabulary["kept"]) == (43 / 200, 42 / 40)
    assert vocabulary["beside_random"] == "over all"
    assert vocabulary["random_most"] < 0.6
    vanished = one(table, term="vanished")
    assert (vanished["before"], vanished["kept"], vanished["beside_random"]) == (0, 1, "under all")
    none = quality_terms(examples(rows), np.arange(240, 280), seed=0)
    assert one(none, component="c1", term="t1")["beside_random"] == "under all"
    assert one(none, term="vanished")["kept"] == 40
    assert not {"c5"} & set(table["component"].to_pylist())  # no pairs


def test_a_term_of_equally_frequent_items_is_no_number() -> None:
    table = quality_terms(examples([("one two",), ("three four",)]), np.array([100]), seed=0)
    evenness = one(table, component="c2", items="words", term="T1")
    assert math.isnan(evenness["before"])
    assert math.isnan(evenness["kept"])
    assert evenness["beside_random"] is None
    assert math.isnan(one(table, component="c6", term="spread")["before"])  # one label alone
    assert not any(np.isinf(table[name].to_numpy()).any() for name in ("before", "random_most", "kept"))


def test_no_rows_kept_and_no_words() -> None:
    table = quality_terms(examples([("", None), (None, None)]), np.array([], dtype=np.int64), seed=0)
    assert one(table, component="c1", term="t1") == {
        "component": "c1", "items": "words", "label_name": None, "term": "t1", "before": 0.0,
        "random_mean": pytest.approx(math.nan, nan_ok=True), "random_least": pytest.approx(math.nan, nan_ok=True),
        "random_most": pytest.approx(math.nan, nan_ok=True), "kept": pytest.approx(math.nan, nan_ok=True),
        "beside_random": None, "formula": "V / X",
    }  # fmt: skip
    assert one(table, component="c1", term="t3")["before"] == -1  # the empty text is a sentence of no words
    assert math.isnan(one(table, component="c5", term="sum")["before"])


def test_what_items_are() -> None:
    items = text_items([pa.chunked_array([["A b a b", None, "b!"]]), pa.chunked_array([["a, B", "c", ""]])])
    assert items.words.numbers.tolist() == [0, 1, 0, 1, 1, 0, 1, 2]
    assert items.words.rows.tolist() == [0, 0, 0, 0, 2, 0, 0, 1]
    assert items.bigrams.rows.tolist() == [0, 0, 0, 0]
    assert items.bigrams.counts(np.array([True, True, True])).tolist() == [3, 1]  # "a b" thrice, "b a" once
    assert items.trigrams.counts(np.array([True, False, False])).tolist() == [1, 1]
    assert items.sentences.rows.tolist() == [0, 2, 0, 1, 2]
    assert items.sentences.distinct == 5
    assert items.lengths.tolist() == [4, 1, 2, 1, 0]
    assert items.differences.tolist() == pytest.approx([2, math.nan, 1], nan_ok=True)
    assert (items.size, items.words.distinct, items.bigrams.distinct, items.trigrams.distinct) == (3, 3, 2, 2)


def test_terms_by_hand() -> None:
    assert vocabulary_term(30, 20) == 1.5
    assert length_term(np.array([2, 4, 6])) == 2
    assert length_range_term(np.array([3, 4, 29, 30, 31])) == pytest.approx((2 - 3) / 5)
    # c / K = 1/3, 2/3, 1: standard deviation 1/3
    assert evenness_term(np.array([0, 1, 2, 3, 0])) == pytest.approx(3)
    assert rarity_term(np.array([1, 1, 98]), 0.01) == pytest.approx((2 - 98) / 100)
    assert rarity_term(np.array([1, 1, 2]), None) == 0
    assert difference_deviation_term(np.array([0.0, 2.0, 4.0])) == pytest.approx(2 / 3)
    assert difference_term(np.array([0.0, 2.0, 4.0])) == pytest.approx(3 / 7)
    # item 0 stands 3 times with one label of two, item 1 once with each
    assert label_spread_term(np.array([3, 1, 1]), np.array([0, 1, 1]), 2, 10) == pytest.approx(10 / (1 + 4.5**0.5))


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"1 text columns, and 1 of the 2 kept rows"):
        quality_terms(examples([("a",), ("b",)]), np.array([100, 7]), seed=0)
    with pytest.raises(InvalidInputError, match=r"`draws` is 0; set it to at least 1"):
        quality_terms(examples([("a",)]), np.array([100]), seed=0, draws=0)
    with pytest.raises(InvalidInputError, match=r"2 text columns of \[1, 2\] rows"):
        text_items([pa.chunked_array([["a"]]), pa.chunked_array([["a", "b"]])])
    table = pa.table({"row_id": [1], "label": [0], "feature.0": [0.5]})
    with pytest.raises(InvalidInputError, match=r"0 text columns, and 1 of the 1 kept rows"):
        quality_terms(Examples(table, NAMES), np.array([1]), seed=0)
