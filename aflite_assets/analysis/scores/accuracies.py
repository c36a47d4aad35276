"""Tidy tables of trainings and scores: trainings, how many rows each got right, and means over the seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aflite_assets.analysis.inputs.forgettables import NO_FORGETTABLES
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.inputs.trained_cells import CellStatus
from aflite_assets.analysis.scores.accuracy import MissingScore, Score, correct_rows, score
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


TRAININGS = TidyTable("trainings", Training)


def trainings(data: BenchmarkData) -> Iterator[Training]:
    """Yield the trainings of a report in their order, without second phases on forgettable rows."""
    return (record_of(Training, cell) for cell in data.cells)


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy over the seeds of one evaluator and train set on one test set, or on a part of it.

    `representation`: the filtering that train set and filtered rows belong to, which full has one of each with; None of
    second phases, what they start from, and sets of forgettable rows. `train_rows`, `train_rows_most`: the least and
    the most over the seeds, None without a finished one. `tested_on`, `column`, `category`, `label`, `top`: as in
    `score_table.Place`; for second phases the column "overlap" has the categories all, high and low of the rows whose
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
        """True if it is about no part of a test set but its full or its filtered rows."""
        return self.column is None and self.label is None


ACCURACIES = TidyTable("accuracies", Accuracy)

OVERLAP = "overlap"
"""The column of the parts by overlap of both texts."""


def accuracies(data: BenchmarkData) -> Iterator[Accuracy]:
    """Yield the scores of every filtering in the tables' order, then those of second phases and forgettable rows."""
    sizes = {
        (name, evaluator, train_set): train_rows(cells)
        for name in data.representations
        for evaluator, train_set, cells in cell_groups(data, name)
    }
    for place, found in score_table(data).items():
        yield Accuracy(**place._asdict(), **_numbers(found, sizes[place[:3]]))
    for evaluator, train_set, cells in _apart(data):
        for tested_on, test_set, part in _parts_apart(data, train_set):
            yield record_of(
                Accuracy,
                part,
                representation=None,
                evaluator=evaluator,
                train_set=train_set,
                test_set=test_set.name,
                tested_on=tested_on,
                top=1,
                **_numbers(
                    score([correct_rows(cell, test_set) for cell in cells], part.mask, test_set.groups),
                    train_rows(cells),
                ),
            )


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


def _apart(data: BenchmarkData) -> Iterator[tuple[str, str, list[Cell]]]:
    """Yield evaluators, train sets and cells of the tables of forgettable rows alone, with what phases start from."""
    forgettables = data.forgettables or NO_FORGETTABLES
    for names in dict.fromkeys((cell.evaluator, cell.train_set) for cell in forgettables.cells):
        yield *names, forgettables.cells_of(*names)


def _parts_apart(data: BenchmarkData, train_set: str) -> Iterator[tuple[TestedOn, TestSet, Subset]]:
    """Yield every test set with the compared parts; for full also parts by overlap of the texts.

    High: more than the mean of the test set; low: the others.
    """
    for test_set, part in tested_parts(data):
        yield "all" if test_set.challenge else "full", test_set, part
    forgettables = data.forgettables or NO_FORGETTABLES
    if forgettables.positive is None or train_set != "full":
        return
    for test_set in data.test_sets:
        overlap = forgettables.overlap.get(test_set.name)
        if overlap is not None:
            high = overlap > overlap.mean() if len(overlap) else np.zeros(0, dtype=bool)
            positive = test_set.labels == forgettables.positive
            for name, inside in ((data.label_names[forgettables.positive], positive), ("others", ~positive)):
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


SCORES = TidyTable("scores", SeedScore)


def seed_scores(data: BenchmarkData) -> Iterator[SeedScore]:
    """Yield every finished training on every test set and part, once for each filtering that it belongs to."""
    for name in data.representations:
        for _, train_set, cells in cell_groups(data, name):
            for test_set in data.test_sets:
                parts = list(tested_subsets(name, train_set, test_set))
                for cell in cells:
                    yield from _seed_scores(cell, name, test_set, parts)
    for _, train_set, cells in _apart(data):
        for tested_on, test_set, part in _parts_apart(data, train_set):
            for cell in cells:
                yield from _seed_scores(cell, None, test_set, [(tested_on, part)])


def _seed_scores(
    cell: Cell, representation: str | None, test_set: TestSet, parts: Sequence[tuple[TestedOn, Subset]]
) -> Iterator[SeedScore]:
    right = correct_rows(cell, test_set)
    if isinstance(right, MissingScore):
        return
    for tested_on, part in parts:
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
