"""Measures of answers that are numbers: size, first digits, roundness, and distance from the other numbers."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")

_LARGEST = 1e290
"""Largest number that is measured; a row of more digits counts as this number, so that no measure is infinite."""

_LEAST_SHARE = 0.8
"""Smallest share of answers with exactly one number for which numbers are measured."""

NAMES = (
    ("the largest number", "the smallest number"),
    ("the highest first digits", "the lowest first digits"),
    ("the least round number", "the roundest number"),
    ("the most outlying number", "the most central number"),
)
"""For each measure, the names of the rules that pick the largest and the smallest value."""


def number_measures(given: Sequence[str], questions: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield the two names and the values of each measure, or nothing if most answers are no numbers.

    Invented wrong numbers differ from real quantities: their first digits are too high (Benford's law), they are
    rounder, or they lie around the right one. A question in which an answer has not exactly one number gets the value 0
    for all answers, so that no rule decides it. `questions`: the code of each answer's question, int64.
    """
    found = [_NUMBER.findall(text) for text in given]
    has_one = np.array([len(one) == 1 for one in found], dtype=bool)
    if not len(given) or has_one.mean() < _LEAST_SHARE:
        return
    texts = [one[0].replace(",", "") if len(one) == 1 else "0" for one in found]
    values = np.minimum([float(text) for text in texts], _LARGEST)
    whole = np.bincount(questions, ~has_one)[questions] == 0
    logs = np.log10(np.maximum(values, 1e-12))
    digits = np.array([len(text.replace(".", "").strip("0")) for text in texts], dtype=np.float64)
    means = np.bincount(questions, logs) / np.maximum(np.bincount(questions), 1)
    measured = (values, np.where(values > 0, logs - np.floor(logs), 0), digits, np.abs(logs - means[questions]))
    for (most, least), one in zip(NAMES, measured, strict=True):
        yield most, least, np.where(whole, np.round(one, 9), 0.0)
