"""Figures of models: accuracies and falls, wide and narrow; for forgettable rows, Figures 1, 4 and 6 of EACL 2021."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import Fall, FallTerm
from aflite_assets.analysis.forgettables import THRESHOLDS
from aflite_assets.analysis.inputs.forgettables import SecondPhase, Threshold, WeakModelFacts
from aflite_assets.analysis.inputs.records import Unit
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.analysis.train_sets import TRAIN_SETS
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, Picture
from aflite_assets.text import listed, one_line, percent, short, signed_points
from aflite_assets.wording import counted, truncate

_COLOURS = (GREY, SKY, BLUE, VERMILION, PURPLE, GREEN, ORANGE, INK)
_DRAWN = zip(sorted(TRAIN_SETS, key=lambda name: name == "sampled"), _COLOURS, drawing.SERIES_MARKERS, strict=True)
_STYLES: dict[str, dict[str, Any]] = {
    name: {"color": colour, "marker": marker, "ls": "", "ms": 5} for name, colour, marker in _DRAWN
}
"""Colours of the train sets, in their order; the last colour is for the sample, which few datasets have."""

_CHANCE: dict[str, Any] = {"color": INK, "ls": "--", "lw": 1.1}
_EVENTS = ("0", "1", "2", "3", "never_learnt")

FORGETTABLE_KINDS = ("forgetting_events", "loss_ranked.", "thresholds.")  # how the names of the pictures begin


def headline_pictures(analysis: Analysis, *, narrow: bool) -> dict[str, Picture]:
    """Return "overview" and "falls", with the representation, if any, after a dot; `narrow`: one panel per row."""
    most_across = 1 if narrow else 3
    pictures: dict[str, Picture] = {}
    for name in analysis.facts.representations:
        if any(one.accuracy is not None for one in analysis.of(ACCURACIES)):
            pictures[f"overview.{name}"] = _overview(analysis, name, most_across)
        # on a challenge set where there is one: there filtering shows what it is for
        if drawn := _complete(analysis.falls(name, challenge=True)) or _complete(analysis.falls(name)):
            unit = analysis.facts.test_set[drawn[0][0].test_set].unit
            pictures[f"falls.{name}"] = _waterfalls(drawn, unit, most_across)
    return pictures


def _complete(falls: Sequence[Fall]) -> list[Fall]:
    """Return the falls that have a result for every term."""
    return [terms for terms in falls if all((one.accuracy, one.difference) != (None, None) for one in terms)]


def _overview(analysis: Analysis, representation: str, most_across: int) -> Picture:
    """Draw one panel per test set with one line per evaluator, and on it a dot with its interval per train set."""
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
        panel.tick_params(labelbottom=True)  # sharing an axis leaves the numbers to the lowest panels alone
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
    """Draw the falls that have a result for every term; `unit` is the unit of their test sets."""
    width, margin = (3.1, 0.6) if min(most_across, len(falls)) > 1 else (3.7, 0)
    figure, panels = drawing.new_panels(len(falls), most_across, size=(width, 2.75), margin=(margin, 0), sharey=True)
    for panel, terms in zip(panels.flat, falls, strict=False):
        _draw_fall(panel, terms)
    panels[0, 0].set_ylim(0, 104)
    for panel in panels[:, 0]:
        panel.set_ylabel(_accuracy_text({unit}), fontsize=9)
    return drawing.picture(figure, ". ".join(map(_in_words, falls)))


def _draw_fall(panel: "drawing.Axes", terms: Sequence[FallTerm]) -> None:
    """Draw the steps from full to filtered, with their simultaneous intervals."""
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


def forgettable_pictures(analysis: Analysis) -> dict[str, Picture]:
    """Return "forgetting_events" and, if they apply, "loss_ranked.<start>" and "thresholds.<start>.<test set>"."""
    facts = analysis.facts
    if not facts.weak_models:
        return {}
    pictures = {"forgetting_events": _events(facts.weak_models)}
    for start in dict.fromkeys(phase.start for phase in facts.phases.values()):
        phases = {name: phase for name, phase in facts.phases.items() if phase.start == start}
        if ranked := _loss_ranked(analysis, start, phases):
            pictures[f"loss_ranked.{start}"] = ranked
        thresholds = [one for one in analysis.of(THRESHOLDS) if one.evaluator in (start, *phases)]
        for name in dict.fromkeys(one.test_set for one in thresholds if one.evaluator == start):
            shown = [one for one in thresholds if one.test_set == name]
            pictures[f"thresholds.{start}.{name}"] = _thresholds(shown, name)
    return pictures


def _events(models: Mapping[str, WeakModelFacts]) -> Picture:
    """Draw the share of the train rows by how often they were forgotten, with one group of bars per weak model."""
    figure, axes = drawing.new_axes(height=3.4)
    places, width = np.arange(len(_EVENTS)), 0.8 / len(models)
    for number, (model, facts) in enumerate(models.items()):
        shares = [100 * facts.events.get(name, 0) / max(facts.rows, 1) for name in _EVENTS]
        style = {"color": drawing.series_style(number)["color"], "label": model}
        axes.bar(places - 0.4 + (number + 0.5) * width, shares, width, **style)
    axes.set_xticks(places, [*_EVENTS[:-1], "never\nlearnt"])
    axes.set(xlabel="times forgotten", ylabel="train rows (%)", ylim=(0, 102))
    said = [f"{name} forgets {percent(facts.share)} % of them" for name, facts in models.items()]
    return drawing.picture(figure, f"Train rows by how often they were forgotten: {listed(said)}", legend=axes, ncols=3)


def _loss_ranked(analysis: Analysis, start: str, phases: Mapping[str, SecondPhase]) -> Picture | None:
    """Draw accuracy on the first natural and the first challenge set by the share of highest loss; None for fewer than
    two shares.
    """
    numbers = {name: one.set_name.partition("highest_loss_")[2].replace("_", ".") for name, one in phases.items()}
    shares = {name: float(number) for name, number in numbers.items() if number}
    sets = {one.challenge: one.name for one in reversed(analysis.facts.test_sets)}
    shown = [sets[challenge] for challenge in (False, True) if challenge in sets]
    if len(shares) < 2 or not shown:
        return None
    means = {
        (one.evaluator, one.test_set): 100 * (np.nan if one.accuracy is None else one.accuracy)
        for one in analysis.of(ACCURACIES)
        if one.representation is None and one.train_set == "full" and one.whole and one.tested_on != "filtered"
    }
    figure, panels = drawing.new_panels(len(shown), 2, size=(3.1, 3.6), margin=(0.4, 0))
    for axes, test_set in zip(panels.flat, shown, strict=True):
        points = sorted((share, means[name, test_set]) for name, share in shares.items())
        axes.plot(*zip(*points, strict=True), color=drawing.SERIES_COLOURS[0], marker="o", label="highest loss")
        for number, (name, phase) in enumerate(phases.items()):
            facts = analysis.facts.weak_models.get(phase.weak_model)
            if phase.set_name == "forgettable" and facts is not None:
                at = 100 * facts.taken / max(facts.rows, 1), means[name, test_set]
                colour, marker = drawing.SERIES_COLOURS[1 + number % 5], drawing.SERIES_MARKERS[1 + number % 7]
                axes.plot(*at, ls="", color=colour, marker=marker, label=f"forgettable, {phase.weak_model}")
        axes.axhline(means[start, test_set], color=GREY, ls="--", lw=1, label="no second phase")
        axes.set(title=test_set, xlabel="share of the train rows (%)", ylabel="accuracy (%)")
    alt = f"Accuracy of {start} after a second phase on rows of highest loss, by share of the train rows. "
    alt += f"It also shows forgettable rows and no second phase, on {listed(shown)}"
    return drawing.picture(figure, alt, legend=panels[0, 0], ncols=2)


def _thresholds(thresholds: Sequence[Threshold], test_set: str) -> Picture:
    """Draw accuracy on one test set by threshold, one line per evaluator with its maximum marked."""
    figure, axes = drawing.new_axes(height=3.8)
    said = []
    for number, (name, each) in enumerate(groupby(thresholds, attrgetter("evaluator"))):
        curve, style = list(each), drawing.series_style(number)
        best = next(one for one in curve if one.chosen)
        threshold, accuracy = drawing.columns(curve, "threshold", "accuracy")
        axes.plot(threshold, 100 * accuracy, color=style["color"], label=name)
        axes.plot(best.threshold, 100 * best.accuracy, ls="", **style)
        said.append(f"{name} at {best.threshold:.2f} ({percent(best.accuracy)} %)")
    threshold_on = f"threshold on the probability of {thresholds[0].class_name}"
    axes.set(xlim=(-0.01, 1.01), xlabel=threshold_on, ylabel="accuracy (%)")
    axes.set_title(test_set, fontsize=12)
    alt = f"Accuracy on {test_set} by the {threshold_on}, mean of {counted(thresholds[0].seeds, 'seed')}; highest: "
    return drawing.picture(figure, alt + listed(said), legend=axes, ncols=2)
