"""The chart of the first screen: accuracy by test set for all rows, the control and filtered, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.reports.sentences.first_screen import FirstScreen
from aflite_assets.text import percent
from aflite_assets.wording import counted

Series = Literal["full", "control", "filtered"]

LABELS: dict[Series, str] = {"full": "all rows", "control": "random rows", "filtered": "filtered"}


@dataclass(frozen=True)
class Bar:
    """One bar in per cent: `mean`, with its 95 % interval; None where there is no result."""

    series: Series
    mean: float | None
    low: float
    high: float

    @property
    def label(self) -> str:
        """What the model was trained on, in the words of the chart."""
        return LABELS[self.series]

    @property
    def text(self) -> str:
        """The accuracy with its interval: "80.0 [75.3, 84.0]"."""
        if self.mean is None:
            return "no result"
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"


@dataclass(frozen=True)
class BarGroup:
    """The bars of one test set; `rows`: how many in words; `chance` in per cent, or None."""

    test_set: str
    rows: str
    pooled: bool
    chance: float | None
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class AccuracyBars:
    """The chart of one evaluator. `says`: its result in words. `control`: what the control's rows are."""

    evaluator: str
    groups: tuple[BarGroup, ...]
    control: str

    @property
    def says(self) -> str:
        """The result, for those who do not see the chart."""
        said = []
        for group in self.groups:
            means = [f"{bar.label} {bar.mean:.1f} %" for bar in group.bars if bar.mean is not None]
            said.append(f"on {group.test_set}: {', '.join(means) or 'no result'}")
        return f"Accuracy of {self.evaluator}, by what it was trained on; {'; '.join(said)}."


def screen_bars(analysis: Analysis, first: FirstScreen) -> AccuracyBars | None:
    """Return the chart of the evaluator and the test sets that a first screen names; None if there is no accuracy."""
    return accuracy_bars(analysis, first.representation, first.evaluator, first.test_sets)


def accuracy_bars(
    analysis: Analysis, representation: str, evaluator: str, test_sets: Sequence[str]
) -> AccuracyBars | None:
    """Return the chart of one evaluator on these test sets, all of their rows; None if it has no accuracy there."""
    facts = analysis.facts
    if representation not in facts.filtering:
        return None
    control = facts.filtering[representation].control
    names: dict[str, Series] = {"full": "full", control: "control", "filtered": "filtered"}
    found = {
        (one.test_set, names[one.train_set]): one
        for one in analysis.of(ACCURACIES, representation)
        if one.evaluator == evaluator and one.train_set in names and one.whole and one.top == 1
        if one.tested_on in ("full", "all")
    }
    if all(one.accuracy is None for one in found.values()):
        return None
    groups = []
    for test_set in (facts.test_set[name] for name in test_sets):
        bars = tuple(_bar(series, found.get((test_set.name, series))) for series in LABELS)
        chance = None if test_set.chance is None else 100 * test_set.chance
        rows = counted(test_set.rows, test_set.unit)
        groups.append(BarGroup(test_set.name, rows, test_set.pooled, chance, bars))
    matched = ", with its class sizes" if control == "random_matched" else ""
    return AccuracyBars(evaluator, tuple(groups), f"random rows: as many as filtered has{matched}")


def _bar(series: Series, one: Accuracy | None) -> Bar:
    if one is None or one.accuracy is None:
        return Bar(series, None, 0.0, 0.0)
    mean = float(percent(one.accuracy))
    low = mean if one.interval_low is None else 100 * one.interval_low
    high = mean if one.interval_high is None else 100 * one.interval_high
    return Bar(series, mean, low, high)
