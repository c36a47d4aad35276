from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.algorithm import FilterSettings
from aflite_assets.algorithm.selection import (
    Candidates,
    Cut,
    Slice,
    candidates,
    choose_slice,
    leaving_together,
    remove_highest,
    rows_cut,
)
from aflite_assets.algorithm.tally import Tally


def rows_with(scores: list[float]) -> Candidates:
    number = len(scores)
    ones = np.ones(number, dtype=int)
    return Candidates(np.arange(number) * 10, np.arange(number), ones, ones, np.array(scores))


def settings_with(**changes: Any) -> FilterSettings:
    return FilterSettings(**({"target_size": 9, "train_size": 5, "slice_size": 9} | changes))


def choose(
    among: Candidates, allowed: int, *, room: int = 10**6, seed: int = 0, iteration: int = 0, **changes: Any
) -> Slice:
    return choose_slice(
        among, settings=settings_with(**changes), allowed=allowed, room=room, seed=seed, iteration=iteration
    )


def beside(among: Candidates, cut: Cut | None, *, iteration: int = 0, **changes: Any) -> list[int]:
    return rows_cut(among, cut, settings=settings_with(**changes), seed=0, iteration=iteration).tolist()


def test_the_highest_scores_at_or_over_the_threshold_go() -> None:
    chosen = choose(rows_with([0.2, 0.9, np.nan, 0.75, 1.0, 0.74]), 2)
    assert chosen.rows.tolist() == [10, 40]
    assert (chosen.passing, chosen.cutoff, chosen.tied_at_cutoff) == (3, 0.9, 1)


def test_fewer_than_allowed_may_pass() -> None:
    chosen = choose(rows_with([0.2, 0.9, np.nan, 0.75, 1.0, 0.74]), 5)
    assert chosen.rows.tolist() == [10, 30, 40]
    assert (chosen.passing, chosen.cutoff) == (3, 0.75)


def test_greater_leaves_rows_at_the_threshold() -> None:
    chosen = choose(rows_with([0.2, 0.9, np.nan, 0.75, 1.0, 0.74]), 5, comparison="greater")
    assert chosen.rows.tolist() == [10, 40]
    assert (chosen.passing, chosen.cutoff, chosen.runs_out) == (2, 0.9, True)
    gumbel = choose(rows_with([0.75, 0.75, 0.1]), 5, comparison="greater", selection="gumbel")
    assert gumbel.rows.tolist() == []


@pytest.mark.parametrize(("scores", "allowed"), [([0.7, np.nan, 0.1], 2), ([1.0, 1.0], 0)])
def test_nothing_is_removed_without_a_cutoff(scores: list[float], allowed: int) -> None:
    chosen = choose(rows_with(scores), allowed)
    assert (chosen.rows.tolist(), chosen.cutoff, chosen.tied_at_cutoff) == ([], None, 0)


