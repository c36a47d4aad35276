"""Figures of all representations as PNG: filtering curves, scores by iteration, learning curves of the warm-up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aflite_assets.analysis.filtering import class_shares, filter_table, guessing_deviation, largest_class_by_iteration
from aflite_assets.analysis.inputs.learning_curve import LearningCurve, chosen_rows
from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.analysis.inputs.score_counts import ScoreCounts, chosen_iterations
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

_MOST_ACROSS = 3


def filtering_curves(filtered: Sequence[FilteredSet], label_names: Sequence[str]) -> bytes:
    """Rows left, bias beside the largest class's share, cut-off score, a line per representation; class shares below.

    The band around that share is `DEVIATIONS` standard deviations of guessing the most frequent class to either side.
    """
    across = max(min(len(filtered), _MOST_ACROSS), 1)
    below = -(-len(filtered) // across)
    figure = new_figure(width=9.4, height=3.5 + 2.6 * below)
    upper, lower = figure.subfigures(2, 1, height_ratios=(3.5, 2.6 * max(below, 0.01)), squeeze=False)[:, 0]
    rows, bias, cutoff = upper.subplots(1, 3, sharex=True)
    for number, one in enumerate(filtered):
        # later lines are thinner, so that one under another is seen
        width = min(1.6 + 0.7 * (len(filtered) - 1 - number), 3.7)
        _one_set(rows, bias, cutoff, one, {**_style(number), "lw": width, "label": one.representation})
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
        _share_panels(list(places.flat), filtered, label_names)
        handles = places[0, 0].get_legend_handles_labels()
        lower.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    literal(figure)
    return png(figure)


def scores_by_iteration(counts: ScoreCounts, *, threshold: float | None) -> bytes:
    """The distribution of predictability in at most eight iterations, evenly chosen, with what each removed."""
    chosen = chosen_iterations(counts)
    across = min(4, max(len(chosen), 1))
    down = max(1, -(-len(chosen) // across))
    figure = new_figure(width=2.3 * across + 0.9, height=2.05 * down + 0.75)
    places = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for place in places.flat[len(chosen) :]:
        place.set_visible(False)
    for place, at in zip(places.flat, chosen, strict=False):
        _one_iteration(place, counts, int(at), threshold)
    places[0, 0].set_ylim(0, 105 * _highest(counts, chosen) or 1)
    handles, labels = places[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    for place in places.flat[max(len(chosen) - across, 0) : len(chosen)]:
        place.set_xlabel("predictability")
        place.tick_params(labelbottom=True)
    figure.supylabel("share of the rows then left (%)", fontsize=10)
    return png(figure)


def _style(number: int) -> dict[str, Any]:
    colours, markers = len(SERIES_COLOURS), len(SERIES_MARKERS)
    return {"color": SERIES_COLOURS[number % colours], "marker": SERIES_MARKERS[number % markers], "ms": 4}


def _one_set(rows: "Axes", bias: "Axes", cutoff: "Axes", one: FilteredSet, style: dict[str, Any]) -> None:
    table = filter_table(one)
    iterations = [row.iteration for row in table]
    largest = np.array(largest_class_by_iteration(one))
    deviation = DEVIATIONS * guessing_deviation(largest, np.array([row.rows_in for row in table]))
    rows.plot(iterations, [row.rows_in for row in table], **style)
    bias.plot(iterations, [100 * row.representation_bias for row in table], **style)
    bias.plot(iterations, 100 * largest, color=style["color"], ls="--", lw=1.2)
    band = (100 * (largest - deviation), 100 * (largest + deviation))
    bias.fill_between(iterations, *band, color=style["color"], alpha=0.18, lw=0)
    removing = [row for row in table if row.cutoff is not None]
    cutoff.plot([row.iteration for row in removing], [row.cutoff or 0 for row in removing], **style)
    threshold = one.settings.get("threshold")
    if isinstance(threshold, int | float):
        cutoff.axhline(threshold, color=style["color"], ls="--", lw=1.2)


def _share_panels(places: "list[Axes]", filtered: Sequence[FilteredSet], label_names: Sequence[str]) -> None:
    shares = [class_shares(one, len(label_names)) for one in filtered]
    drawn = _most_moved(shares)
    highest = max((float(share[:, drawn].max(initial=0)) for share in shares), default=0)
    for place in places[len(filtered) :]:
        place.set_axis_off()
    for place, one, share in zip(places, filtered, shares, strict=False):
        iterations = [row.iteration for row in filter_table(one)]
        for number, label in enumerate(drawn):
            name = truncate(one_line(label_names[label]), 24)
            place.plot(iterations, 100 * share[:, label], lw=1.6, label=name, **_style(number))
        place.set(xlabel="iteration", ylim=(0, 108 * highest or 1))
        place.set_title(f"Class shares ({one.representation})", fontsize=11)
        whole_ticks(place)
    places[0].set_ylabel("share of rows (%)")


def _most_moved(shares: Sequence[np.ndarray]) -> list[int]:
    """At most `MOST_CLASSES` class numbers, ascending: those that moved most with any representation."""
    moved = [np.abs(share[-1] - share[0]) if len(share) else np.zeros(share.shape[1]) for share in shares]
    order = np.argsort(-np.max(moved, axis=0), kind="stable")
    return sorted(order[:MOST_CLASSES].tolist())


def _highest(counts: ScoreCounts, chosen: np.ndarray) -> float:
    """The largest share of an iteration's rows in one bin."""
    rows = counts.rows[chosen]
    return float((rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)).max(initial=0))


