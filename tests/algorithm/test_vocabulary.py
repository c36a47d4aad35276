"""Counts over words and the greedy removal, against the same by Python's sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from aflite_assets.algorithm import InvalidInputError, RowWords
from aflite_assets.algorithm.vocabulary import (
    LowestUnits,
    Vocabulary,
    check_row_words,
    count_vocabulary,
    remove_lowest,
)
from aflite_assets.data.synthetic.template_nli import template_nli
from aflite_assets.data.words import DistinctWords, distinct_words
from aflite_assets.specs.sources import TemplateNliSource

Sets = Sequence[frozenset[int]]
ROWS = 200


def row_words(sets: Sets) -> RowWords:
    numbers = np.array([word for words in sets for word in sorted(words)], dtype=np.int64)
    return check_row_words(RowWords(np.cumsum([0, *map(len, sets)]), numbers), len(sets))


def counted(sets: Sets, left: Sequence[int] | None = None) -> Vocabulary:
    rows = np.arange(len(sets)) if left is None else np.array(left)
    return count_vocabulary(row_words(sets), rows, np.arange(len(rows)), len(rows))


def lowest(vocabulary: Vocabulary, *, allowed: int, seed: int = 0, **changes: Any) -> LowestUnits:
    units = len(vocabulary.own_words)
    ones = np.ones(units, dtype=np.int64)
    given = {"ties": np.random.default_rng(seed).permutation(units), "sizes": ones, "counted": ones, "room": units}
    return remove_lowest(vocabulary, **{"candidates": np.arange(units), "allowed": allowed, **given, **changes})


@dataclass
class Oracle:
    """A pool as sets; every number is counted from the start."""

    sets: Sets
    left: list[int]

    def holders(self, word: int) -> int:
        return sum(word in self.sets[row] for row in self.left)

    def own_words(self, row: int) -> int:
        return sum(self.holders(word) == 1 for word in self.sets[row])

    def share(self, row: int) -> float:
        return sum(1 / self.holders(word) for word in self.sets[row])

    def distinct(self, *, without: int | None = None) -> int:
        return len(frozenset().union(*(self.sets[row] for row in self.left if row != without)))


@st.composite
def tables(draw: st.DrawFn) -> list[frozenset[int]]:
    """Up to 200 rows: some without words, some repeated, words of every frequency."""
    rows = draw(st.integers(1, ROWS))
    words = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = 1 / np.arange(1, words + 1) ** draw(st.sampled_from([0.0, 1.0, 2.0]))
    drawn = [
        frozenset(rng.choice(words, int(rng.integers(0, 9)), p=shares / shares.sum()).tolist()) for _ in range(rows)
    ]
    repeats = rng.random(rows) < draw(st.sampled_from([0.0, 0.3]))
    return [drawn[int(rng.integers(rows))] if repeated else own for own, repeated in zip(drawn, repeats, strict=True)]


@hypothesis_settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(tables(), st.integers(0, 3))
def test_every_removal_is_the_best_one_after_those_before_it(sets: list[frozenset[int]], seed: int) -> None:
    rows = len(sets)
    start, oracle = counted(sets), Oracle(sets, list(range(rows)))
    ties = np.random.default_rng(seed).permutation(rows)
    done = lowest(start, allowed=rows, ties=ties)
    assert sorted(done.units.tolist()) == list(range(rows))
    for number, row in enumerate(done.units.tolist()):
        now = counted(sets, oracle.left) if number % 20 == 0 else None  # every one would take minutes
        own = {other: oracle.own_words(other) for other in oracle.left}
        assert done.own_words[row] == own[row]
        assert (own[row], start.shares[row], ties[row]) == min(
            (own[other], start.shares[other], ties[other]) for other in oracle.left
        )
        if now is not None:
            shares = [oracle.share(other) for other in oracle.left]
            assert now.own_words.tolist() == list(own.values())
            assert now.distinct_words == oracle.distinct()
            assert np.allclose(now.shares, shares, rtol=0, atol=1e-12)
            assert now.shares.sum() == pytest.approx(now.distinct_words, abs=1e-9)
        size, distinct = len(oracle.left), oracle.distinct()
        if size > 1:
            fall = distinct / size - oracle.distinct(without=row) / (size - 1)
            assert (size * own[row] - distinct) / (size * (size - 1)) == pytest.approx(fall, abs=1e-12)
        oracle.left.remove(row)


@pytest.mark.parametrize(
    ("sets", "own", "shares", "order"),
    [
        ([frozenset()], [0], [0.0], [0]),
        ([frozenset({7})], [1], [1.0], [0]),
        ([frozenset(), frozenset({0}), frozenset()], [0, 1, 0], [0.0, 1.0, 0.0], [0, 2, 1]),
        ([frozenset({0})] * 3, [0, 0, 0], [1 / 3] * 3, [0, 1, 2]),
        ([frozenset({0, 1}), frozenset({1, 2}), frozenset({1})], [1, 1, 0], [4 / 3, 4 / 3, 1 / 3], [2, 0, 1]),
    ],
    ids=["no word", "one row", "empty texts", "repeated rows", "a row within the others"],
)
def test_small_pools(sets: Sets, own: list[int], shares: list[float], order: list[int]) -> None:
    vocabulary = counted(sets)
    assert vocabulary.own_words.tolist() == own
    assert vocabulary.shares.tolist() == pytest.approx(shares, abs=1e-12)
    done = lowest(vocabulary, allowed=len(sets), ties=np.arange(len(sets)))
    assert done.units.tolist() == order
    assert vocabulary.own_words.tolist() == own  # counted once, used for more than one slice


def test_the_share_does_not_depend_on_how_words_are_numbered() -> None:
    rng = np.random.default_rng(4)
    sets = [frozenset(rng.integers(0, 300, 12).tolist()) for _ in range(ROWS)]
    new = rng.permutation(300)
    renumbered = [frozenset(new[list(words)].tolist()) for words in sets]
    assert counted(sets).shares.tobytes() == counted(renumbered).shares.tobytes()


def test_rows_in_another_order_go_in_the_same_order_but_for_ties() -> None:
    rng = np.random.default_rng(5)
    sets = [frozenset((1_000 * rng.random(14) ** 4).astype(int).tolist()) for _ in range(ROWS)]
    vocabulary = counted(sets)
    assert len(np.unique(vocabulary.shares)) == ROWS  # no ties
    order = rng.permutation(ROWS)
    again = lowest(counted([sets[row] for row in order]), allowed=ROWS, seed=1)
    assert order[again.units].tolist() == lowest(vocabulary, allowed=ROWS).units.tolist()


def test_only_candidates_go_and_the_words_of_others_count() -> None:
    sets = [frozenset({0}), frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})]
    done = lowest(counted(sets), allowed=4, candidates=np.array([1, 2]))
    assert done.units.tolist() == [1, 2]
    assert done.own_words.tolist() == [1, 0, 1, 2]


def test_a_unit_too_large_is_passed_over_and_room_ends_it() -> None:
    sets = [frozenset({0}), frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})]
    vocabulary = counted(sets)
    sizes = np.array([3, 1, 1, 1])
    done = lowest(vocabulary, allowed=2, sizes=sizes, counted=sizes)
    assert (done.units.tolist(), done.bound) == ([1, 2], False)
    done = lowest(vocabulary, allowed=4, room=2, sizes=sizes, counted=sizes)
    assert (done.units.tolist(), done.bound) == ([1, 2], True)
    done = lowest(vocabulary, allowed=4, room=1, counted=np.array([0, 1, 1, 1]), ties=np.arange(4))
    assert (done.units.tolist(), done.bound) == ([0, 2], True)


def test_a_groups_words_count_as_one_rows() -> None:
    sets = [frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 2}), frozenset({3})]
    vocabulary = count_vocabulary(row_words(sets), np.arange(4), np.array([1, 1, 0, 2]), 3)
    assert vocabulary.own_words.tolist() == [0, 1, 1]
    assert vocabulary.shares.tolist() == [1.0, 2.0, 1.0]
    assert (vocabulary.distinct_words, vocabulary.words_per_row) == (4, 7 / 4)
    assert lowest(vocabulary, allowed=3).own_words.tolist() == [0, 3, 1]


def assert_more_words_stay(words: RowWords, rows: int, share: float) -> None:
    vocabulary = count_vocabulary(words, np.arange(rows), np.arange(rows), rows)
    done = lowest(vocabulary, allowed=int(share * rows))
    left = np.setdiff1d(np.arange(rows), done.units)
    stayed = words_of(words, left)
    assert stayed == vocabulary.distinct_words - done.own_words[done.units].sum()
    drawn = [np.random.default_rng(number).choice(rows, len(left), replace=False) for number in range(20)]
    assert stayed > max(words_of(words, chosen) for chosen in drawn)


def words_of(words: RowWords, rows: np.ndarray) -> int:
    return len(np.unique(DistinctWords(words.offsets, words.numbers).of_rows(rows).numbers))


def test_more_words_of_real_pairs_stay(example_data: Path) -> None:
    files = [example_data / "snli" / f"{split}.parquet" for split in ("test", "validation")]
    pairs = pa.concat_tables([pq.read_table(file, columns=["premise", "hypothesis"]) for file in files])
    found = distinct_words(pairs.columns)
    words = check_row_words(RowWords(found.offsets, found.numbers), pairs.num_rows)
    for share in (0.25, 0.5, 0.75):
        assert_more_words_stay(words, pairs.num_rows, share)
    half = lowest(counted_all(words, pairs.num_rows), allowed=pairs.num_rows // 2)
    assert half.own_words[half.units].sum() == 0  # half of the pairs go without a single word


def counted_all(words: RowWords, rows: int) -> Vocabulary:
    return count_vocabulary(words, np.arange(rows), np.arange(rows), rows)


def test_of_the_small_grammar_no_row_has_words_of_its_own() -> None:
    source = TemplateNliSource(format="template_nli", splits={"train": 6_000}, planted_share=0.5, seed=0)
    drawn = template_nli(source)["train"]
    found = distinct_words([drawn["text"], drawn["text_pair"]])
    vocabulary = counted_all(RowWords(found.offsets, found.numbers), 6_000)
    assert vocabulary.distinct_words == 102
    assert vocabulary.rows_with.min() >= 100
    ties = np.random.default_rng(3).permutation(6_000)
    done = lowest(vocabulary, allowed=3_000, ties=ties)
    assert not done.own_words.any()
    assert done.units.tolist() == np.lexsort((ties, vocabulary.shares))[:3_000].tolist()


def test_the_same_slice_whatever_is_asked_for_beyond_it() -> None:
    rng = np.random.default_rng(8)
    vocabulary = counted([frozenset(rng.integers(0, 150, 6).tolist()) for _ in range(ROWS)])
    whole = lowest(vocabulary, allowed=ROWS).units
    for allowed in (1, 17, 120):
        assert lowest(vocabulary, allowed=allowed).units.tolist() == whole[:allowed].tolist()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([[0], [1]], "`words` is of type list; give `RowWords(offsets, numbers)`"),
        (RowWords(np.array([0, 1]), np.array([0])), "but 3 are needed, one more than `features` has"),
        (
            RowWords(np.array([0, 1, 3]), np.array([0, 1])),
            "`words.offsets` begins with 0 and ends with 3, but it must ascend from 0 to 2",
        ),
        (
            RowWords(np.array([1, 1, 2]), np.array([0, 1])),
            "`words.offsets` begins with 1 and ends with 2, but it must ascend from 0 to 2",
        ),
        (RowWords(np.array([0, 3, 2]), np.array([0, 1])), "it must ascend from 0 to 2"),
        (RowWords(np.array([0, 1, 2]), np.array([0, -1])), "but they must lie between 0 and 2147483646"),
        (RowWords(np.array([0, 1, 2]), np.array([0, 2**40])), "number the words from 0"),
        (
            RowWords(np.array([0, 1, 2]), np.array([0.0, 1.0])),
            "the dtype float64; give a 1-d array of integers",
        ),
        (RowWords(np.array([0, 1, 3]), np.array([4, 5, 5])), "`words` lists a word of row 1 twice; list each word"),
    ],
)
def test_words_are_checked_at_the_door(words: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check_row_words(words, 2)
    assert message in str(refused.value)


def test_a_pool_without_any_word_goes_in_the_drawn_order() -> None:
    vocabulary = counted([frozenset()] * 4)
    assert (vocabulary.distinct_words, vocabulary.words_per_row) == (0, 0.0)
    assert lowest(vocabulary, allowed=3, ties=np.array([2, 0, 3, 1])).units.tolist() == [1, 3, 0]


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_at_least_as_many_words_stay_as_in_random_sets(share: float) -> None:
    rng = np.random.default_rng(6)
    sets = [frozenset((5_000 * rng.random(10) ** 6).astype(int).tolist()) for _ in range(2_000)]
    assert_more_words_stay(row_words(sets), 2_000, share)
