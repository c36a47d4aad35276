"""Cues from the lengths of texts: short or long among all rows, or longest or shortest in a question."""

from collections.abc import Iterator

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.data.words import character_counts, word_counts

_SHORT, _LONG = (0.25, 0.5), (0.5, 0.75)
"""Quantiles: a length is short up to the first ones, and long above the second ones."""

_COLUMNS = ("text", "text_pair")


def length_cues(rows: Examples) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Find the cues of length: the (name, value) of each cue, and which rows have it, bool of shape (rows, cues).

    A length is a text's number of words or characters, or, for pairs, how many more the second text has than the first.
    The cues are the shortest quarter and half and the longest half and quarter; a row can have several. The value
    states the bound: "at most 4", "13 or more". Multiple choice has two more cues: an answer has more, or fewer,
    characters than any other of its question. A row without the text has none of its length cues. A length that never
    varies gives no cue.
    """
    names: list[tuple[str, str]] = []
    present: list[np.ndarray] = []
    for name, values in lengths(rows):
        for value, inside in _short_and_long(values):
            names.append((name, value))
            present.append(inside)
    for value, inside in _ranks(rows):
        names.append(("length of text_pair", value))
        present.append(inside)
    return names, np.stack(present, axis=1) if present else np.zeros((len(rows), 0), dtype=bool)


def lengths(rows: Examples) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each length by name, float64 of shape (rows,): words and characters of each text, and their differences.

    A length is NaN if a row lacks the text.
    """
    columns = [column for column in _COLUMNS if column in rows.table.column_names]
    for unit, counts in (("words", word_counts), ("characters", character_counts)):
        each = [counts(rows.table[column]) for column in columns]
        for column, counted in zip(columns, each, strict=True):
            yield f"number of {unit} of {column}", counted
        if len(each) == 2:
            yield f"difference in {unit}, text_pair less text", each[1] - each[0]


def _short_and_long(lengths: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the short and long bounds in order; there are fewer than four if many rows share a length."""
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
