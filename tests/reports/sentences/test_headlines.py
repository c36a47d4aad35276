from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.comparisons.headlines import headlines
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.reports.sentences.headlines import headline_sentence
from aflite_assets.reports.sentences.wording import bounds_text


def benchmark(make_planted: Any, done_cell: Any, shares: dict[str, tuple[float, float, float]]) -> BenchmarkData:
    """One evaluator with these shares right on removed, kept and challenge rows of a large test set."""
    rows, kept = 10_000, np.arange(10_000) < 4_000
    test_set = TestSet(
        "test", False, np.arange(rows), np.arange(rows) % 3, make_planted().label_names, {"roberta": kept}
    )
    cells = tuple(
        done_cell((test_set,), share, evaluator="linear", train_set=name, seed=0, train_rows=100)
        for name, share in shares.items()
    )
    return make_planted(test_sets=(test_set,), cells=cells)


def with_matched(data: BenchmarkData) -> BenchmarkData:
    """The same with random_matched, which says what random says."""
    matched = tuple(replace(cell, train_set="random_matched") for cell in data.cells if cell.train_set == "random")
    return replace(data, cells=(*data.cells, *matched))


def test_a_headline_has_the_scores_at_both_ends(planted: BenchmarkData) -> None:
    headline = headlines(planted, "roberta")[0]
    assert headline.test_set == "test"
    means = [score.accuracy.mean for score in (headline.full, headline.random, headline.filtered) if score.accuracy]
    assert means == pytest.approx([0.78, 0.736, 0.7])
    assert (headline.fall.start, headline.fall.end) == pytest.approx((0.78, 0.7))


def test_a_fall_in_words(planted: BenchmarkData) -> None:
    headline = headlines(with_matched(planted), "roberta")[0]
    bounds = [
        bounds_text(replace(step.fall, low=-step.fall.high, high=-step.fall.low))
        for step in headline.fall.steps
        if step.fall is not None
    ]
    assert headline_sentence(headline) == (
        "linear on test: trained and tested on full it is right on 78.0 % of the rows; trained and tested on filtered "
        f"it falls by 8.0 points, to 70.0 %. Step by step, in points: \N{MINUS SIGN}18.0 ({bounds[0]}) as the filtered "
        f"test rows alone are asked. Then \N{MINUS SIGN}5.0 ({bounds[1]}) with fewer train rows (random). Then 0.0 "
        f"({bounds[2]}) with the class sizes of filtered (random_matched). Then 15.0 ({bounds[3]}) with which "
        "train rows were kept."
    )


@pytest.mark.parametrize(
    ("filtered", "change"),
    [((0.5, 0.6, 0), "falls by 30.0 points"), ((1.0, 1.0, 0), "rises by 10.0 points"),
     ((0.5, 0.9, 0), "does not change")],
)  # fmt: skip
def test_falls_and_rises(make_planted: Any, done_cell: Any, filtered: Any, change: str) -> None:
    shares = {"full": (0.9, 0.9, 0.0), "random": (0.8, 0.8, 0.0), "filtered": filtered}
    sentence = headline_sentence(headlines(benchmark(make_planted, done_cell, shares), "roberta")[0])
    assert f"trained and tested on filtered it {change}, to" in sentence
    assert ". Then \N{MINUS SIGN}10.0 (95 % of test rows alone" in sentence


def test_without_random_the_cause_stays_open(make_planted: Any, done_cell: Any) -> None:
    data = benchmark(make_planted, done_cell, {"full": (0.9, 0.9, 0), "filtered": (0.5, 0.6, 0)})
    assert headline_sentence(headlines(data, "roberta")[0]).endswith(
        "Without a result for random it is open what this is made of."
    )
