"""The bar chart on the first screen of a report.

For each test set, the chart shows the accuracy of models trained on all rows, on control rows and on filtered rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import TestSetFacts
from aflite_assets.analysis.scores.score_tables import Accuracy
from aflite_assets.reports.sentences.finding import whole_accuracies
from aflite_assets.reports.sentences.first_screen import FirstScreen
from aflite_assets.text import count, percent
from aflite_assets.wording import counted

Series = Literal["full", "control", "filtered"]

LABELS: dict[Series, str] = {"full": "all rows", "control": "random rows", "filtered": "filtered"}


@dataclass(frozen=True)
class Bar:
    """One bar of the chart.

    A bar shows the accuracy `mean` with its 95 % interval, in per cent. `mean` is None if there is no result.
    """

    series: Series
    mean: float | None
    low: float
    high: float

    @property
    def label(self) -> str:
        """Name by which the chart calls the bar's train set."""
        return LABELS[self.series]

    @property
    def text(self) -> str:
        """The accuracy with its interval, such as "80.0 [75.3, 84.0]"."""
        if self.mean is None:
            return "no result"
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"


@dataclass(frozen=True)
class BarGroup:
    """The bars that the chart shows for one test set.

    `about`: a description of the test set: its size, its chance accuracy, and how often rows with the reported cue have
    the cue's class. `chance`: accuracy, in per cent, of a model that always predicts the largest class or guesses an
    answer. None if unknown.
    """

    test_set: str
    about: str
    chance: float | None
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class AccuracyBars:
    """A bar chart with the accuracies of one evaluator.

    `train_sets`: a sentence that explains which rows are "filtered" and which are "random rows". `guess`: a phrase for
    the chance baseline, such as "always giving the largest class".
    """

    evaluator: str
    groups: tuple[BarGroup, ...]
    train_sets: str
    guess: str

    @property
    def compares(self) -> bool:
        """Whether the chart has bars of the filtered set and of its control."""
        return {"filtered", "control"} <= {bar.series for bar in self.groups[0].bars}

    @property
    def says(self) -> str:
        """A sentence with all accuracies of the chart, for readers who cannot see the chart."""
        said = []
        for group in self.groups:
            means = [f"{bar.label} {bar.mean:.1f} %" for bar in group.bars if bar.mean is not None]
            said.append(f"on {group.test_set}: {', '.join(means) or 'no result'}")
        return f"Accuracy of {self.evaluator} by train set; {'; '.join(said)}."


def screen_bars(analysis: Analysis, first: FirstScreen) -> AccuracyBars | None:
    """Return the bar chart of the first screen, or None if there are no accuracies.

    The chart has the evaluator and the test sets that `first` names.
    """
    return accuracy_bars(analysis, first.representation, first.evaluator, first.test_sets, notes=first.set_notes)


def accuracy_bars(
    analysis: Analysis,
    representation: str,
    evaluator: str,
    test_sets: Sequence[str],
    *,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> AccuracyBars | None:
    """Return the chart of one evaluator's accuracies on all rows of the given test sets, or None if there are no
    accuracies.

    `notes`: for each test set, additional text for its heading.
    """
    facts = analysis.facts
    if representation not in facts.filtering:
        return None
    control = facts.filtering[representation].control
    names: dict[Series, str] = {"full": "full", "control": control, "filtered": "filtered"}
    found = whole_accuracies(analysis, representation, evaluator)
    trained = {train_set for (_, train_set), one in found.items() if one.accuracy is not None}
    shown = [series for series in LABELS if names[series] in trained]
    if not shown:
        return None
    groups = []
    for test_set in (facts.test_set[name] for name in test_sets):
        bars = tuple(_bar(series, found.get((test_set.name, names[series]))) for series in shown)
        chance = _chance(test_set)
        groups.append(BarGroup(test_set.name, _about(test_set, chance, notes.get(test_set.name, "")), chance, bars))
    filtering, sizes = facts.filtering[representation], " with its class sizes" if control == "random_matched" else ""
    kept = f"the {count(filtering.kept_rows)} of {count(filtering.train_rows)} train rows that filtering kept"
    asked = any(facts.test_set[name].chance is not None for name in test_sets)
    guess = "guessing an answer" if asked else "always giving the largest class"
    random = f"and “random rows” are the same number, drawn at random{sizes}"
    return AccuracyBars(evaluator, tuple(groups), f"“filtered” is {kept}, {random}", guess)


def _chance(test_set: TestSetFacts) -> float | None:
    """Return the chance accuracy in per cent.

    For questions, chance accuracy is the accuracy of guessing an answer. For other rows, chance accuracy is the
    accuracy of always predicting the largest class.
    """
    share = test_set.largest_class if test_set.chance is None else test_set.chance
    return None if share is None else 100 * share


def _about(test_set: TestSetFacts, chance: float | None, note: str) -> str:
    """Describe a test set by its size and its chance accuracy, followed by the given note on the cue."""
    kind = "challenge set" if test_set.challenge else ""
    pooled = "the filter saw these rows, so they do not show its effect" if test_set.pooled else ""
    guessed = "" if chance is None else f"chance {chance:.1f} %"
    return "; ".join(filter(None, (kind, counted(test_set.rows, test_set.unit), guessed, note, pooled)))


def _bar(series: Series, one: Accuracy | None) -> Bar:
    if one is None or one.accuracy is None:
        return Bar(series, None, 0.0, 0.0)
    mean = float(percent(one.accuracy))
    low = mean if one.interval_low is None else 100 * one.interval_low
    high = mean if one.interval_high is None else 100 * one.interval_high
    return Bar(series, mean, low, high)
