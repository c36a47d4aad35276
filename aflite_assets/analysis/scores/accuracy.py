"""Accuracies computed from stored predictions: correctly predicted rows, ranks of classes, means over seeds, and
intervals.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import effective_rows, wilson_interval
from aflite_assets.errors import DataError, InvalidInputError

CREDIT = "credit"
"""Column of a predictions table with one row per question: the credit, float64 in [0, 1], null without
probabilities.
"""

RANK = "gold_rank"
"""Column of a predictions table that holds ranks instead of probabilities, int64, null without probabilities."""

MARGIN = "gold_margin"
"""Column of a predictions table: the probability of the row's own class minus the highest other probability, float64,
or null. The margin lies in [-1, 1] and is positive if the row was predicted correctly. Only models trained on `full`
have the margin.
"""

TOP = 5
"""Number of likeliest classes that count in top-5 accuracy: a row counts as correct if its class is one of them."""

FEWEST_CLASSES = 10
"""Least number of classes for top-5 accuracy, which is uninformative with fewer classes."""

BLOCK_ROWS = 2_048
"""Number of rows for which probabilities are ranked together: 16 MB as float64 at 1,000 classes."""


@dataclass(frozen=True)
class MissingScore:
    """The reason why a training run has no score on a test set."""

    status: Literal["failed", "not run", "no probabilities"]
    reason: str | None = None


def match_predictions(cell: Cell, test_set: TestSet) -> pa.Table | MissingScore:
    """Return the cell's predictions of the test set, in the set's row order, or the reason why there are no
    predictions.

    Raises DataError if some rows are predicted twice or not at all.
    """
    if cell.predictions is None:
        return MissingScore("failed" if cell.status == "failed" else "not run", cell.reason)
    table = cell.predictions.filter(pc.equal(cell.predictions["test_set"], test_set.name))
    if not table.num_rows:
        return MissingScore("not run")
    places = pc.index_in(pa.array(test_set.row_ids), value_set=table["row_id"])
    if table.num_rows != len(places) or places.null_count:
        raise DataError(
            f"{_where(cell, test_set)}: the {table.num_rows} predictions do not match the {len(places)} test rows, "
            "because both come from different versions; materialise `evaluator_models` again"
        )
    return table.take(places)


def _where(cell: Cell, test_set: TestSet) -> str:
    return f"{cell.evaluator!r} trained on {cell.train_set!r} (seed {cell.seed}), test set {test_set.name!r}"


def required_predictions(cell: Cell, test_set: TestSet) -> pa.Table:
    """Return the cell's predictions of the test set, in the set's row order.

    Raises InvalidInputError if there are no predictions.
    """
    table = match_predictions(cell, test_set)
    if isinstance(table, MissingScore):
        raise InvalidInputError(
            f"evaluator {cell.evaluator!r} has no predictions of test set {test_set.name!r}: {table.status}"
        )
    return table


def is_ranked(label_names: tuple[str, ...], test_set: TestSet) -> bool:
    """Return True if both the dataset and the test set have enough classes to report top-5 accuracy."""
    return min(len(label_names), len(test_set.label_names)) >= FEWEST_CLASSES


def ranked_sets(data: BenchmarkData) -> frozenset[str]:
    """Return the names of the test sets that get a top-5 accuracy.

    A test set gets a top-5 accuracy if it has enough classes and at least one training run has probabilities.
    """
    enough = [one for one in data.test_sets if is_ranked(data.label_names, one)]
    return frozenset(
        one.name for one in enough if any(isinstance(gold_ranks(cell, one), np.ndarray) for cell in data.cells)
    )


def gold_ranks(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    """Count, for each row of the test set, the classes to which the cell gives a higher rank than to the row's own
    class (int64).

    Classes are ranked by probability; among equal probabilities, the lowest class number comes first. If the set sums
    probabilities (`TestSet.adds_probabilities`), the set's own classes are ranked, without dataset classes that are
    mapped to none. If the set does not sum probabilities, the dataset's classes are ranked, and a row gets the rank of
    the likeliest class that is mapped to the row's own class. Raises DataError if rows do not match, or if a
    probability is missing or not finite.
    """
    return _by_own_class(cell, test_set, RANK, _rank)


def gold_margins(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    """Return the margin of each row's own class (`MARGIN`), float64, or the reason why the margin is unknown. Raises
    DataError in the cases of `gold_ranks`.
    """
    return _by_own_class(cell, test_set, MARGIN, _margin)


def _by_own_class(
    cell: Cell, test_set: TestSet, column: str, measure: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray | MissingScore:
    """Return the stored column, or compute the column from the classes' scores (rows x classes).

    `measure` computes the column; its second argument is the number of each row's own class.
    """
    table = match_predictions(cell, test_set)
    if isinstance(table, MissingScore):
        return table
    if column in table.column_names and not table[column].null_count:
        return np.asarray(table[column].to_numpy())
    if "probabilities" not in table.column_names or table["probabilities"].null_count:
        return MissingScore("no probabilities", f"{cell.evaluator} gives none to add up")
    rows, classes = table.num_rows, _dataset_classes(test_set)
    flat = table["probabilities"].combine_chunks().flatten().to_numpy()
    if len(flat) != rows * classes or not np.isfinite(flat).all():
        raise DataError(
            f"{_where(cell, test_set)}: there are {len(flat)} probabilities for {rows} rows and {classes} classes, and "
            f"{int((~np.isfinite(flat)).sum())} of the probabilities are not finite; train the evaluator again"
        )
    probabilities = flat.reshape(rows, classes)
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, rows, BLOCK_ROWS)]
    return np.concatenate([measure(*_class_scores(probabilities[b], test_set.labels[b], test_set)) for b in blocks])


def in_top(cell: Cell, test_set: TestSet, top: int) -> np.ndarray | MissingScore:
    """Return a bool array that is True for rows whose own class is among the `top` likeliest classes (`gold_ranks`). If
    the ranks are unknown, return the reason instead.
    """
    ranks = gold_ranks(cell, test_set)
    return ranks if isinstance(ranks, MissingScore) else np.asarray(ranks < top)


def _dataset_classes(test_set: TestSet) -> int:
    return len(test_set.label_names if test_set.class_map is None else test_set.class_map)


def with_ranks(cell: Cell, test_set: TestSet) -> pa.Table:
    """Return the cell's predictions of the test set with the column `RANK` instead of `probabilities`, which saves
    memory.
    """
    table = required_predictions(cell, test_set)
    measured = {RANK: gold_ranks(cell, test_set)}
    if cell.train_set == "full":
        measured[MARGIN] = gold_margins(cell, test_set)
    for name, values in measured.items():
        kind = pa.int64() if name == RANK else pa.float64()
        column = pa.nulls(table.num_rows, kind) if isinstance(values, MissingScore) else pa.array(values, kind)
        table = table.append_column(name, column)
    return table.drop(["probabilities"])


def _class_scores(probabilities: np.ndarray, labels: np.ndarray, test_set: TestSet) -> tuple[np.ndarray, np.ndarray]:
    """Return a score per row and class, and the column number of each row's own class.

    The score is -inf for classes that cannot be predicted.
    """
    class_map = test_set.class_map
    if class_map is None:
        return probabilities, labels
    if test_set.adds_probabilities:
        # A class to which no dataset class is mapped must not win, even if all sums are zero.
        sums = np.full((len(probabilities), len(test_set.label_names)), -np.inf)
        for target in np.unique(class_map[class_map >= 0]):
            sums[:, target] = probabilities[:, class_map == target].sum(axis=1, dtype=np.float64)
        return sums, labels
    own = np.where(class_map[None, :] == labels[:, None], probabilities, -np.inf)
    likeliest = own.argmax(axis=1)
    # Of the dataset classes that are mapped to the row's own class, only the likeliest is ranked. If there is no such
    # class, the score of the own class is -inf.
    rivals = np.where(class_map[None, :] == labels[:, None], -np.inf, probabilities)
    rivals[np.arange(len(labels)), likeliest] = own.max(axis=1)
    return rivals, likeliest


def _rank(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Count the classes that come before the chosen class.

    A class comes before the chosen class if it has a higher score, or an equal score and a lower number. Count all
    classes if the row has no chosen class.
    """
    own = scores[np.arange(len(scores)), chosen][:, None]
    before = (scores > own) | ((scores == own) & (np.arange(scores.shape[1]) < chosen[:, None]))
    return np.where(np.isneginf(own[:, 0]), scores.shape[1], before.sum(axis=1))


