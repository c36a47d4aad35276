"""Accuracies from stored predictions: which rows were right, means over seeds, intervals; no formatting."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import Interval, effective_rows, wilson_interval
from aflite_assets.analysis.scores.groups import cells_of
from aflite_assets.analysis.scores.predictions import MOST_RESULTS, MissingScore, gold_ranks, match_predictions
from aflite_assets.analysis.scores.questions import question_credit
from aflite_assets.errors import DataError, InvalidInputError


@dataclass(frozen=True)
class AccuracySummary:
    """Accuracy over seeds, with the two kinds of spread kept apart.

    `mean` in [0, 1]; `seeds_deviation`: standard deviation over seeds (divisor seeds - 1), None for one seed: how much
    training moves the number. `interval`: Wilson interval of the mean: how much the choice of test rows moves it, at
    `effective_rows`, which are the `test_rows` unless these belong together in groups.
    """

    mean: float
    seeds_deviation: float | None
    seeds: int
    test_rows: int
    interval: Interval
    effective_rows: float


@dataclass(frozen=True)
class Score:
    """One place of a table: an accuracy, or why there is none.

    `status`: "done" with an accuracy (of at least one seed), else as in `MissingScore`, or "no rows" if no test row is
    left. `unfinished_seeds` counts seeds without an accuracy on the test set.
    """

    status: Literal["done", "failed", "not run", "no probabilities", "no rows"]
    reason: str | None
    accuracy: AccuracySummary | None
    test_rows: int
    unfinished_seeds: int


def summarise(
    accuracies: Sequence[float], test_rows: int, effective: float | None = None, degrees_of_freedom: float = math.inf
) -> AccuracySummary:
    """Return mean, deviation over seeds and interval of one accuracy per seed, each in [0, 1].

    `effective`, `degrees_of_freedom`: of rows that belong together, from `intervals.effective_rows`.

    Raises:
        InvalidInputError: no accuracy, or `test_rows` under 1.
    """
    if not accuracies:
        raise InvalidInputError("no accuracy to summarise; give one per finished seed")
    mean = min(1.0, math.fsum(accuracies) / len(accuracies))
    deviation = float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None
    worth = float(test_rows) if effective is None else effective
    interval = wilson_interval(mean, worth, degrees_of_freedom)
    return AccuracySummary(mean, deviation, len(accuracies), test_rows, interval, worth)


@lru_cache(MOST_RESULTS)
def correct_rows(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    """Return which rows of the test set the cell predicted right: bool, in the test set's row order; or why unknown.

    For a set of questions the credit for each, float64 in [0, 1]: 1 if the right answer is found likeliest. Predictions
    are mapped through `test_set.class_map` before they are compared, by label or by probability as `test_set.collapse`
    says; of equal sums of probabilities the lowest class number wins. All tables, intervals and verdicts count these.

    Raises:
        DataError: some rows are predicted twice or not at all, a prediction is no class of the dataset, or
            probabilities are not finite or not of the dataset's classes.
    """
    if test_set.unit == "question":
        return question_credit(cell, test_set)
    if test_set.adds_probabilities:
        ranks = gold_ranks(cell, test_set)
        return ranks if isinstance(ranks, MissingScore) else np.asarray(ranks == 0)
    matched = match_predictions(cell, test_set)
    if isinstance(matched, MissingScore):
        return matched
    predicted = matched.table["predicted"].to_numpy()
    classes = len(test_set.label_names if test_set.class_map is None else test_set.class_map)
    if np.any((predicted < 0) | (predicted >= classes)):
        raise DataError(
            f"{matched.where}: predicted classes {sorted(set(predicted.tolist()))[:5]}... "
            f"are outside the dataset's [0, {classes}); train the evaluator again"
        )
    own_class = predicted if test_set.class_map is None else test_set.class_map[predicted]
    return np.asarray(own_class[matched.positions] == test_set.labels)


def finished_rows(cells: Iterable[Cell], test_set: TestSet) -> list[np.ndarray]:
    """Return which rows each training with predictions of the test set got right (`correct_rows`)."""
    return [rows for cell in cells if isinstance(rows := correct_rows(cell, test_set), np.ndarray)]


def finished_trainings(data: BenchmarkData, cells: Sequence[Cell], test_set: TestSet) -> list[np.ndarray]:
    """Return per training which rows it got right, and of `filtered` per run of the filter the mean of its trainings.

    Trainings on one run's rows have its draw in common, so that the runs, if there are several, are what varies.
    """
    runs: dict[int, list[Cell]] = {}
    for place, cell in enumerate(cells):
        run = data.filter_runs.get(cell.seed, 0) if cell.train_set == "filtered" and data.filter_runs else place
        runs.setdefault(run, []).append(cell)
    finished = [finished_rows(group, test_set) for group in runs.values()]
    return [group[0] if len(group) == 1 else np.mean(group, axis=0) for group in finished if group]


def trained_right(
    data: BenchmarkData, evaluator: str, train_set: str, representation: str, test_set: TestSet
) -> list[np.ndarray]:
    """Return the `finished_trainings` of an evaluator on a train set of one filtering, or on full."""
    cells = cells_of(data, evaluator, train_set, None if train_set == "full" else representation)
    return finished_trainings(data, cells, test_set)


def score(correct: Sequence[np.ndarray | MissingScore], mask: np.ndarray, groups: np.ndarray | None) -> Score:
    """Return one table entry from the seeds of one evaluator and train set.

    `correct`: `correct_rows` of each seed's cell; `mask` selects test rows, bool; `groups`: those of the test set.
    """
    finished = [rows[mask] for rows in correct if isinstance(rows, np.ndarray)]
    test_rows, unfinished = int(mask.sum()), len(correct) - len(finished)
    if not finished:
        # Failures come first, then whatever has a reason.
        missing = [each for each in correct if isinstance(each, MissingScore)] or [MissingScore("not run")]
        why = min(missing, key=lambda each: (each.status != "failed", each.reason is None))
        return Score(why.status, why.reason, None, test_rows, unfinished)
    if not test_rows:
        return Score("no rows", None, None, 0, unfinished)
    worth = () if groups is None else effective_rows(np.mean(finished, axis=0), groups[mask])
    summary = summarise([float(rows.mean()) for rows in finished], test_rows, *worth)
    return Score("done", None, summary, test_rows, unfinished)
