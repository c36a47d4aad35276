"""Tidy tables about the train rows that weak models forget: counts by class and by forgetting events, agreement of weak
models, minorities and thresholds.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.intervals import upper_quantile, wilson_interval
from aflite_assets.analysis.scores.accuracy import finished_rows
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.studies.forgettables.analysis.records import Agreement, Forgettables, Threshold


@dataclass(frozen=True)
class WeakModel:
    """Numbers of rows and accuracies of one weak model, as in `WeakModelFacts`; `share` is the share of forgettable
    rows.
    """

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
    """Accuracy of a weak model, in [0, 1], on a split that the model was not trained on."""

    weak_model: str
    split: str
    accuracy: float


@dataclass(frozen=True)
class ForgettableClass:
    """Numbers of rows of one class, for one weak model.

    `rows`: rows that the weak model was trained on. `forgettable`: rows that the weak model forgot or never learnt.
    `taken`: rows in the weak model's forgettable set.
    """

    weak_model: str
    label: str
    rows: int
    forgettable: int
    taken: int


@dataclass(frozen=True)
class ForgettingEvents:
    """Number and share of the rows that a weak model forgot a given number of times.

    `events`: how often the rows were forgotten, or "never_learnt" for rows that were never predicted correctly.
    """

    weak_model: str
    events: str
    rows: int
    share: float


@dataclass(frozen=True)
class Minority:
    """A mean over one set of rows, with its 95 % interval.

    The mean is the average word overlap of a row's two texts, or the share of rows that belong to a group.
    `weak_model`: the name of the weak model, or empty for the set of all rows. `set` is "all", "random", "forgettable"
    or "never learnt". `measure` and `group` name the averaged quantity. `mean` is None if no row has the measure; `low`
    and `high` are None for a single row.
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
class PhaseAverage:
    """Average accuracy of one evaluator, in [0, 1]: (mean over splits + mean over challenge sets) / 2."""

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


def weak_models(data: BenchmarkData) -> Iterator[WeakModel]:
    """Return one record per trained weak model."""
    return (record_of(WeakModel, one, weak_model=name) for name, one in Forgettables.of(data).models.items())


def weak_model_accuracies(data: BenchmarkData) -> Iterator[WeakModelAccuracy]:
    """Return one record per weak model and split."""
    models = Forgettables.of(data).models.items()
    return (WeakModelAccuracy(name, *accuracy) for name, one in models for accuracy in one.accuracy.items())


def forgettable_classes(data: BenchmarkData) -> Iterator[ForgettableClass]:
    """Yield one record per weak model and class, with classes in the dataset's order."""
    for (name, one), label in product(Forgettables.of(data).models.items(), data.label_names):
        if label in one.by_class:
            yield ForgettableClass(name, label, **one.by_class[label])


def forgetting_events(data: BenchmarkData) -> Iterator[ForgettingEvents]:
    """Yield one record per weak model and number of forgetting events. Rows that were never learnt come last."""
    models = Forgettables.of(data).models
    numbers = dict.fromkeys(name for one in models.values() for name in one.events if name != "never_learnt")
    for model, one in models.items():
        for name in (*numbers, "never_learnt"):
            rows = one.events.get(name, 0)
            yield ForgettingEvents(model, name, rows, rows / max(one.rows, 1))


def minorities(data: BenchmarkData) -> Iterator[Minority]:
    """Yield the means over all rows, and then the means over each set of rows.

    Of the random sets, only the set drawn for the first seed is used.
    """
    forgettables = Forgettables.of(data)
    sets = {None: "all", "random": "random", "forgettable": "forgettable", "never_learnt": "never learnt"}
    found: dict[tuple[str, str, str, str], Minority] = {}
    for line in forgettables.minorities.to_pylist() if forgettables.models else ():
        if line["name"] in sets:
            key = (line["weak_model"] or "", sets[line["name"]], line["measure"], line["group"])
            mean = None if math.isnan(line["mean"]) else line["mean"]
            found.setdefault(key, Minority(*key, line["rows"], mean, *_interval(line)))
    models, order = ["", *forgettables.models], [*sets.values()]
    yield from sorted(found.values(), key=lambda one: (models.index(one.weak_model), order.index(one.set)))


def _interval(line: Mapping[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """Return Wilson's interval of a share, or the t interval of a mean overlap.

    For a single row, the lower and the upper bound of the interval are None.
    """
    rows, mean = line["rows"], line["mean"]
    if rows < 2 or math.isnan(mean):
        return None, None
    if line["measure"] != "overlap":
        return wilson_interval(min(mean, 1.0), rows)
    half = upper_quantile(rows - 1) * line["deviation"] / math.sqrt(rows)
    return max(mean - half, 0.0), min(mean + half, 1.0)


def phase_averages(data: BenchmarkData) -> Iterator[PhaseAverage]:
    """Yield the average accuracy of each second phase, and of each evaluator from which a second phase starts.

    At least one natural test set and one challenge set are required.
    """
    forgettables = Forgettables.of(data)
    kinds = [[one for one in data.test_sets if one.challenge == challenge] for challenge in (False, True)]
    for name in (*forgettables.starts, *forgettables.phases):
        cells = forgettables.cells_of(name)
        means = [
            [[row.mean() for one in kind for row in finished_rows([cell], one)] for kind in kinds] for cell in cells
        ]
        by_seed = [np.mean([np.mean(kind) for kind in each]) for each in means if all(each)]
        if by_seed:
            deviation = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None
            yield PhaseAverage(name, float(np.mean(by_seed)), deviation)


PART = (
    (WEAK_MODELS, weak_models),
    (WEAK_MODEL_ACCURACIES, weak_model_accuracies),
    (FORGETTABLE_CLASSES, forgettable_classes),
    (EVENTS, forgetting_events),
    (AGREEMENT, lambda data: Forgettables.of(data).agreement if Forgettables.of(data).models else ()),
    (MINORITIES, minorities),
    (THRESHOLDS, lambda data: Forgettables.of(data).thresholds),
    (PHASE_AVERAGES, phase_averages),
)
