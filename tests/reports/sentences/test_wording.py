import pytest

from aflite_assets.analysis.comparisons.differences import Difference
from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.reports.sentences.wording import interval_points, paired_text


def crossed(difference: float, low: float, high: float, *, trainings: int = 3) -> CrossedInterval:
    return CrossedInterval(difference, low, high, 0.1, 8.0, (trainings, 3), 50, 50.0, trainings > 1)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (crossed(2.04, -0.5, 3.46), "2.0 points above, 95 % [\N{MINUS SIGN}0.5, 3.5]"),
        (crossed(-1.0, -2.0, -0.04), "1.0 points below, 95 % [\N{MINUS SIGN}2.0, 0.0]"),
        (crossed(0.04, -1.0, 1.0), "no difference, 95 % [\N{MINUS SIGN}1.0, 1.0]"),
        (crossed(2.0, 1.0, 3.0, trainings=1), "2.0 points above, 95 % of test rows alone [1.0, 3.0]"),
    ],
)
def test_paired_differences_in_words(interval: CrossedInterval, text: str) -> None:
    assert paired_text(interval) == text


def test_an_interval_of_one_training_says_so_in_tables() -> None:
    assert interval_points(crossed(2.0, 1.0, 3.0)) == "2.0 [1.0, 3.0]"
    assert interval_points(crossed(2.0, 1.0, 3.0, trainings=1)) == "2.0 [1.0, 3.0], rows alone"
    missing = Difference(
        comparison="sample", evaluator="p", train_set="full", tested_on="full", against="sampled", test_set="test"
    )
    assert interval_points(missing) == "\N{EN DASH}"
