"""Two rankings compared with planted predictions: differences, their verdicts, and how alike the kept rows are."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.inputs.records import RANKING_OVERLAP, BenchmarkData, RankingOverlap, RankingPair
from aflite_assets.analysis.intervals import crossed_interval
from aflite_assets.analysis.scores.accuracy import correct_rows
from aflite_assets.analysis.scores.score_tables import ACCURACIES
from tests.planted_comparisons import KEPT_BY, OTHER, PAIR, ranked_cells


def compared(data: BenchmarkData) -> list[Difference]:
    return [one for one in analyse(data).of(DIFFERENCES) if one.comparison == "ranking"]


def whole(data: BenchmarkData) -> dict[str, Difference]:
    return {one.test_set: one for one in compared(data) if one.whole}


def bounds(one: Difference) -> tuple[float, float]:
    assert one.low is not None
    assert one.high is not None
    return one.low, one.high


def test_the_difference_is_the_planted_one_with_the_projects_interval(ranked: BenchmarkData) -> None:
    found = whole(ranked)
    assert list(found) == ["test", "validation", "hans"]
    assert {name: one.tested_on for name, one in found.items()} == {
        "test": "full", "validation": "full", "hans": "all",
    }  # fmt: skip
    assert [one.difference for one in found.values()] == pytest.approx([0, 0, 15])
    hans = ranked.test_sets[-1]
    by_words, by_scores = (
        [np.asarray(correct_rows(cell, hans)) for cell in ranked.cells if cell.representation == name]
        for name in ("roberta", OTHER)
    )
    interval = crossed_interval(by_words, by_scores, hans.groups)
    one = found["hans"]
    assert (one.difference, one.low, one.high, one.p_value, one.degrees_of_freedom, one.groups) == (
        interval.difference, interval.low, interval.high, interval.p_value, interval.degrees_of_freedom, 300,
    )  # fmt: skip
    assert (one.effective_groups, one.counts_training) == (interval.effective_groups, interval.counts_training)
    assert (one.representation, one.against_representation) == ("roberta", OTHER)
    assert (one.train_set, one.against) == ("filtered", "filtered")
    sides = [each.accuracy for each in analyse(ranked).of(ACCURACIES)
             if (each.train_set, each.test_set, each.whole) == ("filtered", "hans", True)]  # fmt: skip
    assert sides == pytest.approx([0.7, 0.55])
    assert [(each.seeds, each.seeds_against) for each in found.values()] == [(3, 3)] * 3
    assert [each.test_rows for each in found.values()] == [1000, 250, 300]


def test_an_interval_without_zero_is_a_finding_and_others_are_open(ranked: BenchmarkData) -> None:
    assert [(one.side, one.why) for one in whole(ranked).values()][-1] == ("above", None)
    for name in ("test", "validation"):
        low, high = bounds(whole(ranked)[name])
        assert low <= 0 <= high
        assert not whole(ranked)[name].found


def test_the_other_ranking_may_be_better(make_ranked: Callable[..., BenchmarkData]) -> None:
    found = whole(make_ranked({"roberta": KEPT_BY[OTHER], OTHER: KEPT_BY["roberta"]}))["hans"]
    assert found.difference == pytest.approx(-15)
    assert bounds(found)[1] < 0
    assert (found.side, found.why) == ("below", None)


def test_one_seed_is_no_finding(make_ranked: Callable[..., BenchmarkData]) -> None:
    found = whole(make_ranked(seeds=1))["hans"]
    assert (found.side, found.why, found.seeds, found.seeds_against) == (None, "one seed", 1, 1)
    assert bounds(found)[0] > 0


def test_a_difference_under_the_smallest_effect_is_no_finding(make_ranked: Callable[..., BenchmarkData]) -> None:
    found = whole(make_ranked(smallest_effect=20.0))["hans"]
    assert (found.side, found.why) == ("open", "under 20 points")


def test_one_of_many_comparisons_is_no_finding(
    make_ranked: Callable[..., BenchmarkData], planted: BenchmarkData
) -> None:
    data = make_ranked({"roberta": (0.80, 0.70, 181 / 300), OTHER: (0.80, 0.70, 0.55)})
    found = whole(data)["hans"]
    assert found.p_value is not None
    assert 0.05 / 3 < found.p_value < 0.05
    assert bounds(found)[0] > 0
    assert (found.side, found.why) == ("open", "one of many comparisons")
    assert whole(replace(data, test_sets=planted.test_sets[-1:]))["hans"].side == "above"


def test_a_missing_side_has_no_numbers(make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData) -> None:
    data = make_ranked(cells=tuple(cell for cell in ranked.cells if cell.representation == "roberta"))
    found = whole(data)["hans"]
    assert (found.difference, found.low, found.why) == (None, None, "not run")
    assert (found.seeds, found.seeds_against, found.test_rows) == (3, 0, 300)


def test_earlier_sizes_are_compared_with_earlier_sizes(
    make_ranked: Callable[..., BenchmarkData], ranked: BenchmarkData
) -> None:
    shares = {"roberta": (0.8, 0.7, 0.5), OTHER: (0.8, 0.7, 0.9)}
    earlier = ranked_cells(ranked.test_sets, shares, train_set="filtered_600")
    found = compared(make_ranked(cells=(*ranked.cells, *earlier)))
    on_hans = [one for one in found if one.test_set == "hans" and one.whole]
    assert [(one.train_set, one.side) for one in on_hans] == [("filtered", "above"), ("filtered_600", "below")]


def test_categories_of_challenge_sets_are_compared_after_the_whole(make_by_hand: Any) -> None:
    data = make_by_hand(rankings={"a": RankingPair("a", "b", ("vocabulary", "predictability"), ())})
    mine = [one for one in compared(data) if one.evaluator == "p"]
    assert [(one.test_set, one.category, one.test_rows) for one in mine] == [
        ("test", None, 6), ("odd", None, 8), ("odd", "x", 4), ("odd", "y", 4), ("odd", None, 3),
    ]  # fmt: skip
    # rows right: of `test` 2.5 against 2.5, of `odd` 6.5 against 4, of its x 4 against 0, of its y 2.5 against 4
    assert [one.difference for one in mine][:4] == pytest.approx([0, 100 * 2.5 / 8, 100, -37.5])


def test_overlaps_are_records(ranked: BenchmarkData) -> None:
    assert analyse(ranked).of(RANKING_OVERLAP) == (
        RankingOverlap("roberta", OTHER, "filtered", 1200, 400, 400, 200, 1 / 3, 0.2002),
    )


def test_nothing_kept_has_no_overlap(make_ranked: Callable[..., BenchmarkData]) -> None:
    empty = replace(PAIR, overlaps=(RankingOverlap("roberta", OTHER, "filtered", 10, 0, 0, 0, None, None),))
    (one,) = analyse(make_ranked(rankings={"roberta": empty})).of(RANKING_OVERLAP)
    assert (one.rows, one.shared, one.jaccard, one.jaccard_by_chance) == (10, 0, None, None)


def test_without_rankings_or_evaluators_nothing_is_compared(
    planted: BenchmarkData, make_ranked: Callable[..., BenchmarkData]
) -> None:
    assert compared(planted) == []
    assert analyse(planted).of(RANKING_OVERLAP) == ()
    untrained = make_ranked(cells=())
    assert compared(untrained) == []
    assert len(analyse(untrained).of(RANKING_OVERLAP)) == 1
