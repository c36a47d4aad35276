"""Tidy tables of trainings and scores: trainings, how many rows each got right, and means over the seeds."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.inputs.trained_cells import Training
from aflite_assets.analysis.scores.accuracy import MissingScore, Score, correct_rows
from aflite_assets.analysis.scores.groups import train_rows
from aflite_assets.analysis.scores.score_table import TestedOn, score_table, scored_groups
from aflite_assets.analysis.tidy import TidyTable, record_of


@dataclass(frozen=True, kw_only=True)
class Accuracy(Score):
    """Mean accuracy over the seeds of one evaluator and train set on one test set, or on a part of it.

    `representation`, `tested_on`, `column`, `category`, `label`, `top`: as in `score_table.Place`. `train_rows`,
    `train_rows_most`: the least and the most over finished seeds, or None. `test_rows` counts rows or questions.
    """

    representation: str | None
    evaluator: str
    train_set: str
    train_rows: int | None
    train_rows_most: int | None
    test_set: str
    tested_on: TestedOn
    column: str | None
    category: str | None
    label: str | None
    top: int

    @property
    def whole(self) -> bool:
        """True if it is about no part of a test set but its full or its filtered rows."""
        return self.column is None and self.label is None


def accuracies(data: BenchmarkData) -> Iterator[Accuracy]:
    """Yield every score, in the order of the score table."""
    sizes = {group[:3]: train_rows(group.cells) for group in scored_groups(data)}
    for place, found in score_table(data).items():
        trained = sizes[place[:3]] or (None,)
        yield Accuracy(**vars(found), **place._asdict(), train_rows=trained[0], train_rows_most=trained[-1])


@dataclass(frozen=True)
class SeedScore:
    """One finished training on one test set or a part of it: `correct` of `n` rows or questions (`unit`) were right.

    `correct` is a whole number except for questions with several likeliest answers, which count in part. The rows form
    `groups` groups, None if every row is its own. The other columns: as in `Accuracy`.
    """

    representation: str | None
    evaluator: str
    train_set: str
    seed: int
    train_rows: int
    test_set: str
    unit: str
    tested_on: TestedOn
    column: str | None
    category: str | None
    label: str | None
    n: int
    groups: int | None
    correct: float


def seed_scores(data: BenchmarkData) -> Iterator[SeedScore]:
    """Yield every finished training on every test set and part, once for each filtering that it belongs to."""
    for group in scored_groups(data):
        for cell, (test_set, parts) in product(group.cells, group.tested):
            right = correct_rows(cell, test_set)
            if isinstance(right, MissingScore):
                continue
            for tested_on, part in parts:
                yield record_of(
                    SeedScore,
                    cell,
                    part,
                    representation=group.representation,
                    test_set=test_set.name,
                    unit=test_set.unit,
                    tested_on=tested_on,
                    n=int(part.mask.sum()),
                    groups=None if test_set.groups is None else len(np.unique(test_set.groups[part.mask])),
                    correct=float(right[part.mask].sum()),
                )


TRAININGS = TidyTable("trainings", Training)
ACCURACIES = TidyTable("accuracies", Accuracy)
SCORES = TidyTable("scores", SeedScore)
