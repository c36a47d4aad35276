"""Figures of forgettable rows and of second phases on forgettable rows, as in Figures 1 and 3 to 6 of Yaghoobzadeh et
al. (EACL 2021).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, groupby
from operator import attrgetter
from typing import Any

import numpy as np

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.inputs.weak_models import SecondPhase, WeakModelFacts
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.reports.figures import drawing
from aflite_assets.reports.figures.drawing import GREY, Picture
from aflite_assets.studies.forgettables.analysis.accuracies import OVERLAP
from aflite_assets.studies.forgettables.analysis.analysis import THRESHOLDS
from aflite_assets.studies.forgettables.analysis.records import Threshold
from aflite_assets.text import listed, one_line, percent, short
from aflite_assets.wording import counted

_EVENTS = ("0", "1", "2", "3", "never_learnt")


def forgettable_pictures(analysis: Analysis) -> dict[str, Picture]:
    """Return all figures that apply to the report, by names that are valid file names.

    The names are "forgetting_events", "second_phases", "categories.<start>.<test set>", "loss_ranked.<start>" and
    "thresholds.<start>.<test set>".
    """
    facts = analysis.facts
    if not facts.weak_models:
        return {}
    pictures = {"forgetting_events": _events(facts.weak_models)}
    if moved := _second_phases(analysis):
        pictures["second_phases"] = moved
    for start in dict.fromkeys(phase.start for phase in facts.phases.values()):
        phases = {name: phase for name, phase in facts.phases.items() if phase.start == start}
        for test_set, found in _by_category(analysis, (start, *phases)):
            pictures[f"categories.{start}.{test_set}"] = _categories(found, test_set)
        if ranked := _loss_ranked(analysis, start, phases):
            pictures[f"loss_ranked.{start}"] = ranked
        thresholds = [one for one in analysis.of(THRESHOLDS) if one.evaluator in (start, *phases)]
        for name in dict.fromkeys(one.test_set for one in thresholds if one.evaluator == start):
            shown = [one for one in thresholds if one.test_set == name]
            pictures[f"thresholds.{start}.{name}"] = _thresholds(shown, name)
    return pictures


def _events(models: Mapping[str, WeakModelFacts]) -> Picture:
    """Draw the share of train rows for each number of forgetting events (how often a weak model forgot the row).

    Each weak model has its own colour.
    """
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


def _first_sets(analysis: Analysis) -> list[str]:
    """Return the first natural test set and the first challenge set, if they exist."""
    sets = {one.challenge: one.name for one in reversed(analysis.facts.test_sets)}
    return [sets[challenge] for challenge in (False, True) if challenge in sets]


def _whole_means(analysis: Analysis) -> dict[tuple[str, str], float]:
    """Return mean accuracies, in per cent, by evaluator and test set.

    The mean is NaN if the evaluator has no result on the test set.

    The evaluators are those trained in two phases, and the evaluators from which a second phase starts.
    """
    return {
        (one.evaluator, one.test_set): 100 * (np.nan if one.accuracy is None else one.accuracy)
        for one in analysis.of(ACCURACIES)
        if one.representation is None and one.train_set == "full" and one.whole and one.tested_on != "filtered"
    }


def _second_phases(analysis: Analysis) -> Picture | None:
    """Draw accuracy on the first challenge set against accuracy on the first natural test set. A line leads from each
    starting evaluator to each of its second phases.

    Returns None if a test set is missing, or if no starting evaluator has a result.
    """
    shown, means = _first_sets(analysis), _whole_means(analysis)
    if len(shown) < 2:
        return None
    starts = dict.fromkeys(phase.start for phase in analysis.facts.phases.values())
    at = {
        name: np.array([means.get((name, one), np.nan) for one in shown]) for name in (*starts, *analysis.facts.phases)
    }
    at = {name: point for name, point in at.items() if np.isfinite(point).all()}
    if not any(name in at for name in starts):
        return None
    figure, axes = drawing.new_axes(height=4.4)
    for number, name in enumerate(starts):
        colour = drawing.SERIES_COLOURS[number % len(drawing.SERIES_COLOURS)]
        if name in at:
            axes.plot(*at[name], color=colour, marker="o", ls="", ms=9, label=short(name, 28))
        phases = [one for one, about in analysis.facts.phases.items() if about.start == name and one in at]
        for phase, marker in zip(phases, cycle(drawing.SERIES_MARKERS[1:]), strict=False):
            if name in at:
                axes.plot(*zip(at[name], at[phase], strict=True), color=colour, lw=0.8)
            axes.plot(*at[phase], color=colour, marker=marker, mfc="white", ls="", ms=8, label=short(phase, 28))
    inside, outside = map(one_line, shown)
    axes.set(xlabel=f"accuracy on {inside} (%)", ylabel=f"accuracy on {outside} (%)")
    said = [f"{name} {point[0]:.1f} and {point[1]:.1f} %" for name, point in at.items()]
    alt = f"Accuracy on {inside} and on {outside} before and after a second phase: {listed(said)}"
    return drawing.picture(figure, alt, legend=axes, ncols=2, fontsize=9)


def _by_category(analysis: Analysis, evaluators: Sequence[str]) -> Iterator[tuple[str, list[Accuracy]]]:
    """Yield each challenge set that has accuracies by category and by gold label, together with the accuracies of the
    given evaluators.
    """
    of_phases = (one for one in analysis.of(ACCURACIES) if one.representation is None and one.train_set == "full")
    parts = [one for one in of_phases if one.evaluator in evaluators and one.category and one.column != OVERLAP]
    halves = [one for one in parts if one.label is not None and one.accuracy is not None]
    for test_set in dict.fromkeys(one.test_set for one in halves):
        found = [one for one in halves if one.test_set == test_set]
        if len({one.category for one in found}) > 1 and len({one.label for one in found}) > 1:
            yield test_set, found


def _categories(found: Sequence[Accuracy], test_set: str) -> Picture:
    """Draw the accuracy in each category of a challenge set, with its interval.

    Each gold label has a panel, and each evaluator has a marker.
    """
    labels, categories, evaluators = (_distinct(found, name) for name in ("label", "category", "evaluator"))
    size = 1.1 + 0.75 * len(categories), 3.2
    figure, panels = drawing.new_panels(len(labels), 3, size=size, margin=(0.6, 0.9), sharex=True, sharey=True)
    for panel, label in zip(panels.flat, labels, strict=False):
        for number, name in enumerate(evaluators):
            drawn = [one for one in found if (one.label, one.evaluator) == (label, name)]
            mean, low, high = 100 * np.array(drawing.columns(drawn, "accuracy", "interval_low", "interval_high"))
            shift = 0.8 * ((number + 0.5) / len(evaluators) - 0.5)
            places = [categories.index(one.category) + shift for one in drawn]
            style: dict[str, Any] = {"ls": "", "ms": 5, "label": short(name, 32), **drawing.series_style(number)}
            panel.errorbar(places, mean, yerr=np.maximum((mean - low, high - mean), 0), **style)
        panel.set_title(short(str(label), 24), fontsize=10)
        panel.set_xticks(range(len(categories)), [short(str(one), 16) for one in categories], fontsize=8)
        panel.tick_params(axis="x", rotation=20)
    panels[0, 0].set(ylabel="accuracy (%)", ylim=(-2, 102))
    means = {(one.evaluator, one.category, one.label): percent(one.accuracy or 0.0) for one in found}
    said = [f"{of[0]} on {one_line(str(of[1]))}, {one_line(str(of[2]))}: {mean} %" for of, mean in means.items()]
    alt = f"Accuracy on {one_line(test_set)} by category and gold label with 95 % intervals; {'; '.join(said)}"
    return drawing.picture(figure, alt, legend=panels[0, 0], ncols=2, fontsize=9)


def _distinct(found: Iterable[Accuracy], name: str) -> list[Any]:
    """Return the distinct values of one field of the records, in the order of the records."""
    return list(dict.fromkeys(getattr(one, name) for one in found))


def _loss_ranked(analysis: Analysis, start: str, phases: Mapping[str, SecondPhase]) -> Picture | None:
    """Draw accuracy after a second phase on the train rows with the highest loss, against the share of train rows used.

    One panel is for the first natural test set, and one panel is for the first challenge set.
    """
    numbers = {name: one.set_name.partition("highest_loss_")[2].replace("_", ".") for name, one in phases.items()}
    shares = {name: float(number) for name, number in numbers.items() if number}
    shown, means = _first_sets(analysis), _whole_means(analysis)
    if len(shares) < 2 or not shown:
        return None
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
    """Draw accuracy on one test set against the threshold, with one line per evaluator.

    The threshold with the highest accuracy is marked on each line.
    """
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


PART = forgettable_pictures
