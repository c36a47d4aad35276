import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models.classical.max_ppmi import (
    fit_word_information,
    largest_information,
    positive_information,
    word_counts,
)

NAMES = ("a", "b")


def test_unsmoothed_numbers_by_hand(table: Callable[..., Examples]) -> None:
    train = table([0, 0, 1, 1], NAMES, text=["A dog, a DOG!", "dog cat", "cat", "cat sun"])
    features = fit_word_information(train, inputs=None, smoothing=0)(train)
    # Rows that hold a word, by class: a 1 0, cat 1 2, dog 2 0, sun 0 1; in all 4 and 3 of 7.
    first, second = np.log(7 / 4), np.log(7 / 3)
    cat = np.log(2 / 7 / (3 / 7 * 3 / 7))
    np.testing.assert_allclose(features, [[first, 0], [first, cat], [0, cat], [0, second]])
    assert features.dtype == np.float64


def test_smoothed_numbers_by_hand(table: Callable[..., Examples]) -> None:
    train = table([0, 0, 1, 1], NAMES, text=["a dog", "dog cat", "cat", "cat sun"])
    features = fit_word_information(train, inputs=None, smoothing=100)(train)
    # a 101 100, cat 101 102, dog 102 100, sun 100 101; classes 404 and 403 of 807.
    dog = np.log(102 * 807 / (202 * 404))
    cat = np.log(102 * 807 / (203 * 403))
    sun = np.log(101 * 807 / (201 * 403))
    a = np.log(101 * 807 / (201 * 404))
    assert 0 < a < dog < 0.01
    np.testing.assert_allclose(features, [[dog, 0], [dog, cat], [0, cat], [0, max(cat, sun)]], atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_a_word_and_a_class_that_never_meet(smoothing: float) -> None:
    # The second class is small, and the second word rare.
    information = positive_information(np.array([[90.0, 9.0], [1.0, 0.0]]), smoothing=smoothing)
    # Smoothed 91 10 and 2 1: in all 104, the second word 3, the second class 11.
    assert information[1, 1] == pytest.approx(np.log(1 * 104 / (3 * 11)) if smoothing else 0.0)


def test_a_word_counts_apart_in_each_column(table: Callable[..., Examples]) -> None:
    train = table([0, 1], NAMES, text=["dog", "cat"], text_pair=["cat", "dog"])
    np.testing.assert_allclose(
        fit_word_information(train, inputs=None, smoothing=0)(train), np.log([[2, 1], [1, 2]]), atol=1e-12
    )
    swapped = table([0], NAMES, text=["cat"], text_pair=["cat"])
    np.testing.assert_allclose(fit_word_information(train, inputs=None, smoothing=0)(swapped), [[np.log(2)] * 2])
    np.testing.assert_allclose(fit_word_information(train, inputs=("text",), smoothing=0)(swapped), [[0, np.log(2)]])


def test_unknown_words_and_no_words_say_nothing(table: Callable[..., Examples]) -> None:
    train = table([0, 1], NAMES, text=["dog", "cat"])
    other = table([0, 0, 1, 1], NAMES, text=["", "!?", "zebra", "zebra cat"])
    features = fit_word_information(train, inputs=None, smoothing=0)(other)
    np.testing.assert_allclose(features, [[0, 0], [0, 0], [0, 0], [0, np.log(2)]])
    empty = fit_word_information(train, inputs=None, smoothing=0)(table([0], NAMES, text=["..."]))
    assert empty.tolist() == [[0, 0]]


def test_classes_without_train_rows_have_no_column(table: Callable[..., Examples]) -> None:
    train = table([0, 2], ("a", "b", "c"), text=["dog", "cat"])
    assert fit_word_information(train, inputs=None, smoothing=100)(train).shape == (2, 2)


def test_a_column_without_words_is_an_error(table: Callable[..., Examples]) -> None:
    train = table([0, 1], NAMES, text=["dog", "cat"], text_pair=["?", ""])
    with pytest.raises(DataError, match=r"column `text_pair` of 2 train rows has no words to count"):
        fit_word_information(train, inputs=None, smoothing=0)


def _plainly(rows: list[set[int]], labels: list[int], asked: list[set[int]], smoothing: float) -> np.ndarray:
    classes, words = sorted(set(labels)), sorted(set().union(*rows))
    counts = {
        (word, name): smoothing + sum(word in row and label == name for row, label in zip(rows, labels, strict=True))
        for word in words
        for name in classes
    }
    total = sum(counts.values())
    by_word = {word: sum(counts[word, name] for name in classes) for word in words}
    by_class = {name: sum(counts[word, name] for word in words) for name in classes}

    def information(word: int, name: int) -> float:
        if word not in by_word or counts[word, name] == 0:
            return 0.0
        return max(0.0, np.log(counts[word, name] / total / (by_word[word] / total * by_class[name] / total)))

    return np.array(
        [[max((information(word, name) for word in row), default=0.0) for name in classes] for row in asked]
    )


_ROWS = st.lists(st.sets(st.integers(0, 6), max_size=5), min_size=1, max_size=12)


@given(rows=_ROWS, smoothing=st.sampled_from([0.0, 0.5, 100.0]), data=st.data())
def test_the_same_numbers_as_in_plain_loops(rows: list[set[int]], smoothing: float, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    words = sparse.csr_matrix([[float(word in row) for word in range(7)] for row in rows])
    seen = np.flatnonzero(words.sum(axis=0).A1)
    if not len(seen):
        return
    information = positive_information(word_counts(words[:, seen], np.array(labels)), smoothing=smoothing)
    found = largest_information(words[:, seen], information)
    np.testing.assert_allclose(found, _plainly(rows, labels, rows, smoothing), atol=1e-9)


def test_hundreds_of_thousands_of_rows_take_seconds() -> None:
    rng = np.random.default_rng(0)
    rows, width, per_row = 300_000, 30_000, 12
    columns = np.minimum(rng.zipf(1.3, rows * per_row), width) - 1
    words = sparse.csr_matrix((np.ones(rows * per_row), columns, np.arange(rows + 1) * per_row), shape=(rows, width))
    labels = rng.integers(0, 3, rows)
    started = time.perf_counter()
    found = largest_information(words, positive_information(word_counts(words, labels), smoothing=100))
    assert time.perf_counter() - started < 5
    assert found.shape == (rows, 3)
