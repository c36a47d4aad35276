"""The table of all scores: one per evaluator, train set, test set and part; tidy tables are made from it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.accuracy import TOP, MissingScore, Score, correct_rows, gold_ranks, is_ranked, score
from aflite_assets.analysis.scores.groups import cell_groups
from aflite_assets.analysis.scores.subsets import MAX_CLASSES_APART, Subset, gold_labels, subsets_of, whole_set

TestedOn = Literal["full", "filtered", "own", "all"]


class Place(NamedTuple):
    """The subject of a score.

    `tested_on`: of a natural test set its "full" or "filtered" rows, or its "own", which the law left that made the
    train set; "all" of a challenge set or of the part that `column`, `category` and `label` name (`subsets.Subset`).
    `representation`: which filtering train set and rows belong to; `full` has a score with each. `top`: 1, or
    `accuracy.TOP` for whole sets with many classes.
    """

    representation: str
    evaluator: str
    train_set: str
    test_set: str
    tested_on: TestedOn = "all"
    column: str | None = None
    category: str | None = None
    label: str | None = None
    top: int = 1

    @property
    def whole(self) -> bool:
        """True if it is about no part of a challenge set."""
        return self.column is None and self.label is None


@lru_cache(maxsize=1)
def score_table(data: BenchmarkData) -> Mapping[Place, Score]:
    """Return every score of a report, by evaluator, train set and test set in the order of the tables."""
    ranked = ranked_sets(data)
    scores: dict[Place, Score] = {}
    for representation in data.representations:
        for evaluator, train_set, cells in cell_groups(data, representation):
            for test_set in data.test_sets:
                by_top = {1: [correct_rows(cell, test_set) for cell in cells]}
                if test_set.name in ranked:
                    by_top[TOP] = [_in_top(cell, test_set) for cell in cells]
                for top, right in by_top.items():
                    for tested_on, part in tested_subsets(representation, train_set, test_set):
                        place = Place(representation, evaluator, train_set, test_set.name, tested_on, *part.name, top)
                        if top == 1 or place.whole:
                            scores[place] = score(right, part.mask, test_set.groups)
    return scores


def _in_top(cell: Cell, test_set: TestSet) -> np.ndarray | MissingScore:
    ranks = gold_ranks(cell, test_set)
    return ranks if isinstance(ranks, MissingScore) else np.asarray(ranks < TOP)


def tested_subsets(representation: str, train_set: str, test_set: TestSet) -> Iterator[tuple[TestedOn, Subset]]:
    """Yield the rows of a test set that a train set of a filtering is scored on, the whole set first."""
    yield ("all" if test_set.challenge else "full"), whole_set(test_set)
    if test_set.challenge:
        yield from (("all", part) for part in subsets_of(test_set))
        return
    yield from (("full", part) for part in gold_labels(test_set, most=MAX_CLASSES_APART))
    kept = test_set.kept.get(representation)
    if kept is not None:
        yield "filtered", Subset(None, None, None, kept)
    own = test_set.own_kept.get((representation, train_set), kept if train_set == "filtered" else None)
    if own is not None:
        yield "own", Subset(None, None, None, own)


def ranked_sets(data: BenchmarkData) -> frozenset[str]:
    """Return the test sets with enough classes for top-5 accuracy, of which some cell gives probabilities."""
    enough = [one for one in data.test_sets if is_ranked(data.label_names, one)]
    return frozenset(
        one.name for one in enough if any(isinstance(gold_ranks(cell, one), np.ndarray) for cell in data.cells)
    )


def points(before: Score | None, after: Score | None) -> float | None:
    """Return how many points (hundredths of accuracy) `after` lies below `before`; None if either is missing."""
    if before is None or after is None or before.accuracy is None or after.accuracy is None:
        return None
    return 100 * (before.accuracy.mean - after.accuracy.mean)
