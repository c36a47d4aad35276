"""What a cell predicted of a test set's rows, matched by row id, or why there is nothing. No accuracies."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.errors import DataError


@dataclass(frozen=True)
class MissingScore:
    """Why a cell is neither right nor wrong on a test set."""

    status: Literal["failed", "not run", "no probabilities"]
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class MatchedPredictions:
    """A cell's predictions of one test set.

    `table`: the rows of `Cell.predictions`; `positions` int64: where in it each row of the test set is; `where` names
    both in errors.
    """

    table: pa.Table
    positions: np.ndarray
    where: str


def match_predictions(cell: Cell, test_set: TestSet) -> MatchedPredictions | MissingScore:
    """The cell's predictions of the test set, or why there are none.

    Raises:
        DataError: some rows are predicted twice or not at all.
    """
    if cell.predictions is None:
        return MissingScore("failed" if cell.status == "failed" else "not run", cell.reason)
    table = cell.predictions.filter(pc.equal(cell.predictions["test_set"], test_set.name))
    if not table.num_rows:
        return MissingScore("not run")
    where = f"{cell.evaluator!r} trained on {cell.train_set!r} (seed {cell.seed}), test set {test_set.name!r}"
    return MatchedPredictions(table, _positions(table["row_id"].to_numpy(), test_set.row_ids, where), where)


def _positions(row_ids: np.ndarray, wanted_ids: np.ndarray, where: str) -> np.ndarray:
    """Where in `row_ids` each of the test set's rows is."""
    order, wanted = np.argsort(row_ids, kind="stable"), np.argsort(wanted_ids, kind="stable")
    if len(order) != len(wanted) or np.any(row_ids[order] != wanted_ids[wanted]):
        raise DataError(
            f"{where}: {len(order)} predictions do not match the set's {len(wanted)} rows one "
            "to one; they come from different versions, materialise evaluator_models again"
        )
    positions = np.empty(len(order), dtype=np.int64)
    positions[wanted] = order
    return positions
