"""Single words that predict a label, before and after filtering: the competency z-statistic.

Gardner et al. 2021, "Competency Problems" (arXiv 2104.08646), section 3: in a task that requires understanding, no
single word should be informative about the label. Let a word occur in n rows, and let p be the share of these rows with
the label. Then

    z = (p - p0) / sqrt(p0 (1 - p0) / n)

The paper sets p0 = 1 / classes. Here p0 is the label's share in the given set of rows, which equals 1 / classes for
balanced data. On imbalanced data, p0 = 1 / classes would make many words significant because of the class sizes alone.

The statistic z grows with the square root of n, so it is usually smaller in a smaller set. To show the effect of
filtering alone, the kept set is compared with random sets that have the same number of rows of each class. The paper
does not use random sets.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.words import WORD
from aflite_assets.diagnostics.record_tables import random_rows, table_of
from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class AmongDraws:
    """One statistic, computed for the full set, the kept set and each random set."""

    full: float
    random: tuple[float, ...]
    kept: float

    @property
    def mean(self) -> float:
        """Mean of the statistic over the random sets."""
        return float(np.mean(self.random))

    @property
    def deviation(self) -> float:
        """Standard deviation of the statistic over the random sets."""
        return float(np.std(self.random, ddof=1))

    @property
    def drop(self) -> float:
        """Return the drop that the smaller size does not explain: the random sets' mean minus the kept set's value."""
        return self.mean - self.kept

    @property
    def kept_is_lowest(self) -> bool:
        """True if the kept set has the lowest value; the probability by chance is at most 1 / (draws + 1)."""
        return self.kept < min(self.random)

    @property
    def kept_is_highest(self) -> bool:
        """True if the kept set has the highest value; the probability by chance is at most 1 / (draws + 1)."""
        return self.kept > max(self.random)


@dataclass(frozen=True)
class Occurrences:
    """Occurrences of words in rows: word `words[i]` occurs in row `rows[i]`; each pair is listed once."""

    vocabulary: list[tuple[str, str]]
    words: np.ndarray
    rows: np.ndarray

    def in_rows(self, least: int) -> "Occurrences":
        """Return the occurrences of words that at least `least` rows contain; words are renumbered in order."""
        often = np.bincount(self.words, minlength=len(self.vocabulary)) >= least
        stays = often[self.words]
        vocabulary = [word for word, frequent in zip(self.vocabulary, often.tolist(), strict=True) if frequent]
        return Occurrences(vocabulary, (np.cumsum(often) - 1)[self.words[stays]], self.rows[stays])

    def matrix(self, rows: int) -> Any:
        """Return a scipy CSC matrix (rows x words, float64) with 1 if the row contains the word."""
        from scipy.sparse import csc_array

        return csc_array((np.ones(len(self.words)), (self.rows, self.words)), shape=(rows, len(self.vocabulary)))


@dataclass(frozen=True)
class WordScores:
    """Statistics of the tested words in one set of rows.

    `counts`: number of rows per word and class. `expected`: p0 per class. `z`: the statistic z per word and class.
    """

    counts: np.ndarray
    expected: np.ndarray
    z: np.ndarray


@dataclass(frozen=True)
class WordArtifacts:
    """Words associated with a label in the full set, the kept set, and random sets with the kept set's class sizes.

    `over_line`: a table of the number of words with z above `line`, per class. The columns are `label`, `label_name`,
    `words_full`, `words_random` (mean), `random_deviation`, `random_least`, `random_most`, `words_kept` and
    `drop_beyond_random`. The table's last row, with null `label`, is the sum over classes, which is also stored in
    `words_over_line`.

    `mean_z`: the mean z of the words with the highest z of each label in the full set, among the words whose z is above
    `line` there and defined in the kept set; None if there are no such words. A word without rows counts as z = 0,
    because it predicts nothing; z is undefined if none or all of the kept rows belong to the class. `line`: the value
    of z that no word exceeds by chance, at the significance level of all tested words and labels together. All sets
    have the same number of tests, so their counts can be compared.
    """

    over_line: pa.Table
    mean_z: AmongDraws | None
    words_over_line: AmongDraws
    line: float


_OVER_LINE = pa.schema(
    {
        "label": pa.int64(),
        "label_name": pa.string(),
        "words_full": pa.int64(),
        "words_random": pa.float64(),
        "random_deviation": pa.float64(),
        "random_least": pa.int64(),
        "random_most": pa.int64(),
        "words_kept": pa.int64(),
        "drop_beyond_random": pa.float64(),
    }
)


def word_artifacts(
    examples: Examples,
    kept: np.ndarray,
    *,
    seed: int,
    draws: int = 20,
    top: int = 20,
    min_rows: int = 20,
    significance: float = 0.01,
) -> WordArtifacts | None:
    r"""Test every word for every label in the full set, the kept set, and random sets with the kept set's class sizes.

    Words are the lower-cased words of a text (`data.words.WORD`), counted once per row; the same word in `text` and in
    `text_pair` counts as two words. Random sets are rows of `examples` drawn one by one within each class. If the
    filter removed whole groups, random sets of single rows vary less than random sets of whole groups.

    Args:
        examples: the full set, with texts; usually the train rows.
        kept: ids of the rows that filtering kept, all in `examples`.
        seed: seed of the random sets; set i is drawn with the seed (seed, i).
        draws: number of random sets, at least 2.
        top: number of words per label whose mean z is computed.
        min_rows: words that occur in fewer rows of the full set are not tested, because their z is not normally
            distributed.
        significance: probability, in (0, 1), that at least one word exceeds the line although no word is informative
            (one-sided, Bonferroni over all tests).

    Returns:
        The statistics, or None if no word can be tested.

    Raises:
        InvalidInputError: the rows have no texts, `kept` contains rows outside `examples`, or a setting is out of its
            range.
    """
    _check(examples, kept, draws, top, min_rows, significance)
    present = occurrences(examples).in_rows(min_rows)
    mask = np.isin(examples.row_ids, kept)
    full, left = (word_scores(present, examples, rows) for rows in (np.ones(len(examples), dtype=bool), mask))
    listed = _top_words(full, top)
    if not len(listed):
        return None
    line = -NormalDist().inv_cdf(significance / full.z.size)
    z, counts = _draws(present, examples, mask, listed, line, seed=seed, draws=draws)
    over_line = [
        AmongDraws(int((full.z[:, label] > line).sum()), tuple(of_label), int((left.z[:, label] > line).sum()))
        for label, of_label in enumerate(counts.T.tolist())
    ]
    together = AmongDraws(
        sum(word_counts.full for word_counts in over_line),
        tuple(counts.sum(axis=1).tolist()),
        sum(word_counts.kept for word_counts in over_line),
    )
    return WordArtifacts(
        over_line=_over_line_table([*over_line, together], examples.label_names),
        mean_z=_mean_z(_listed_z(full, listed), _listed_z(left, listed), z, line),
        words_over_line=together,
        line=line,
    )


def _top_words(full: WordScores, top: int) -> np.ndarray:
    """Return the words with the highest z for each class, as an array of pairs (word, class).

    Of two words with equal z, the more frequent comes first.
    """
    rows = full.counts.sum(axis=1)
    places = [np.empty((0, 2), dtype=np.int64)]
    for label, scores in enumerate(full.z.T):
        order = np.lexsort((-rows, -scores))
        words = order[~np.isnan(scores[order])][:top]
        places.append(np.stack([words, np.full_like(words, label)], axis=1))
    return np.concatenate(places)


def _listed_z(tested: WordScores, listed: np.ndarray) -> np.ndarray:
    """Return z of each listed word; z is 0 for a word without rows, and NaN if p0 is 0 or 1."""
    words, labels = listed.T
    gone = ~tested.counts[words].any(axis=1)
    defined = (tested.expected[labels] > 0) & (tested.expected[labels] < 1)
    return np.where(gone & defined, 0.0, tested.z[words, labels])


def _draws(
    present: Occurrences,
    examples: Examples,
    kept: np.ndarray,
    listed: np.ndarray,
    line: float,
    *,
    seed: int,
    draws: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw random sets with as many rows of each class as `kept`.

    Return z of each listed word (draws x words), and the number of words with z above the line (draws x classes).
    """
    z, over_line = [], []
    for number in range(draws):
        mask = random_rows(examples.labels, kept, np.random.default_rng([seed, number]))
        drawn = word_scores(present, examples, mask)
        z.append(_listed_z(drawn, listed))
        over_line.append((drawn.z > line).sum(axis=0))
    return np.array(z), np.array(over_line)


