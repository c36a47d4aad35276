"""The tidy tables of scores: how many rows each training got right, and the means over the seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import Score, correct_rows, score
from aflite_assets.analysis.scores.groups import cell_groups, train_rows
from aflite_assets.analysis.scores.predictions import MissingScore
from aflite_assets.analysis.scores.score_table import TestedOn, score_table, tested_subsets
from aflite_assets.analysis.scores.subsets import Subset, tested_parts
from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy over the seeds of one evaluator and train set on one test set, or on a part of it.

    `representation`: the filtering that train set and filtered rows belong to, which full has one of each with; None of
    second phases, what they start from, and sets of forgettable rows. `train_rows`, `train_rows_most`: the least and
    the most over the seeds, None without a finished one. `tested_on`, `column`, `category`, `label`, `top`: as in
    `score_table.Place`; of second phases the column "overlap" has the categories all, high and low of the rows whose
    gold label is `label` ("others" for the other classes). `status`: "done" with an accuracy, else why there is none,
    and `reason`. `accuracy`, `interval_low` and `interval_high` (Wilson, at `effective_rows`) lie in [0, 1];
    `seeds_deviation` has divisor seeds - 1; `test_rows` counts rows or questions.
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
        """Whether it is about no part of a test set but its full or its filtered rows."""
        return self.column is None and self.label is None


ACCURACIES = TidyTable("accuracies", Accuracy)

OVERLAP = "overlap"
"""The column of the parts by overlap of both texts."""


def accuracies(data: BenchmarkData) -> Iterator[Accuracy]:
    """Those of every filtering in the order of the tables, then those of second phases and forgettable rows.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    sizes = {
        (name, evaluator, train_set): train_rows(cells)
        for name in data.representations
        for evaluator, train_set, cells in cell_groups(data, name)
    }
    for place, found in score_table(data).items():
        yield _accuracy(found, sizes[place[:3]], **place._asdict())
    for names, cells in _apart(data):
        for tested_on, test_set, part in _parts_apart(data, names["train_set"]):
            found = score([correct_rows(cell, test_set) for cell in cells], part.mask, test_set.groups)
            of = {"column": part.column, "category": part.category, "label": part.label, "top": 1}
            yield _accuracy(found, train_rows(cells), **names, test_set=test_set.name, tested_on=tested_on, **of)


def _accuracy(found: Score, sizes: Sequence[int], **where: Any) -> Accuracy:
    known = found.accuracy
    numbers: dict[str, Any] = (
        {}
        if known is None
        else {
            "accuracy": known.mean,
            "seeds_deviation": known.seeds_deviation,
            "seeds": known.seeds,
            "effective_rows": known.effective_rows,
            "interval_low": known.interval.low,
            "interval_high": known.interval.high,
        }
    )
    return Accuracy(
        train_rows=sizes[0] if sizes else None,
        train_rows_most=sizes[-1] if sizes else None,
        status=found.status,
        reason=found.reason,
        unfinished_seeds=found.unfinished_seeds,
        test_rows=found.test_rows,
        **where,
        **numbers,
    )


def _apart(data: BenchmarkData) -> Iterator[tuple[dict[str, Any], list[Cell]]]:
    """Evaluators and train sets that stand in the tables of forgettable rows alone, with what phases start from."""
    forgettables = data.forgettables
    for name, train_set in dict.fromkeys(
        (cell.evaluator, cell.train_set) for cell in (() if forgettables is None else forgettables.cells)
    ):
        assert forgettables is not None
        names = {"representation": None, "evaluator": name, "train_set": train_set}
        yield names, forgettables.cells_of(name, train_set)


def _parts_apart(data: BenchmarkData, train_set: str) -> Iterator[tuple[TestedOn, TestSet, Subset]]:
    """Every test set and the parts of challenge sets that are compared; of full also those by overlap of the texts."""
    for test_set, part in tested_parts(data):
        yield "all" if test_set.challenge else "full", test_set, part
    forgettables = data.forgettables
    if forgettables is None or forgettables.positive is None or train_set != "full":
        return
    for test_set in data.test_sets:
        overlap = forgettables.overlap.get(test_set.name)
        if overlap is not None:
            is_positive = test_set.labels == forgettables.positive
            for part in _by_overlap(overlap, is_positive, data.label_names[forgettables.positive]):
                yield "full", test_set, part


def _by_overlap(overlap: np.ndarray, is_positive: np.ndarray, positive: str) -> Iterator[Subset]:
    """High: more than the mean of the test set; low: the others."""
    high = overlap > overlap.mean() if len(overlap) else np.zeros(0, dtype=bool)
    for name, inside in ((positive, is_positive), ("others", ~is_positive)):
        yield Subset(OVERLAP, "all", name, inside)
        yield Subset(OVERLAP, "high", name, inside & high)
        yield Subset(OVERLAP, "low", name, inside & ~high)


@dataclass(frozen=True)
class SeedScore:
    """One finished training on one test set or a part of it: `correct` of `n` rows or questions (`unit`) were right.

    `correct` is a whole number but for questions where several answers were found likeliest: those count in part. The
    rows form `groups` groups, None where every row is its own. The other columns: as in `Accuracy`.
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


SCORES = TidyTable("scores", SeedScore)


def seed_scores(data: BenchmarkData) -> Iterator[SeedScore]:
    """Every finished training on every test set and part, once for each filtering that it belongs to.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    for name in data.representations:
        for _, train_set, cells in cell_groups(data, name):
            for test_set in data.test_sets:
                parts = list(tested_subsets(name, train_set, test_set))
                for cell in cells:
                    yield from _of_training(cell, name, test_set, parts)
    for names, cells in _apart(data):
        for tested_on, test_set, part in _parts_apart(data, names["train_set"]):
            for cell in cells:
                yield from _of_training(cell, None, test_set, [(tested_on, part)])


def _of_training(
    cell: Cell, representation: str | None, test_set: TestSet, parts: Sequence[tuple[TestedOn, Subset]]
) -> Iterator[SeedScore]:
    right = correct_rows(cell, test_set)
    if isinstance(right, MissingScore):
        return
    for tested_on, part in parts:
        groups = None if test_set.groups is None else len(np.unique(test_set.groups[part.mask]))
        yield SeedScore(
            representation=representation,
            evaluator=cell.evaluator,
            train_set=cell.train_set,
            seed=cell.seed,
            train_rows=cell.train_rows,
            test_set=test_set.name,
            unit=test_set.unit,
            tested_on=tested_on,
            column=part.column,
            category=part.category,
            label=part.label,
            n=int(part.mask.sum()),
            groups=groups,
            correct=float(right[part.mask].sum()),
        )
