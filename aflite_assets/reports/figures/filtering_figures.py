"""Figures of the filter's iterations and of learning curves, and the chart data for the script of the page."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from aflite_assets.analysis import filtering
from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.inputs.learning_curve import CurvePoint
from aflite_assets.analysis.inputs.records import ScoreBin
from aflite_assets.analysis.tidy import JsonValue, to_json
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import BLUE, GREY, ORANGE, VERMILION, Picture, draw_bars, series_style
from aflite_assets.text import count, listed, percent, short
from aflite_assets.wording import counted

_DEVIATIONS = 2.0
"""Half the height of the band around the largest class's share, in standard deviations of guessing this class."""

_MOST_CLASSES, _MOST_ITERATIONS = 6, 8
"""Largest number of classes with drawn shares (those that changed most), and of iterations with drawn scores."""

_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def filtering_curves(analysis: Analysis) -> Picture:
    """Draw curves for each representation: remaining rows, bias together with the share of the largest class, cut-off
    scores, and class shares.
    """
    filtered = analysis.facts.filterings
    across = max(min(len(filtered), 3), 1)
    below = -(-len(filtered) // across)
    figure = drawing.new_figure(width=9.4, height=3.5 + 2.6 * below, layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(3.5, 2.6 * max(below, 0.01)), squeeze=False)[:, 0]
    rows, bias, cutoff = upper.subplots(1, 3, sharex=True)
    for number, one in enumerate(filtered):
        # later lines are thinner, so that one under another is seen
        width = min(1.6 + 0.7 * (len(filtered) - 1 - number), 3.7)
        style = {**series_style(number), "ms": 4, "lw": width, "label": one.representation}
        iterations = analysis.of(filtering.ITERATIONS, one.representation)
        rows.plot(*drawing.columns(iterations, "iteration", "rows_in"), **style)
        axis, share, largest = drawing.columns(iterations, "iteration", "representation_bias", "largest_class")
        bias.plot(axis, 100 * share, **style)
        bias.plot(axis, 100 * largest, color=style["color"], ls="--", lw=1.2)
        off = _DEVIATIONS * np.array([row.guessing_deviation for row in iterations])
        bias.fill_between(axis, 100 * (largest - off), 100 * (largest + off), color=style["color"], alpha=0.18, lw=0)
        removing = [row for row in iterations if row.cutoff is not None]
        cutoff.plot(*drawing.columns(removing, "iteration", "cutoff"), **style)
        if (threshold := filtering.threshold_of(one.settings)) is not None:
            cutoff.axhline(threshold, color=style["color"], ls="--", lw=1.2)
    rows.set(title="Rows left", ylabel="pool rows", ylim=(0, None))
    rows.yaxis.set_major_formatter(drawing.THOUSANDS)
    bias.set(title="Representation bias\n(dashed: largest class)", ylabel="predictable rows (%)", ylim=(0, 102))
    cutoff.set(title="Cut-off score\n(dashed: threshold)", ylabel="lowest score removed", ylim=(0, 1.02))
    for axes in (rows, bias, cutoff):
        axes.title.set_fontsize(11)
        axes.set_xlabel("iteration")
        drawing.whole_ticks(axes)
    if filtered:
        panels = lower.subplots(below, across, squeeze=False, sharey=True)
        _draw_class_shares(list(panels.flat), analysis)
        for part, axes in ((upper, rows), (lower, panels[0, 0])):
            series = axes.get_legend_handles_labels()
            part.legend(*series, loc="outside lower center", frameon=False, ncols=4, fontsize=9)
    alt = "Rows left, representation bias with the largest class, cut-off score and class shares by iteration, "
    return drawing.picture(figure, f"{alt}representations {listed(analysis.facts.representations) or 'none'}")


def _draw_class_shares(panels: list["drawing.Axes"], analysis: Analysis) -> None:
    names, label_names = analysis.facts.representations, analysis.facts.label_names
    shares: dict[tuple[str, int], list[filtering.ClassShare]] = defaultdict(list)
    for one in analysis.of(filtering.CLASS_SHARES):
        shares[one.representation, one.label].append(one)
    moved = dict.fromkeys(range(len(label_names)), 0.0)
    for (_, label), each in shares.items():
        moved[label] = max(moved[label], abs(each[-1].share - each[0].share))
    drawn = sorted(sorted(moved, key=moved.__getitem__, reverse=True)[:_MOST_CLASSES])
    highest = max((one.share for name in names for label in drawn for one in shares[name, label]), default=0)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    for panel, name in zip(panels, names, strict=False):
        for number, label in enumerate(drawn):
            iterations, share = drawing.columns(shares[name, label], "iteration", "share")
            style = {**series_style(number), "label": short(label_names[label], 24)}
            panel.plot(iterations, 100 * share, lw=1.6, ms=4, **style)
        panel.set(xlabel="iteration", ylim=(0, 108 * highest or 1))
        panel.set_title(f"Class shares ({name})", fontsize=11)
        drawing.whole_ticks(panel)
    panels[0].set_ylabel("share of rows (%)")


def filtering_curve(rows: Sequence[filtering.FilterRow], alt: str) -> Picture:
    """Draw curves over the iterations in two panels. The upper panel has the representation bias and the share of the
    largest class, and the lower panel the number of filtered rows.
    """
    figure = drawing.new_figure(5.6, 4.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    iterations, bias, largest = drawing.columns(rows, "iteration", "representation_bias", "largest_class")
    upper.plot(iterations, 100 * bias, color=BLUE, marker="o", ms=4, label="representation bias")
    upper.plot(iterations, 100 * largest, color=GREY, ls="--", label="largest class")
    upper.set(ylabel="predictable rows (%)", ylim=(0, 102))
    upper.legend(frameon=False, loc="best", fontsize=9)
    lower.step(iterations, [row.rows_in for row in rows], color=VERMILION, where="post")
    lower.set(xlabel="iteration", ylabel="pool rows left", ylim=(0, None))
    lower.yaxis.set_major_formatter(drawing.THOUSANDS)
    drawing.whole_ticks(lower)
    return drawing.picture(figure, alt)


def predictability_histogram(bins: Sequence[filtering.PredictabilityBin]) -> Picture:
    """Draw a histogram of each train row's last known predictability. Bars of kept rows are stacked on bars of removed
    rows.
    """
    figure, axes = drawing.new_axes()
    low, high, kept, removed = drawing.columns(bins, "low", "high", "kept", "removed")
    draw_bars(axes, low, high, removed, lw=0.6, facecolors=ORANGE, hatch="///", label=f"removed ({removed.sum():,})")
    draw_bars(axes, low, high, kept, bottom=removed, lw=0.6, facecolors=BLUE, label=f"kept ({kept.sum():,})")
    axes.set(xlabel="predictability (share of held-out predictions that were right)", ylabel="train rows", xlim=(0, 1))
    axes.set_ylim(0, 1.08 * max(1, (kept + removed).max()))
    axes.yaxis.set_major_formatter(drawing.THOUSANDS)
    axes.legend(frameon=False, fontsize=9)
    alt = f"Histogram of the predictability of kept and removed train rows, representation {bins[0].representation}"
    return drawing.picture(figure, alt)


def scores_by_iteration(bins: Sequence[ScoreBin], settings: Mapping[str, object]) -> Picture:
    """Draw histograms of predictability for at most eight evenly spaced iterations.

    Each histogram marks the removed rows and, if the filter has one, the threshold.
    """
    iterations = [list(of_one) for _, of_one in groupby(bins, attrgetter("iteration"))]
    places = np.linspace(0, len(iterations) - 1, min(_MOST_ITERATIONS, len(iterations))).round().astype(np.int64)
    chosen = [iterations[place] for place in places.tolist()]
    figure, panels = drawing.new_panels(len(chosen), 4, size=(2.3, 2.05), margin=(0.9, 0.75), sharex=True, sharey=True)
    threshold = filtering.threshold_of(settings)
    tops = [_draw_scores(panel, of_one, threshold) for panel, of_one in zip(panels.flat, chosen, strict=False)]
    panels[0, 0].set_ylim(0, 1.05 * max(tops, default=0) or 1)
    for panel in panels.flat[max(len(chosen) - panels.shape[1], 0) : len(chosen)]:
        panel.set_xlabel("predictability")
        panel.tick_params(labelbottom=True)
    figure.supylabel("share of the rows left (%)", x=0.005, fontsize=10)
    alt = "Histograms of predictability in up to eight iterations, with the rows that each removed, representation "
    alt += bins[0].representation if bins else "none"
    return drawing.picture(figure, alt, legend=panels[0, 0], ncols=3, fontsize=9)


def _draw_scores(axes: "drawing.Axes", bins: Sequence[ScoreBin], threshold: float | None) -> float:
    """Draw the histogram of one iteration, and return the height of its highest bar in per cent."""
    low, high, rows, removed = drawing.columns(bins, "low", "high", "rows", "removed")
    scale = 100 / max(rows.sum(), 1)
    stays = scale * (rows - removed)
    draw_bars(axes, low, high, stays, lw=0.4, facecolors=BLUE, label="stays")
    gone = "removed in this iteration"
    draw_bars(axes, low, high, scale * removed, bottom=stays, lw=0.4, facecolors=ORANGE, hatch="////", label=gone)
    if threshold is not None:
        axes.axvline(threshold, color=VERMILION, ls="--", lw=1.4, label=f"threshold {threshold:g}")
    axes.set(xlim=(0, 1), xticks=(0, 0.5, 1), xticklabels=("0", "0.5", "1"))
    axes.set_title(f"iteration {bins[0].iteration}: {rows.sum():,} rows,\n{removed.sum():,} removed", fontsize=9)
    return float(scale * rows.max())


def warmup_picture(points: Sequence[CurvePoint]) -> Picture:
    """Draw the learning curves that were used to choose the number of warm-up rows.

    Each point of a learning curve has twice as many rows as the previous point.
    """
    curves = {name: list(of_one) for name, of_one in groupby(points, attrgetter("representation"))}
    alt = "Accuracy on held-back warm-up rows by the rows trained on, with the elbow chosen, representations "
    return learning_curves(curves, alt + listed(list(curves)), logarithmic=True)


def learning_curves(curves: Mapping[str, Sequence[Any]], alt: str, *, logarithmic: bool) -> Picture:
    """Draw accuracy on held-back rows against the number of train rows, with Wilson's intervals and the elbows.

    All points of a curve use the same held-back rows.
    """
    figure, axes = drawing.new_axes(height=4.4)
    for number, (name, points) in enumerate(curves.items()):
        rows, accuracy, low, high = drawing.columns(points, "rows", "accuracy", "interval_low", "interval_high")
        # Several curves at one size: bars side by side can be told apart.
        rows = rows * 1.04 ** (number - (len(curves) - 1) / 2)
        style = {**series_style(number), "ms": 5, "capsize": 3, "label": short(name, 32)}
        axes.errorbar(rows, 100 * accuracy, (100 * (accuracy - low), 100 * (high - accuracy)), **style)
        at = [one.elbow for one in points].index(True)
        label = "elbow" if number == len(curves) - 1 else None
        axes.plot(rows[at], 100 * accuracy[at], "o", ms=14, mfc="none", mec="black", ls="none", label=label)
    points = next(iter(curves.values()))
    axes.axhline(100 * points[0].most_frequent_class, color=GREY, ls="--", label="largest class")
    axes.axvline(next(one.rows for one in points if one.chosen), color=GREY, ls=":", label="size chosen")
    if logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_xticks([one.rows for one in points])
    axes.set_xlabel("rows trained on" + (" (logarithmic axis)" if logarithmic else ""))
    axes.set(ylabel=f"accuracy on {points[0].held_back_rows:,} held-back rows (%)", ylim=(0, 102))
    axes.xaxis.set_major_formatter(drawing.THOUSANDS)
    axes.minorticks_off()
    return drawing.picture(figure, alt, legend=axes, ncols=2, fontsize=9)


def curve_figure(rows: Sequence[filtering.FilterRow]) -> dict[str, JsonValue]:
    """Return the data of two panels for `page/scripts/charts.js`.

    The first panel shows the bias and the share of the largest class. The second panel shows the number of remaining
    pool rows.

    `colour` is the name of one of the page's colours. `values` has one number per iteration, and `texts` has the same
    numbers formatted as text.
    """
    bias, largest, left = (
        [getattr(row, name) for row in rows] for name in ("representation_bias", "largest_class", "rows_in")
    )
    shares = {"title": "predictable rows (%)", "top": 100, "height": 3}
    counts = {"title": "pool rows left", "top": max(left, default=1), "height": 2}
    went = [f"{count(row.rows_in)} ({count(row.removed)} go)" for row in rows]
    panels = [
        shares | {"series": [_share_series("representation bias", "bias", bias)]},
        counts
        | {"series": [{"name": "pool rows left", "colour": "rows", "line": "steps", "values": left, "texts": went}]},
    ]
    panels[0]["series"].append(_share_series("largest class", "chance", largest) | {"line": "dashed"})
    return {"axis": "iteration", "places": [row.iteration for row in rows], "panels": to_json(panels)}


def curve_says(rows: Sequence[filtering.FilterRow]) -> str:
    """Describe the filtering chart (see `curve_figure`) in words, or return "" if there is no iteration."""
    if not rows:
        return ""
    first, last = rows[0], rows[-1]
    bias = f"{percent(first.representation_bias)} to {percent(last.representation_bias)} %"
    return (
        f"In {counted(len(rows), 'iteration')} representation bias goes from {bias}, and the pool from "
        f"{count(first.rows_in)} to {count(last.rows_in)} rows. The largest class of the rows left has "
        f"{percent(last.largest_class)} %."
    )


def _share_series(name: str, colour: str, shares: Sequence[float]) -> dict[str, Any]:
    values = [100 * share for share in shares]
    return {
        "name": name,
        "colour": colour,
        "line": "plain",
        "values": values,
        "texts": [f"{one:.1f} %" for one in values],
    }


def script_json(value: JsonValue) -> str:
    """Return JSON that is safe inside a script element, because it contains no text that ends the element or starts a
    comment.
    """
    return _ENCODER.encode(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
