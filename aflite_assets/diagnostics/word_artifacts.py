"""Which single words give a label away, before and after filtering: the competency z-statistic. No models.

Gardner et al. 2021, "Competency Problems" (arXiv 2104.08646), section 3: in a task that needs understanding
no single word should say anything about the label. For a word in n rows, of which a share p carries the label,

    z = (p - p0) / sqrt(p0 (1 - p0) / n)

The paper takes p0 = 1 / classes. Here p0 is the label's share in the set of rows that is looked at: the same
on balanced data, and on others it keeps the class sizes themselves from marking every word.
"""

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pyarrow as pa

from aflite_assets.diagnostics.tables import table_of
from aflite_assets.errors import InvalidInputError
from aflite_assets.sources.examples import Examples

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class WordArtifacts:
    """Words that go with a label, in the full set and in its subsets.

    `words`: the top words of each label in the full set, once per set; columns set ("full" or a subset's
    name), column (text, text_pair), word (hostile: escape it), label, label_name, rank (from 1, by z in the
    full set), rows (with the word in this set), label_share (p; null without rows), expected_share (p0),
    z (null without rows, or where p0 is 0 or 1).
    `over_line`: columns set, label, label_name, words (how many have z over `line` in this set).
    `line`: the z that by chance no word reaches, at the given significance over all `tests`.
    `tests`: words tested x labels; the same tests for every set, so that counts can be compared.
    """

    words: pa.Table
    over_line: pa.Table
    line: float
    tests: int


_WORDS = pa.schema(
    {
        "set": pa.string(),
        "column": pa.string(),
        "word": pa.string(),
        "label": pa.int64(),
        "label_name": pa.string(),
        "rank": pa.int64(),
        "rows": pa.int64(),
        "label_share": pa.float64(),
        "expected_share": pa.float64(),
        "z": pa.float64(),
    }
)
_OVER_LINE = pa.schema({"set": pa.string(), "label": pa.int64(), "label_name": pa.string(), "words": pa.int64()})


@dataclass(frozen=True)
class _Occurrences:
    """Each word of each row once: entry i says that word `words[i]` stands in row `rows[i]`."""

    vocabulary: list[tuple[str, str]]
    words: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class _TestedSet:
    """One set's numbers: rows per tested word and class, p0 per class, z per tested word and class."""

    counts: np.ndarray
    expected: np.ndarray
    z: np.ndarray


def word_artifacts(
    examples: Examples,
    subsets: Mapping[str, np.ndarray],
    *,
    top: int = 20,
    min_rows: int = 20,
    significance: float = 0.01,
) -> WordArtifacts:
    r"""Test every word of the full set for every label, and again in each subset.

    Words are the lower-cased `\w+` runs of a text, counted once per row; the same word in `text` and in
    `text_pair` is two words. z grows with the square root of a word's rows: a smaller set has fewer words
    over the line even if nothing was filtered, so give the random control of the same size beside it.

    Args:
        examples: the full set, with texts; usually the train rows.
        subsets: names of subsets (such as "filtered", "random") and their row ids, all within `examples`.
        top: words listed per label.
        min_rows: words in fewer rows of the full set are not tested: z is no normal variable there.
        significance: chance that any word at all passes the line when no word means anything (one-sided,
            Bonferroni over `tests`), in (0, 1).

    Raises:
        InvalidInputError: the rows have no texts, a subset is named "full" or holds other rows, or a
            setting is out of its range.
    """
    _check(examples, subsets, top, min_rows, significance)
    found = _occurrences(examples)
    tested = np.flatnonzero(np.bincount(found.words, minlength=len(found.vocabulary)) >= min_rows)
    sets = {"full": _tested(found, examples, np.ones(len(examples), dtype=bool), tested)}
    for name, row_ids in subsets.items():
        sets[name] = _tested(found, examples, np.isin(examples.row_ids, row_ids), tested)
    tests = tested.size * len(examples.label_names)
    line = -NormalDist().inv_cdf(significance / max(tests, 1))
    vocabulary = [found.vocabulary[word] for word in tested]
    return WordArtifacts(
        words=_words_table(sets, _top_words(sets["full"], top), vocabulary, examples.label_names),
        over_line=_over_line_table(sets, line, examples.label_names),
        line=line,
        tests=tests,
    )


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


def _occurrences(examples: Examples) -> _Occurrences:
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
    return _Occurrences(list(numbers), np.array(words, dtype=np.int64), np.repeat(rows, words_per_row))


def _tested(found: _Occurrences, examples: Examples, mask: np.ndarray, tested: np.ndarray) -> _TestedSet:
    classes = len(examples.label_names)
    inside = mask[found.rows]
    cells = found.words[inside] * classes + examples.labels[found.rows[inside]]
    counts = np.bincount(cells, minlength=len(found.vocabulary) * classes).reshape(-1, classes)[tested]
    expected = np.bincount(examples.labels[mask], minlength=classes) / max(mask.sum(), 1)
    return _TestedSet(counts, expected, z_statistics(counts, expected))


def _top_words(full: _TestedSet, top: int) -> list[np.ndarray]:
    """For each class the positions of the words with the highest z; the more frequent word first on ties."""
    rows = full.counts.sum(axis=1)
    orders = [np.lexsort((-rows, -scores)) for scores in full.z.T]
    return [order[~np.isnan(full.z[order, label])][:top] for label, order in enumerate(orders)]


def _words_table(
    sets: Mapping[str, _TestedSet],
    listed: list[np.ndarray],
    vocabulary: list[tuple[str, str]],
    label_names: Sequence[str],
) -> pa.Table:
    records = []
    for name, tested in sets.items():
        rows = tested.counts.sum(axis=1)
        for label, words in enumerate(listed):
            for rank, word in enumerate(words.tolist(), start=1):
                share = tested.counts[word, label] / rows[word] if rows[word] else None
                z = None if np.isnan(tested.z[word, label]) else tested.z[word, label]
                named = (name, *vocabulary[word], label, label_names[label], rank)
                records.append((*named, int(rows[word]), share, tested.expected[label], z))
    return table_of(records, _WORDS)


def _over_line_table(sets: Mapping[str, _TestedSet], line: float, label_names: Sequence[str]) -> pa.Table:
    records = [
        (name, label, label_names[label], int((tested.z[:, label] > line).sum()))
        for name, tested in sets.items()
        for label in range(len(label_names))
    ]
    return table_of(records, _OVER_LINE)


def _check(examples: Examples, subsets: Mapping[str, np.ndarray], top: int, min_rows: int, significance: float) -> None:
    if "text" not in examples.table.column_names:
        raise InvalidInputError(f"rows of {examples.modality} have no words; give rows of texts")
    if "full" in subsets:
        raise InvalidInputError("a subset is named 'full', the name of the whole set; rename the subset")
    for name, row_ids in subsets.items():
        foreign = np.setdiff1d(row_ids, examples.row_ids)
        if foreign.size:
            raise InvalidInputError(
                f"subset {name!r} holds {foreign.size} rows that are not among the examples (first: "
                f"{foreign[0]}); give the full set that it was drawn from"
            )
    if top < 1 or min_rows < 1 or not 0 < significance < 1:
        raise InvalidInputError(
            f"top={top}, min_rows={min_rows}, significance={significance}: the first two must be at least 1, "
            "significance between 0 and 1"
        )
