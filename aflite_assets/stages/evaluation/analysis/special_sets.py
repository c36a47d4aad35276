"""Records of forgettable rows, of pairs of rankings, and of properties that models may rely on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs import forgettables as weak
from aflite_assets.analysis.inputs import records as inputs
from aflite_assets.analysis.inputs.forgettables import Agreement, LearntRows, SecondPhase, Threshold
from aflite_assets.analysis.inputs.records import Cell, FilteredSet, Forgettables, LeaningInputs, LeaningSet, TestSet
from aflite_assets.analysis.scores.accuracy import match_predictions
from aflite_assets.analysis.train_sets import is_filtered_set, is_forgettable_set, leaning_set
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.minorities import measure_rows
from aflite_assets.diagnostics.evidence.removal_overlap import expected_jaccard
from aflite_assets.results import PublishedResult
from aflite_assets.specs.forgettables import MinoritiesSpec
from aflite_assets.stages.evaluation.analysis.rows import class_probability
from aflite_assets.stages.shared import published
from aflite_assets.stages.shared.evaluator_roles import is_apart
from aflite_assets.stages.shared.published import MINORITIES
from aflite_assets.stages.shared.report_inputs import own_name

THRESHOLDS = np.linspace(0, 1, 101)
"""Thresholds on the probability of a class, from 0 to 1 in steps of 0.01."""


def read_forgettables(
    result: PublishedResult,
    models: PublishedResult,
    cells: Sequence[Cell],
    phases: Mapping[str, SecondPhase],
    tested: Sequence[TestSet],
    raw: Examples,
    minorities: MinoritiesSpec | None,
) -> Forgettables:
    """Return all records about forgettable rows; the record is empty if the dataset's YAML file has no `forgettables`.

    Args:
        models: the result of the stage `evaluator_models`.
        cells: all cells of the grid.
        tested: all test sets.
    """
    summary = result.summary
    if summary.get("nothing_asked"):
        return inputs.NO_FORGETTABLES
    shown = {phase.start for phase in phases.values()}
    shown |= {cell.evaluator for cell in cells if is_forgettable_set(cell.train_set)}
    kept = [c for c in cells if is_apart(c, phases) or (c.train_set == "full" and c.evaluator in shown)]
    trained = (result.path / MINORITIES).is_file()
    learnt = tuple(_learnt(result)) if trained else ()
    natural = [one for one in tested if not one.challenge and one.unit == "row"] if minorities is not None else []
    return Forgettables(
        models={name: weak.WeakModelFacts(**facts) for name, facts in summary["models"].items()},
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
                yield from weak.threshold_curve(evaluator, test_set.name, name, THRESHOLDS, mean, len(by_seed))


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
    rows = pq.read_table(result.file(published.FORGETTABLE_ROWS))
    sets: dict[str, dict[str, np.ndarray]] = {model: {} for model in rows["weak_model"].unique().to_pylist()}
    for one in published.read_forgettable_sets(result):
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


def read_rankings(
    filtered_sets: PublishedResult, controls: PublishedResult, filtered: Sequence[FilteredSet]
) -> dict[str, inputs.RankingPair]:
    """Return pairs of filtered sets that have the same representation but were made with different rankings.

    The two sets of a pair are compared by the rows kept at the end. The comparison is repeated for the rows that
    remained at each earlier size that both filters reached.
    """
    by_name = {one.representation: one for one in filtered}
    pairs = [(by_name[published.representation_of(filtered_sets, name)], one) for name, one in by_name.items()]
    pairs = [(first, second) for first, second in pairs if first is not second]
    in_the_end = {name: one.train.filter(pc.field("kept"))["row_id"] for name, one in by_name.items()}
    kept = {name: {"filtered": row_ids.to_numpy()} for name, row_ids in in_the_end.items()}
    for one in published.read_control_sets(controls) if pairs else []:
        if one.split == "train" and is_filtered_set(one.name):
            kept[one.representation][one.name] = one.row_ids
    found = {}
    for pair in pairs:
        first, second = (one.representation for one in pair)
        both = np.intersect1d(*(one.train["row_id"].to_numpy() for one in pair))
        overlaps = tuple(
            inputs.RankingOverlap(first, second, name, len(both), *overlap(both, row_ids, kept[second][name]))
            for name, row_ids in kept[first].items()
            if name in kept[second]
        )
        rankings = [str(one.settings.get("ranking", "predictability")) for one in pair]
        found[first] = inputs.RankingPair(first, second, (rankings[0], rankings[1]), overlaps)
    return found


def overlap(
    rows: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[int, int, int, float | None, float | None]:
    """Count the rows of two sets within `rows`; return both sizes, the size of the intersection, and the Jaccard index.

    The last value returned is the expected Jaccard index of two random sets with the same sizes. Both Jaccard indices
    are None if both sets are empty. All arrays contain row ids.
    """
    in_first, in_second = np.isin(rows, first), np.isin(rows, second)
    sizes, shared, either = (int(in_first.sum()), int(in_second.sum())), in_first & in_second, in_first | in_second
    jaccard = float(shared.sum() / either.sum()) if either.any() else None
    return (*sizes, int(shared.sum()), jaccard, expected_jaccard(len(rows), *sizes))


def read_leanings(
    result: PublishedResult, cells: Sequence[Cell], tested: Sequence[TestSet], named: Callable[[str], str] = str
) -> tuple[LeaningInputs, ...]:
    """Return every candidate property of `leaning_sets`, with its values on test rows and the evaluator's predictions.

    Args:
        cells: all cells of the grid of evaluators.
        named: a function that returns the source's name for a column of the raw table.
    """
    found = inputs.CANDIDATES.from_arrow(pq.read_table(result.file("candidates.parquet")))
    pointed, sets = (pq.read_table(result.file(f"{name}.parquet")) for name in ("pointed", "train_sets"))
    by_row, evaluator = [one for one in tested if one.unit == "row"], result.summary["evaluator"]
    drawn, read = set(sets["candidate"].unique().to_pylist()), []
    for one in found:
        known = _pointed(pointed, one.candidate, by_row), _predicted(one.candidate, cells, by_row)
        if one.kind in _OF_TEXTS:
            one = replace(one, name=own_name(one.kind, one.name, named))
        read.append(LeaningInputs(one, evaluator, *known, too_few_rows=one.candidate not in drawn))
    return tuple(read)


_OF_TEXTS = ("word", "topic word", "length")
"""Kinds of candidate properties with names that contain the name of a text column of the raw table."""


def _pointed(table: pa.Table, candidate: int, tested: Sequence[TestSet]) -> Mapping[str, np.ndarray]:
    own = table.filter(pc.equal(table["candidate"], candidate))
    found = {}
    for one in tested:
        rows = own.filter(pc.equal(own["test_set"], one.name))
        places = pc.index_in(pa.array(one.row_ids), value_set=rows["row_id"].combine_chunks())
        if rows.num_rows and not places.null_count:
            found[one.name] = rows["points_to"].take(places).to_numpy()
    return found


def _predicted(
    candidate: int, cells: Sequence[Cell], tested: Sequence[TestSet]
) -> Mapping[tuple[LeaningSet, str], Sequence[np.ndarray]]:
    found: dict[tuple[LeaningSet, str], Sequence[np.ndarray]] = {}
    for name in get_args(LeaningSet):
        trained = [one for one in cells if one.train_set == leaning_set(name, candidate)]
        for one in tested:
            matched = [match_predictions(cell, one) for cell in trained]
            found[name, one.name] = [each["predicted"].to_numpy() for each in matched if isinstance(each, pa.Table)]
    return found
