"""Accuracies from stored predictions: which rows were right, means over seeds, intervals; no formatting."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from aflite_assets.errors import DataError, InvalidInputError
from aflite_assets.reports.records import Cell, TestSet

_NORMAL_QUANTILE_975 = 1.959963984540054


@dataclass(frozen=True)
class Interval:
    """Bounds of a two-sided 95 % interval, both in [0, 1]."""

    low: float
    high: float

    def overlaps(self, other: "Interval") -> bool:
        """Whether the two intervals share a point."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class AccuracySummary:
    """Accuracy over seeds, with the two kinds of spread kept apart.

    `mean` in [0, 1]; `seeds_deviation`: standard deviation over seeds (divisor seeds - 1), None for one
    seed: how much training moves the number. `interval`: Wilson interval of the mean at `test_rows` rows:
    how much the choice of test rows could.
    """

    mean: float
    seeds_deviation: float | None
    seeds: int
    test_rows: int
    interval: Interval


@dataclass(frozen=True)
class Score:
    """One place of a table: an accuracy, or why there is none.

    `status` is "done" with an accuracy (of at least one seed), else "failed", "not run", or "no rows" when
    no test row is left. `unfinished_seeds` counts seeds that have no predictions for the test set.
    """

    status: Literal["done", "failed", "not run", "no rows"]
    reason: str | None
    accuracy: AccuracySummary | None
    test_rows: int
    unfinished_seeds: int


def wilson_interval(accuracy: float, rows: int) -> Interval:
    """Wilson's score interval for a share, two-sided 95 %.

    Source: Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22;
    (p + z^2/2n ± z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).

    Raises:
        InvalidInputError: `accuracy` is outside [0, 1] or `rows` under 1.
    """
    if not 0.0 <= accuracy <= 1.0 or rows < 1:
        raise InvalidInputError(
            f"an interval needs an accuracy in [0, 1] and at least one row, got {accuracy} at {rows} rows"
        )
    z2 = _NORMAL_QUANTILE_975**2
    centre = accuracy + z2 / (2 * rows)
    half = _NORMAL_QUANTILE_975 * math.sqrt(accuracy * (1 - accuracy) / rows + z2 / (4 * rows**2))
    scale = 1 + z2 / rows
    # rounding must not push a bound past the share itself at 0 and 1
    return Interval(min(accuracy, max(0.0, (centre - half) / scale)), max(accuracy, min(1.0, (centre + half) / scale)))


def summarise(accuracies: Sequence[float], test_rows: int) -> AccuracySummary:
    """Mean, deviation over seeds and interval of one accuracy per seed, each in [0, 1].

    Raises:
        InvalidInputError: no accuracy, or `test_rows` under 1.
    """
    if not accuracies:
        raise InvalidInputError("no accuracy to summarise; give one per finished seed")
    mean = min(1.0, math.fsum(accuracies) / len(accuracies))
    deviation = float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None
    return AccuracySummary(mean, deviation, len(accuracies), test_rows, wilson_interval(mean, test_rows))


def correct_rows(cell: Cell, test_set: TestSet) -> np.ndarray | None:
    """Which rows of the test set the cell predicted right: bool, in the test set's row order.

    Predictions are mapped through `test_set.collapse` before they are compared. None when the cell has no
    predictions for this test set at all.

    Raises:
        DataError: some rows are predicted twice or not at all, or a prediction is no class of the dataset.
    """
    if cell.predictions is None:
        return None
    table = cell.predictions.filter(pc.equal(cell.predictions["test_set"], test_set.name))
    if not table.num_rows:
        return None
    predicted = _in_row_order(table["row_id"].to_numpy(), table["predicted"].to_numpy(), cell, test_set)
    classes = len(test_set.label_names if test_set.collapse is None else test_set.collapse)
    if np.any((predicted < 0) | (predicted >= classes)):
        raise DataError(
            f"{_where(cell, test_set)}: predicted classes {sorted(set(predicted.tolist()))[:5]}... "
            f"are outside the dataset's [0, {classes}); train the evaluator again"
        )
    if test_set.collapse is not None:
        predicted = test_set.collapse[predicted]
    return np.asarray(predicted == test_set.labels)


def cell_accuracy(cell: Cell, test_set: TestSet, mask: np.ndarray | None = None) -> float | None:
    """Share of right predictions in [0, 1], over the rows that `mask` (bool, one per row) selects.

    None when the cell has no predictions for the set or no row is selected.
    """
    correct = correct_rows(cell, test_set)
    if correct is None:
        return None
    chosen = correct if mask is None else correct[mask]
    return float(chosen.mean()) if len(chosen) else None


def score(cells: Sequence[Cell], correct: Sequence[np.ndarray | None], mask: np.ndarray) -> Score:
    """One table entry from the seeds of one evaluator and train set.

    `correct[i]` is what `correct_rows` says of `cells[i]`; `mask` selects test rows, bool.
    """
    finished = [rows for rows in correct if rows is not None]
    test_rows, unfinished = int(mask.sum()), len(cells) - len(finished)
    if not finished:
        failed = next((cell for cell in cells if cell.status == "failed"), None)
        reason = failed.reason if failed else next((cell.reason for cell in cells if cell.reason), None)
        return Score("failed" if failed else "not run", reason, None, test_rows, unfinished)
    if not test_rows:
        return Score("no rows", None, None, 0, unfinished)
    summary = summarise([float(rows[mask].mean()) for rows in finished], test_rows)
    return Score("done", None, summary, test_rows, unfinished)


def _in_row_order(row_ids: np.ndarray, predicted: np.ndarray, cell: Cell, test_set: TestSet) -> np.ndarray:
    order, wanted = np.argsort(row_ids, kind="stable"), np.argsort(test_set.row_ids, kind="stable")
    if len(order) != len(wanted) or np.any(row_ids[order] != test_set.row_ids[wanted]):
        raise DataError(
            f"{_where(cell, test_set)}: {len(order)} predictions do not match the set's {len(wanted)} rows one "
            "to one; they come from different versions, materialise evaluator_models again"
        )
    aligned = np.empty(len(order), dtype=np.int64)
    aligned[wanted] = predicted[order]
    return aligned


def _where(cell: Cell, test_set: TestSet) -> str:
    return f"{cell.evaluator!r} trained on {cell.train_set!r} (seed {cell.seed}), test set {test_set.name!r}"
