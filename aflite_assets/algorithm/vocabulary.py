"""Ranking of rows by their effect on the vocabulary. The words of a pool are counted, and rows are removed greedily
based on the counts.

Algorithm 1 of Mishra and Sachdeva (SustaiNLP 2020, "Do We Need to Create Big Datasets to Learn a Task?") sorts the
candidates of a slice by |V| / |X|, the number of distinct words per row. The ratio |V| / |X| is the first term of the
data quality index DQI (Mishra et al., arXiv 2005.00816). The module `selection.py` chooses the candidates and the
number of removed rows.

A unit is removed as a whole. A unit is a row, or a group that counts as one row with all words of the group. Let a pool
have N units and V distinct words, and let `rows_with(w)` be the number of units that contain the word w. For a unit r
of the pool:

- u(r), its *own words*: the number of words that no other unit contains. Removing r lowers V / N by (N u(r) - V) / (N
  (N - 1)). Units sorted by u are therefore also sorted by how much V / N falls when the unit is removed.
- phi(r), its *share of the vocabulary*: the sum of 1 / rows_with(w) over the words of r, which is the Shapley value of
  r. The shares of all units sum to V.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit

from aflite_assets.errors import InvalidInputError

_MOST_WORDS = np.iinfo(np.int32).max
_PARTS = 2**46
"""Number of parts of a word. Shares are counted in whole parts, so their sums do not depend on the order. The rounding
error per word is at most 1e-14.
"""
_MOST_PARTS = 2**62
"""Upper limit of a unit's share, 65,536 words, so that sums fit into 64 bits."""
_FEW = 32
"""Largest number of units that are sorted by insertion."""


