"""Lengths of texts: share of kept, removed and random rows by words (SustaiNLP 2020, Figure 2, without random rows)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.rows.measured import LENGTHS, LengthShare
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


def length_pictures(analysis: Analysis) -> Iterator[tuple[str, Picture]]:
    """ "lengths.<representation>" of texts."""
    for name in analysis.facts.representations:
        columns = [list(places) for _, places in groupby(analysis.of(LENGTHS, name), attrgetter("column"))]
        if columns:
            yield f"lengths.{name}", Picture(lengths_png(columns), _alt([places[0] for places in columns]))


def lengths_png(columns: Sequence[Sequence[LengthShare]]) -> bytes:
    """A panel per text column: kept blue, removed orange and dashed, random rows grey with their band."""
    figure = new_figure(width=5.6 if len(columns) == 1 else 9.4)
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    for axes, places in zip(panels, columns, strict=True):
        _panel(axes, places)
        axes.set_title(_name(places[0]), fontsize=11)
    panels[0].set_ylabel("share of rows (%)")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    literal(figure)
    return png(figure)


def _panel(axes: "Axes", places: Sequence[LengthShare]) -> None:
    """Sides without rows are not drawn."""
    first = places[0]
    width = places[1].start - first.start if len(places) > 1 else 1
    middles = [one.start + (width - 1) / 2 for one in places]

    def per_cent(name: str) -> list[float]:
        return [100 * getattr(one, name) for one in places]

    if first.kept_rows:
        band = per_cent("random_least"), per_cent("random_most")
        axes.fill_between(middles, *band, color=GREY, alpha=0.25, lw=0)
        axes.plot(middles, per_cent("random_mean"), color=GREY, lw=1.4, label="as many random rows")
    for name, rows, style in (
        ("kept", first.kept_rows, {"color": BLUE, "ls": "-", "marker": "o"}),
        ("removed", first.removed_rows, {"color": ORANGE, "ls": "--", "marker": "^"}),
    ):
        if rows:
            axes.plot(middles, per_cent(name), ms=3.5, lw=1.6, label=f"{name} ({count(rows)})", **style)  # type: ignore[arg-type]
    axes.set(xlabel="words", ylim=(0, None))
    whole_ticks(axes)


def _name(place: LengthShare) -> str:
    return truncate(one_line(place.column_name), 40)


def _alt(firsts: Sequence[LengthShare]) -> str:
    """`firsts`: a place of each column."""
    means = "; ".join(
        f"{_name(one)}: kept rows have {_words(one.kept_mean)} in the mean, removed ones {_words(one.removed_mean)}"
        for one in firsts
    )
    rows = counted(firsts[0].kept_rows + firsts[0].removed_rows, "train row")
    of = f"representation {firsts[0].representation}"
    return f"Share of {rows} by words, kept, removed and as many random as were kept, {of}. {means}"


def _words(mean: float | None) -> str:
    return "none" if mean is None else f"{mean:.1f} words"
