"""Lengths of kept, removed and random rows' texts in words (SustaiNLP 2020, Figure 2, without random rows)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.data.examples import Examples
from aflite_assets.data.words import word_counts

DRAWS = 10
"""Random sets; the line is their mean, the band goes from their least to their most."""


_MOST_PLACES = 40


_SHOWN = 0.995
"""Share of the texts that stand each at their length; the longer ones stand together at the last place."""


_COLUMNS = ("text", "text_pair")


@dataclass(frozen=True)
class LengthShare:
    """Shares in [0, 1] of kept, removed and random rows whose text has so many words.

    The text is `column`, which the source calls `column_name`. The place holds lengths from `start` up to the start of
    the next place; the last one holds all longer texts. `random_*` are the mean, least and most of random sets of as
    many rows as were kept. `kept_rows` and `removed_rows` have the text, with `kept_mean` and `removed_mean` words. A
    side without rows has None.
    """

    representation: str
    column: str
    column_name: str
    start: int
    kept: float | None
    removed: float | None
    random_mean: float | None
    random_least: float | None
    random_most: float | None
    kept_rows: int
    removed_rows: int
    kept_mean: float | None
    removed_mean: float | None


LENGTHS = TidyTable("lengths", LengthShare)


def length_shares(
    examples: Examples, filtered: FilteredSet, named: Callable[[str], str] = str, *, seed: int = 0
) -> Iterator[LengthShare]:
    """Each text column's places, over the train rows that entered the filter; none without texts or such rows.

    Random set i is drawn from (seed, i), as many rows as were kept. `named`: how the source calls a column.

    Raises:
        DataError: a row that was filtered is not among the examples.
    """
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    names = [name for name in _COLUMNS if name in examples.table.column_names]
    if examples.modality != "text" or not train.num_rows:
        return
    narrow = Examples(examples.table.select(["row_id", *names]), examples.label_names)
    table = narrow.select(train["row_id"].to_numpy()).table
    kept = train["kept"].to_numpy(zero_copy_only=False).astype(bool)
    drawn = [
        np.random.default_rng([seed, number]).choice(len(kept), int(kept.sum()), replace=False)
        for number in range(DRAWS)
    ]
    for name in names:
        words = word_counts(table[name])
        if not np.isnan(words).all():
            yield from _shares((filtered.representation, name, named(name)), words, kept, drawn)


def _shares(
    where: tuple[str, str, str], words: np.ndarray, kept: np.ndarray, drawn: list[np.ndarray]
) -> Iterator[LengthShare]:
    known = words[~np.isnan(words)]
    longest = int(np.quantile(known, _SHOWN, method="inverted_cdf"))
    starts = np.arange(int(known.min()), longest + 1, -(-(longest + 1 - int(known.min())) // _MOST_PLACES))

    def share(chosen: np.ndarray) -> np.ndarray:
        places = np.searchsorted(starts, chosen[~np.isnan(chosen)], side="right") - 1
        counts = np.bincount(places, minlength=len(starts))
        return counts / len(places) if len(places) else np.full(len(starts), np.nan)

    sides = [words[side & ~np.isnan(words)] for side in (kept, ~kept)]
    random = np.array([share(words[rows]) for rows in drawn])
    columns = (*map(share, sides), random.mean(axis=0), random.min(axis=0), random.max(axis=0))
    means = [float(side.mean()) if len(side) else None for side in sides]
    for place, start in enumerate(starts.tolist()):
        shares: Any = [None if np.isnan(column[place]) else float(column[place]) for column in columns]
        yield LengthShare(*where, start, *shares, *map(len, sides), *means)
