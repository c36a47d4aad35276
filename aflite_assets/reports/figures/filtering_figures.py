"""Figures of all representations as PNG: filtering curves, scores by iteration, learning curves of the warm-up."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import CLASS_SHARES, ITERATIONS, ClassShare, FilterRow, ScoreBin
from aflite_assets.analysis.inputs.learning_curve import CurvePoint, SamplePoint
from aflite_assets.reports.figures.drawing import (
    BLUE,
    GREY,
    ORANGE,
    SERIES_COLOURS,
    SERIES_MARKERS,
    VERMILION,
    literal,
    new_figure,
    png,
    thousands,
    whole_ticks,
)
from aflite_assets.text import one_line
from aflite_assets.wording import truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEVIATIONS = 2.0
"""Half the height of the band around the largest class's share, in standard deviations of guessing."""

MOST_CLASSES = 6
"""Classes drawn by themselves; of more those whose shares moved most."""

_MOST_ACROSS, _MOST_ITERATIONS = 3, 8


def filtering_curves(analysis: Analysis) -> bytes:
    """Rows left, bias beside the largest class's share, cut-off score, a line per representation; class shares below.

    The band around that share is `DEVIATIONS` standard deviations of guessing the most frequent class to either side.
    """
    filtered = analysis.facts.filterings
    across = max(min(len(filtered), _MOST_ACROSS), 1)
    below = -(-len(filtered) // across)
    figure = new_figure(width=9.4, height=3.5 + 2.6 * below)
    upper, lower = figure.subfigures(2, 1, height_ratios=(3.5, 2.6 * max(below, 0.01)), squeeze=False)[:, 0]
    rows, bias, cutoff = upper.subplots(1, 3, sharex=True)
    for number, one in enumerate(filtered):
        # later lines are thinner, so that one under another is seen
        width = min(1.6 + 0.7 * (len(filtered) - 1 - number), 3.7)
        style = {**_style(number), "lw": width, "label": one.representation}
        _one_set(rows, bias, cutoff, analysis.of(ITERATIONS, one.representation), threshold_of(one.settings), style)
    rows.set(title="Rows left", ylabel="pool rows")
    rows.set_ylim(bottom=0)
    rows.yaxis.set_major_formatter(thousands)
    bias.set(title="Representation bias\n(dashed: largest class)", ylabel="predictable rows (%)", ylim=(0, 102))
    cutoff.set(title="Cut-off score\n(dashed: threshold)", ylabel="lowest score removed", ylim=(0, 1.02))
    for axes in (rows, bias, cutoff):
        axes.title.set_fontsize(11)
        axes.set_xlabel("iteration")
        whole_ticks(axes)
    if filtered:
        upper.legend(*rows.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
        places = lower.subplots(below, across, squeeze=False, sharey=True)
        _share_panels(list(places.flat), analysis)
        handles = places[0, 0].get_legend_handles_labels()
        lower.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    literal(figure)
    return png(figure)


def threshold_of(settings: Mapping[str, object]) -> float | None:
    """The lowest predictability of a removed row, if the settings of a filtering name one."""
    threshold = settings.get("threshold")
    return threshold if isinstance(threshold, int | float) else None


def scores_by_iteration(bins: Sequence[ScoreBin], *, threshold: float | None) -> bytes:
    """The distribution of predictability in at most eight iterations, evenly chosen, with what each removed."""
    iterations = [list(of_one) for _, of_one in groupby(bins, attrgetter("iteration"))]
    chosen = [iterations[place] for place in evenly(len(iterations), _MOST_ITERATIONS)]
    across = min(4, max(len(chosen), 1))
    down = max(1, -(-len(chosen) // across))
    figure = new_figure(width=2.3 * across + 0.9, height=2.05 * down + 0.75)
    places = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for place in places.flat[len(chosen) :]:
        place.set_visible(False)
    for place, of_one in zip(places.flat, chosen, strict=False):
        _one_iteration(place, of_one, threshold)
    highest = max((one.rows / max(_rows(of_one), 1) for of_one in chosen for one in of_one), default=0)
    places[0, 0].set_ylim(0, 105 * highest or 1)
    handles, labels = places[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    for place in places.flat[max(len(chosen) - across, 0) : len(chosen)]:
        place.set_xlabel("predictability")
        place.tick_params(labelbottom=True)
    figure.supylabel("share of the rows then left (%)", fontsize=10)
    return png(figure)


def evenly(number: int, most: int) -> list[int]:
    """At most `most` of so many places, evenly spaced, the first and the last among them."""
    return np.unique(np.round(np.linspace(0, number - 1, min(most, number))).astype(np.int64)).tolist()


def _style(number: int) -> dict[str, Any]:
    colours, markers = len(SERIES_COLOURS), len(SERIES_MARKERS)
    return {"color": SERIES_COLOURS[number % colours], "marker": SERIES_MARKERS[number % markers], "ms": 4}


def _one_set(
    rows: "Axes",
    bias: "Axes",
    cutoff: "Axes",
    table: Sequence[FilterRow],
    threshold: float | None,
    style: dict[str, Any],
) -> None:
    iterations = [row.iteration for row in table]
    rows.plot(iterations, [row.rows_in for row in table], **style)
    bias.plot(iterations, [100 * row.representation_bias for row in table], **style)
    bias.plot(iterations, [100 * row.largest_class for row in table], color=style["color"], ls="--", lw=1.2)
    low, high = (
        [100 * (row.largest_class + side * DEVIATIONS * row.guessing_deviation) for row in table] for side in (-1, 1)
    )
    bias.fill_between(iterations, low, high, color=style["color"], alpha=0.18, lw=0)
    removing = [row for row in table if row.cutoff is not None]
    cutoff.plot([row.iteration for row in removing], [row.cutoff or 0 for row in removing], **style)
    if threshold is not None:
        cutoff.axhline(threshold, color=style["color"], ls="--", lw=1.2)


def _share_panels(places: "list[Axes]", analysis: Analysis) -> None:
    names, label_names = analysis.facts.representations, analysis.facts.label_names
    shares = [_by_class(analysis.of(CLASS_SHARES, name), len(label_names)) for name in names]
    drawn = _most_moved(shares)
    highest = max((one.share for each in shares for label in drawn for one in each[label]), default=0)
    for place in places[len(names) :]:
        place.set_axis_off()
    for place, name, each in zip(places, names, shares, strict=False):
        for number, label in enumerate(drawn):
            points = [one.iteration for one in each[label]], [100 * one.share for one in each[label]]
            place.plot(*points, lw=1.6, label=truncate(one_line(label_names[label]), 24), **_style(number))
        place.set(xlabel="iteration", ylim=(0, 108 * highest or 1))
        place.set_title(f"Class shares ({name})", fontsize=11)
        whole_ticks(place)
    places[0].set_ylabel("share of rows (%)")


def _by_class(shares: Sequence[ClassShare], classes: int) -> list[list[ClassShare]]:
    return [[one for one in shares if one.label == label] for label in range(classes)]


def _most_moved(shares: Sequence[Sequence[Sequence[ClassShare]]]) -> list[int]:
    """At most `MOST_CLASSES` class numbers, ascending: those that moved most with any representation."""

    def moved(label: int) -> float:
        return max(abs(each[label][-1].share - each[label][0].share) if each[label] else 0.0 for each in shares)

    return sorted(sorted(range(len(shares[0])), key=moved, reverse=True)[:MOST_CLASSES])


def _rows(of_one: Sequence[ScoreBin]) -> int:
    return sum(one.rows for one in of_one)


def _one_iteration(axes: "Axes", bins: Sequence[ScoreBin], threshold: float | None) -> None:
    total, removed = _rows(bins), sum(one.removed for one in bins)
    style: dict[str, Any] = {"align": "edge", "edgecolor": "white", "linewidth": 0.4}
    style["width"] = [one.high - one.low for one in bins]
    low, scale = [one.low for one in bins], 100 / max(total, 1)
    stays = [scale * (one.rows - one.removed) for one in bins]
    axes.bar(low, stays, color=BLUE, label="stays", **style)
    style |= {"color": ORANGE, "hatch": "////", "label": "removed in this iteration"}
    axes.bar(low, [scale * one.removed for one in bins], bottom=stays, **style)
    if threshold is not None:
        axes.axvline(threshold, color=VERMILION, ls="--", lw=1.4, label=f"threshold {threshold:g}")
    axes.set(xlim=(0, 1), xticks=(0, 0.5, 1), xticklabels=("0", "0.5", "1"))
    axes.set_title(f"iteration {bins[0].iteration}: {total:,} rows,\n{removed:,} removed", fontsize=9)


def learning_curve_picture(
    curves: Mapping[str, Sequence[CurvePoint] | Sequence[SamplePoint]], *, doubling: bool
) -> bytes:
    """Accuracy on the held-back rows against rows trained on, with Wilson's intervals, the elbows and the size chosen.

    `curves`: at least one, by name, all on the same held-back rows. `doubling`: sizes double, so that the axis is
    logarithmic. PNG under 50 kB.
    """
    figure = new_figure(height=4.4)
    axes = figure.subplots()
    for number, (name, points) in enumerate(curves.items()):
        colour, marker = SERIES_COLOURS[number % len(SERIES_COLOURS)], SERIES_MARKERS[number % len(SERIES_MARKERS)]
        accuracies = [100 * one.accuracy for one in points]
        below = [100 * (one.accuracy - one.interval_low) for one in points]
        above = [100 * (one.interval_high - one.accuracy) for one in points]
        # Several curves at one size: bars side by side can be told apart.
        places = [one.rows * 1.04 ** (number - (len(curves) - 1) / 2) for one in points]
        shown = truncate(one_line(name), 32)
        axes.errorbar(places, accuracies, (below, above), color=colour, marker=marker, ms=5, capsize=3, label=shown)
        at = [one.elbow for one in points].index(True)
        label = "elbow" if number == len(curves) - 1 else None
        axes.plot(places[at], accuracies[at], "o", ms=14, mfc="none", mec="black", ls="none", label=label)
    points = next(iter(curves.values()))
    axes.axhline(100 * points[0].most_frequent_class, color=GREY, ls="--", label="largest class")
    axes.axvline(next(one.rows for one in points if one.chosen), color=GREY, ls=":", label="size chosen")
    if doubling:
        axes.set_xscale("log", base=2)
        axes.set_xticks([one.rows for one in points])
    axes.set(
        xlabel="rows trained on" + (" (logarithmic axis)" if doubling else ""),
        ylabel=f"right of {points[0].held_back_rows:,} held-back rows (%)",
        ylim=(0, 102),
    )
    axes.xaxis.set_major_formatter(thousands)
    axes.minorticks_off()
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    literal(figure)
    return png(figure)
