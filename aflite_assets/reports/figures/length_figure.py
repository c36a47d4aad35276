"""Lengths of texts: share of kept, removed and random rows by words (SustaiNLP 2020, Figure 2, without random rows)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.lengths import LengthShares, length_shares
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
from aflite_assets.text import count, one_line
from aflite_assets.wording import counted, truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
