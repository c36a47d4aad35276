"""Accuracy of every evaluator and train set before and after filtering, on natural test sets."""

from dataclasses import dataclass

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.accuracy import Score
from aflite_assets.analysis.scores.groups import cell_groups, train_rows
from aflite_assets.analysis.scores.score_table import Place, points, score_table


@dataclass(frozen=True)
class TestColumns:
    """One natural test set as seen by one train set.

    `full`: all its rows; `filtered`: those that survived filtering, None when the set was not filtered.
    `drop`: full minus filtered of the same models, in points (hundredths of accuracy).
    """

    __test__ = False  # not a test class

    test_set: str
    full: Score
    filtered: Score | None
    drop: float | None


@dataclass(frozen=True)
class MainRow:
    """One evaluator trained on one train set; `train_rows` holds each distinct size over the seeds."""

    evaluator: str
    train_set: str
    train_rows: tuple[int, ...]
    tests: tuple[TestColumns, ...]


@cached_per_record
def main_table(data: BenchmarkData, representation: str) -> tuple[MainRow, ...]:
    """Accuracy of every evaluator and train set on all and on the filtered rows of each natural test set.

    Train sets full, random and filtered always have a row; the others when any cell names them.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    natural = [test_set.name for test_set in data.test_sets if not test_set.challenge]
    return tuple(
        MainRow(
            evaluator,
            train_set,
            train_rows(cells),
            tuple(_test_columns(data, Place(representation, evaluator, train_set, name)) for name in natural),
        )
        for evaluator, train_set, cells in cell_groups(data, representation)
    )


def _test_columns(data: BenchmarkData, place: Place) -> TestColumns:
    full = score_table(data)[place._replace(tested_on="full")]
    filtered = score_table(data).get(place._replace(tested_on="filtered"))
    return TestColumns(place.test_set, full, filtered, points(full, filtered))