def _one_iteration(axes: "Axes", counts: ScoreCounts, at: int, threshold: float | None) -> None:
    total = int(counts.rows[at].sum())
    removed = counts.removed[at]
    style: dict[str, Any] = {"width": np.diff(counts.edges), "align": "edge", "edgecolor": "white", "linewidth": 0.4}
    share = 100 / max(total, 1)
    stays = counts.rows[at] - removed
    axes.bar(counts.edges[:-1], share * stays, color=BLUE, label="stays", **style)
    style |= {"color": ORANGE, "hatch": "////", "label": "removed in this iteration"}
    axes.bar(counts.edges[:-1], share * removed, bottom=share * stays, **style)
    if threshold is not None:
        axes.axvline(threshold, color=VERMILION, ls="--", lw=1.4, label=f"threshold {threshold:g}")
    axes.set(xlim=(0, 1), xticks=(0, 0.5, 1), xticklabels=("0", "0.5", "1"))
    axes.set_title(f"iteration {counts.iterations[at]}: {total:,} rows,\n{removed.sum():,} removed", fontsize=9)


def learning_curve_picture(curves: Sequence[LearningCurve], *, chosen: int | None = None) -> bytes:
    """Accuracy on the held-back rows against rows trained on (logarithmic), with Wilson's intervals and the elbows.

    `curves`: at least one, all on the same held-back rows. `chosen`: the size chosen of samples that grow by steps, on
    a plain axis; by default that of the warm-up, whose samples double. PNG under 50 kB.
    """
    figure = new_figure(height=4.4)
    axes = figure.subplots()
    for number, curve in enumerate(curves):
        colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
        accuracies = [100 * accuracy for accuracy in curve.accuracies]
        below = [100 * (a - i.low) for a, i in zip(curve.accuracies, curve.intervals, strict=True)]
        above = [100 * (i.high - a) for a, i in zip(curve.accuracies, curve.intervals, strict=True)]
        # Several curves at one size: bars side by side can be told apart.
        places = [rows * 1.04 ** (number - (len(curves) - 1) / 2) for rows in curve.rows]
        marker = SERIES_MARKERS[number % len(SERIES_MARKERS)]
        name = truncate(one_line(curve.representation), 32)
        axes.errorbar(places, accuracies, (below, above), color=colour, marker=marker, ms=5, capsize=3, label=name)
        at = curve.rows.index(curve.elbow)
        label = "elbow" if number == len(curves) - 1 else None
        axes.plot(places[at], accuracies[at], "o", ms=14, mfc="none", mec="black", ls="none", label=label)
    guessing = 100 * curves[0].largest_class / curves[0].held_back_rows
    axes.axhline(guessing, color=GREY, ls="--", label="largest class")
    axes.axvline(chosen_rows(curves) if chosen is None else chosen, color=GREY, ls=":", label="size chosen")
    if chosen is None:
        axes.set_xscale("log", base=2)
        axes.set_xticks(curves[0].rows)
    axes.set(
        xlabel="rows trained on" + (" (logarithmic axis)" if chosen is None else ""),
        ylabel=f"right of {curves[0].held_back_rows:,} held-back rows (%)",
        ylim=(0, 102),
    )
    axes.xaxis.set_major_formatter(thousands)
    axes.minorticks_off()
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    literal(figure)
    return png(figure)
