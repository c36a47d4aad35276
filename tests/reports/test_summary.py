from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.reports.accuracy import newcombe_interval, summarise
from aflite_assets.reports.paired import paired_differences
from aflite_assets.reports.records import BenchmarkData, Cell, FilteredSet, TestSet
from aflite_assets.reports.summary import (
    cautions,
    chance_by_iteration,
    filtering_sentence,
    findings,
    headline_sentence,
    headlines,
    plain_summary,
)
from aflite_assets.reports.wording import paired_text


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


def test_headline_has_the_planted_drops(planted: BenchmarkData) -> None:
    headline = headlines(planted, "roberta")[0]
    assert headline.test_set == "test"
    assert headline.drop_random == pytest.approx(4.4)
    assert headline.drop_filtered == pytest.approx(8.0)
    assert headline.gap is not None
    assert headline.gap.difference == pytest.approx(3.6)
    assert (headline.gap.low, headline.gap.high) == pytest.approx((-1.53, 8.96), abs=0.01)


def test_a_gap_whose_interval_holds_zero_is_not_told_apart(planted: BenchmarkData) -> None:
    assert headline_sentence(headlines(planted, "roberta")[0]) == (
        "linear on test: trained and tested on full it is right on 78.0 % of the rows; trained and tested on filtered "
        "it falls by 8.0 points, to 70.0 %. Trained on as many rows drawn at random and tested on full it falls by "
        "4.4 points; random less filtered is 3.6 points, 95 % about [\N{MINUS SIGN}1.5, 9.0], which holds zero, so "
        "these numbers cannot tell filtering from losing rows at random."
    )


def test_intervals_that_overlap_may_still_tell_apart(planted: BenchmarkData) -> None:
    headline = headlines(planted, "roberta")[0]
    random, filtered = summarise([0.8], 2000), summarise([0.765], 900)
    apart = replace(
        headline,
        random=replace(headline.random, accuracy=random),
        filtered=replace(headline.filtered, accuracy=filtered),
        gap=newcombe_interval(random, filtered),
    )
    assert random.interval.low < filtered.interval.high
    assert "cannot tell" not in headline_sentence(apart)


@pytest.mark.parametrize(
    ("random", "filtered", "verdict"),
    [
        ((0.85, 0.85, 0), (0.5, 0.6, 0), "falls by 5.0 points, so having fewer train rows accounts for about 5.0 "
         "points; the other 25.0 come with which rows were kept, in training and in testing."),
        ((0.95, 0.95, 0), (0.5, 0.6, 0), "rises by 5.0 points, so having fewer train rows explains none of the fall; "
         "the gap to random is 35.0 points."),
        ((0.70, 0.70, 0), (0.5, 0.8, 0), "falls by 20.0 points, so filtering did not make the dataset harder for it "
         "than losing rows at random did."),
        ((0.90, 0.90, 0), (0.5, 0.6, 0), "does not change, so having fewer train rows explains none of the fall; "
         "the gap to random is 30.0 points."),
    ],
)  # fmt: skip
def test_verdicts(make_planted: Any, done_cell: Any, random: Any, filtered: Any, verdict: str) -> None:
    shares = {"full": (0.9, 0.9, 0.0), "random": random, "filtered": filtered}
    sentence = headline_sentence(headlines(benchmark(make_planted, done_cell, shares), "roberta")[0])
    assert sentence.endswith(verdict)


def test_without_random_the_cause_stays_open(make_planted: Any, done_cell: Any) -> None:
    data = benchmark(make_planted, done_cell, {"full": (0.9, 0.9, 0), "filtered": (0.5, 0.6, 0)})
    assert headline_sentence(headlines(data, "roberta")[0]).endswith(
        "Without a result for random it is open how much of this comes from having fewer train rows."
    )


def test_missing_results_are_named(planted: BenchmarkData) -> None:
    assert "forest on test: nothing to compare yet, because there is no result for random and filtered." in findings(
        planted
    )


def test_pairs_on_the_same_rows_are_put_into_words(by_hand: BenchmarkData) -> None:
    said = [line for line in findings(by_hand) if line.startswith("p, trained on filtered against as many random rows")]
    assert len(said) == 2
    pairs = [one for one in paired_differences(by_hand, "a") if one.evaluator == "p" and one.whole]
    assert [one.interval is None for one in pairs] == [False] * 3
    words = [paired_text(one.interval) for one in pairs if one.interval is not None]
    assert words[0].startswith("16.7 points below, 95 % [\N{MINUS SIGN}")
    assert said[0] == (
        "p, trained on filtered against as many random rows, both tested on the same rows: "
        f"{words[0]} on test; {words[1]} on the filtered rows of test; {words[2]} on odd."
    )


