"""Facts about weak models that are in no table."""

from collections import Counter

from aflite_assets.analysis.facts import WeakTrainingFacts
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.tidy import record_of
from aflite_assets.studies.forgettables.analysis.records import Forgettables, LearntRows


def weak_model_facts(data: BenchmarkData) -> dict[str, object]:
    """Return the facts about weak models and second phases, by field of `DatasetFacts`."""
    own = Forgettables.of(data)
    return {
        "weak_models": own.models,
        "weak_trainings": _weak_trainings(own.learnt),
        "phases": own.phases,
        "untrained_weak_models": own.failed,
        "trained_alone": tuple(dict.fromkeys(cell.evaluator for cell in own.cells if cell.train_set != "full")),
    }


def _weak_trainings(learnt: tuple[LearntRows, ...]) -> tuple[WeakTrainingFacts, ...]:
    """Return facts about each training run, named after the weak model. The name includes the seed if the weak model
    has several seeds.
    """
    times, found = Counter(one.weak_model for one in learnt), []
    for one in learnt:
        name = one.weak_model if times[one.weak_model] == 1 else f"{one.weak_model}, seed {one.seed}"
        found.append(record_of(WeakTrainingFacts, one, name=name, sets=None if one.sets is None else tuple(one.sets)))
    return tuple(found)


PART = weak_model_facts
