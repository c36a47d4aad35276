"""The tidy tables of rows that weak models forget: sizes, classes, events, agreement, minorities and thresholds."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aflite_assets.analysis.inputs.forgettables import Agreement, Forgettables, WeakModelFacts
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.intervals import upper_quantile, wilson_interval
from aflite_assets.analysis.scores.accuracy import correct_rows
from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class WeakModel:
    """One weak model's rows and accuracies, as in `WeakModelFacts`; `share` is that of the forgettable rows."""

    weak_model: str
    rows: int
    forgettable: int
    taken: int
    never_learnt: int
    largest_class: float
    train_accuracy: float
    share: float


@dataclass(frozen=True)
class WeakModelAccuracy:
    """A weak model's accuracy in [0, 1] on a split that it was not trained on."""

    weak_model: str
    split: str
    accuracy: float


@dataclass(frozen=True)
class ForgettableClass:
    """Rows of one class that a weak model was presented, forgot, and that were taken."""

    weak_model: str
    label: str
    rows: int
    forgettable: int
    taken: int


@dataclass(frozen=True)
class ForgettingEvents:
    """Rows that a weak model forgot so many times ("never_learnt": that were never right), and their share."""

    weak_model: str
    events: str
    rows: int
    share: float


@dataclass(frozen=True)
class Minority:
    """A mean over the rows of a set, with its 95 % interval: of the overlap of both texts, or of a share of rows.

    `weak_model`: empty of all rows; `set`: all, random, forgettable or never learnt; `measure` and `group`: what the
    mean is of. `mean`: None where no row has the measure; `low`, `high`: None of a single row.
    """

    weak_model: str
    set: str
    measure: str
    group: str
    rows: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Threshold:
    """Accuracy in [0, 1], mean over `seeds`, where a row counts as `class_name` if its probability is over a threshold.

    `chosen`: the threshold of highest accuracy, of several the one nearest to a half.
    """

    evaluator: str
    test_set: str
    class_name: str
    threshold: float
    accuracy: float
    seeds: int
    chosen: bool


@dataclass(frozen=True)
class PhaseAverage:
    """Mean accuracy in [0, 1] over both kinds of test sets: of the mean over splits and that over challenge sets."""

    evaluator: str
    accuracy: float
    seeds_deviation: float | None


WEAK_MODELS = TidyTable("forgettables", WeakModel)
WEAK_MODEL_ACCURACIES = TidyTable("weak_model_accuracies", WeakModelAccuracy)
FORGETTABLE_CLASSES = TidyTable("forgettables_by_class", ForgettableClass)
EVENTS = TidyTable("forgetting_events", ForgettingEvents)
AGREEMENT = TidyTable("forgettable_agreement", Agreement)
MINORITIES = TidyTable("minorities", Minority)
THRESHOLDS = TidyTable("thresholds", Threshold)
PHASE_AVERAGES = TidyTable("phase_averages", PhaseAverage)


def _models(data: BenchmarkData) -> Mapping[str, WeakModelFacts]:
    return {} if data.forgettables is None else data.forgettables.models


def weak_models(data: BenchmarkData) -> Iterator[WeakModel]:
    """A row per weak model that was trained."""
    for name, one in _models(data).items():
        sizes = one.rows, one.forgettable, one.taken, one.never_learnt
        yield WeakModel(name, *sizes, one.largest_class, one.train_accuracy, one.share)


def weak_model_accuracies(data: BenchmarkData) -> Iterator[WeakModelAccuracy]:
    """A row per weak model and split."""
    for name, one in _models(data).items():
        for split, accuracy in one.accuracy.items():
            yield WeakModelAccuracy(name, split, accuracy)


def forgettable_classes(data: BenchmarkData) -> Iterator[ForgettableClass]:
    """A row per weak model and class, in the dataset's order."""
    for name, one in _models(data).items():
        for label in data.label_names:
            if label in one.by_class:
                yield ForgettableClass(name, label, **one.by_class[label])


def forgetting_events(data: BenchmarkData) -> Iterator[ForgettingEvents]:
    """A row per weak model and number of events of any of them, rows that were never learnt last."""
    names = list(dict.fromkeys(name for one in _models(data).values() for name in one.events))
    for model, one in _models(data).items():
        for name in [*(name for name in names if name != "never_learnt"), "never_learnt"]:
            rows = one.events.get(name, 0)
            yield ForgettingEvents(model, name, rows, rows / max(one.rows, 1))


def agreement(data: BenchmarkData) -> tuple[Agreement, ...]:
    """A row per pair of trainings."""
    return () if data.forgettables is None or not data.forgettables.models else data.forgettables.agreement


def minorities(data: BenchmarkData) -> Iterator[Minority]:
    """Of all rows once, and of every set with its interval; of random rows the draw of the first seed."""
    if not _models(data):
        return
    assert data.forgettables is not None
    found: dict[tuple[str, str, str, str], Minority] = {}
    for line in data.forgettables.minorities.to_pylist():
        if line["name"] not in (None, "random", "forgettable", "never_learnt"):
            continue
        key = (line["weak_model"] or "", (line["name"] or "all").replace("_", " "), line["measure"], line["group"])
        mean = None if math.isnan(line["mean"]) else line["mean"]
        found.setdefault(key, Minority(*key, line["rows"], mean, *_interval(line)))
    order = {"all": 0, "random": 1, "forgettable": 2, "never learnt": 3}
    models = ["", *data.forgettables.models]
    yield from sorted(found.values(), key=lambda one: (models.index(one.weak_model), order[one.set]))


def _interval(line: Mapping[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """Wilson's for shares, the t interval for mean overlaps; none of a single row."""
    rows, mean = line["rows"], line["mean"]
    if rows < 2 or math.isnan(mean):
        return None, None
    if line["measure"] != "overlap":
        interval = wilson_interval(min(mean, 1.0), rows)
        return interval.low, interval.high
    half = upper_quantile(rows - 1) * line["deviation"] / math.sqrt(rows)
    return max(mean - half, 0.0), min(mean + half, 1.0)


def thresholds(data: BenchmarkData) -> Iterator[Threshold]:
    """A row per evaluator, challenge set of two classes, and threshold."""
    for one in () if data.forgettables is None else data.forgettables.thresholds:
        for threshold, accuracy in zip(one.thresholds.tolist(), one.accuracy.tolist(), strict=True):
            chosen = threshold == one.best
            yield Threshold(one.evaluator, one.test_set, one.positive, threshold, accuracy, one.seeds, chosen)


def phase_averages(data: BenchmarkData) -> Iterator[PhaseAverage]:
    """Of every evaluator that second phases start from and of the phases, where there are sets of both kinds."""
    forgettables = data.forgettables
    if forgettables is None:
        return
    for name in (*forgettables.starts, *forgettables.phases):
        by_seed = _averages(data, forgettables, name)
        if by_seed:
            deviation = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None
            yield PhaseAverage(name, float(np.mean(by_seed)), deviation)


def _averages(data: BenchmarkData, forgettables: Forgettables, evaluator: str) -> list[float]:
    sides = [[one for one in data.test_sets if one.challenge == challenge] for challenge in (False, True)]
    found = []
    for cell in forgettables.cells_of(evaluator):
        right = [[correct_rows(cell, one) for one in side] for side in sides]
        means = [[float(rows.mean()) for rows in side if isinstance(rows, np.ndarray)] for side in right]
        if all(means):
            found.append(float(np.mean([np.mean(side) for side in means])))
    return found
