"""What becomes of one evaluator's accuracy from full to filtered."""

from collections.abc import Mapping
from dataclasses import dataclass

from aflite_assets.analysis.comparisons.falls import Fall, falls
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.accuracy import Score
from aflite_assets.analysis.scores.main_table import TestColumns, main_table


@dataclass(frozen=True)
class Headline:
    """The comparison of one evaluator on one natural test set.

    `full`: trained and tested on full. `random`: trained on random, tested on full. `filtered`: trained and tested on
    filtered. `fall`: from the first to the last, in terms that add up.
    """

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    fall: Fall


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """One comparison per evaluator, on the test set of `falls`; empty when no natural test set was filtered."""
    tests = {
        (row.evaluator, row.train_set, test.test_set): test
        for row in main_table(data, representation)
        for test in row.tests
    }
    return tuple(_headline(fall, tests) for fall in falls(data, representation))


def _headline(fall: Fall, tests: Mapping[tuple[str, str, str], TestColumns]) -> Headline:
    full, random, filtered = (tests[fall.evaluator, name, fall.test_set] for name in ("full", "random", "filtered"))
    after = filtered.filtered
    if after is None:
        raise AssertionError(f"{fall.test_set} was filtered, but has no column for that")
    return Headline(fall.representation, fall.evaluator, fall.test_set, full.full, random.full, after, fall)
