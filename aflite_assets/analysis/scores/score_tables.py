"""Tidy tables of training runs and scores: correctly predicted rows per training run, and means over the seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet, Training
from aflite_assets.analysis.scores.accuracy import TOP, Score, correct_rows, finished_rows, in_top, ranked_sets, score
from aflite_assets.analysis.scores.subsets import Part, Subset, compared_parts, scored_parts
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.studies import functions

TestedOn = Literal["full", "filtered", "own", "all"]


class Place(NamedTuple):
    """The place of a score in the tables: the trained model and the tested rows; docs/analysis.md describes the
    columns.

    `representation` is None for second phases, for evaluators from which second phases start, and for sets of rows that
    a study draws. A study may add columns to the scores of second phases. `top`: 1, or `accuracy.TOP` for the top-k
    accuracy on whole sets with many classes.
    """

    representation: str | None
    evaluator: str
    train_set: str
    test_set: str
    tested_on: TestedOn = "all"
    column: str | None = None
    category: str | None = None
    label: str | None = None
    top: int = 1


@dataclass(frozen=True, kw_only=True)
class Accuracy(Score, Part):
    """Mean accuracy over the seeds at one `Place`; `test_rows` is the number of test rows or questions.

    `train_rows`, `train_rows_most`: the smallest and the largest number of train rows over finished seeds, or None.
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


class ScoredGroup(NamedTuple):
    """The training runs (one per seed) of one evaluator on one train set, and the scored parts of each test set."""

    representation: str | None
    evaluator: str
    train_set: str
    cells: list[Cell]
    tested: list[tuple[TestSet, list[tuple[TestedOn, Subset]]]]


def scored_groups(data: BenchmarkData) -> Iterator[ScoredGroup]:
    """Yield the groups of every filtering in the tables' order, then the groups of second phases and of sets of
    drawn rows.
    """
    on_all_rows = [(one, [(_all_rows(one), part) for part in scored_parts(one)]) for one in data.test_sets]
    for name in data.representations:
        for evaluator, train_set, cells in data.cell_groups(name):
            tested = [(one, [*parts, *_on_left_rows(name, train_set, one)]) for one, parts in on_all_rows]
            yield ScoredGroup(name, evaluator, train_set, cells, tested)
    wholes = [(one, [(_all_rows(one), part)]) for one in data.test_sets for part in compared_parts(one)]
    of_studies = [
        (one, [each for make in functions("analysis.accuracies") for each in make(data, one)]) for one in data.test_sets
    ]
    for evaluator, train_set in dict.fromkeys((cell.evaluator, cell.train_set) for cell in data.second_phases.cells):
        cells = data.second_phases.cells_of(evaluator, train_set)
        yield ScoredGroup(None, evaluator, train_set, cells, wholes + (of_studies if train_set == "full" else []))


def _all_rows(test_set: TestSet) -> TestedOn:
    return "all" if test_set.challenge else "full"


def _on_left_rows(representation: str, train_set: str, test_set: TestSet) -> Iterator[tuple[TestedOn, Subset]]:
    """Yield the rows of a natural test set that the filter kept, and the rows that the rule of the train set kept."""
    kept = test_set.kept.get(representation)
    own = test_set.own_kept.get((representation, train_set), kept if train_set == "filtered" else None)
    rows: tuple[tuple[TestedOn, np.ndarray | None], ...] = (("filtered", kept), ("own", own))
    yield from ((tested_on, Subset(None, None, None, mask)) for tested_on, mask in rows if mask is not None)


@lru_cache(maxsize=1)
def score_table(data: BenchmarkData) -> Mapping[Place, Accuracy]:
    """Return every score of a report, ordered as in the tables: by evaluator, train set and test set."""
    ranked = ranked_sets(data)
    scores: dict[Place, Accuracy] = {}
    for representation, evaluator, train_set, cells, tested in scored_groups(data):
        trained = train_rows(cells) or (None,)
        for test_set, parts in tested:
            by_top = {1: [correct_rows(cell, test_set) for cell in cells]}
            if representation is not None and test_set.name in ranked:
                by_top[TOP] = [in_top(cell, test_set, TOP) for cell in cells]
            for top, right in by_top.items():
                for tested_on, part in parts:
                    place = Place(representation, evaluator, train_set, test_set.name, tested_on, *part.name, top)
                    if top == 1 or part.whole:
                        found = vars(score(right, part.mask, test_set.groups)) | place._asdict()
                        scores[place] = Accuracy(**found, train_rows=trained[0], train_rows_most=trained[-1])
    return scores


def train_rows(cells: Sequence[Cell]) -> tuple[int, ...]:
    """Return the distinct numbers of train rows over finished seeds, in ascending order."""
    return tuple(sorted({cell.train_rows for cell in cells if cell.status == "done"}))


def points(before: Score | None, after: Score | None) -> float | None:
    """Return the accuracy `before` minus the accuracy `after` in points (hundredths), or None if an accuracy is
    missing.
    """
    if before is None or after is None or before.accuracy is None or after.accuracy is None:
        return None
    return 100 * (before.accuracy - after.accuracy)


@dataclass(frozen=True)
class SeedScore:
    """One finished training run at one `Place`: `correct` of `n` rows or questions (`unit`), in `groups` groups.

    `correct` is a whole number, except that a question with several equally likely answers counts as a fraction.
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
    """Yield every finished training run on every test set and part, once per filtering that the run belongs to."""
    for group in scored_groups(data):
        for cell, (test_set, parts) in product(group.cells, group.tested):
            for right, (tested_on, part) in product(finished_rows([cell], test_set), parts):
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
