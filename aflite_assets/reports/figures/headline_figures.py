"""The two figures that a report is opened for: accuracies side by side, and what each fall is made of; each also
narrow."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import FALLS, FallTerm
from aflite_assets.analysis.facts import TestSetFacts
from aflite_assets.analysis.inputs.records import Unit
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
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


def headline_pictures(analysis: Analysis, *, narrow: bool) -> dict[str, Picture]:
    """ "overview" and "falls" with the representation after a dot, if there are any; `narrow`: one panel a row."""
    across = 1 if narrow else _ACROSS
    pictures: dict[str, Picture] = {}
    for name in analysis.facts.representations:
        if any(one.accuracy is not None for one in analysis.of(ACCURACIES)):
            pictures[f"overview.{name}"] = _overview(analysis, name, across=across)
        drawn = [
            (terms, analysis.facts.test_set[terms[0].test_set].unit)
            for _, each in groupby(analysis.of(FALLS, name), attrgetter("evaluator", "test_set"))
            if (terms := list(each)) and all(one.accuracy is not None or one.difference is not None for one in terms)
        ]
        if drawn:
            pictures[f"falls.{name}"] = _waterfalls(drawn, across=across)
    return pictures


def _overview(analysis: Analysis, representation: str, *, across: int) -> Picture:
    """A panel per test set, a line per evaluator, on it a dot with its interval per train set."""
    test_sets, plain = analysis.facts.test_sets, analysis.facts.plain_evaluators
    found = {
        (one.test_set, one.evaluator, one.train_set): one
        for one in analysis.of(ACCURACIES, representation)
        if one.evaluator in plain
        and one.train_set in _STYLES
        and one.whole
        and one.top == 1
        and one.tested_on in ("full", "all")
    }
    evaluators = list(dict.fromkeys(evaluator for _, evaluator, _ in found))
    sets = list(dict.fromkeys(train_set for *_, train_set in found))
    across = min(across, len(test_sets))
    down = -(-len(test_sets) // across)
    each = 0.5 + len(evaluators) * (0.2 + 0.13 * len(sets))
    figure = new_figure(width=(_WIDE * across + 0.9) if across > 1 else _NARROW, height=each * down + 0.75)
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for panel in panels.flat[len(test_sets) :]:
        panel.set_visible(False)
    for panel, test_set in zip(panels.flat, test_sets, strict=False):
        _dots(panel, {key[1:]: one for key, one in found.items() if key[0] == test_set.name}, evaluators, sets)
        panel.set_title(truncate(one_line(test_set.name), 30), fontsize=10)
        if test_set.chance is not None:
            panel.axvline(100 * test_set.chance, **_CHANCE)
    panels[0, 0].set_yticks(range(len(evaluators)), [truncate(name, 18) for name in evaluators], fontsize=9)
    panels[0, 0].set_ylim(len(evaluators) - 0.5, -0.5)
    asked = [one for one in test_sets if one.chance is not None]
    for place, panel in enumerate(panels.flat[: len(test_sets)]):
        panel.tick_params(labelbottom=True)  # sharing an axis leaves the numbers to the lowest panels alone
        if place + across >= len(test_sets):
            panel.set_xlabel(_accuracy_text(test_sets), fontsize=9)
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
        f"{listed([one_line(one.name) for one in test_sets], 8)}, representation {representation}"
        + (f"; dashed: {_CHANCE_TEXT}, {_chances(asked)}" if asked else ""),
    )


def _accuracy_text(test_sets: Sequence[TestSetFacts]) -> str:
    """What the axis of accuracies says."""
    units = {one.unit for one in test_sets}
    return "accuracy by question (%)" if units == {"question"} else "accuracy (%)"


def _chances(asked: Sequence[TestSetFacts]) -> str:
    return listed([f"{percent(one.chance or 0.0)} % on {one_line(one.name)}" for one in asked], 8)


def _dots(
    panel: "Axes", found: Mapping[tuple[str, str], Accuracy], evaluators: Sequence[str], sets: Sequence[str]
) -> None:
    for place, name in enumerate(sets):
        colour, marker = _STYLES[name]
        shift = 0.72 * ((place + 0.5) / len(sets) - 0.5)
        drawn = [
            (line + shift, 100 * one.accuracy, 100 * (one.interval_low or 0.0), 100 * (one.interval_high or 0.0))
            for line, evaluator in enumerate(evaluators)
            if (one := found.get((evaluator, name))) is not None and one.accuracy is not None
        ]
        if not drawn:
            continue
        lines, means, lows, highs = zip(*drawn, strict=True)
        ends = [[max(mean - low, 0) for mean, low in zip(means, lows, strict=True)]]
        ends += [[max(high - mean, 0) for mean, high in zip(means, highs, strict=True)]]
        panel.errorbar(means, lines, xerr=ends, fmt=marker, color=colour, ms=5, lw=1.4)
    for line in range(1, len(evaluators)):
        panel.axhline(line - 0.5, color="#d5dce3", lw=0.8)


def _chance_handle() -> "Line2D":
    from matplotlib.lines import Line2D

    return Line2D([], [], **_CHANCE, label="chance (1/answers)")


def _handle(train_set: str) -> "Line2D":
    from matplotlib.lines import Line2D

    colour, marker = _STYLES[train_set]
    return Line2D([], [], color=colour, marker=marker, ls="", ms=5, label=train_set)


def _waterfalls(drawn: Sequence[tuple[Sequence[FallTerm], Unit]], *, across: int) -> Picture:
    """Falls whose terms have all a result, with the unit of their test set."""
    across = min(across, len(drawn))
    down = -(-len(drawn) // across)
    width = (_WIDE * across + 0.6) if across > 1 else _NARROW
    figure = new_figure(width=width, height=2.75 * down)
    panels = figure.subplots(down, across, squeeze=False, sharey=True)
    for panel in panels.flat[len(drawn) :]:
        panel.set_visible(False)
    for panel, (terms, _) in zip(panels.flat, drawn, strict=False):
        _waterfall(panel, terms)
    panels[0, 0].set_ylim(0, 104)
    for panel in panels[:, 0]:
        panel.set_ylabel("accuracy by question (%)" if drawn[0][1] == "question" else "accuracy (%)", fontsize=9)
    literal(figure)
    return Picture(png(figure), "; ".join(_in_words(terms) for terms, _ in drawn))


def _waterfall(panel: "Axes", terms: Sequence[FallTerm]) -> None:
    """From the full model on full rows, a step per change, to filtered on filtered rows; bars: joint intervals."""
    start = level = 100 * (terms[0].accuracy or 0.0)
    panel.bar(0, level, color=GREY, width=0.72)
    for place, step in enumerate(terms[1:-1], start=1):
        level = _step(panel, place, step, level)
    names = ["full", *(_STEPS[step.change] for step in terms[1:-1]), "filtered"]
    panel.bar(len(names) - 1, level, color=VERMILION, width=0.72)
    panel.set_xticks(range(len(names)), names, fontsize=7)
    for place, height in ((0, start), (len(names) - 1, level)):
        panel.annotate(
            f"{height:.1f}", (place, height), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8
        )
    title = f"{truncate(terms[0].evaluator, 24)} on {truncate(one_line(terms[0].test_set), 14)}"
    panel.set_title(title, fontsize=10)


def _step(panel: "Axes", place: int, step: FallTerm, level: float) -> float:
    """Draw a change of the accuracy `level`, in per cent, and return the level after it."""
    fall, low, high = (number or 0.0 for number in (step.difference, step.low, step.high))
    after = level - fall
    panel.bar(place, fall, bottom=after, color=ORANGE if fall >= 0 else GREEN, width=0.72)
    panel.plot([place - 1.36, place + 0.36], [level, level], color=GREY, lw=0.8)
    ends = [[max(high - fall, 0)], [max(fall - low, 0)]]
    panel.errorbar(place, after, yerr=ends, color="#17212b", capsize=2.5, lw=1.1)
    panel.annotate(
        signed_points(-fall),
        (place, min(max(level, after + max(fall - low, 0)), 97.0)),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=8,
        bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
    )
    return after


def _in_words(terms: Sequence[FallTerm]) -> str:
    start, *changes, end = terms
    steps = [f"{step.change} {signed_points(-(step.difference or 0.0))}" for step in changes]
    return (
        f"{start.evaluator} on {one_line(start.test_set)}: from {100 * (start.accuracy or 0.0):.1f} % to "
        f"{100 * (end.accuracy or 0.0):.1f} % by {listed(steps)} points"
    )
