"""Units of rows that stay in the same half of every cut, because they are in one group or are near copies of each
other.

Libraries were compared on texts of up to 60 words with 200 planted copies, each with one word changed. All times of the
comparison are CPU seconds. Every row that a method reported was a planted copy. Among 2,000 texts, the min-hashes of
this module took 0.06 s and found 170 copies. With 16 hashes, datasketch 2.0 took 0.7 s and found 105 copies; with 128
hashes, datasketch took 0.8 s and found 146 copies. Datalab of cleanlab, on TF-IDF, took 0.4 s and found 199 copies.
Among 10,000 texts, the min-hashes took 0.4 s and found 159 copies. With 16 hashes, datasketch took 3.3 s and found 90
copies; with 128 hashes, datasketch took 4.3 s and found 140 copies. Datalab of cleanlab took 4.6 s and found 193
copies. Datalab finds more copies, but compares all pairs of rows in a dense matrix, so its cost grows with the square
of the number of rows.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from aflite_assets.scan.properties.tokens import Tokens
from aflite_assets.scan.rows import ScanRows

FEWEST_WORDS = 6
"""Minimum length of near copies, in words; shorter texts are often equal by chance."""

_HASHES = 16
_ALIKE = 13
"""Minimum number of equal min-hashes, out of `_HASHES`, for near copies: a Jaccard similarity of about 0.8."""

_BANDS = 4
_LARGEST = 0.2
"""If a chain of near copies contains more than this share of the rows, only equal rows count as copies."""

_IDENTIFYING = 0.05
"""A column identifies rows if it has at least this many different values, as a share of the rows."""

_SHARED = 0.01
"""A column identifies no copies if fewer rows than this share have another row's value."""

_MOST_IDENTIFYING = 12
_AGREEING = 0.5
"""Rows of a table are near copies if they have the same values in at least this share of the identifying columns."""

_BY_CHANCE = 0.1
"""Equal rows of a table are no copies if chance explains more than this share of them."""


def copy_codes(rows: ScanRows, tokens: Sequence[Tokens], image_codes: Sequence[bytes] | None) -> np.ndarray:
    """Return a code per row, int64. Near copies have the same code.

    Two texts are near copies if they share about 80 % of their runs of three words (min-hashes, Broder 1997). Table
    rows are copies if all values are equal, or half of the values, and at least two, in columns with many different
    values, such as a time and a size. Rows of a table are no copies if independent columns would make them equal too,
    as in a table of a few columns with a few values each. Images are copies if they are equal after shrinking to 8 x 8
    pixels.
    """
    if image_codes is not None:
        return _coded(image_codes)
    if tokens:
        return _text_copies(tokens)
    if len(rows.columns) < 3:
        return np.arange(len(rows))
    codes = np.column_stack([_value_codes(column.values) for column in rows.columns.values()])
    first = _first_equal(codes, 1)
    return _linked(len(rows), [(first, np.arange(len(rows))), *_agreeing(codes)])


def _first_equal(codes: np.ndarray, tests: int) -> np.ndarray:
    """Return the first row with the same values as each row, or the row itself if chance makes such rows equal.

    `tests`: number of sets of columns that are compared.
    """
    _, first, same, times = np.unique(codes, axis=0, return_index=True, return_inverse=True, return_counts=True)
    expected = np.full(len(codes), tests * max(len(codes) - 1.0, 0.0))
    for own in codes.T:
        expected *= np.bincount(own)[own] / len(own)
    is_unlikely = expected < _BY_CHANCE * (times - 1)[same.reshape(-1)]
    return np.where(is_unlikely, first[same.reshape(-1)], np.arange(len(codes)))


