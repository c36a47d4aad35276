"""The picture of the learning curves by which the warm-up rows were chosen."""

from collections.abc import Sequence

from aflite_assets.reports.figures.drawing import (
    GREY,
    SERIES_COLOURS,
    SERIES_MARKERS,
    literal,
    new_figure,
    png,
    thousands,
)
from aflite_assets.reports.inputs.learning_curve import LearningCurve, chosen_rows
from aflite_assets.reports.text import one_line
from aflite_assets.wording import truncate


def learning_curve_picture(curves: Sequence[LearningCurve]) -> bytes:
    """Accuracy on the held-back rows against rows trained on (logarithmic), with Wilson's intervals and the elbows.

    `curves`: at least one, all on the same held-back rows. PNG under 50 kB.
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
    axes.axhline(guessing, color=GREY, ls="--", label="chance: most frequent class")
    axes.axvline(chosen_rows(curves), color=GREY, ls=":", label="size chosen")
    axes.set_xscale("log", base=2)
    axes.set(
        xlabel="rows trained on (logarithmic axis)",
        ylabel=f"right of {curves[0].held_back_rows:,} held-back rows (%)",
        ylim=(0, 102),
    )
    axes.set_xticks(curves[0].rows)
    axes.xaxis.set_major_formatter(thousands)
    axes.minorticks_off()
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    literal(figure)
    return png(figure)
