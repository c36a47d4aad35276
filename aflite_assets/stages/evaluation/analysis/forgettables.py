"""What the report shows of forgettable rows, read from `forgettable_sets` and the grid; nothing is trained."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.forgettables import (
    Agreement,
    Forgettables,
    LearntRows,
    SecondPhase,
    ThresholdCurve,
    WeakModelFacts,
)
from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.train_sets import is_forgettable_set
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.minorities import measure_rows
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.results import PublishedResult
from aflite_assets.specs.forgettables import MinoritiesSpec
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
) -> Forgettables | None:
    """Everything about forgettable rows; None where the dataset's file names no weak model.

    `cells`: of the whole grid, whose result is `models`. `tested`: every test set.
    """
    summary = result.summary
    if summary.get("nothing_asked"):
        return None
    starts = {phase.start for phase in phases.values()}
    alone = {cell.evaluator for cell in cells if is_forgettable_set(cell.train_set)}
    kept = tuple(
        cell
        for cell in cells
        if is_apart(cell, phases) or (cell.train_set == "full" and cell.evaluator in starts | alone)
    )
    trained = (result.path / MINORITIES).is_file()
    learnt = _learnt(result) if trained else ()
    return Forgettables(
        models={name: WeakModelFacts(**facts) for name, facts in summary["models"].items()},
        failed=summary["failed"],
        agreement=_agreement(learnt),
        minorities=pq.read_table(result.file(MINORITIES)) if trained else pa.table({}),
        phases=phases,
        cells=kept,
        overlap=_overlap(raw, tested) if minorities is not None else {},
        positive=None if minorities is None else raw.label_names.index(minorities.positive),
        thresholds=tuple(_thresholds(models, kept, tested, raw.label_names)),
        learnt=learnt,
    )


def _overlap(raw: Examples, tested: Sequence[TestSet]) -> dict[str, np.ndarray]:
    """Of each row of the natural test sets, in their order."""
    natural = [one for one in tested if not one.challenge and one.unit == "row"]
    return {one.name: measure_rows(raw.select(one.row_ids), negation=()).overlap for one in natural}


def _thresholds(
    models: PublishedResult, cells: Sequence[Cell], tested: Sequence[TestSet], label_names: Sequence[str]
) -> Iterator[ThresholdCurve]:
    """Of every evaluator on full with probabilities, on challenge sets of two classes."""
    full = [cell for cell in cells if cell.train_set == "full" and cell.status == "done"]
    for test_set in tested:
        classes = _one_class(test_set, len(label_names))
        if classes is None:
            continue
        dataset_class, own_class = classes
        for evaluator in dict.fromkeys(cell.evaluator for cell in full):
            parts = [models.part(f"{cell.evaluator}.full.{cell.seed}") for cell in full if cell.evaluator == evaluator]
            by_seed = [_accuracies(part, test_set, dataset_class, own_class) for part in parts]
            known = [accuracies for accuracies in by_seed if accuracies is not None]
            if known:
                mean = np.mean(known, axis=0)
                yield ThresholdCurve(evaluator, test_set.name, label_names[dataset_class], THRESHOLDS, mean, len(known))


def _one_class(test_set: TestSet, classes: int) -> tuple[int, int] | None:
    """The class of the dataset that alone counts as one of the set's two classes, and that one; None without."""
    if not test_set.challenge or len(test_set.label_names) != 2 or not len(test_set.row_ids):
        return None
    mapped = np.arange(classes) if test_set.class_map is None else test_set.class_map
    for own_class in (0, 1):
        sources = np.flatnonzero(mapped == own_class)
        if len(sources) == 1:
            return int(sources[0]), own_class
    return None


def _accuracies(part: PublishedResult, test_set: TestSet, dataset_class: int, own_class: int) -> np.ndarray | None:
    """At each threshold; None without probabilities."""
    said = pq.read_table(
        part.file("predictions.parquet"),
        columns=["row_id", "probabilities"],
        filters=[("test_set", "=", test_set.name)],
    )
    column = said["probabilities"].combine_chunks()
    if column.null_count or len(said) != len(test_set.row_ids):
        return None
    order = np.argsort(said["row_id"].to_numpy(), kind="stable")[np.argsort(np.argsort(test_set.row_ids))]
    probability = column.flatten().to_numpy().reshape(len(said), -1)[order, dataset_class]
    positive = test_set.labels == own_class
    # How many of either side lie over each threshold: one sort instead of a pass per threshold.
    sides = [np.sort(probability[positive]), np.sort(probability[~positive])]
    over = [len(side) - np.searchsorted(side, THRESHOLDS, side="right") for side in sides]
    right: np.ndarray = (over[0] + len(sides[1]) - over[1]) / len(probability)
    return right


def _learnt(result: PublishedResult) -> tuple[LearntRows, ...]:
    """How the rows were learnt in each training; a model's first one has the sets that were drawn from it."""
    rows = pq.read_table(result.file(FORGETTABLE_ROWS), columns=["weak_model", "seed", "row_id", *_COUNTS])
    sets: dict[str, dict[str, np.ndarray]] = {}
    for one in read_forgettable_sets(result):
        if one.name != "random":
            sets.setdefault(one.weak_model, {})[one.name] = np.sort(one.row_ids)
    model, seed = rows["weak_model"].to_numpy(zero_copy_only=False), rows["seed"].to_numpy()
    found: list[LearntRows] = []
    for key in rows.group_by(["weak_model", "seed"], use_threads=False).aggregate([]).to_pylist():
        own = rows.filter(pa.array((model == key["weak_model"]) & (seed == key["seed"]))).sort_by("row_id")
        events, right, presentations = (own[name].to_numpy() for name in _COUNTS)
        first = all(one.weak_model != key["weak_model"] for one in found)
        drawn = sets.get(key["weak_model"], {}) if first else None
        found.append(
            LearntRows(
                **key,
                row_ids=own["row_id"].to_numpy(),
                events=events,
                right=right,
                presentations=presentations,
                sets=drawn,
            )
        )
    return tuple(found)


_COUNTS = ("forgetting_events", "right", "presentations")


def _agreement(learnt: Sequence[LearntRows]) -> tuple[Agreement, ...]:
    """Of every two trainings, over the rows that both were presented."""
    trainings = {
        f"{one.weak_model}, seed {one.seed}": (one.row_ids, one.row_ids[(one.events > 0) | (one.right == 0)])
        for one in learnt
    }
    return tuple(
        _compared(first, second, trainings[first], trainings[second]) for first, second in combinations(trainings, 2)
    )


def _compared(
    first: str, second: str, one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> Agreement:
    common = np.intersect1d(one[0], other[0])
    one_side, other_side = (np.intersect1d(forgotten, common) for _, forgotten in (one, other))
    shared, either = len(np.intersect1d(one_side, other_side)), len(np.union1d(one_side, other_side))
    return Agreement(
        first,
        second,
        len(one_side),
        len(other_side),
        shared,
        shared / either if either else None,
        expected_jaccard(len(common), len(one_side), len(other_side)),
    )
