"""Arrays of integers that contain the words of many texts. All word properties of the scan are computed from these
arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.data.words import WORD

MOST_CHARACTERS = 20_000
"""Number of characters at the start of each text from which words are read."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """The lower-case words of texts in reading order.

    `words`: int64, for each occurrence of a word, the word's number in `vocabulary`. `rows`: int64, for each
    occurrence, the number of the text. `starts`: int64 of shape (texts + 1,), the position of the first word of each
    text. `vocabulary`: the words, by number.
    """

    words: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    vocabulary: list[str]

    @property
    def texts(self) -> int:
        """Number of texts."""
        return len(self.starts) - 1

    @property
    def counts(self) -> np.ndarray:
        """Number of words of each text, int64."""
        return np.diff(self.starts)

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct words of each text as two arrays, texts and words, sorted by text and then by word."""
        keys = sorted_distinct(self.rows * max(len(self.vocabulary), 1) + self.words)
        return keys // max(len(self.vocabulary), 1), keys % max(len(self.vocabulary), 1)


def sorted_distinct(keys: np.ndarray) -> np.ndarray:
    """Return the distinct numbers, ascending. Sorting millions of them is faster than the hash table of `np.unique`."""
    ordered = np.sort(keys)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def tokens_of(texts: Sequence[str | None], known: dict[str, int] | None = None) -> Tokens:
    """Read the words of each text.

    `known`: an existing vocabulary to extend, so that two columns share their word numbers.
    """
    numbers = {} if known is None else known
    words: list[int] = []
    counts = np.zeros(len(texts) + 1, dtype=np.int64)
    for row, text in enumerate(texts):
        found = WORD.findall((text or "")[:MOST_CHARACTERS].lower())
        words.extend([numbers.setdefault(word, len(numbers)) for word in found])
        counts[row + 1] = len(found)
    starts = np.cumsum(counts)
    rows = np.repeat(np.arange(len(texts)), counts[1:])
    return Tokens(np.array(words, dtype=np.int64), rows, starts, list(numbers))


def common_words(first: Tokens, second: Tokens) -> np.ndarray:
    """Return how many distinct words the two texts of each row have in common, int64. The first and the second texts
    must use the same vocabulary.
    """
    size = max(len(first.vocabulary), len(second.vocabulary), 1)
    (rows, words), (other_rows, other_words) = first.distinct(), second.distinct()
    shared: np.ndarray = np.intersect1d(rows * size + words, other_rows * size + other_words)
    return np.bincount(shared // size, minlength=first.texts)
