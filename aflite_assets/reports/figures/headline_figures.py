"""The two figures that a report is opened for: accuracies side by side, and what each fall is made of; each also
narrow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.falls import Fall, falls
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import AccuracySummary, correct_rows, score
from aflite_assets.analysis.scores.groups import cell_groups
from aflite_assets.analysis.train_sets import TRAIN_SETS
from aflite_assets.reports.figures.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SERIES_MARKERS,
    SKY,
    VERMILION,
    Picture,
    literal,
    new_figure,
    png,
)
from aflite_assets.text import listed, one_line, percent, signed_points
from aflite_assets.wording import truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_COLOURS = (GREY, SKY, BLUE, VERMILION, PURPLE, GREEN, ORANGE, "#17212b")
"""Colours of the train sets, in their order; the last is that of the sample, which few datasets have."""

_STYLES = {
    name: (_COLOURS[place % len(_COLOURS)], SERIES_MARKERS[place % len(SERIES_MARKERS)])
    for place, name in enumerate([*(one for one in TRAIN_SETS if one != "sampled"), "sampled"])
}
_STEPS = {
    "test rows": "test\nrows",
    "fewer train rows": "fewer\nrows",
    "class sizes": "class\nsizes",
    "which train rows": "which\nrows",
}
_CHANCE: dict[str, Any] = {"color": "#17212b", "ls": "--", "lw": 1.1}
_CHANCE_TEXT = "chance: one over the number of answers"
_ACROSS = 3
_WIDE, _NARROW = 3.1, 3.7
"""Inches of a panel's width: beside others, and alone."""


