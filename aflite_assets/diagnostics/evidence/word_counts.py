"""Which words stand in which rows, how often with each class, and the z-statistic of each. Compares no sets."""

import re
from array import array
from dataclasses import dataclass

import numpy as np

from aflite_assets.data.examples import Examples

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Occurrences:
    """Each word of each row once: entry i says that word `words[i]` stands in row `rows[i]`."""

    vocabulary: list[tuple[str, str]]
    words: np.ndarray
    rows: np.ndarray

    def in_rows(self, least: int) -> "Occurrences":
        """Only the words that stand in so many rows or more, numbered anew in the same order."""
        often = np.bincount(self.words, minlength=len(self.vocabulary)) >= least
        stays = often[self.words]
        vocabulary = [word for word, frequent in zip(self.vocabulary, often.tolist(), strict=True) if frequent]
        return Occurrences(vocabulary, (np.cumsum(often) - 1)[self.words[stays]], self.rows[stays])


@dataclass(frozen=True)
class WordScores:
    """One set's numbers: rows per tested word and class, p0 per class, z per tested word and class."""

    counts: np.ndarray
    expected: np.ndarray
    z: np.ndarray


def z_statistics(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How far each word's label shares lie from the expected ones, in standard errors.

    Args:
        counts: words x classes, rows that hold the word and carry the label.
        expected: one share per class, p0.

    Returns:
        words x classes float64; NaN for a word without rows and for a class whose p0 is 0 or 1.
    """
    n = counts.sum(axis=1, keepdims=True).astype(np.float64)
    spread = np.sqrt(n * expected * (1 - expected))
    return np.divide(counts - n * expected, spread, out=np.full(counts.shape, np.nan), where=spread > 0)


def occurrences(examples: Examples) -> Occurrences:
    """Every word of every row, lower-cased; a word of `text` and the same of `text_pair` are two."""
    numbers: dict[tuple[str, str], int] = {}
    words, words_per_row = array("q"), []
    for column in ("text", "text_pair"):
        if column in examples.table.column_names:
            seen: dict[str, int] = {}
            for text in examples.table[column].to_pylist():
                present = dict.fromkeys(_WORD.findall((text or "").lower()))
                words_per_row.append(len(present))
                words.extend([seen.setdefault(word, len(numbers) + len(seen)) for word in present])
            numbers |= {(column, word): number for word, number in seen.items()}
    rows = np.resize(np.arange(len(examples)), len(words_per_row))
    return Occurrences(list(numbers), np.array(words, dtype=np.int64), np.repeat(rows, words_per_row))


def word_scores(found: Occurrences, examples: Examples, mask: np.ndarray) -> WordScores:
    """The numbers of the rows in `mask` (bool, one per row of `examples`)."""
    classes = len(examples.label_names)
    inside = mask[found.rows]
    cells = found.words[inside] * classes + examples.labels[found.rows[inside]]
    counts = np.bincount(cells, minlength=len(found.vocabulary) * classes).reshape(-1, classes)
    expected = np.bincount(examples.labels[mask], minlength=classes) / max(mask.sum(), 1)
    return WordScores(counts, expected, z_statistics(counts, expected))