def _mean_z(before: np.ndarray, kept: np.ndarray, random: np.ndarray, line: float) -> AmongDraws | None:
    """Return the mean z of the listed words whose z is above the line in the full set.

    A class is ignored if no kept row or every kept row belongs to the class.
    """
    chosen = (before > line) & ~np.isnan(kept)
    if not chosen.any():
        return None
    means = random[:, chosen].mean(axis=1)
    return AmongDraws(float(before[chosen].mean()), tuple(means.tolist()), float(kept[chosen].mean()))


def _over_line_table(counts: Sequence[AmongDraws], label_names: Sequence[str]) -> pa.Table:
    """Return a table with one row per class and a last row for all classes together."""
    keys = [*enumerate(label_names), (None, None)]
    records = [
        (*key, count.full, count.mean, count.deviation, min(count.random), max(count.random), count.kept, count.drop)
        for key, count in zip(keys, counts, strict=True)
    ]
    return table_of(records, _OVER_LINE)


def _check(examples: Examples, kept: np.ndarray, draws: int, top: int, min_rows: int, significance: float) -> None:
    if "text" not in examples.table.column_names:
        raise InvalidInputError(f"the rows are {examples.modality} and have no words; give rows with texts")
    foreign = np.setdiff1d(kept, examples.row_ids)
    if foreign.size:
        raise InvalidInputError(
            f"{foreign.size} kept rows are not among the examples (the first is row {foreign[0]}); give the full set "
            "of rows that was filtered"
        )
    if draws < 2 or top < 1 or min_rows < 1 or not 0 < significance < 1:
        raise InvalidInputError(
            f"`draws` is {draws}, `top` is {top}, `min_rows` is {min_rows} and `significance` is {significance}; set "
            "`draws` to at least 2, `top` and `min_rows` to at least 1, and `significance` to between 0 and 1"
        )


