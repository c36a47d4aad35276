"""Lengths of kept, removed and random rows' texts in words (SustaiNLP 2020, Figure 2, without random rows)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.data.examples import Examples
from aflite_assets.data.words import word_counts

if TYPE_CHECKING:
    pass


DRAWS = 10
"""Random sets; the line is their mean, the band goes from their least to their most."""


_MOST_PLACES = 40


_SHOWN = 0.995
"""Share of the texts that stand each at their length; the longer ones stand together at the last place."""


_COLUMNS = ("text", "text_pair")


@dataclass(frozen=True, eq=False)
class LengthShares:
    """Shares in [0, 1] of rows whose text `column` has so many words, a number per place; NaN of a side without rows.

    Place i is of lengths from `starts[i]` up to the next place's, the last one of all longer ones. `random` has a row
    per random set. `kept_rows` and `removed_rows` have the text, and `kept_mean` and `removed_mean` words of it.
    """

    column: str
    starts: np.ndarray
    kept: np.ndarray
    removed: np.ndarray
    random: np.ndarray
    kept_rows: int
    removed_rows: int
    kept_mean: float
    removed_mean: float


def length_shares(examples: Examples, filtered: FilteredSet, *, seed: int = 0) -> tuple[LengthShares, ...]:
    """Of each text column, over the train rows that entered the filter; none without texts or such rows.

    Random set i is drawn from (seed, i), as many rows as were kept.

    Raises:
        DataError: a row that was filtered is not among the examples.
    """
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    names = [name for name in _COLUMNS if name in examples.table.column_names]
    if examples.modality != "text" or not train.num_rows:
        return ()
    narrow = Examples(examples.table.select(["row_id", *names]), examples.label_names)
    table = narrow.select(train["row_id"].to_numpy()).table
    kept = train["kept"].to_numpy(zero_copy_only=False).astype(bool)
    drawn = [
        np.random.default_rng([seed, number]).choice(len(kept), int(kept.sum()), replace=False)
        for number in range(DRAWS)
    ]
    lengths = ((name, word_counts(table[name])) for name in names)
    return tuple(_shares(name, words, kept, drawn) for name, words in lengths if not np.isnan(words).all())


def _shares(column: str, words: np.ndarray, kept: np.ndarray, drawn: list[np.ndarray]) -> LengthShares:
    known = words[~np.isnan(words)]
    longest = int(np.quantile(known, _SHOWN, method="inverted_cdf"))
    starts = np.arange(int(known.min()), longest + 1, -(-(longest + 1 - int(known.min())) // _MOST_PLACES))

    def share(chosen: np.ndarray) -> np.ndarray:
        places = np.searchsorted(starts, chosen[~np.isnan(chosen)], side="right") - 1
        counts = np.bincount(places, minlength=len(starts))
        return counts / len(places) if len(places) else np.full(len(starts), np.nan)

    sides = [words[side & ~np.isnan(words)] for side in (kept, ~kept)]
    return LengthShares(
        column=column,
        starts=starts,
        kept=share(sides[0]),
        removed=share(sides[1]),
        random=np.array([share(words[rows]) for rows in drawn]),
        kept_rows=len(sides[0]),
        removed_rows=len(sides[1]),
        kept_mean=_mean(sides[0]),
        removed_mean=_mean(sides[1]),
    )


def _mean(words: np.ndarray) -> float:
    return float(words.mean()) if len(words) else np.nan