def test_a_threshold_that_binary_fractions_cannot_hold_is_met_exactly() -> None:
    among = candidates(np.arange(2), None, tally_of([7, 6], [10, 10]), counted=np.ones(2, dtype=bool))
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
        choose(among, 1, iteration=iteration, threshold=0.2, selection="gumbel_over_threshold").rows[0]
        for iteration in range(2000)
    ]
    share = np.bincount(np.array(gone) // 10, minlength=3) / 2000
    assert np.abs(share - np.array([0.5, 0.125, 0.375])).max() < 0.055  # five standard deviations of 0.011


def test_gumbel_draws_from_all_rows_while_any_passes_the_threshold() -> None:
    among = rows_with([0.8, 0.2, 0.6, np.nan])
    gone = [choose(among, 1, iteration=iteration, selection="gumbel").rows[0] for iteration in range(2000)]
    share = np.bincount(np.array(gone) // 10, minlength=4) / 2000
    assert np.abs(share - np.array([0.5, 0.125, 0.375, 0.0])).max() < 0.055  # five standard deviations of 0.011
    assert choose(among, 1, selection="gumbel").passing == 1
    ended = choose(among, 1, selection="gumbel", threshold=0.81)
    assert (ended.rows.tolist(), ended.passing, ended.runs_out, ended.cut) == ([], 0, True, None)


def test_gumbel_over_the_threshold_keeps_to_it_and_reports_the_lowest_score() -> None:
    scores = [0.74, 0.75, 1.0, 0.9, np.nan]
    for iteration in range(50):
        chosen = choose(rows_with(scores), 2, iteration=iteration, selection="gumbel_over_threshold")
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
    units = candidates(
        np.arange(5), np.array([7, 7, 3, 3, 9]), tally, counted=np.array([True, False, True, True, True])
    )
    np.testing.assert_array_equal(units.scores, [0.5, 0.75, np.nan])
    assert units.sizes.tolist() == [2, 2, 1]
    assert units.counted.tolist() == [2, 1, 1]


def test_groups_go_whole_and_one_too_large_is_passed_over() -> None:
    tally = tally_of([4, 4, 4, 4, 4, 3, 3], [4] * 7)
    units = candidates(np.arange(7), np.array([0, 0, 1, 1, 1, 2, 2]), tally, counted=np.ones(7, dtype=bool))
    first, second = {0, 1, 5, 6}, {2, 3, 4}
    for iteration in range(20):
        chosen = choose(units, 4, iteration=iteration, threshold=0.5, remove="groups")
        assert set(chosen.rows.tolist()) in (first, second)
        assert chosen.passing == 7
        assert chosen.cutoff == (0.75 if 0 in chosen.rows else 1.0)


def test_the_target_cuts_the_slice_at_the_rows_that_it_counts() -> None:
    number = 6
    counted = np.array([1, 0, 1, 0, 1, 0])
    among = Candidates(np.arange(number), np.arange(number), np.ones(number, dtype=int), counted, 1 - np.arange(6) / 10)
    chosen = choose(among, 5, room=2, threshold=0.0)
    # Row 3 ranks under the last counted row that may go, so it stays.
    assert chosen.rows.tolist() == [0, 1, 2]
    assert (chosen.reaches_target, chosen.runs_out) == (True, False)
    further = choose(among, 2, room=2, threshold=0.0)
    assert (further.rows.tolist(), further.reaches_target) == ([0, 1], False)


def test_a_group_over_the_room_is_passed_over_and_reaches_the_target() -> None:
    sizes = np.array([2, 2, 1])
    among = Candidates(np.arange(5), np.array([0, 0, 1, 1, 2]), sizes, sizes, np.array([1.0, 0.9, 0.8]))
    chosen = choose(among, 5, room=3, remove="groups")
    assert (chosen.rows.tolist(), chosen.reaches_target) == ([0, 1, 4], True)
    assert choose(among, 3, room=5, remove="groups").reaches_target is False


def test_ties_outside_the_pool_go_at_the_rate_of_the_pool() -> None:
    chosen = choose(rows_with([1.0] * 10 + [0.9] * 20), 15)  # all ten of 1.0, five of the twenty of 0.9
    assert chosen.cut == Cut(lowest=0.9, above=0.9, rate=0.25)
    others = rows_with([0.9] * 40 + [1.0, 0.89, np.nan])
    draws = [beside(others, chosen.cut, iteration=iteration) for iteration in range(200)]
    assert all(len(rows) == 11 and rows[-1] == 400 for rows in draws)
    share = np.bincount(np.concatenate(draws) // 10, minlength=43)[:40] / 200
    assert share.mean() == 0.25
    assert np.abs(share - 0.25).max() < 0.16  # five standard deviations of 0.031


def test_a_share_of_rows_is_met_in_the_mean() -> None:
    cut = Cut(lowest=0.9, above=0.9, rate=0.3)
    numbers = [len(beside(rows_with([0.9] * 5), cut, iteration=iteration)) for iteration in range(2000)]
    assert set(numbers) == {1, 2}
    assert np.mean(numbers) == pytest.approx(1.5, abs=0.06)  # five standard deviations of 0.011


def test_where_every_passing_row_went_every_passing_row_outside_the_pool_goes() -> None:
    chosen = choose(rows_with([0.9, 0.95, 0.7]), 5)
    assert (chosen.runs_out, chosen.cutoff) == (True, 0.9)
    assert beside(rows_with([0.75, 0.74, 1.0, np.nan]), chosen.cut) == [0, 20]
    none_passed = choose(rows_with([0.7]), 5)
    assert beside(rows_with([0.75, 0.7]), none_passed.cut) == [0]


def test_with_clear_scores_a_row_outside_the_pool_goes_from_the_cutoff_on() -> None:
    chosen = choose(rows_with([1.0, 0.9, 0.8]), 2)
    assert beside(rows_with([0.9, 0.89, 0.95, 0.8]), chosen.cut) == [0, 20]


def test_the_threshold_binds_rows_outside_the_pool_where_it_binds_the_pool() -> None:
    cut = Cut(lowest=-np.inf, above=-np.inf, rate=1.0)
    others = rows_with([0.0, 0.74, 0.75, np.nan])
    assert beside(others, cut, selection="greedy") == [20]
    assert beside(others, cut, selection="gumbel_over_threshold") == [20]
    assert beside(others, cut, selection="gumbel") == [0, 10, 20]


def test_rows_outside_the_pool_draw_noise_of_their_own() -> None:
    pool, others = rows_with([0.9] * 400), rows_with([0.9] * 2000)
    gone = [
        len(beside(others, choose(pool, 100, iteration=i, selection="gumbel").cut, iteration=i, selection="gumbel"))
        for i in range(200)
    ]
    assert np.mean(gone) == pytest.approx(500, abs=17)  # five standard deviations of 3.4
    assert np.std(gone) > 20


def test_nothing_outside_the_pool_goes_without_a_cut() -> None:
    assert choose(rows_with([1.0, 1.0]), 0).cut is None
    assert choose(rows_with([1.0, 1.0]), 2, room=0).cut is None
    assert beside(rows_with([1.0]), None) == []


def test_groups_passed_over_leave_at_the_rate_of_their_kind() -> None:
    sizes = np.array([2, 3, 1, 1])
    pool = Candidates(np.arange(7), np.array([0, 0, 1, 1, 1, 2, 3]), sizes, sizes, np.array([1.0, 0.9, 0.85, 0.8]))
    chosen = choose(pool, 4, remove="groups")
    assert chosen.rows.tolist() == [0, 1, 5, 6]
    # From 0.8 to 0.9, where the group of three was passed over, two of five rows went.
    assert chosen.cut == Cut(lowest=0.8, above=0.9, rate=0.4)


@given(
    scores=st.lists(st.one_of(st.sampled_from([0.0, 0.5, 0.75, 1.0]), st.just(np.nan)), min_size=1, max_size=30),
    allowed=st.integers(0, 30),
    threshold=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    selection=st.sampled_from(["greedy", "gumbel_over_threshold"]),
)
def test_a_slice_keeps_its_bounds(scores: list[float], allowed: int, threshold: float, selection: str) -> None:
    chosen = choose(rows_with(scores), allowed, threshold=threshold, selection=selection)
    removed = np.array(scores)[chosen.rows // 10]
    assert len(removed) == min(allowed, chosen.passing)
    assert chosen.passing == np.sum(np.array(scores) >= threshold)
    assert np.all(removed >= threshold)
    if selection == "greedy" and len(removed):
        assert np.sum(np.array(scores) > removed.min()) < allowed or len(removed) == chosen.passing


def test_copies_leave_together_where_a_slice_can_hold_them() -> None:
    copies = np.array([7, 3, 7, 5, 5, 5, 9])
    together = leaving_together(copies, np.arange(7), most=2)
    assert together is not None
    assert together[0] == together[2]
    assert len(set(together.tolist())) == 6
    of_part = leaving_together(copies, np.array([1, 3, 4]), most=2)
    assert of_part is not None
    assert of_part[1] == of_part[2] != of_part[0]
    assert leaving_together(copies, np.array([0, 1, 6]), most=2) is None
    assert leaving_together(None, np.arange(7), most=2) is None


def test_rows_of_a_group_leave_a_single_pass_together() -> None:
    scores = np.array([0.9, 0.1, 0.8, 0.8, 0.7, np.nan, 0.6, 0.6, 0.6])
    groups = np.array([5, 5, 1, 1, 2, 2, 3, 3, 3])  # means 0.5, 0.8, 0.35 and 0.6
    others, other_groups = np.array([0.7, 0.5, 0.9, 0.1]), np.array([8, 8, 9, 9])
    gone = remove_highest(scores, 5, others=others, seed=0, groups=groups, other_groups=other_groups)
    assert gone.rows.tolist() == [2, 3, 6, 7, 8]
    assert gone.others.tolist() == [0, 1]
    # The group of three does not fit into four rows, the one of two after it does.
    assert remove_highest(scores, 4, others=others[:0], seed=0, groups=groups).rows.tolist() == [0, 1, 2, 3]
