"""Cues of shortcuts: what each adds to the columns of the task, and the properties that name it.

Which kind has which cue, and what shows it, does not belong here (`shortcuts.py`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.verdict_kinds.drawing import WIDTH, Named, flip, mark, name_record_numbers, words_of

Show = tuple[np.ndarray, Sequence[Named]]
"""Values to add to the columns of the task, (rows, WIDTH), and the properties of the cue."""

Cue = Callable[[np.random.Generator, np.ndarray], Show]
"""Function from the labels that the cue names, (rows,), to `Show`."""


def named_word(share: float, *, right: float = 0.94) -> Cue:
    """Return a cue word on `share` of the rows that names the label of `right` of them, in one column per class."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        present = rng.random(len(labels)) < share
        named = flip(rng, labels, 1 - right)
        block = 4.0 * np.column_stack([present & (named == one) for one in range(2)])
        values = np.where(present, np.where(named == 1, "names 1", "names 0"), "absent").astype(object)
        return np.zeros((len(labels), WIDTH)), [Named("cue_word", values, block)]

    return cue


def text_length(share: float, *, separable: bool) -> Cue:
    """Return a length of 5 to 29 words; on `share` of the rows it is at least 18 in one class and less in the other."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        words = rng.integers(5, 30, len(labels))
        told = rng.random(len(labels)) < share
        long, short = rng.integers(18, 30, len(labels)), rng.integers(5, 18, len(labels))
        words = np.where(told, np.where(labels == 1, long, short), words).astype(np.float64)
        return _numeric("words", words, (words - 17) / 4, separable=separable)

    return cue


def continuous(share: float) -> Cue:
    """Return a number that is standard normal, and moved by 2 up or down by class on `share` of the rows."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        told = rng.random(len(labels)) < share
        values = rng.normal(size=len(labels)) + told * np.where(labels == 1, 2.0, -2.0)
        return _numeric("pause", values, values, separable=True)

    return cue


def _numeric(name: str, values: np.ndarray, column: np.ndarray, *, separable: bool) -> Show:
    # What cannot be separated from the input is spread over three columns of the task.
    added = np.zeros((len(values), WIDTH))
    if not separable:
        added[:, 6:9] = 0.7 * column[:, None]
    return added, [Named(name, values, column if separable else None)]


def background(name: str, agrees: float, values: tuple[str, str], *, size: float = 1.0, columns: int = 4) -> Cue:
    """Return a two-valued property that goes with both classes alike and shows in columns of the task.

    `agrees`: share of the rows of each class that have the value of their class. `values`: one per class.
    """

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        second = flip(rng, labels, 1 - agrees) == 1
        added = np.zeros((len(labels), WIDTH))
        added[:, WIDTH - columns :] = size * np.where(second, 1.0, -1.0)[:, None]
        return added, [Named(name, words_of(second, values[1], values[0]))]

    return cue


def marked(name: str, shares: Sequence[float], *, size: float = 2.0) -> Cue:
    """Return a mark on the given share of each class, in a column of its own."""

    def cue(rng: np.random.Generator, labels: np.ndarray) -> Show:
        present = rng.random(len(labels)) < np.array(shares)[labels]
        return np.zeros((len(labels), WIDTH)), [mark(name, present, size)]

    return cue


def two_weak(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return two marks, one per class, on 35 % of their class and 10 % of the other."""
    shows = [marked(name, shares)(rng, labels) for name, shares in (("smiley", (0.1, 0.35)), ("link", (0.35, 0.1)))]
    return shows[0][0], [one for _, named in shows for one in named]


def spread(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return a camera that goes with 85 % of each class and shifts 40 columns a little."""
    second = flip(rng, labels, 0.15) == 1
    block = rng.normal(size=(len(labels), 40)) + 0.25 * np.where(second, 1.0, -1.0)[:, None]
    return np.zeros((len(labels), WIDTH)), [Named("camera", words_of(second, "second", "first"), block)]


def record_range(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return record numbers, of which half of the rows of one class have the highest ones."""
    high = (labels == 1) & (rng.random(len(labels)) < 0.5)
    record = np.where(high, rng.integers(90_000, 100_000, len(labels)), rng.integers(10_000, 90_000, len(labels)))
    return np.zeros((len(labels), WIDTH)), [name_record_numbers(record)]


def answer_position(rng: np.random.Generator, labels: np.ndarray) -> Show:
    """Return the position of an answer, 0 to 3, which is 0 for 60 % of the right answers and 20 % of the wrong ones."""
    first = rng.random(len(labels)) < np.array([0.2, 0.6])[labels]
    position = np.where(first, 0, rng.integers(1, 4, len(labels)))
    block = 1.5 * (position[:, None] == np.arange(4))
    return np.zeros((len(labels), WIDTH)), [Named("position", position.astype(np.float64), block)]


PLACE = background("place", 0.9, ("land", "water"))
FORMAT = background("file_format", 0.85, ("jpeg", "png"), size=0.7)
QUALITY = background("quality", 0.8, ("low", "high"))
