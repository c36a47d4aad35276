import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data import words as words_module
from aflite_assets.data.words import WORD, character_counts, distinct_words, word_counts

FIRST = ["A dog, a DOG!", None, "", "naïve Ångström well-known 数据", "one_two 3 x'y"]
SECOND = ["The dog sleeps.", "dog", None, "well known", "3"]


def test_the_words_of_each_row_are_those_of_all_its_texts_each_once() -> None:
    found = distinct_words([pa.chunked_array([FIRST]), pa.chunked_array([SECOND])])
    rows = np.split(found.numbers, found.offsets[1:-1])
    names = ["a", "dog", "the", "sleeps", "naïve", "ångström", "well-known", "数据", "well", "known", "one_two", "3"]
    names += ["x", "y"]  # in the order in which they are met
    assert [[names[number] for number in row] for row in rows] == [
        ["a", "dog", "the", "sleeps"],
        ["dog"],
        [],
        ["naïve", "ångström", "well-known", "数据", "well", "known"],
        ["one_two", "3", "x", "y"],
    ]
    assert (found.offsets.dtype, found.numbers.dtype) == (np.int64, np.int32)


def test_chunks_and_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = distinct_words([pa.chunked_array([FIRST]), pa.chunked_array([SECOND])])
    monkeypatch.setattr(words_module, "_AT_ONCE", 2)
    parts = distinct_words([pa.chunked_array([FIRST[:1], FIRST[1:]]), pa.chunked_array([SECOND[:3], SECOND[3:]])])
    assert whole.offsets.tolist() == parts.offsets.tolist()
    assert whole.numbers.tolist() == parts.numbers.tolist()


def test_a_table_without_rows_or_words() -> None:
    none = distinct_words([pa.chunked_array([], pa.string())])
    assert (none.offsets.tolist(), none.numbers.tolist()) == ([0], [])
    empty = distinct_words([pa.chunked_array([["", None]], pa.string())])
    assert (empty.offsets.tolist(), empty.numbers.tolist()) == ([0, 0, 0], [])


def test_words_of_some_rows_in_an_order() -> None:
    found = distinct_words([pa.chunked_array([["a b", "c", "", "b d e"]])])
    chosen = found.of_rows(np.array([3, 2, 0]))
    assert chosen.offsets.tolist() == [0, 3, 3, 5]
    assert chosen.numbers.tolist() == [1, 3, 4, 0, 1]
    assert found.of_rows(np.array([], dtype=np.int64)).offsets.tolist() == [0]


def test_counts_are_of_the_same_words() -> None:
    texts = pa.chunked_array([["A well-known dog", "naïve 数据", None, ""]])
    assert word_counts(texts)[[0, 1, 3]].tolist() == [3, 2, 0]
    assert [len(WORD.findall(text or "")) for text in texts.to_pylist()] == [3, 2, 0, 0]
    assert np.isnan(word_counts(texts)[2])
    assert character_counts(texts)[:2].tolist() == [16, 8]
