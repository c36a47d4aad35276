"""Numbering of the words, word pairs, word triples and sentences of texts, and the rows in which they occur."""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.words import WORD
from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Items:
    """All occurrences of one kind of item: occurrence i is an occurrence of item `numbers[i]` in row `rows[i]`.

    `numbers`, in [0, `distinct`), and `rows` are int32 of shape (occurrences,).
    """

    numbers: np.ndarray
    rows: np.ndarray
    distinct: int

    def counts(self, chosen: np.ndarray) -> np.ndarray:
        """Return how often each item occurs in the `chosen` rows (bool, one per row), int64 of shape (distinct,)."""
        return np.bincount(self.numbers[chosen[self.rows]], minlength=self.distinct)


@dataclass(frozen=True, eq=False)
class TextItems:
    """The items (words, word sequences, sentences) of the texts of some rows.

    Every text counts as one sentence, so a pair of texts has two sentences. `sentences` has one occurrence per
    sentence, and `lengths` (int64, in the same order) contains the number of words of each sentence. `differences`:
    difference in the number of words between a row's two texts, float64 of shape (`size`,); NaN if the row does not
    have two texts. `size`: number of rows.
    """

    size: int
    words: Items
    bigrams: Items
    trigrams: Items
    sentences: Items
    lengths: np.ndarray
    differences: np.ndarray


def text_items(columns: Sequence[pa.ChunkedArray]) -> TextItems:
    """Assign numbers to the items of the rows' texts, in one pass over their words.

    Words are the lower-cased matches of `data.words.WORD`; a word that occurs in both texts is one item. Word pairs and
    triples do not cross the end of a text. Two sentences are the same item if they have the same words in the same
    order.

    Args:
        columns: one column of texts, or two of equal length for pairs; a null is not a text.

    Raises:
        InvalidInputError: there are no text columns, more than two text columns, or columns of different lengths.
    """
    sizes = {len(column) for column in columns}
    if not 1 <= len(columns) <= 2 or len(sizes) > 1:
        raise InvalidInputError(
            f"there are {len(columns)} text columns of {sorted(sizes)} rows; give one or two text columns of equal "
            "length"
        )
    size = sizes.pop()
    occurring, lengths, sentences, vocabulary, distinct = _read(columns)
    present = lengths >= 0
    rows = np.resize(np.arange(size, dtype=np.int32), len(lengths))[present]
    differences = np.full(size, np.nan)
    if len(columns) == 2:
        first, second = np.split(lengths, 2)
        differences = np.where((first < 0) | (second < 0), np.nan, np.abs(first - second))
    lengths = lengths[present]
    word_rows = np.repeat(rows, lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(occurring))
    bigrams, bigram_at = _longer(occurring, occurring, left, 2, vocabulary, word_rows)
    trigrams, _ = _longer(bigram_at, occurring, left, 3, vocabulary, word_rows)
    return TextItems(
        size=size,
        words=Items(occurring, word_rows, vocabulary),
        bigrams=bigrams,
        trigrams=trigrams,
        sentences=Items(sentences, rows, distinct),
        lengths=lengths,
        differences=differences,
    )


def _read(columns: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
    """Return word numbers, numbers of words per text, sentence numbers, and the counts of distinct words and sentences.

    The number of words of a missing text is -1.
    """
    vocabulary: defaultdict[str, int] = defaultdict()
    known: defaultdict[str, int] = defaultdict()
    for numbers in (vocabulary, known):
        numbers.default_factory = numbers.__len__
    words, lengths, sentences = array("i"), array("q"), array("i")
    for column in columns:
        for text in column.to_pylist():
            if text is None:
                lengths.append(-1)
                continue
            found = WORD.findall(text.lower())
            words.extend([vocabulary[word] for word in found])
            lengths.append(len(found))
            sentences.append(known[" ".join(found)])
    return (
        np.array(words, dtype=np.int32),
        np.array(lengths, dtype=np.int64),
        np.array(sentences, dtype=np.int32),
        len(vocabulary),
        len(known),
    )


def _longer(
    shorter: np.ndarray, words: np.ndarray, left: np.ndarray, length: int, vocabulary: int, word_rows: np.ndarray
) -> tuple[Items, np.ndarray]:
    """Return the sequences of `length` words as items, and the number of the sequence that begins at each position.

    `shorter`: the sequence number at each position, for sequences with one word less. `left`: for each position, the
    number of words from the position to the end of the text.
    """
    starts = np.flatnonzero(left >= length)
    keys = shorter[starts].astype(np.int64) * vocabulary + words[starts + length - 1]
    encoded = pa.array(keys).dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    at_place = np.zeros(len(words), dtype=np.int32)
    at_place[starts] = numbers
    return Items(numbers, word_rows[starts], len(encoded.dictionary)), at_place
