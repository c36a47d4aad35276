from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.algorithm import FilterSettings
from aflite_assets.algorithm.selection import Candidates, Slice, candidates, choose_slice, rows_reaching
from aflite_assets.algorithm.tally import Tally


def rows_with(scores: list[float]) -> Candidates:
    number = len(scores)
    return Candidates(np.arange(number) * 10, np.arange(number), np.ones(number, dtype=int), np.array(scores))


def choose(among: Candidates, allowed: int, *, seed: int = 0, iteration: int = 0, **changes: Any) -> Slice:
    settings = FilterSettings(**({"target_size": 9, "train_size": 5, "slice_size": 9} | changes))
    return choose_slice(among, settings=settings, allowed=allowed, seed=seed, iteration=iteration)


def test_the_highest_scores_at_or_over_the_threshold_go() -> None:
    chosen = choose(rows_with([0.2, 0.9, np.nan, 0.75, 1.0, 0.74]), 2)
    assert chosen.rows.tolist() == [10, 40]
    assert (chosen.passing, chosen.cutoff, chosen.tied_at_cutoff) == (3, 0.9, 1)


def test_fewer_than_allowed_may_pass() -> None:
    chosen = choose(rows_with([0.2, 0.9, np.nan, 0.75, 1.0, 0.74]), 5)
    assert chosen.rows.tolist() == [10, 30, 40]
    assert (chosen.passing, chosen.cutoff) == (3, 0.75)


@pytest.mark.parametrize(("scores", "allowed"), [([0.7, np.nan, 0.1], 2), ([1.0, 1.0], 0)])
def test_nothing_is_removed_without_a_cutoff(scores: list[float], allowed: int) -> None:
    chosen = choose(rows_with(scores), allowed)
    assert (chosen.rows.tolist(), chosen.cutoff, chosen.tied_at_cutoff) == ([], None, 0)


def test_a_threshold_that_binary_fractions_cannot_hold_is_met_exactly() -> None:
    among = candidates(np.arange(2), None, tally_of([7, 6], [10, 10]))
    assert choose(among, 2, threshold=0.7).rows.tolist() == [0]


def test_ties_are_drawn_from_seed_and_iteration() -> None:
    among = rows_with([1.0] * 100)
    draws = {(seed, i): choose(among, 10, seed=seed, iteration=i).rows.tolist() for seed in (0, 1) for i in (0, 1)}
    assert len({tuple(rows) for rows in draws.values()}) == 4
    assert all(len(rows) == 10 and rows != list(range(0, 100, 10)) for rows in draws.values())
    assert choose(among, 10, seed=1, iteration=1).rows.tolist() == draws[1, 1]
    assert choose(among, 10).tied_at_cutoff == 100


def test_tied_rows_go_equally_often() -> None:
    among = rows_with([1.0, 0.8, 0.8, 0.8, 0.8])
    gone = np.concatenate([choose(among, 2, iteration=iteration).rows for iteration in range(2000)])
    share = np.bincount(gone // 10, minlength=5) / 2000
    assert share[0] == 1.0
    assert np.abs(share[1:] - 0.25).max() < 0.05  # five standard deviations of 0.0097


def test_gumbel_draws_in_proportion_to_the_score() -> None:
    among = rows_with([0.8, 0.2, 0.6])
    gone = [
        choose(among, 1, iteration=iteration, threshold=0.2, selection="gumbel").rows[0] for iteration in range(2000)
    ]
    share = np.bincount(np.array(gone) // 10, minlength=3) / 2000
    assert np.abs(share - np.array([0.5, 0.125, 0.375])).max() < 0.055  # five standard deviations of 0.011


def test_gumbel_keeps_to_the_threshold_and_reports_the_lowest_score() -> None:
    scores = [0.74, 0.75, 1.0, 0.9, np.nan]
    for iteration in range(50):
        chosen = choose(rows_with(scores), 2, iteration=iteration, selection="gumbel")
        assert set(chosen.rows.tolist()) < {10, 20, 30}
        assert chosen.cutoff == min(scores[row // 10] for row in chosen.rows)


def test_gumbel_takes_a_score_of_zero_last() -> None:
    among = rows_with([0.0, 0.1, 0.0, 0.0])
    for iteration in range(50):
        assert 10 in choose(among, 2, iteration=iteration, threshold=0.0, selection="gumbel").rows


def tally_of(correct: list[int], predictions: list[int]) -> Tally:
    counts = np.array(predictions)
    return Tally(np.array(correct), counts, counts, None, None)


def test_a_groups_score_is_the_mean_of_its_rows() -> None:
    tally = tally_of([4, 2, 1, 3, 0, 9], [4, 4, 4, 4, 0, 9])
    units = candidates(np.arange(5), np.array([7, 7, 3, 3, 9]), tally)
    np.testing.assert_array_equal(units.scores, [0.5, 0.75, np.nan])
    assert units.sizes.tolist() == [2, 2, 1]


def test_groups_go_whole_and_one_too_large_is_passed_over() -> None:
    tally = tally_of([4, 4, 4, 4, 4, 3, 3], [4] * 7)
    units = candidates(np.arange(7), np.array([0, 0, 1, 1, 1, 2, 2]), tally)
    first, second = {0, 1, 5, 6}, {2, 3, 4}
    for iteration in range(20):
        chosen = choose(units, 4, iteration=iteration, threshold=0.5, remove="groups")
        assert set(chosen.rows.tolist()) in (first, second)
        assert chosen.passing == 7
        assert chosen.cutoff == (0.75 if 0 in chosen.rows else 1.0)


def test_rows_reaching_the_cutoff() -> None:
    among = rows_with([0.8, 0.79, np.nan, 1.0])
    assert rows_reaching(among, 0.8).tolist() == [0, 30]
    assert rows_reaching(among, None).tolist() == []


@given(
    scores=st.lists(st.one_of(st.sampled_from([0.0, 0.5, 0.75, 1.0]), st.just(np.nan)), min_size=1, max_size=30),
    allowed=st.integers(0, 30),
    threshold=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    selection=st.sampled_from(["greedy", "gumbel"]),
)
def test_a_slice_keeps_its_bounds(scores: list[float], allowed: int, threshold: float, selection: str) -> None:
    chosen = choose(rows_with(scores), allowed, threshold=threshold, selection=selection)
    removed = np.array(scores)[chosen.rows // 10]
    assert len(removed) == min(allowed, chosen.passing)
    assert chosen.passing == np.sum(np.array(scores) >= threshold)
    assert np.all(removed >= threshold)
    if selection == "greedy" and len(removed):
        assert np.sum(np.array(scores) > removed.min()) < allowed or len(removed) == chosen.passing
