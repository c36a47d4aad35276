"""Definition of a word, shared by all code that counts, tests or highlights words."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HYPHENS = r"[-\u2010\u2011]"

WORD = re.compile(rf"\w+(?:{_HYPHENS}\w+)*")
"""A run of letters, digits and underscores; runs joined by single hyphens are one word ("xz-17", "well-known")."""

_COUNTED = "[\\p{L}\\p{N}_]+(?:[-\u2010\u2011][\\p{L}\\p{N}_]+)*"
"""The same pattern for pyarrow, because the character classes of pyarrow cover only ASCII."""


_AT_ONCE = 10_000
"""Number of rows with texts in memory as Python strings at one time."""


@dataclass(frozen=True, eq=False)
class DistinctWords:
    """The distinct words of each row, as word numbers from 0 in order of first occurrence.

    `numbers`: int32, the word numbers of all rows, one row after the other. `offsets`: int64, the position of each
    row's first word in `numbers`, and the total number at the end.
    """

    offsets: np.ndarray
    numbers: np.ndarray

    def of_rows(self, rows: np.ndarray) -> "DistinctWords":
        """Return the words of the rows at these positions, in the given order."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return DistinctWords(offsets, self.numbers[places])


def distinct_words(texts: Sequence[pa.ChunkedArray]) -> DistinctWords:
    """Return the distinct lower-case words of each row over all columns of `texts`; a null has no words."""
    known: dict[str, int] = {}
    numbers, lengths = array("i"), array("q")
    table = pa.table([*texts], names=[str(place) for place in range(len(texts))])
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            # Words contain no spaces, so texts joined by a space are still split into the same words.
            present = dict.fromkeys(WORD.findall(" ".join([text or "" for text in row]).lower()))
            numbers.extend([known.setdefault(word, len(known)) for word in present])
            lengths.append(len(present))
    offsets = np.concatenate([[0], np.cumsum(np.frombuffer(lengths, np.int64))]) if lengths else np.zeros(1, np.int64)
    return DistinctWords(offsets, np.frombuffer(numbers, np.int32) if numbers else np.empty(0, np.int32))


def word_counts(texts: pa.ChunkedArray) -> np.ndarray:
    """Return the number of words of each text, float64 of shape (rows,); the number is NaN for a null."""
    return _floats(pc.count_substring_regex(texts, _COUNTED))


def character_counts(texts: pa.ChunkedArray) -> np.ndarray:
    """Return the number of characters (code points) of each text, float64 of shape (rows,); the number is NaN for a
    null.
    """
    return _floats(pc.utf8_length(texts))


def _floats(counts: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.fill_null(counts.cast(pa.float64()), float("nan")).to_numpy())
