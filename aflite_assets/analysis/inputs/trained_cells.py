"""The record of one trained evaluator with its predictions, and how input records are checked; nothing is computed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from aflite_assets.analysis.train_sets import TRAIN_SETS, is_forgettable_set, is_train_set
from aflite_assets.errors import InvalidInputError

CellStatus = Literal["done", "failed", "not run"]


def require(condition: bool, message: str) -> None:
    """Raise InvalidInputError with the message if the condition does not hold."""
    if not condition:
        raise InvalidInputError(message)


def require_columns(table: pa.Table, names: tuple[str, ...], where: str) -> None:
    """Refuse a table that lacks a column; errors as of `require`."""
    missing = [name for name in names if name not in table.column_names]
    require(not missing, f"{where} lacks the columns {missing}; it has {table.column_names}")


@dataclass(frozen=True, eq=False)
class Cell:
    """One evaluator trained on one train set with one seed, and what it predicted.

    `representation` names the filtering that the train set belongs to; None for `full` and forgettable rows.
    `predictions` (of a done cell) has `test_set` string, `row_id` int64 and `predicted` int64, a class
    number of the dataset; where probabilities are needed (test sets with `adds_probabilities`, top-k accuracy) also
    `probabilities`, list<float32> over the dataset's classes, null where the evaluator gives none, or `gold_rank` in
    their place (`accuracy.with_ranks`). Of test sets whose unit is the question it has a row per question
    (`questions.question_predictions`). Raises InvalidInputError if the fields contradict each other.
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
        given = "missing" if self.predictions is None else "given"
        said = f"{where}: status {self.status!r} and predictions {given}; only done cells have predictions"
        require((given == "given") == (self.status == "done"), said)
        if self.predictions is not None:
            require_columns(self.predictions, ("test_set", "row_id", "predicted"), f"{where}: predictions table")
