"""Tidy tables of trainings and scores: trainings, how many rows each got right, and means over the seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from aflite_assets.analysis.inputs.forgettables import Forgettables
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.inputs.trained_cells import CellStatus
from aflite_assets.analysis.scores.accuracy import Score, correct_rows, score
from aflite_assets.analysis.scores.groups import cell_groups, train_rows
from aflite_assets.analysis.scores.score_table import TestedOn, score_table, tested_subsets
from aflite_assets.analysis.scores.subsets import Subset, tested_parts
from aflite_assets.analysis.tidy import TidyTable, record_of


@dataclass(frozen=True)
class Training:
    """One evaluator trained on one train set with one seed; `status` and `reason` as in `Cell`.

    `representation`: the filtering that the train set belongs to, or None for full.
    """

    evaluator: str
    train_set: str
    representation: str | None
    seed: int
    train_rows: int
    status: CellStatus
    reason: str | None


def trainings(data: BenchmarkData) -> Iterator[Training]:
    """Yield the trainings of a report in their order, without second phases on forgettable rows."""
    return (record_of(Training, cell) for cell in data.cells)


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy over the seeds of one evaluator and train set on one test set, or on a part of it.

    `representation`: the filtering that train set and filtered rows belong to, which full has one of each with; None of
    second phases, what they start from, and sets of forgettable rows. `train_rows`, `train_rows_most`: the least and
    the most over finished seeds, or None. `tested_on`, `column`, `category`, `label`, `top`: as in `score_table.Place`;
    the column "overlap" of second phases has the categories all, high and low of the rows with gold label `label`
    ("others" for the other classes). `status`: "done" with an accuracy, else, with `reason`, why there is none.
    `accuracy`, `interval_low` and `interval_high` (Wilson, at `effective_rows`) lie in [0, 1]; `seeds_deviation` has
    divisor seeds - 1; `test_rows` counts rows or questions.
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
    status: str
    reason: str | None
    unfinished_seeds: int
    test_rows: int
    accuracy: float | None = None
    seeds_deviation: float | None = None
    seeds: int | None = None
    effective_rows: float | None = None
    interval_low: float | None = None
    interval_high: float | None = None

    @property
    def whole(self) -> bool:
        """True if it is about no part of a test set but its full or its filtered rows."""
        return self.column is None and self.label is None


OVERLAP = "overlap"
"""The column of the parts by overlap of both texts."""

_Part = tuple[TestedOn, TestSet, Subset]


def accuracies(data: BenchmarkData) -> Iterator[Accuracy]:
    """Yield the scores of every filtering in the tables' order, then those of second phases and forgettable rows."""
    sizes = {
        (name, evaluator, train_set): train_rows(cells)
        for name in data.representations
        for evaluator, train_set, cells in cell_groups(data, name)
    }
    for place, found in score_table(data).items():
        yield Accuracy(**place._asdict(), **_numbers(found, sizes[place[:3]]))
    for evaluator, train_set, cells, parts in _apart(data):
        where = {"representation": None, "evaluator": evaluator, "train_set": train_set, "top": 1}
        for tested_on, test_set, part in parts:
            found = score([correct_rows(cell, test_set) for cell in cells], part.mask, test_set.groups)
            numbers = _numbers(found, train_rows(cells))
            yield record_of(Accuracy, part, tested_on=tested_on, test_set=test_set.name, **where, **numbers)


def _numbers(found: Score, sizes: Sequence[int]) -> dict[str, Any]:
    least, most = (sizes[0], sizes[-1]) if sizes else (None, None)
    numbers = vars(found) | {"train_rows": least, "train_rows_most": most}
    known = found.accuracy
    if known is None:
        return numbers
    return numbers | {
        "accuracy": known.mean,
        "seeds_deviation": known.seeds_deviation,
        "seeds": known.seeds,
        "effective_rows": known.effective_rows,
        "interval_low": known.interval.low,
        "interval_high": known.interval.high,
    }


def _apart(data: BenchmarkData) -> Iterator[tuple[str, str, list[Cell], list[_Part]]]:
    """Yield evaluators, train sets and cells of the tables of forgettable rows alone, with what they are tested on."""
    forgettables = data.forgettables
    tested: list[_Part] = [("all" if one.challenge else "full", one, part) for one, part in tested_parts(data)]
    by_overlap = list(_overlap_parts(data, forgettables))
    for evaluator, train_set in dict.fromkeys((cell.evaluator, cell.train_set) for cell in forgettables.cells):
        cells = forgettables.cells_of(evaluator, train_set)
        yield evaluator, train_set, cells, tested + (by_overlap if train_set == "full" else [])


def _overlap_parts(data: BenchmarkData, forgettables: Forgettables) -> Iterator[_Part]:
    """Yield the rows of each class by overlap of the texts: high is over the mean of the test set, low the rest."""
    positive = forgettables.positive
    for test_set in data.test_sets:
        overlap = forgettables.overlap.get(test_set.name)
        if overlap is not None and positive is not None:
            high = overlap > overlap.mean() if len(overlap) else np.zeros(0, dtype=bool)
            is_positive = test_set.labels == positive
            for name, inside in ((data.label_names[positive], is_positive), ("others", ~is_positive)):
                for category, mask in (("all", inside), ("high", inside & high), ("low", inside & ~high)):
                    yield "full", test_set, Subset(OVERLAP, category, name, mask)


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
    for name in data.representations:
        for _, train_set, cells in cell_groups(data, name):
            subsets = ((one, each) for one in data.test_sets for each in tested_subsets(name, train_set, one))
            parts = [(tested_on, one, part) for one, (tested_on, part) in subsets]
            yield from _seed_scores(name, cells, parts)
    for _, _, cells, parts in _apart(data):
        yield from _seed_scores(None, cells, parts)


def _seed_scores(representation: str | None, cells: list[Cell], parts: list[_Part]) -> Iterator[SeedScore]:
    for cell, (tested_on, test_set, part) in product(cells, parts):
        right = correct_rows(cell, test_set)
        if isinstance(right, np.ndarray):
            yield record_of(
                SeedScore,
                cell,
                part,
                representation=representation,
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
