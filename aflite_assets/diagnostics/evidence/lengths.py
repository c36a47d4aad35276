"""Cues from text lengths: short or long texts, and answers that are the longest or shortest of their question."""

from collections.abc import Iterator

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.data.words import character_counts, word_counts

_SHORT, _LONG = (0.25, 0.5), (0.5, 0.75)
"""Quantiles of the bounds: up to the first two for short texts, above the last two for long texts."""

_COLUMNS = ("text", "text_pair")


def length_cues(rows: Examples) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Return name and value of each cue from text lengths, and a bool array (rows, cues): True if the row has the cue.

    A length is the number of words or characters of a text. For pairs of texts, the second text's length minus the
    first text's length also counts as a length. For each length, the cues are the shortest quarter, the shortest half,
    the longest half and the longest quarter of the rows. The value of a cue is its bound: "at most 4", "13 or more".

    Multiple choice has two more cues: the answer is the longest, or the shortest, of all answers to its question. A row
    that lacks a text has none of the text's length cues. A length with the same value in all rows gives no cue.
    """
    cues = {(name, value): has for name, values in lengths(rows) for value, has in _short_and_long(values)}
    cues |= {("length of text_pair", value): has for value, has in _ranks(rows)}
    return list(cues), np.array(list(cues.values()), dtype=bool).reshape(len(cues), len(rows)).T


def lengths(rows: Examples) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and values of each length (float64 of shape (rows,), NaN for a row without the text).

    Lengths are the numbers of words and of characters of each text, and the differences between both texts.
    """
    columns = [column for column in _COLUMNS if column in rows.table.column_names]
    for unit, counts in (("words", word_counts), ("characters", character_counts)):
        each = [counts(rows.table[column]) for column in columns]
        for column, counted in zip(columns, each, strict=True):
            yield f"number of {unit} of {column}", counted
        if len(each) == 2:
            yield f"difference in {unit}, text_pair less text", each[1] - each[0]


def _short_and_long(lengths: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each bound of short and of long texts as text, and a bool per row: True if the row is within the bound.

    There are fewer than four bounds if many rows share a length.
    """
    known = lengths[~np.isnan(lengths)]
    if not len(known):
        return
    for most in np.unique(np.quantile(known, _SHORT, method="inverted_cdf")):
        if most < known.max():
            yield f"at most {int(most)}", lengths <= most
    for below in np.unique(np.quantile(known, _LONG, method="inverted_cdf")):
        if below < known.max():
            yield f"{int(known[known > below].min())} or more", lengths > below


def _ranks(rows: Examples) -> Iterator[tuple[str, np.ndarray]]:
    groups = rows.questions
    if groups is None or "text_pair" not in rows.table.column_names or right_answers(rows, partly=True) is None:
        return
    _, question = np.unique(groups, return_inverse=True)
    lengths = np.nan_to_num(character_counts(rows.table["text_pair"]))
    for value, sign in (("longest of its question", 1.0), ("shortest of its question", -1.0)):
        extreme = np.full(int(question.max(initial=-1)) + 1, -np.inf)
        np.maximum.at(extreme, question, sign * lengths)
        among = sign * lengths == extreme[question]
        yield value, among & (np.bincount(question, weights=among)[question] == 1)
