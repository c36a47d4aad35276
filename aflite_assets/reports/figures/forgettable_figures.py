"""Figures of forgettable rows: events, loss-ranked second phases, thresholds (EACL 2021, Figures 1, 4 and 6)."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import numpy as np

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.forgettables import THRESHOLDS, Threshold
from aflite_assets.analysis.inputs.forgettables import WeakModelFacts
from aflite_assets.analysis.scores.accuracies import ACCURACIES
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import GREY, SERIES_COLOURS, SERIES_MARKERS, Picture, new_figure
from aflite_assets.text import listed, percent
from aflite_assets.wording import counted

_EVENTS = ("0", "1", "2", "3", "never_learnt")
_HIGHEST_LOSS = "highest_loss_"

FORGETTABLE_KINDS = ("forgetting_events", "loss_ranked.", "thresholds.")
"""How the names of the pictures begin."""


def forgettable_pictures(analysis: Analysis) -> dict[str, Picture]:
    """Return "forgetting_events"; if they apply "loss_ranked.<start>" and "thresholds.<start>.<test set>"."""
    models, phases = analysis.facts.weak_models, analysis.facts.phases
    if not models:
        return {}
    pictures = {"forgetting_events": _events(models)}
    for start in dict.fromkeys(phase.start for phase in phases.values()):
        if ranked := _loss_ranked(analysis, start):
            pictures[f"loss_ranked.{start}"] = ranked
        evaluators = [start, *(name for name, phase in phases.items() if phase.start == start)]
        thresholds = [one for one in analysis.of(THRESHOLDS) if one.evaluator in evaluators]
        for name in dict.fromkeys(one.test_set for one in thresholds if one.evaluator == start):
            shown = [one for one in thresholds if one.test_set == name]
            pictures[f"thresholds.{start}.{name}"] = _thresholds(shown, name)
    return pictures


def _events(models: Mapping[str, WeakModelFacts]) -> Picture:
    """Draw the share of the train rows by how often they were forgotten, a group of bars per weak model."""
    figure, axes = drawing.new_axes(height=3.4)
    places, width = np.arange(len(_EVENTS)), 0.8 / len(models)
    for number, (model, facts) in enumerate(models.items()):
        shares = [100 * facts.events.get(name, 0) / max(facts.rows, 1) for name in _EVENTS]
        colour = drawing.series_style(number)["color"]
        axes.bar(places - 0.4 + (number + 0.5) * width, shares, width, color=colour, label=model)
    axes.set_xticks(places, [*_EVENTS[:-1], "never\nlearnt"])
    axes.set(xlabel="times forgotten", ylabel="train rows (%)", ylim=(0, 102))
    said = [f"{name} forgets {percent(facts.share)} % of them" for name, facts in models.items()]
    return drawing.picture(figure, f"Train rows by how often they were forgotten: {listed(said)}", named=axes, ncols=3)


def _loss_ranked(analysis: Analysis, start: str) -> Picture | None:
    """Draw accuracy after a second phase on the rows of highest loss, by their share, beside the forgettable rows.

    Shown are the first natural and the first challenge set. Returns None if fewer than two shares were tried.
    """
    phases = {name: phase for name, phase in analysis.facts.phases.items() if phase.start == start}
    shares = {
        name: float(phase.set_name.removeprefix(_HIGHEST_LOSS).replace("_", "."))
        for name, phase in phases.items()
        if phase.set_name.startswith(_HIGHEST_LOSS)
    }
    sets = {one.challenge: one.name for one in reversed(analysis.facts.test_sets)}
    shown = [sets[challenge] for challenge in (False, True) if challenge in sets]
    if len(shares) < 2 or not shown:
        return None
    means = {
        (one.evaluator, one.test_set): 100 * (math.nan if one.accuracy is None else one.accuracy)
        for one in analysis.of(ACCURACIES)
        if one.representation is None and one.train_set == "full" and one.whole and one.tested_on != "filtered"
    }
    figure = new_figure(width=3.1 * len(shown) + 0.4, height=3.6)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, test_set in zip(panels, shown, strict=True):
        points = sorted((share, means[name, test_set]) for name, share in shares.items())
        axes.plot(*zip(*points, strict=True), color=SERIES_COLOURS[0], marker="o", label="highest loss")
        for number, (name, phase) in enumerate(phases.items()):
            facts = analysis.facts.weak_models.get(phase.weak_model)
            if phase.set_name == "forgettable" and facts is not None:
                at = 100 * facts.taken / max(facts.rows, 1), means[name, test_set]
                style = {"color": SERIES_COLOURS[1 + number % 5], "marker": SERIES_MARKERS[1 + number % 7]}
                axes.plot(*at, ls="", label=f"forgettable, {phase.weak_model}", **style)
        axes.axhline(means[start, test_set], color=GREY, ls="--", lw=1, label="no second phase")
        axes.set(title=test_set, xlabel="share of the train rows (%)", ylabel="accuracy (%)")
    alt = (
        f"Accuracy of {start} after a second phase on rows of highest loss, by share of the train rows. Beside it "
        f"forgettable rows and no second phase, on {listed(shown)}"
    )
    return drawing.picture(figure, alt, named=panels[0], ncols=2)


def _thresholds(thresholds: Sequence[Threshold], test_set: str) -> Picture:
    """Draw accuracy on one test set by threshold, a line per evaluator with its highest place marked."""
    figure, axes = drawing.new_axes(height=3.8)
    said = []
    for number, (name, each) in enumerate(groupby(thresholds, attrgetter("evaluator"))):
        curve, style = list(each), drawing.series_style(number)
        best = next(one for one in curve if one.chosen)
        accuracies = [100 * one.accuracy for one in curve]
        axes.plot([one.threshold for one in curve], accuracies, color=style["color"], label=name)
        axes.plot(best.threshold, 100 * best.accuracy, ls="", **style)
        said.append(f"{name} at {best.threshold:.2f} ({percent(best.accuracy)} %)")
    first = thresholds[0]
    axes.set(xlim=(-0.01, 1.01), ylabel="accuracy (%)")
    axes.set_xlabel(f"threshold on the probability of {first.class_name}")
    axes.set_title(test_set, fontsize=12)
    alt = (
        f"Accuracy on {test_set} by the threshold on the probability of {first.class_name}, mean of "
        f"{counted(first.seeds, 'seed')}; highest: {listed(said)}"
    )
    return drawing.picture(figure, alt, named=axes, ncols=2)
