"""Top-1 and top-5 accuracy of datasets with many classes (ICML 2020, Tables 5 and 6; ICLR 2020 submission, Table 4)."""

from dataclasses import dataclass

import numpy as np

from aflite_assets.reports.cached_per_record import cached_per_record
from aflite_assets.reports.inputs.records import BenchmarkData, TestSet
from aflite_assets.reports.scores.accuracy import Score, correct_rows, score
from aflite_assets.reports.scores.groups import Compared, cells_of, challenge_columns, natural_columns
from aflite_assets.reports.scores.predictions import MissingScore
from aflite_assets.reports.scores.ranks import TOP, gold_ranks, is_ranked
from aflite_assets.reports.tables.in_distribution import tested_rows
from aflite_assets.reports.tables.main_tables import points


@dataclass(frozen=True)
class TopScores:
    """Accuracy of the likeliest class, and of the five likeliest."""

    top_1: Score
    top_5: Score


@dataclass(frozen=True)
class TopDifference:
    """Full minus filtered in points, None where either is missing."""

    top_1: float | None
    top_5: float | None


@dataclass(frozen=True)
class TopRow:
    """One evaluator; scores per column of the table, and per representation full minus filtered."""

    evaluator: str
    scores: tuple[TopScores, ...]
    differences: tuple[TopDifference, ...]


@dataclass(frozen=True)
class TopTable:
    """One test set, natural or a challenge set; `test_rows` per column, a difference per representation.

    The differences are, on a natural test set that was filtered, of full on full and filtered on filtered rows.
    """

    test_set: str
    challenge: bool
    representations: tuple[str, ...]
    columns: tuple[Compared, ...]
    test_rows: tuple[int, ...]
    rows: tuple[TopRow, ...]


@cached_per_record
def top_k_tables(data: BenchmarkData) -> tuple[TopTable, ...]:
    """A table per test set where some cell has probabilities; none with fewer than `ranks.FEWEST_CLASSES` classes.

    A challenge set that adds probabilities up and leaves classes out (ImageNet-A's 200 of 1,000) is ranked over its
    own classes.
    """
    if not data.plain_evaluators:
        return ()
    ranked = [one for one in data.test_sets if is_ranked(data.label_names, one) and _has_ranks(data, one)]
    return tuple(_table(data, one) for one in ranked)


def _has_ranks(data: BenchmarkData, test_set: TestSet) -> bool:
    return any(isinstance(gold_ranks(cell, test_set), np.ndarray) for cell in data.cells)


def _table(data: BenchmarkData, test_set: TestSet) -> TopTable:
    columns = challenge_columns(data) if test_set.challenge else natural_columns(data, test_set)
    rows = tuple(_row(data, test_set, evaluator, columns) for evaluator in data.plain_evaluators)
    sizes = tuple(int(tested_rows(test_set, column).sum()) for column in columns)
    return TopTable(test_set.name, test_set.challenge, data.representations, columns, sizes, rows)


def _row(data: BenchmarkData, test_set: TestSet, evaluator: str, columns: tuple[Compared, ...]) -> TopRow:
    scores = tuple(_scores(data, test_set, evaluator, column) for column in columns)
    full = scores[0]
    after = [found for one, found in zip(columns, scores, strict=True) if one.train_set == "filtered"]
    differences = (TopDifference(points(full.top_1, one.top_1), points(full.top_5, one.top_5)) for one in after)
    return TopRow(evaluator, scores, tuple(differences))


def _scores(data: BenchmarkData, test_set: TestSet, evaluator: str, column: Compared) -> TopScores:
    cells = cells_of(data, evaluator, column.train_set, column.representation)
    mask = tested_rows(test_set, column)
    ranks = [gold_ranks(cell, test_set) for cell in cells]
    top_5 = [rank if isinstance(rank, MissingScore) else rank < TOP for rank in ranks]
    top_1 = [correct_rows(cell, test_set) for cell in cells]
    return TopScores(score(top_1, mask, test_set.groups), score(top_5, mask, test_set.groups))