def _agreeing(codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of rows that agree in two identifying columns, and in at least `_AGREEING` of them."""
    rows = np.arange(len(codes))
    different = codes.max(axis=0, initial=0) + 1
    able = (different >= _IDENTIFYING * len(rows)) & (len(rows) - different >= _SHARED * len(rows))
    chosen = np.flatnonzero(able)[np.argsort(different[able], kind="stable")[:_MOST_IDENTIFYING]]
    identifying = codes[:, chosen]
    both = list(combinations(range(len(chosen)), 2))
    pairs = []
    for first, second in both:
        partner = _first_equal(identifying[:, [first, second]], len(both))
        alike = (identifying == identifying[partner]).mean(axis=1) >= _AGREEING
        pairs.append((partner[alike], rows[alike]))
    return pairs


def _value_codes(values: np.ndarray | Sequence[str | None]) -> np.ndarray:
    """Return a code per value, int64. Equal values have the same code, and so do all missing values."""
    if isinstance(values, np.ndarray):
        return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64)
    return _coded(values)


def _coded(values: Sequence[Hashable]) -> np.ndarray:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _text_copies(tokens: Sequence[Tokens]) -> np.ndarray:
    words, starts = _beside(tokens)
    counts = np.diff(starts)
    long = np.flatnonzero(counts >= FEWEST_WORDS)
    sketches = _sketches(words, starts, long)
    exact = np.arange(len(counts))
    _, first, same = np.unique(sketches, axis=0, return_index=True, return_inverse=True)
    exact[long] = long[first[same.reshape(-1)]]
    near = _linked(len(counts), [(exact[long], long), *_near_pairs(sketches, long)])
    return near if np.bincount(near).max(initial=0) <= _LARGEST * len(counts) else exact


def _beside(tokens: Sequence[Tokens]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of each row's texts, concatenated, and the position of each row's first word."""
    rows = np.concatenate([one.rows for one in tokens])
    order = np.argsort(rows, kind="stable")
    counts = np.sum([one.counts for one in tokens], axis=0)
    return np.concatenate([one.words for one in tokens])[order], np.append(0, np.cumsum(counts))


def _sketches(words: np.ndarray, starts: np.ndarray, long: np.ndarray) -> np.ndarray:
    """Return min-hashes of the runs of three words in each long text, uint64 of shape (texts, hashes)."""
    rng = np.random.default_rng(0)  # a fixed seed: the hashes serve only to detect near copies
    mixed = words.astype(np.uint64)
    runs = np.empty(0, dtype=np.uint64)
    if len(mixed) >= 3:
        odd = rng.integers(1, 2**62, 3, dtype=np.uint64) * 2 + 1
        runs = (mixed[:-2] + 1) * odd[0] ^ (mixed[1:-1] + 7) * odd[1] ^ (mixed[2:] + 13) * odd[2]
    sketches = np.zeros((len(long), _HASHES), dtype=np.uint64)
    if not len(long):
        return sketches
    bounds = np.column_stack([starts[long], starts[long + 1] - 2]).reshape(-1)
    for number in range(_HASHES):
        factor, shift = rng.integers(1, 2**62, 2, dtype=np.uint64)
        hashed = runs * (factor * 2 + 1) + shift
        hashed ^= hashed >> np.uint64(31)
        hashed = np.append(hashed * np.uint64(0x9E3779B97F4A7C15), np.uint64(2**64 - 1))
        sketches[:, number] = np.minimum.reduceat(hashed, bounds)[::2]
    return sketches


def _near_pairs(sketches: np.ndarray, long: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of rows whose min-hashes are similar. Only rows with an equal band of hashes are compared."""
    width = _HASHES // _BANDS
    pairs = []
    for band in range(_BANDS):
        _, first, same = np.unique(
            sketches[:, band * width : (band + 1) * width], axis=0, return_index=True, return_inverse=True
        )
        partner = first[same.reshape(-1)] if len(sketches) else np.zeros(0, dtype=np.int64)
        alike = (sketches == sketches[partner]).sum(axis=1) >= _ALIKE
        pairs.append((long[alike], long[partner[alike]]))
    return pairs


def units_of(groups: np.ndarray | None, copies: np.ndarray) -> np.ndarray:
    """Return a code per row, int64 from 0. Rows have the same code if groups or copies link them, directly or through
    other rows.
    """
    if groups is None:
        return np.unique(copies, return_inverse=True)[1]
    rows = np.arange(len(copies))
    _, first_of_group, group = np.unique(groups, return_index=True, return_inverse=True)
    _, first_copy, copy = np.unique(copies, return_index=True, return_inverse=True)
    return _linked(len(copies), [(rows, first_of_group[group]), (rows, first_copy[copy])])


def _linked(rows: int, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = np.concatenate([one for one, _ in pairs])
    second = np.concatenate([two for _, two in pairs])
    links = coo_array((np.ones(len(first), dtype=bool), (first, second)), shape=(rows, rows))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