def test_gold_labels_that_go_opposite_ways_are_not_no_difference(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    def cell(train_set: str, right: str) -> Cell:
        predicted = [row % 2 if bit == "1" else 1 - row % 2 for row, bit in enumerate(right)]
        said = {"test_set": ["odd"] * 8, "row_id": [*range(8)], "predicted": predicted}
        return Cell("p", train_set, "a", 0, 30, "done", None, pa.table(said))

    data = make_by_hand(cells=(cell("random", "10101010"), cell("filtered", "01010101")), filtered=by_hand.filtered[:1])
    (said,) = [line for line in findings(data) if line.startswith("p, trained on filtered against as many random rows")]
    low, high = "[\N{MINUS SIGN}100.0, \N{MINUS SIGN}100.0]", "[100.0, 100.0]"
    assert (
        "both tested on the same rows: in opposite directions on the gold labels of odd, 100.0 points below, 95 % "
        f"{low} on yes and 100.0 points above, 95 % {high} on no (all its rows: 0.0 ["
    ) in said
    assert "no difference" not in said


def test_without_filtered_test_rows_pairs_are_on_all_rows(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    data = make_by_hand(test_sets=(replace(test, kept={}), odd))
    said = findings(data)
    assert any(line.startswith("p, trained on filtered") and "16.7 points below" in line for line in said)
    assert not [line for line in said if "filtered rows" in line or "hard to predict" in line]
    assert not [line for line in cautions(data) if "built in" in line]


def test_pairs_without_a_result_are_left_out(planted: BenchmarkData) -> None:
    assert not [line for line in findings(planted) if line.startswith("forest, trained on filtered against")]


def test_filtering_sentence(planted: BenchmarkData) -> None:
    assert filtering_sentence(planted.filtered[0]) == (
        "Filtering with representation roberta kept 402 of 1,200 train rows (33.5 %) and stopped because too few rows "
        "were still predictable enough to go. Over 8 passes representation bias fell from 82.0 % to 40.0 %; the most "
        "frequent class makes up 33.3 % of the train rows left."
    )


def test_chance_follows_the_rows_left(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0]
    rows = filtered.rows.to_pylist()
    for iteration, chance in enumerate(chance_by_iteration(filtered)):
        left = [row["label"] for row in rows if row["kept"] or row["removed_in_iteration"] >= iteration]
        assert chance == max(left.count(c) for c in range(3)) / len(left)


def test_cautions_name_single_seeds_small_sets_and_unfinished_cells(planted: BenchmarkData) -> None:
    said = cautions(planted)
    assert "One seed only, so how much the numbers move with the seed is unknown: forest." in said
    assert (
        "Under 300 test rows, so wide intervals: validation (250) and validation filtered with roberta (100)." in said
    )
    assert "2 of 12 cells have no result; the tables say which and why." in said


@pytest.mark.parametrize(("share", "named"), [(0.97, True), (0.9, False)])
def test_a_model_that_gives_one_answer_is_named(planted: BenchmarkData, share: float, named: bool) -> None:
    cell = next(c for c in planted.cells if c.train_set == "filtered" and c.predictions is not None)
    assert cell.predictions is not None
    rows = cell.predictions.num_rows
    answers = np.where(np.arange(rows) % 100 < 100 * share, 2, 0)
    one_answer = replace(cell, predictions=cell.predictions.set_column(2, "predicted", pa.array(answers)))
    cells = tuple(one_answer if c is cell else c for c in planted.cells)
    said = [line for line in cautions(replace(planted, cells=cells)) if "give one class" in line]
    assert bool(said) == named
    if named:
        assert said[0].endswith("learnt little: linear trained on filtered (roberta).")


def test_large_sets_and_many_seeds_need_no_caution(planted: BenchmarkData, make_planted: Any) -> None:
    sets = tuple(s for s in planted.test_sets if s.name != "validation")
    calm = make_planted(cells=tuple(c for c in planted.cells if c.evaluator == "linear"), test_sets=sets)
    assert len(cautions(calm)) == 2
    assert "built in" in cautions(calm)[0]
    assert cautions(calm)[1] == "Parts of challenge sets with under 300 test rows: hans (11 of 11 parts)."


def test_nothing_trained_still_tells_of_the_filtering(make_planted: Any) -> None:
    said = plain_summary(make_planted(cells=()))
    assert len(said) == 3
    assert said[0].startswith("Filtering with representation roberta")


def test_no_iteration_is_no_curve(planted: BenchmarkData) -> None:
    f = planted.filtered[0]
    empty = FilteredSet("roberta", f.iterations.slice(0, 0), "target_size", (), f.rows, {})
    assert filtering_sentence(empty).endswith("stopped because the target size was reached.")
