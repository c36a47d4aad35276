"""The record of one trained evaluator with its predictions; nothing is computed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa


@dataclass(frozen=True)
class Training:
    """One evaluator trained on one train set with one seed.

    `representation` names the filtering that the train set belongs to; None for `full` and forgettable rows. `reason`:
    why it is not done, if that is known.
    """

    evaluator: str
    train_set: str
    representation: str | None
    seed: int
    train_rows: int
    status: Literal["done", "failed", "not run"]
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Cell(Training):
    """A training and what it predicted; two cells of the same training are equal.

    `predictions` (of a done cell) has `test_set` string, `row_id` int64 and `predicted` int64, a class
    number of the dataset; where probabilities are needed (test sets with `adds_probabilities`, top-k accuracy) also
    `probabilities`, list<float32> over the dataset's classes, null where the evaluator gives none, or `gold_rank` in
    their place (`accuracy.with_ranks`). Of test sets whose unit is the question it has a row per question
    (`questions.question_predictions`).
    """

    predictions: pa.Table | None = None

    @cached_property
    def correct(self) -> dict[object, Any]:
        """Results of `accuracy.correct_rows` so far, by test set."""
        return {}
