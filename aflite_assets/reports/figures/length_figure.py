"""Lengths of texts: share of kept, removed and random rows by words (SustaiNLP 2020, Figure 2, without random rows)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.data.words import word_counts
from aflite_assets.reports.figures.drawing import (
    BLUE,
    GREY,
    ORANGE,
    Picture,
    literal,
    new_figure,
    png,
    whole_ticks,
)
from aflite_assets.reports.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.reports.text import count, one_line
from aflite_assets.wording import counted, truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def length_pictures(data: BenchmarkData) -> Iterator[tuple[str, Picture]]:
    """ "lengths.<representation>" of texts.

    Raises:
        DataError: a row that was filtered is not among the examples.
    """
    for filtered in data.filtered:
        found = length_shares(data.examples, filtered)
        if found:
            names = [truncate(one_line(data.source.named(one.column)), 40) for one in found]
            yield f"lengths.{filtered.representation}", Picture(lengths_png(found, names), _alt(found, names, filtered))


def lengths_png(found: tuple[LengthShares, ...], names: list[str]) -> bytes:
    """A panel per text column, named so: kept blue, removed orange and dashed, random rows grey with their band."""
    figure = new_figure(width=5.6 if len(found) == 1 else 9.4)
    places = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, one, name in zip(places, found, names, strict=True):
        _panel(axes, one)
        axes.set_title(name, fontsize=11)
    places[0].set_ylabel("share of rows (%)")
    handles = places[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    literal(figure)
    return png(figure)


def _panel(axes: "Axes", one: LengthShares) -> None:
    """Sides without rows are not drawn."""
    width = int(one.starts[1] - one.starts[0]) if len(one.starts) > 1 else 1
    middles = one.starts + (width - 1) / 2
    if one.kept_rows:
        band = (100 * one.random.min(axis=0), 100 * one.random.max(axis=0))
        axes.fill_between(middles, *band, color=GREY, alpha=0.25, lw=0)
        axes.plot(middles, 100 * one.random.mean(axis=0), color=GREY, lw=1.4, label="as many random rows")
    for share, rows, name, style in (
        (one.kept, one.kept_rows, "kept", {"color": BLUE, "ls": "-", "marker": "o"}),
        (one.removed, one.removed_rows, "removed", {"color": ORANGE, "ls": "--", "marker": "^"}),
    ):
        if rows:
            axes.plot(middles, 100 * share, ms=3.5, lw=1.6, label=f"{name} ({count(rows)})", **style)  # type: ignore[arg-type]
    axes.set(xlabel="words", ylim=(0, None))
    whole_ticks(axes)


def _alt(found: tuple[LengthShares, ...], names: list[str], filtered: FilteredSet) -> str:
    means = "; ".join(
        f"{name}: kept rows have {_words(one.kept_mean)} in the mean, removed ones {_words(one.removed_mean)}"
        for one, name in zip(found, names, strict=True)
    )
    rows = counted(found[0].kept_rows + found[0].removed_rows, "train row")
    of = f"representation {filtered.representation}"
    return f"Share of {rows} by words, kept, removed and as many random as were kept, {of}. {means}"


def _words(mean: float) -> str:
    return "none" if np.isnan(mean) else f"{mean:.1f} words"
