"""What the report shows of forgettable rows, read from `forgettable_sets` and the grid; nothing is trained."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.forgettables import (
    Agreement,
    LearntRows,
    SecondPhase,
    Threshold,
    WeakModelFacts,
    threshold_curve,
)
from aflite_assets.analysis.inputs.records import NO_FORGETTABLES, Cell, Forgettables, TestSet
from aflite_assets.analysis.train_sets import is_forgettable_set
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.minorities import measure_rows
from aflite_assets.results import PublishedResult
from aflite_assets.specs.forgettables import MinoritiesSpec
from aflite_assets.stages.evaluation.analysis.rankings import overlap
from aflite_assets.stages.evaluation.analysis.rows import class_probability
from aflite_assets.stages.shared.evaluator_roles import is_apart
from aflite_assets.stages.shared.published import FORGETTABLE_ROWS, MINORITIES, read_forgettable_sets

THRESHOLDS = np.linspace(0, 1, 101)
"""On the probability of a class: 0, 0.01 to 1."""


def read_forgettables(
    result: PublishedResult,
    models: PublishedResult,
    cells: Sequence[Cell],
    phases: Mapping[str, SecondPhase],
    tested: Sequence[TestSet],
    raw: Examples,
    minorities: MinoritiesSpec | None,
) -> Forgettables:
    """Return everything about forgettable rows; nothing if the dataset's file names no weak model.

    `cells`: of the whole grid, whose result is `models`. `tested`: every test set.
    """
    summary = result.summary
    if summary.get("nothing_asked"):
        return NO_FORGETTABLES
    shown = {phase.start for phase in phases.values()}
    shown |= {cell.evaluator for cell in cells if is_forgettable_set(cell.train_set)}
    kept = [c for c in cells if is_apart(c, phases) or (c.train_set == "full" and c.evaluator in shown)]
    trained = (result.path / MINORITIES).is_file()
    learnt = tuple(_learnt(result)) if trained else ()
    natural = [one for one in tested if not one.challenge and one.unit == "row"] if minorities is not None else []
    return Forgettables(
        models={name: WeakModelFacts(**facts) for name, facts in summary["models"].items()},
        failed=summary["failed"],
        agreement=tuple(_agreement(*pair) for pair in combinations(learnt, 2)),
        minorities=pq.read_table(result.file(MINORITIES)) if trained else pa.table({}),
        phases=phases,
        cells=tuple(kept),
        overlap={one.name: measure_rows(raw.select(one.row_ids), negation=()).overlap for one in natural},
        positive=None if minorities is None else raw.label_names.index(minorities.positive),
        thresholds=tuple(threshold_curves(models, kept, tested, raw.label_names)),
        learnt=learnt,
    )


def threshold_curves(
    models: PublishedResult, cells: Sequence[Cell], tested: Sequence[TestSet], label_names: Sequence[str]
) -> Iterator[Threshold]:
    """Yield a curve per evaluator trained on full that gives probabilities, and challenge set of two classes.

    One of these must be a single class of the dataset, whose probability is compared with the thresholds.
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
    """Return the class of the dataset that alone counts as one of the set's two classes, and that one, or None."""
    if not test_set.challenge or len(test_set.label_names) != 2 or not len(test_set.row_ids):
        return None
    mapped = np.arange(classes) if test_set.class_map is None else test_set.class_map
    sources = [np.flatnonzero(mapped == own_class) for own_class in (0, 1)]
    return next(((int(one[0]), own_class) for own_class, one in enumerate(sources) if len(one) == 1), None)


def _accuracies(probability: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Accuracy at each threshold: one sort per side tells how many of its rows lie over each."""
    sides = [np.sort(probability[positive]), np.sort(probability[~positive])]
    over = [len(side) - np.searchsorted(side, THRESHOLDS, side="right") for side in sides]
    right: np.ndarray = (over[0] + len(sides[1]) - over[1]) / len(probability)
    return right


def _learnt(result: PublishedResult) -> Iterator[LearntRows]:
    """Yield how rows were learnt in each training; a model's first one has the sets that were drawn from it."""
    rows = pq.read_table(result.file(FORGETTABLE_ROWS))
    sets: dict[str, dict[str, np.ndarray]] = {model: {} for model in rows["weak_model"].unique().to_pylist()}
    for one in read_forgettable_sets(result):
        if one.name != "random":
            sets[one.weak_model][one.name] = np.sort(one.row_ids)
    for key in rows.group_by(["weak_model", "seed"], use_threads=False).aggregate([]).to_pylist():
        model = key["weak_model"]
        own = rows.filter((pc.field("weak_model") == model) & (pc.field("seed") == key["seed"]))
        counts = own.select(["row_id", "forgetting_events", "right", "presentations"])
        yield LearntRows(model, key["seed"], counts, sets.pop(model, None))


def _agreement(first: LearntRows, second: LearntRows) -> Agreement:
    """Compare the forgettable rows of two trainings, over the rows that both were presented."""
    names = [f"{one.weak_model}, seed {one.seed}" for one in (first, second)]
    forgotten = (pc.field("forgetting_events") > 0) | (pc.field("right") == 0)
    sides = [one.counts.filter(forgotten)["row_id"].to_numpy() for one in (first, second)]
    both = np.intersect1d(first.counts["row_id"], second.counts["row_id"])
    return Agreement(names[0], names[1], *overlap(both, *sides))