def z_statistics(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Compute the difference between each word's label shares and the expected shares, in standard errors.

    Args:
        counts: words x classes, number of rows that contain the word and have the label.
        expected: one share per class, p0.

    Returns:
        words x classes float64; NaN for a word without rows and for a class with p0 = 0 or p0 = 1.
    """
    n = counts.sum(axis=1, keepdims=True).astype(np.float64)
    spread = np.sqrt(n * expected * (1 - expected))
    return np.divide(counts - n * expected, spread, out=np.full(counts.shape, np.nan), where=spread > 0)


def occurrences(examples: Examples) -> Occurrences:
    """Return every distinct lower-cased word of every row; a word in `text` and in `text_pair` counts as two words."""
    numbers: dict[tuple[str, str], int] = {}
    words, words_per_row = array("q"), []
    for column in ("text", "text_pair"):
        if column in examples.table.column_names:
            seen: dict[str, int] = {}
            for text in examples.table[column].to_pylist():
                present = dict.fromkeys(WORD.findall((text or "").lower()))
                words_per_row.append(len(present))
                words.extend([seen.setdefault(word, len(numbers) + len(seen)) for word in present])
            numbers |= {(column, word): number for word, number in seen.items()}
    rows = np.resize(np.arange(len(examples)), len(words_per_row))
    return Occurrences(list(numbers), np.array(words, dtype=np.int64), np.repeat(rows, words_per_row))


def word_scores(present: Occurrences, examples: Examples, mask: np.ndarray) -> WordScores:
    """Compute the word scores of the set of rows in `mask` (bool, one per row of `examples`)."""
    classes = len(examples.label_names)
    inside = mask[present.rows]
    cells = present.words[inside] * classes + examples.labels[present.rows[inside]]
    counts = np.bincount(cells, minlength=len(present.vocabulary) * classes).reshape(-1, classes)
    expected = np.bincount(examples.labels[mask], minlength=classes) / max(mask.sum(), 1)
    return WordScores(counts, expected, z_statistics(counts, expected))
