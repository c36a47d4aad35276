"""The record of one trained evaluator with its predictions, and how input records are checked; nothing is computed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from aflite_assets.analysis.train_sets import TRAIN_SETS, is_forgettable_set, is_train_set
from aflite_assets.errors import InvalidInputError

CellStatus = Literal["done", "failed", "not run"]

_PREDICTION_COLUMNS = ("test_set", "row_id", "predicted")


def require(condition: bool, message: str) -> None:
    """Refuse input that contradicts itself.

    Raises:
        InvalidInputError: with the message, where the condition does not hold.
    """
    if not condition:
        raise InvalidInputError(message)


def require_columns(table: pa.Table, names: tuple[str, ...], where: str) -> None:
    """Refuse a table that lacks a column.

    Raises:
        InvalidInputError: names the missing columns and those that are there.
    """
    missing = [name for name in names if name not in table.column_names]
    require(not missing, f"{where} lacks the columns {missing}; it has {table.column_names}")


@dataclass(frozen=True, eq=False)
class Cell:
    """One evaluator trained on one train set with one seed, and what it predicted.

    `representation` names the filtering that the train set belongs to; None for `full` only.
    `predictions` (of a done cell) has `test_set` string, `row_id` int64 and `predicted` int64, a class
    number of the dataset; where probabilities are needed (test sets with `adds_probabilities`, top-k accuracy) also
    `probabilities`, list<float32> over the dataset's classes, null where the evaluator gives none, or `gold_rank` in
    their place (`accuracy.with_ranks`). Of test sets whose unit is the question it has a row per question
    (`questions.question_predictions`).

    Raises:
        InvalidInputError: the fields contradict each other.
    """

    evaluator: str
    train_set: str
    representation: str | None
    seed: int
    train_rows: int
    status: CellStatus
    reason: str | None = None
    predictions: pa.Table | None = None

    @cached_property
    def correct(self) -> dict[object, Any]:
        """Results of `accuracy.correct_rows` so far, by test set."""
        return {}

    def __post_init__(self) -> None:
        where = f"cell {self.evaluator!r}, train set {self.train_set!r}, seed {self.seed}"
        require(
            is_train_set(self.train_set),
            f"{where}: train set must be one of {TRAIN_SETS}, or filtered_<name>, random_<name> or forgettable_<name>",
        )
        require(
            (self.representation is None) == (self.train_set == "full" or is_forgettable_set(self.train_set)),
            f"{where}: representation is {self.representation!r}; only 'full' and forgettable rows have none",
        )
        require(
            self.status in ("done", "failed", "not run"),
            f"{where}: status is {self.status!r}; use 'done', 'failed' or 'not run'",
        )
        require(
            (self.predictions is not None) == (self.status == "done"),
            f"{where}: status {self.status!r} and predictions "
            f"{'given' if self.predictions is not None else 'missing'}; only done cells have predictions",
        )
        require(self.status != "failed" or bool(self.reason), f"{where}: a failed cell needs a reason")
        if self.predictions is not None:
            require_columns(self.predictions, _PREDICTION_COLUMNS, f"{where}: predictions table")
