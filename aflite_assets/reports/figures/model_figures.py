"""Figures of models' accuracies and of falls (drops in accuracy), each in a wide and in a narrow layout."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import Fall, FallTerm
from aflite_assets.analysis.inputs.records import Unit
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.analysis.train_sets import TRAIN_SETS
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, Picture
from aflite_assets.text import listed, one_line, percent, short, signed_points
from aflite_assets.wording import truncate

_COLOURS = (GREY, SKY, BLUE, VERMILION, PURPLE, GREEN, ORANGE, INK)
_DRAWN = zip(sorted(TRAIN_SETS, key=lambda name: name == "sampled"), _COLOURS, drawing.SERIES_MARKERS, strict=True)
_STYLES: dict[str, dict[str, Any]] = {
    name: {"color": colour, "marker": marker, "ls": "", "ms": 5} for name, colour, marker in _DRAWN
}
"""Colours of the train sets, in their order; the last colour is for the sample, which few datasets have."""

_CHANCE: dict[str, Any] = {"color": INK, "ls": "--", "lw": 1.1}


def headline_pictures(analysis: Analysis, *, narrow: bool) -> dict[str, Picture]:
    """Return the figures "overview.<representation>" and "falls.<representation>" by name.

    `narrow`: whether to place all panels below each other, for narrow screens.
    """
    most_across = 1 if narrow else 3
    pictures: dict[str, Picture] = {}
    for name in analysis.facts.representations:
        if any(one.accuracy is not None for one in analysis.of(ACCURACIES)):
            pictures[f"overview.{name}"] = _overview(analysis, name, most_across)
        # on a challenge set if there is one, because filtering matters most there
        if drawn := _complete(analysis.falls(name, challenge=True)) or _complete(analysis.falls(name)):
            unit = analysis.facts.test_set[drawn[0][0].test_set].unit
            pictures[f"falls.{name}"] = _waterfalls(drawn, unit, most_across)
    return pictures


def _complete(falls: Sequence[Fall]) -> list[Fall]:
    """Return the falls (drops in accuracy) for which all accuracies and differences are known."""
    return [terms for terms in falls if all((one.accuracy, one.difference) != (None, None) for one in terms)]


def _overview(analysis: Analysis, representation: str, most_across: int) -> Picture:
    """Draw one panel per test set, one line per evaluator, and one dot with an interval per train set."""
    test_sets, plain = analysis.facts.test_sets, analysis.facts.plain_evaluators
    found = [
        one
        for one in analysis.of(ACCURACIES, representation)
        if one.evaluator in plain and one.train_set in _STYLES
        if one.whole and one.top == 1 and one.tested_on in ("full", "all")
    ]
    evaluators, train_sets = (list(dict.fromkeys(map(attrgetter(name), found))) for name in ("evaluator", "train_set"))
    number, across = len(test_sets), min(most_across, len(test_sets))
    width, beside = (3.1, 0.9) if across > 1 else (3.7, 0)
    size = width, 0.5 + len(evaluators) * (0.2 + 0.13 * len(train_sets))
    figure, panels = drawing.new_panels(number, across, size=size, margin=(beside, 0.75), sharex=True, sharey=True)
    for place, (panel, test_set) in enumerate(zip(panels.flat, test_sets, strict=False)):
        _draw_accuracies(panel, [one for one in found if one.test_set == test_set.name], evaluators, train_sets)
        panel.set_title(short(test_set.name, 30), fontsize=10)
        panel.tick_params(labelbottom=True)  # with shared axes, only the lowest panels would have numbers
        if test_set.chance is not None:
            panel.axvline(100 * test_set.chance, **_CHANCE)
        if place + across >= number:
            panel.set_xlabel(_accuracy_text({one.unit for one in test_sets}), fontsize=9)
    first = panels[0, 0]
    first.set_yticks(range(len(evaluators)), [truncate(name, 18) for name in evaluators], fontsize=9)
    first.set_ylim(len(evaluators) - 0.5, -0.5)
    for name in train_sets:
        first.plot([], [], label=name, **_STYLES[name])
    chances = [f"{percent(one.chance)} % on {one_line(one.name)}" for one in test_sets if one.chance is not None]
    alt = f"Accuracy with its 95 % interval of {listed(evaluators, 8)}, trained on {listed(train_sets)}, on "
    alt += f"{listed([one_line(one.name) for one in test_sets], 8)}, representation {representation}"
    if chances:
        first.plot([], [], label="chance (1/answers)", **_CHANCE)
        alt += f"; the dashed line is chance, one over the number of answers: {listed(chances, 8)}"
    return drawing.picture(figure, alt, legend=first, ncols=3 if across > 1 else 2, fontsize=9)


def _accuracy_text(units: set[Unit]) -> str:
    return "accuracy by question (%)" if units == {"question"} else "accuracy (%)"


def _draw_accuracies(
    panel: "drawing.Axes", found: Sequence[Accuracy], evaluators: Sequence[str], train_sets: Sequence[str]
) -> None:
    for place, name in enumerate(train_sets):
        drawn = [one for one in found if one.train_set == name and one.accuracy is not None]
        mean, low, high = 100 * np.array(drawing.columns(drawn, "accuracy", "interval_low", "interval_high"))
        shift = 0.72 * ((place + 0.5) / len(train_sets) - 0.5)
        lines = [evaluators.index(one.evaluator) + shift for one in drawn]
        panel.errorbar(mean, lines, xerr=np.maximum((mean - low, high - mean), 0), lw=1.4, **_STYLES[name])
    for line in range(1, len(evaluators)):
        panel.axhline(line - 0.5, color="#d5dce3", lw=0.8)


def _waterfalls(falls: Sequence[Fall], unit: Unit, most_across: int) -> Picture:
    """Draw one panel for each of the given falls (drops in accuracy).

    `unit`: what the test sets count, such as "rows" or "questions".
    """
    width, margin = (3.1, 0.6) if min(most_across, len(falls)) > 1 else (3.7, 0)
    figure, panels = drawing.new_panels(len(falls), most_across, size=(width, 2.75), margin=(margin, 0), sharey=True)
    for panel, terms in zip(panels.flat, falls, strict=False):
        _draw_fall(panel, terms)
    panels[0, 0].set_ylim(0, 104)
    for panel in panels[:, 0]:
        panel.set_ylabel(_accuracy_text({unit}), fontsize=9)
    return drawing.picture(figure, ". ".join(map(_in_words, falls)))


def _draw_fall(panel: "drawing.Axes", terms: Sequence[FallTerm]) -> None:
    """Draw the steps of one fall (drop in accuracy), from `full` to `filtered`, with simultaneous intervals."""
    start, *steps, _ = terms
    over: dict[str, Any] = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "fontsize": 8}
    level = 100 * (start.accuracy or 0.0)
    panel.bar(0, level, color=GREY, width=0.72)
    panel.annotate(f"{level:.1f}", (0, level), **over)
    for place, step in enumerate(steps, start=1):
        fall, low, high = (number or 0.0 for number in (step.difference, step.low, step.high))
        down, up = max(fall - low, 0), max(high - fall, 0)
        after = level - fall
        panel.bar(place, fall, bottom=after, color=ORANGE if fall >= 0 else GREEN, width=0.72)
        panel.plot([place - 1.36, place + 0.36], [level, level], color=GREY, lw=0.8)
        panel.errorbar(place, after, yerr=[[up], [down]], color=INK, capsize=2.5, lw=1.1)
        box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        panel.annotate(signed_points(-fall), (place, min(max(level, after + down), 97.0)), bbox=box, **over)
        level = after
    panel.bar(len(steps) + 1, level, color=VERMILION, width=0.72)
    panel.annotate(f"{level:.1f}", (len(steps) + 1, level), **over)
    names = ["full", *(step.change.replace("train ", "").replace(" ", "\n") for step in steps), "filtered"]
    panel.set_xticks(range(len(names)), names, fontsize=7)
    panel.set_title(f"{truncate(start.evaluator, 24)} on {short(start.test_set, 14)}", fontsize=10)


def _in_words(terms: Sequence[FallTerm]) -> str:
    start, *changes, end = terms
    steps = [f"{step.change} {signed_points(-(step.difference or 0.0))}" for step in changes]
    before, after = (percent(one.accuracy or 0.0) for one in (start, end))
    return f"{start.evaluator} on {one_line(start.test_set)}: from {before} % to {after} % by {listed(steps)} points"
