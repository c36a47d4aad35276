"""Records of forgettable rows for the report, read from the result of `forgettable_sets`."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.inputs.weak_models import WeakModelFacts
from aflite_assets.results import PublishedResult
from aflite_assets.stages.evaluation.analysis.rows import class_probability
from aflite_assets.stages.evaluation.analysis.special_sets import overlap
from aflite_assets.stages.evaluation.analysis.studied import StudyContext, StudyReader
from aflite_assets.stages.shared.evaluator_roles import is_apart
from aflite_assets.stages.shared.published import read_row_sets
from aflite_assets.studies.forgettables.analysis.records import (
    Agreement,
    Forgettables,
    LearntRows,
    Threshold,
    threshold_curve,
)
from aflite_assets.studies.forgettables.diagnostics.minorities import measure_rows
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings
from aflite_assets.studies.forgettables.stages.forgettable_sets import FORGETTABLE_ROWS, MINORITIES

THRESHOLDS = np.linspace(0, 1, 101)
"""Thresholds on the probability of a class, from 0 to 1 in steps of 0.01."""


def read_forgettables(result: PublishedResult, context: StudyContext) -> Forgettables:
    """Return all records about forgettable rows; the record is empty if no weak model is asked for."""
    summary, phases, raw = result.summary, context.phases, context.raw
    minorities = ForgettablesSettings.of(context.settings).minorities
    if summary.get("nothing_asked"):
        return Forgettables()
    shown = {phase.start for phase in phases.values()}
    shown |= {cell.evaluator for cell in context.cells if _is_forgettable(cell.train_set)}
    kept = [c for c in context.cells if is_apart(c, phases) or (c.train_set == "full" and c.evaluator in shown)]
    trained = (result.path / MINORITIES).is_file()
    learnt = tuple(_learnt(result)) if trained else ()
    natural = (
        [one for one in context.tested if not one.challenge and one.unit == "row"] if minorities is not None else []
    )
    return Forgettables(
        models={name: WeakModelFacts(**facts) for name, facts in summary["models"].items()},
        failed=summary["failed"],
        agreement=tuple(_agreement(*pair) for pair in combinations(learnt, 2)),
        minorities=pq.read_table(result.file(MINORITIES)) if trained else pa.table({}),
        phases=phases,
        cells=tuple(kept),
        overlap={one.name: measure_rows(raw.select(one.row_ids), negation=()).overlap for one in natural},
        positive=None if minorities is None else raw.label_names.index(minorities.positive),
        thresholds=tuple(threshold_curves(context.models, kept, context.tested, raw.label_names)),
        learnt=learnt,
    )


def _is_forgettable(train_set: str) -> bool:
    return train_set.startswith(("forgettable_", "random_forgettable_"))


def threshold_curves(
    models: PublishedResult, cells: Sequence[Cell], tested: Sequence[TestSet], label_names: Sequence[str]
) -> Iterator[Threshold]:
    """For challenge sets with two classes, yield curves of the accuracy at each threshold on a class probability.

    There is one curve per challenge set and evaluator that was trained on `full` and gives probabilities. A challenge
    set has curves only if one of its classes corresponds one to one to a class of the dataset. The thresholds apply to
    the probability that the evaluator gives to the dataset's class.
    """
    seeds: dict[str, list[int]] = {}
    for cell in cells:
        if cell.train_set == "full" and cell.status == "done":
            seeds.setdefault(cell.evaluator, []).append(cell.seed)
    for test_set, (evaluator, own_seeds) in product(tested, seeds.items()):
        if classes := _one_class(test_set, len(label_names)):
            dataset_class, own_class = classes
            parts = (models.part(f"{evaluator}.full.{seed}") for seed in own_seeds)
            read = (class_probability(part, test_set, dataset_class) for part in parts)
            by_seed = [_accuracies(one, test_set.labels == own_class) for one in read if one is not None]
            if by_seed:
                mean, name = np.mean(by_seed, axis=0), label_names[dataset_class]
                yield from threshold_curve(evaluator, test_set.name, name, THRESHOLDS, mean, len(by_seed))


def _one_class(test_set: TestSet, classes: int) -> tuple[int, int] | None:
    """Return two class numbers that correspond one to one: a class of the dataset, and a class of the challenge set.

    Returns None if the challenge set does not have two classes, or if no class corresponds one to one.
    """
    if not test_set.challenge or len(test_set.label_names) != 2 or not len(test_set.row_ids):
        return None
    mapped = np.arange(classes) if test_set.class_map is None else test_set.class_map
    sources = [np.flatnonzero(mapped == own_class) for own_class in (0, 1)]
    return next(((int(one[0]), own_class) for own_class, one in enumerate(sources) if len(one) == 1), None)


def _accuracies(probability: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return the accuracy at each threshold on `probability`.

    The probabilities of positive and of negative rows are sorted once, to count the rows above every threshold.
    """
    sides = [np.sort(probability[positive]), np.sort(probability[~positive])]
    over = [len(side) - np.searchsorted(side, THRESHOLDS, side="right") for side in sides]
    right: np.ndarray = (over[0] + len(sides[1]) - over[1]) / len(probability)
    return right


def _learnt(result: PublishedResult) -> Iterator[LearntRows]:
    """Yield a record of how rows were learnt for each training of a weak model. Sets of rows are drawn from a model's
    first training, so only the record of the first training contains sets of rows.
    """
    rows = pq.read_table(result.file(FORGETTABLE_ROWS))
    sets: dict[str, dict[str, np.ndarray]] = {model: {} for model in rows["weak_model"].unique().to_pylist()}
    for one in read_row_sets(result):
        if one.seed is None:
            sets[one.weak_model][one.name] = np.sort(one.row_ids)
    for key in rows.group_by(["weak_model", "seed"], use_threads=False).aggregate([]).to_pylist():
        model = key["weak_model"]
        own = rows.filter((pc.field("weak_model") == model) & (pc.field("seed") == key["seed"]))
        counts = own.select(["row_id", "forgetting_events", "right", "presentations"])
        yield LearntRows(model, key["seed"], counts, sets.pop(model, None))


def _agreement(first: LearntRows, second: LearntRows) -> Agreement:
    """Compare the forgettable rows of two trainings, among the rows on which both models were trained."""
    names = [f"{one.weak_model}, seed {one.seed}" for one in (first, second)]
    forgotten = (pc.field("forgetting_events") > 0) | (pc.field("right") == 0)
    sides = [one.counts.filter(forgotten)["row_id"].to_numpy() for one in (first, second)]
    both = np.intersect1d(first.counts["row_id"], second.counts["row_id"])
    return Agreement(names[0], names[1], *overlap(both, *sides))


PART = StudyReader("forgettable_sets", read_forgettables)