def _margin(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the chosen class's score minus the highest other score, float64 in [-1, 1].

    The margin is -1 if the class cannot be predicted.
    """
    rows = np.arange(len(scores))
    others = scores.astype(np.float64)
    own = others[rows, chosen]
    others[rows, chosen] = -np.inf
    highest = np.maximum(others.max(axis=1, initial=-np.inf), 0.0)
    return np.where(np.isneginf(own), -1.0, np.clip(own - highest, -1.0, 1.0))


def correct_rows(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    """Return a bool array, in the set's row order, that is True for test rows that the cell predicted correctly. If
    there are no predictions, return the reason instead. For a set of questions, return the credit of each question,
    float64 in [0, 1]: 1 if the correct answer is the likeliest. Before comparison with the labels, predictions are
    mapped by `test_set.class_map`, in the way given by `test_set.collapse`. Among equal sums of probabilities, the
    lowest class number is predicted. The result is computed once per cell and test set. Raises DataError in the cases
    of `gold_ranks`, and if a prediction is not a class of the dataset.
    """
    if test_set not in cell.correct:
        cell.correct[test_set] = _correct_rows(cell, test_set)
    return cell.correct[test_set]


def _correct_rows(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    if test_set.adds_probabilities:
        return in_top(cell, test_set, 1)
    table = match_predictions(cell, test_set)
    if isinstance(table, MissingScore):
        return table
    if test_set.unit == "question":
        if CREDIT in table.column_names and not table[CREDIT].null_count:
            return np.asarray(table[CREDIT].to_numpy())
        return MissingScore("no probabilities", f"{cell.evaluator} gives none to choose an answer by")
    predicted, classes = table["predicted"].to_numpy(), _dataset_classes(test_set)
    if np.any((predicted < 0) | (predicted >= classes)):
        raise DataError(
            f"{_where(cell, test_set)}: the predicted classes {sorted(set(predicted.tolist()))[:5]}... are not all "
            f"between 0 and {classes - 1}; train the evaluator again"
        )
    return np.asarray((predicted if test_set.class_map is None else test_set.class_map[predicted]) == test_set.labels)


def finished_rows(cells: Iterable[Cell], test_set: TestSet) -> list[np.ndarray]:
    """Return the correctly predicted rows (`correct_rows`) of each training run with predictions of the test set."""
    return [rows for cell in cells if isinstance(rows := correct_rows(cell, test_set), np.ndarray)]


def trained_right(
    data: BenchmarkData, evaluator: str, train_set: str, representation: str, test_set: TestSet
) -> list[np.ndarray]:
    """Return the correctly predicted test rows of each training run; `train_set` is `full` or a set of one filtering.

    For `filtered` with several filter runs, return the mean over the training runs of each filter run. Training runs on
    the rows of one filter run share the random draws of this filter run. The filter runs, not the training runs, are
    therefore the random units.
    """
    runs: dict[int, list[Cell]] = {}
    for place, cell in enumerate(data.cells_of(evaluator, train_set, representation)):
        run = data.filter_runs.get(cell.seed, 0) if train_set == "filtered" and data.filter_runs else place
        runs.setdefault(run, []).append(cell)
    finished = [finished_rows(group, test_set) for group in runs.values()]
    return [group[0] if len(group) == 1 else np.mean(group, axis=0) for group in finished if group]


@dataclass(frozen=True)
class Score:
    """One entry of a table: the mean accuracy over seeds with two separate measures of spread, or the reason why the
    mean is missing.

    `status` is "done" if at least one seed has an accuracy, "no rows" if there is no test row, else the status of
    `MissingScore`. `accuracy` is in [0, 1]. `seeds_deviation`: the standard deviation over the `seeds`, which is due to
    training; None for one seed. `interval_low`, `interval_high`: Wilson's interval, which is due to the choice of test
    rows. The interval uses `effective_rows`, which equals `test_rows` unless rows belong together in groups.
    """

    status: Literal["done", "failed", "not run", "no probabilities", "no rows"]
    reason: str | None
    test_rows: int
    unfinished_seeds: int
    accuracy: float | None = None
    seeds_deviation: float | None = None
    seeds: int | None = None
    effective_rows: float | None = None
    interval_low: float | None = None
    interval_high: float | None = None


def score(correct: Sequence[np.ndarray | MissingScore], mask: np.ndarray, groups: np.ndarray | None) -> Score:
    """Return one table entry, computed over the seeds of one evaluator and train set.

    `correct`: the result of `correct_rows` for each seed; `mask`: the selected test rows, bool; `groups`: the test
    set's groups.
    """
    finished = [rows[mask] for rows in correct if isinstance(rows, np.ndarray)]
    test_rows, unfinished = int(mask.sum()), len(correct) - len(finished)
    if not finished:
        # Failures come first, then whatever has a reason.
        missing = [each for each in correct if isinstance(each, MissingScore)] or [MissingScore("not run")]
        why = min(missing, key=lambda each: (each.status != "failed", each.reason is None))
        return Score(why.status, why.reason, test_rows, unfinished)
    if not test_rows:
        return Score("no rows", None, 0, unfinished)
    accuracies = [float(rows.mean()) for rows in finished]
    mean = min(1.0, math.fsum(accuracies) / len(accuracies))
    deviation = float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None
    effective, degrees_of_freedom = float(test_rows), math.inf
    if groups is not None:
        effective, degrees_of_freedom = effective_rows(np.mean(finished, axis=0), groups[mask])
    interval = wilson_interval(mean, effective, degrees_of_freedom)
    return Score("done", None, test_rows, unfinished, mean, deviation, len(accuracies), effective, *interval)