@dataclass(frozen=True, eq=False)
class RowWords:
    """Distinct words of each row, taken from all texts of the row.

    `numbers`: the word numbers of all rows, row after row. Words are numbered from 0. `offsets`: rows + 1 ascending
    positions in `numbers`. The words of row i are `numbers[offsets[i] : offsets[i + 1]]`. Some word numbers may occur
    in no row. `check_row_words` converts `numbers` to int32 and `offsets` to int64.
    """

    offsets: np.ndarray
    numbers: np.ndarray

    @cached_property
    def n_numbers(self) -> int:
        """Largest word number plus one."""
        return int(self.numbers.max()) + 1 if len(self.numbers) else 0


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Word counts of a pool of units.

    `words`: the words of all input rows. `members`: the rows of the pool, unit after unit. `starts`: positions in
    `members`. The rows of unit i are `members[starts[i] : starts[i + 1]]`. `rows_with` (int32): number of units that
    contain each word. `holder` (int32): the numbers of all units that contain the word, combined by bitwise XOR. If
    only one unit contains the word, `holder` is the number of that unit. For each unit, `lengths` (int64) is the number
    of distinct words, `own_words` (int64) is u, and `shares` (float64) is phi. `distinct_words`: the number of distinct
    words in the pool, V. `words_per_row`: mean number of distinct words per row.
    """

    words: RowWords
    members: np.ndarray
    starts: np.ndarray
    rows_with: np.ndarray
    holder: np.ndarray
    lengths: np.ndarray
    own_words: np.ndarray
    shares: np.ndarray
    distinct_words: int
    words_per_row: float


class _PoolWords(NamedTuple):
    """The words of a pool for the compiled functions, as in `RowWords` and `Vocabulary`. `seen` stores, for each word,
    the last unit that contained the word, or -1.
    """

    offsets: np.ndarray
    numbers: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True, eq=False)
class LowestUnits:
    """Removed `units` in the order of removal, and `own_words`, the number of own words of each unit of the pool.

    For a removed unit, own words are counted at the time of its removal; for a kept unit, at the end. `bound`: True if
    the limit of counted rows prevented the removal of a unit.
    """

    units: np.ndarray
    own_words: np.ndarray
    bound: bool


def check_row_words(words: object, rows: int) -> RowWords:
    """Check the words, and return them with `offsets` as int64 and `numbers` as int32.

    Raises:
        InvalidInputError: `words` is not a `RowWords`, has a wrong number of rows, or lists a word twice for a row.
    """
    if not isinstance(words, RowWords):
        raise InvalidInputError(f"`words` is of type {type(words).__name__}; give `RowWords(offsets, numbers)`")
    offsets, numbers = np.asarray(words.offsets), np.asarray(words.numbers)
    for name, array in (("offsets", offsets), ("numbers", numbers)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InvalidInputError(
                f"`words.{name}` has the shape {array.shape} and the dtype {array.dtype}; give a 1-d array of integers"
            )
    if len(offsets) != rows + 1:
        raise InvalidInputError(
            f"`words.offsets` has {len(offsets)} entries, but {rows + 1} are needed, one more than `features` has "
            "rows; give `words` for exactly the rows of `features`"
        )
    offsets = offsets.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != len(numbers) or (np.diff(offsets) < 0).any():
        raise InvalidInputError(
            f"`words.offsets` begins with {offsets[0]} and ends with {offsets[-1]}, but it must ascend from 0 to "
            f"{len(numbers)}, the length of `words.numbers`; give the start of each row's words, and the end of the "
            "last row's words"
        )
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= _MOST_WORDS):
        raise InvalidInputError(
            f"`words.numbers` has values from {numbers.min()} to {numbers.max()}, but they must lie between 0 and "
            f"{_MOST_WORDS - 1}; number the words from 0"
        )
    checked = RowWords(offsets, np.ascontiguousarray(numbers, dtype=np.int32))
    repeated = int(_row_with_a_word_twice(checked.offsets, checked.numbers, np.full(checked.n_numbers, -1, np.int32)))
    if repeated >= 0:
        raise InvalidInputError(f"`words` lists a word of row {repeated} twice; list each word of a row once")
    return checked


def count_vocabulary(words: RowWords, rows: np.ndarray, units: np.ndarray, n_units: int) -> Vocabulary:
    """Count the words of a pool in a single pass over all words.

    `rows`: the row numbers of the pool. `units`: the unit of each row, from 0 to `n_units` - 1; every unit has at least
    one row.
    """
    members = rows[np.argsort(units, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(units, minlength=n_units))])
    rows_with, holder = np.zeros(words.n_numbers, np.int32), np.zeros(words.n_numbers, np.int32)
    lengths, own_words, parts = (np.zeros(n_units, np.int64) for _ in range(3))
    _count(_pool_words(words, members, starts), rows_with, holder, own_words)
    word_parts = np.rint(_PARTS / np.maximum(rows_with, 1)).astype(np.int64)
    _share(_pool_words(words, members, starts), word_parts, lengths, parts)
    occurrences = (words.offsets[rows + 1] - words.offsets[rows]).sum()
    return Vocabulary(
        words,
        members,
        starts,
        rows_with,
        holder,
        lengths,
        own_words,
        parts / _PARTS,
        int(np.count_nonzero(rows_with)),
        float(occurrences / len(rows)) if len(rows) else 0.0,
    )


def remove_lowest(
    vocabulary: Vocabulary,
    candidates: np.ndarray,
    *,
    ties: np.ndarray,
    sizes: np.ndarray,
    counted: np.ndarray,
    allowed: int,
    room: int,
) -> LowestUnits:
    """Remove candidates one by one. Each step removes the candidate with the fewest words that no other unit of the
    remaining pool contains (its own words).

    Among candidates with equally few own words, the candidate with the smallest share of the vocabulary at the start is
    removed first. Candidates with equal shares are removed in the order of `ties`. Each removal is optimal given the
    earlier removals. The best set of a given size is not computed, because finding that set is the maximum coverage
    problem, which is NP-hard. All removals together take time proportional to the number of words in the pool, plus a
    sort of the candidates.

    Args:
        vocabulary: the vocabulary of the pool, which is not changed.
        candidates: the units that may be removed.
        ties, sizes, counted: for each unit, a random number, the number of rows, and the number of rows that count
            towards the target.
        allowed: the maximum number of rows to remove. A unit that would exceed `allowed` is skipped.
        room: the maximum number of counted rows to remove. When `room` counted rows are removed, no further unit is
            removed.
    """
    own_words = vocabulary.own_words.copy()
    ranked = candidates[np.argsort(vocabulary.shares[candidates])]
    _order_ties(vocabulary.shares[ranked], ties[ranked], ranked)
    removed = np.empty(len(ranked), np.int64)
    taken, bound = _remove(
        _pool_words(vocabulary.words, vocabulary.members, vocabulary.starts),
        vocabulary.rows_with.copy(),
        vocabulary.holder.copy(),
        own_words,
        ranked,
        int(vocabulary.lengths[ranked].max()) + 1 if len(ranked) else 1,
        sizes,
        counted,
        allowed,
        room,
        removed,
    )
    return LowestUnits(removed[:taken], own_words, bool(bound))


def _pool_words(words: RowWords, members: np.ndarray, starts: np.ndarray) -> _PoolWords:
    unseen = np.full(words.n_numbers, -1, dtype=np.int32)
    return _PoolWords(words.offsets, words.numbers, members, starts, unseen)


@njit(nogil=True, cache=True)
def _row_with_a_word_twice(offsets: np.ndarray, numbers: np.ndarray, seen: np.ndarray) -> int:
    """Return the first row that lists a word twice, or -1 if there is none."""
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            if seen[numbers[at]] == row:
                return row
            seen[numbers[at]] = row
    return -1


@njit(nogil=True, cache=True)
def _count(
    pool: _PoolWords,
    rows_with: np.ndarray,
    holder: np.ndarray,
    own_words: np.ndarray,
) -> None:
    single = len(pool.starts) - 1 == len(pool.members)  # then no word can come twice
    for unit in range(len(pool.starts) - 1):
        for place in range(pool.starts[unit], pool.starts[unit + 1]):
            row = pool.members[place]
            for at in range(pool.offsets[row], pool.offsets[row + 1]):
                word = pool.numbers[at]
                if single or pool.seen[word] != unit:
                    if not single:
                        pool.seen[word] = unit
                    rows_with[word] += 1
                    holder[word] ^= unit
    for word in range(len(rows_with)):
        if rows_with[word] == 1:
            own_words[holder[word]] += 1


@njit(nogil=True, cache=True)
def _share(
    pool: _PoolWords,
    word_parts: np.ndarray,
    lengths: np.ndarray,
    parts: np.ndarray,
) -> None:
    single = len(pool.starts) - 1 == len(pool.members)
    for unit in range(len(pool.starts) - 1):
        length, total = 0, 0
        for place in range(pool.starts[unit], pool.starts[unit + 1]):
            row = pool.members[place]
            for at in range(pool.offsets[row], pool.offsets[row + 1]):
                word = pool.numbers[at]
                if single or pool.seen[word] != unit:
                    if not single:
                        pool.seen[word] = unit
                    length += 1
                    total = min(total + word_parts[word], _MOST_PARTS)
        lengths[unit] = length
        parts[unit] = total


@njit(nogil=True, cache=True)
def _order_ties(shares: np.ndarray, ties: np.ndarray, ranked: np.ndarray) -> None:
    """Sort adjacent units with equal shares by their random numbers. The three arrays have one entry per candidate, in
    ascending order of the shares.

    Because equal shares are rare, this function is several times as fast as `np.lexsort` on both keys.
    """
    first = 0
    while first < len(ranked):
        stop = first + 1
        while stop < len(ranked) and shares[stop] == shares[first]:
            stop += 1
        if stop - first > _FEW:
            order = np.argsort(ties[first:stop])
            ranked[first:stop] = ranked[first:stop][order]
        else:
            for place in range(first + 1, stop):
                tie, unit, before = ties[place], ranked[place], place - 1
                while before >= first and ties[before] > tie:
                    ties[before + 1], ranked[before + 1] = ties[before], ranked[before]
                    before -= 1
                ties[before + 1], ranked[before + 1] = tie, unit
        first = stop


@njit(nogil=True, cache=True)
def _remove(
    pool: _PoolWords,
    rows_with: np.ndarray,
    holder: np.ndarray,
    own_words: np.ndarray,
    ranked: np.ndarray,
    levels: int,
    sizes: np.ndarray,
    counted: np.ndarray,
    allowed: int,
    room: int,
    removed: np.ndarray,
) -> tuple[int, bool]:
    """Write the removed units to `removed`. Return the number of removed units, and True if `room` was the limit. A
    level consists of the candidates with the same number of own words.

    The number of own words of a unit never falls, so no unit is added to a level that is being processed. If a unit has
    gained own words, the unit is moved to a higher level.
    """
    by_level, begins = _levels(ranked, own_words, levels)
    moved, next_moved = np.full(levels, -1, np.int64), np.full(len(ranked), -1, np.int64)
    taken, bound = 0, False
    for level in range(levels):
        for rank in _merged(by_level[begins[level] : begins[level + 1]], _listed(moved[level], next_moved)):
            unit = ranked[rank]
            if own_words[unit] > level:
                next_moved[rank] = moved[own_words[unit]]
                moved[own_words[unit]] = rank
                continue
            if room == 0 or allowed == 0:
                return taken, bound or room == 0
            if sizes[unit] > allowed:
                continue
            if counted[unit] > room:
                bound = True
                continue
            removed[taken] = unit
            taken += 1
            allowed -= sizes[unit]
            room -= counted[unit]
            _take_out(unit, pool, rows_with, holder, own_words)
    return taken, bound or room == 0


@njit(nogil=True, cache=True)
def _take_out(
    unit: int,
    pool: _PoolWords,
    rows_with: np.ndarray,
    holder: np.ndarray,
    own_words: np.ndarray,
) -> None:
    """Subtract the words of a unit from the counts. If only one other unit still contains a word, the word becomes that
    unit's own word.
    """
    single = len(pool.starts) - 1 == len(pool.members)
    for place in range(pool.starts[unit], pool.starts[unit + 1]):
        row = pool.members[place]
        for at in range(pool.offsets[row], pool.offsets[row + 1]):
            word = pool.numbers[at]
            if single or pool.seen[word] != unit:
                if not single:
                    pool.seen[word] = unit
                rows_with[word] -= 1
                holder[word] ^= unit
                if rows_with[word] == 1:
                    own_words[holder[word]] += 1


@njit(nogil=True, cache=True)
def _levels(ranked: np.ndarray, own_words: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks sorted by the number of own words (the level), ascending within a level. Also return the first
    position of each level.
    """
    begins = np.zeros(levels + 1, np.int64)
    for rank in range(len(ranked)):
        begins[own_words[ranked[rank]] + 1] += 1
    for level in range(levels):
        begins[level + 1] += begins[level]
    by_level, filled = np.empty(len(ranked), np.int64), begins[:-1].copy()
    for rank in range(len(ranked)):
        level = own_words[ranked[rank]]
        by_level[filled[level]] = rank
        filled[level] += 1
    return by_level, begins


@njit(nogil=True, cache=True)
def _listed(first: int, following: np.ndarray) -> np.ndarray:
    """Return the ranks of a linked list in ascending order."""
    length, rank = 0, first
    while rank >= 0:
        length += 1
        rank = following[rank]
    ranks, rank = np.empty(length, np.int64), first
    for place in range(length):
        ranks[place] = rank
        rank = following[rank]
    ranks.sort()
    return ranks


@njit(nogil=True, cache=True)
def _merged(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Merge two ascending lists into one. If the second list is empty, the first list is returned unchanged."""
    if len(second) == 0:
        return first
    both, at, other = np.empty(len(first) + len(second), np.int64), 0, 0
    for place in range(len(both)):
        if other == len(second) or (at < len(first) and first[at] < second[other]):
            both[place] = first[at]
            at += 1
        else:
            both[place] = second[other]
            other += 1
    return both