@cached_per_record
def headline_pictures(data: BenchmarkData, narrow: bool) -> dict[str, Picture]:
    """ "overview" and "falls" with the representation after a dot, of what there is; `narrow`: a panel below another.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    pictures: dict[str, Picture] = {}
    for name in data.representations:
        if any(cell.status == "done" for cell in data.cells) and data.test_sets:
            pictures[f"overview.{name}"] = _overview(data, name, across=1 if narrow else _ACROSS)
        drawn = [fall for fall in falls(data, name) if fall.complete]
        if drawn:
            pictures[f"falls.{name}"] = _waterfalls(drawn, across=1 if narrow else _ACROSS)
    return pictures


def _overview(data: BenchmarkData, representation: str, *, across: int) -> Picture:
    """A panel per test set, a line per evaluator, on it a dot with its interval per train set."""
    groups = [
        (evaluator, train_set, cells)
        for evaluator, train_set, cells in cell_groups(data, representation)
        if evaluator in data.plain_evaluators and train_set in _STYLES
    ]
    evaluators = list(dict.fromkeys(evaluator for evaluator, *_ in groups))
    sets = list(dict.fromkeys(train_set for _, train_set, _ in groups))
    across = min(across, len(data.test_sets))
    down = -(-len(data.test_sets) // across)
    each = 0.5 + len(evaluators) * (0.2 + 0.13 * len(sets))
    figure = new_figure(width=(_WIDE * across + 0.9) if across > 1 else _NARROW, height=each * down + 0.75)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for panel in panels.flat[len(data.test_sets) :]:
        panel.set_visible(False)
    for panel, test_set in zip(panels.flat, data.test_sets, strict=False):
        found = {(who, name): _summary(cells, test_set) for who, name, cells in groups}
        _dots(panel, found, evaluators, sets)
        panel.set_title(truncate(one_line(test_set.name), 30), fontsize=10)
        if test_set.chance is not None:
            panel.axvline(100 * test_set.chance, **_CHANCE)
    panels[0, 0].set_yticks(range(len(evaluators)), [truncate(name, 18) for name in evaluators], fontsize=9)
    panels[0, 0].set_ylim(len(evaluators) - 0.5, -0.5)
    asked = [one for one in data.test_sets if one.chance is not None]
    for place, panel in enumerate(panels.flat[: len(data.test_sets)]):
        panel.tick_params(labelbottom=True)  # sharing an axis leaves the numbers to the lowest panels alone
        if place + across >= len(data.test_sets):
            panel.set_xlabel(_accuracy_text(data.test_sets), fontsize=9)
    figure.legend(
        handles=[*map(_handle, sets), *([_chance_handle()] if asked else [])],
        loc="outside lower center",
        ncols=3 if across > 1 else 2,
        frameon=False,
        fontsize=9,
    )
    literal(figure)
    return Picture(
        png(figure),
        f"Accuracy with its 95 % interval of {listed(evaluators, 8)}, trained on {listed(sets)}, on "
        f"{listed([one_line(one.name) for one in data.test_sets], 8)}, representation {representation}"
        + (f"; dashed: {_CHANCE_TEXT}, {_chances(asked)}" if asked else ""),
    )


def _accuracy_text(test_sets: Sequence[TestSet]) -> str:
    """What the axis of accuracies says."""
    units = {one.unit for one in test_sets}
    return "accuracy by question (%)" if units == {"question"} else "accuracy (%)"


def _chances(asked: Sequence[TestSet]) -> str:
    return listed([f"{percent(one.chance or 0.0)} % on {one_line(one.name)}" for one in asked], 8)


def _summary(cells: Sequence[Cell], test_set: TestSet) -> AccuracySummary | None:
    everything = np.ones(len(test_set.row_ids), dtype=bool)
    return score([correct_rows(cell, test_set) for cell in cells], everything, test_set.groups).accuracy


def _dots(
    panel: "Axes",
    found: dict[tuple[str, str], AccuracySummary | None],
    evaluators: Sequence[str],
    sets: Sequence[str],
) -> None:
    for place, name in enumerate(sets):
        colour, marker = _STYLES[name]
        shift = 0.72 * ((place + 0.5) / len(sets) - 0.5)
        drawn = [
            (line + shift, one)
            for line, evaluator in enumerate(evaluators)
            if (one := found[evaluator, name]) is not None
        ]
        if not drawn:
            continue
        means = np.array([one.mean for _, one in drawn])
        ends = np.array([[one.mean - one.interval.low, one.interval.high - one.mean] for _, one in drawn]).T
        panel.errorbar(
            100 * means,
            [line for line, _ in drawn],
            xerr=100 * np.maximum(ends, 0),
            fmt=marker,
            color=colour,
            ms=5,
            lw=1.4,
        )
    for line in range(1, len(evaluators)):
        panel.axhline(line - 0.5, color="#d5dce3", lw=0.8)


def _chance_handle() -> "Line2D":
    from matplotlib.lines import Line2D

    return Line2D([], [], **_CHANCE, label="chance (1/answers)")


def _handle(train_set: str) -> "Line2D":
    from matplotlib.lines import Line2D

    colour, marker = _STYLES[train_set]
    return Line2D([], [], color=colour, marker=marker, ls="", ms=5, label=train_set)


def _waterfalls(drawn: Sequence[Fall], *, across: int) -> Picture:
    across = min(across, len(drawn))
    down = -(-len(drawn) // across)
    width = (_WIDE * across + 0.6) if across > 1 else _NARROW
    figure = new_figure(width=width, height=2.75 * down)
    panels = figure.subplots(down, across, squeeze=False, sharey=True)
    for panel in panels.flat[len(drawn) :]:
        panel.set_visible(False)
    for panel, fall in zip(panels.flat, drawn, strict=False):
        _waterfall(panel, fall)
    panels[0, 0].set_ylim(0, 104)
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy by question (%)" if drawn[0].unit == "question" else "accuracy (%)", fontsize=9)
    literal(figure)
    return Picture(png(figure), "; ".join(map(_in_words, drawn)))


def _waterfall(panel: "Axes", fall: Fall) -> None:
    """From the full model on full rows, a step per change, to filtered on filtered rows; bars: joint intervals."""
    assert fall.start is not None  # complete falls alone are drawn
    level = 100 * fall.start
    panel.bar(0, level, color=GREY, width=0.72)
    names = ["full"]
    for place, step in enumerate(fall.steps, start=1):
        assert step.fall is not None
        after = level - step.fall.difference
        panel.bar(
            place, step.fall.difference, bottom=after, color=ORANGE if step.fall.difference >= 0 else GREEN, width=0.72
        )
        panel.plot([place - 1.36, place + 0.36], [level, level], color=GREY, lw=0.8)
        panel.errorbar(
            place,
            after,
            yerr=[[max(step.fall.high - step.fall.difference, 0)], [max(step.fall.difference - step.fall.low, 0)]],
            color="#17212b",
            capsize=2.5,
            lw=1.1,
        )
        top = max(level, after + max(step.fall.difference - step.fall.low, 0))
        panel.annotate(
            signed_points(-step.fall.difference),
            (place, min(top, 97.0)),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        )
        level = after
        names.append(_STEPS[step.what])
    panel.bar(len(names), level, color=VERMILION, width=0.72)
    names.append("filtered")
    panel.set_xticks(range(len(names)), names, fontsize=7)
    for place, height in ((0, 100 * fall.start), (len(names) - 1, level)):
        panel.annotate(
            f"{height:.1f}", (place, height), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8
        )
    panel.set_title(f"{truncate(fall.evaluator, 24)} on {truncate(one_line(fall.test_set), 14)}", fontsize=10)


def _in_words(fall: Fall) -> str:
    assert fall.start is not None
    assert fall.end is not None
    steps = [f"{step.what} {signed_points(-step.fall.difference)}" for step in fall.steps if step.fall is not None]
    return (
        f"{fall.evaluator} on {one_line(fall.test_set)}: from {100 * fall.start:.1f} % to {100 * fall.end:.1f} % by "
        f"{listed(steps)} points"
    )
