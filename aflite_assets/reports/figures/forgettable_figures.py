"""Figures of forgettable rows: events, loss-ranked second phases, thresholds (EACL 2021, Figures 1, 4 and 6)."""

import math
from collections.abc import Mapping

import numpy as np

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.forgettables import THRESHOLDS, Threshold
from aflite_assets.analysis.inputs.forgettables import SecondPhase, WeakModelFacts
from aflite_assets.analysis.scores.accuracies import ACCURACIES
from aflite_assets.reports.figures.drawing import (
    GREY,
    SERIES_COLOURS,
    SERIES_MARKERS,
    Picture,
    literal,
    new_figure,
    png,
)
from aflite_assets.text import listed, percent
from aflite_assets.wording import counted

_MOST_EVENTS = 4
_HIGHEST_LOSS = "highest_loss_"


FORGETTABLE_KINDS = ("forgetting_events", "loss_ranked.", "thresholds.")
"""How the names of the pictures begin."""


def forgettable_pictures(analysis: Analysis) -> dict[str, Picture]:
    """ "forgetting_events"; "loss_ranked.<start>" and "thresholds.<start>.<test set>" where there is what they show."""
    models, thresholds = analysis.facts.weak_models, analysis.of(THRESHOLDS)
    if not models:
        return {}
    pictures = {"forgetting_events": _events(models)}
    for start in dict.fromkeys(phase.start for phase in analysis.facts.phases.values()):
        ranked = _loss_ranked(analysis, start)
        pictures |= {} if ranked is None else {f"loss_ranked.{start}": ranked}
        names = dict.fromkeys(one.test_set for one in thresholds if one.evaluator == start)
        pictures |= {f"thresholds.{start}.{name}": _thresholds(analysis, start, name) for name in names}
    return pictures


def _phases(analysis: Analysis, start: str) -> dict[str, SecondPhase]:
    """The evaluators that go on from one, in their order."""
    return {name: phase for name, phase in analysis.facts.phases.items() if phase.start == start}


def _events(models: Mapping[str, WeakModelFacts]) -> Picture:
    """Share of the train rows by how often they were forgotten, a group of bars per weak model."""
    names = [*(str(number) for number in range(_MOST_EVENTS)), "never_learnt"]
    shown = ["never\nlearnt" if name == "never_learnt" else name for name in names]
    figure = new_figure(height=3.4)
    axes = figure.subplots()
    width = 0.8 / len(models)
    for place, (model, facts) in enumerate(models.items()):
        shares = [facts.events.get(name, 0) / max(facts.rows, 1) for name in names]
        left = np.arange(len(names)) - 0.4 + (place + 0.5) * width
        colour = SERIES_COLOURS[place % len(SERIES_COLOURS)]
        axes.bar(left, [100 * share for share in shares], width, color=colour, label=model)
    axes.set_xticks(np.arange(len(names)), shown)
    axes.set(xlabel="times forgotten", ylabel="train rows (%)", ylim=(0, 102))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    literal(figure)
    said = [f"{name} forgets {percent(facts.share)} % of them" for name, facts in models.items()]
    return Picture(png(figure), f"Train rows by how often they were forgotten: {listed(said)}")


def _loss_ranked(analysis: Analysis, start: str) -> Picture | None:
    """Accuracy after a second phase on the rows of highest loss, by their share, beside the forgettable rows."""
    phases = _phases(analysis, start)
    ranked = {name: phase for name, phase in phases.items() if phase.set_name.startswith(_HIGHEST_LOSS)}
    tests = analysis.facts.test_sets
    shown = [first for challenge in (False, True) for first in [one for one in tests if one.challenge == challenge][:1]]
    if len(ranked) < 2 or not shown:
        return None
    means = {
        (one.evaluator, one.test_set): 100 * (math.nan if one.accuracy is None else one.accuracy)
        for one in analysis.of(ACCURACIES)
        if one.representation is None and one.train_set == "full" and one.whole and one.tested_on != "filtered"
    }
    figure = new_figure(width=3.1 * len(shown) + 0.4, height=3.6)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, test_set in zip(panels, shown, strict=True):
        places = sorted((_share(phase.set_name), means[name, test_set.name]) for name, phase in ranked.items())
        axes.plot(*zip(*places, strict=True), color=SERIES_COLOURS[0], marker="o", label="highest loss")
        for place, (name, phase) in enumerate(phases.items()):
            facts = analysis.facts.weak_models.get(phase.weak_model)
            if phase.set_name == "forgettable" and facts is not None:
                at = 100 * facts.taken / max(facts.rows, 1), means[name, test_set.name]
                style = {"color": SERIES_COLOURS[1 + place % 5], "marker": SERIES_MARKERS[1 + place % 7]}
                axes.plot(*at, ls="", label=f"forgettable, {phase.weak_model}", **style)
        axes.axhline(means[start, test_set.name], color=GREY, ls="--", lw=1, label="no second phase")
        axes.set(title=test_set.name, xlabel="share of the train rows (%)", ylabel="accuracy (%)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    literal(figure)
    return Picture(
        png(figure),
        f"Accuracy of {start} after a second phase on rows of highest loss, by share of the train rows. Beside it "
        f"forgettable rows and no second phase, on {listed([one.name for one in shown])}",
    )


def _share(set_name: str) -> float:
    """Per cent."""
    return float(set_name.removeprefix(_HIGHEST_LOSS).replace("_", "."))


def _thresholds(analysis: Analysis, start: str, test_set: str) -> Picture:
    names = (start, *_phases(analysis, start))
    curves: dict[str, list[Threshold]] = {}
    for one in analysis.of(THRESHOLDS):
        if one.test_set == test_set and one.evaluator in names:
            curves.setdefault(one.evaluator, []).append(one)
    best = {name: next(one for one in curve if one.chosen) for name, curve in curves.items()}
    figure = new_figure(height=3.8)
    axes = figure.subplots()
    for place, (name, curve) in enumerate(curves.items()):
        colour = SERIES_COLOURS[place % len(SERIES_COLOURS)]
        axes.plot([one.threshold for one in curve], [100 * one.accuracy for one in curve], color=colour, label=name)
        chosen = best[name].threshold, 100 * best[name].accuracy
        axes.plot(*chosen, color=colour, marker=SERIES_MARKERS[place % 8], ls="")
    axes.set(xlim=(-0.01, 1.01), ylabel="accuracy (%)")
    first = next(iter(best.values()))
    axes.set_xlabel(f"threshold on the probability of {first.class_name}")
    axes.set_title(test_set, fontsize=12)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    literal(figure)
    said = [f"{name} at {one.threshold:.2f} ({percent(one.accuracy)} %)" for name, one in best.items()]
    return Picture(
        png(figure),
        f"Accuracy on {test_set} by the threshold on the probability of {first.class_name}, mean of "
        f"{counted(first.seeds, 'seed')}; highest: {listed(said)}",
    )
