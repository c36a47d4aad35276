"""Where planted learning curves flatten, and which of them cannot be trusted."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.analysis.inputs.learning_curve import LearningCurve, chosen_rows, curve_flaw, curve_points
from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.studies.sample.analysis.curve import SampleCurve, sample_flaw, sample_points
from aflite_assets.studies.sample.specs.settings import StopRule

SIZES = (40, 80, 160, 320, 640)


def _curve(name: str, *right: int, held_back: int = 500, largest_class: int = 170) -> LearningCurve:
    return LearningCurve(name, SIZES[: len(right)], right, held_back, largest_class)


def elbow(sizes: Sequence[int], right: Sequence[int], held_back: int) -> int:
    return LearningCurve("planted", tuple(sizes), tuple(right), held_back, 0).elbow


@pytest.mark.parametrize(
    ("right", "held_back", "expected"),
    [
        pytest.param((170, 180, 420, 425, 428), 500, 160, id="sharp: right after the rise"),
        pytest.param((430, 430, 430, 430, 430), 500, 40, id="flat: the smallest"),
        pytest.param((350, 360, 345, 355, 350), 500, 40, id="flat with noise: the smallest"),
        pytest.param((200, 260, 320, 380, 440), 500, 640, id="rising to the end: the largest"),
        pytest.param((200, 440, 300, 430, 435), 500, 320, id="a lucky small sample is no elbow"),
        pytest.param((200, 400, 450, 430, 300), 500, 80, id="a bad last training is no rise"),
        pytest.param((1600, 1660, 1744, 1780, 1800), 2000, 320, id="slow: within the noise of 2,000 rows"),
        pytest.param((400, 415, 436, 445, 450), 500, 160, id="slow: 500 rows tell less"),
        pytest.param((500, 500, 500, 500, 500), 500, 40, id="all right"),
        pytest.param((0, 0, 0, 0, 0), 500, 40, id="none right"),
        pytest.param((0, 0, 0, 0, 500), 500, 640, id="at once"),
    ],
)
def test_elbows_of_planted_curves(right: tuple[int, ...], held_back: int, expected: int) -> None:
    assert elbow(SIZES, right, held_back) == expected


def test_the_elbow_is_the_first_size_within_the_interval_of_the_best() -> None:
    low = wilson_interval(0.8, 500).low
    assert low == pytest.approx(0.7627, abs=1e-4)
    assert elbow((10, 20, 30), (381, 390, 400), 500) == 20
    assert elbow((10, 20, 30), (382, 390, 400), 500) == 10


ANSWERS = st.lists(st.integers(0, 200), min_size=1, max_size=5)


@given(ANSWERS)
def test_the_elbow_is_one_of_the_sizes(right: list[int]) -> None:
    assert elbow(SIZES[: len(right)], right, 200) in SIZES[: len(right)]


@given(ANSWERS, st.integers(0, 200))
def test_a_better_last_point_never_makes_the_choice_smaller(right: list[int], more: int) -> None:
    sizes = SIZES[: len(right)]
    better = [*right[:-1], min(right[-1] + more, 200)]
    assert elbow(sizes, better, 200) >= elbow(sizes, right, 200)


@given(ANSWERS, st.integers(2, 20))
def test_more_held_back_rows_never_make_the_choice_smaller(right: list[int], times: int) -> None:
    sizes = SIZES[: len(right)]
    assert elbow(sizes, [times * one for one in right], times * 200) >= elbow(sizes, right, 200)


@given(st.lists(st.integers(0, 200), min_size=2, max_size=5))
def test_a_curve_that_only_falls_has_its_elbow_at_the_smallest_size(right: list[int]) -> None:
    falling = sorted(right, reverse=True)
    assert elbow(SIZES[: len(right)], falling, 200) == SIZES[0]


def test_the_largest_elbow_serves_all() -> None:
    curves = [_curve("early", 440, 442, 443, 441, 440), _curve("late", 200, 220, 240, 430, 432)]
    assert [curve.elbow for curve in curves] == [40, 320]
    assert chosen_rows(curves) == 320
    points = curve_points(curves)
    assert [(one.representation, one.rows) for one in points if one.elbow] == [("early", 40), ("late", 320)]
    assert [(one.representation, one.rows) for one in points if one.chosen] == [("early", 320), ("late", 320)]
    assert points[0].accuracy == 0.88
    assert (points[0].interval_low, points[0].interval_high) == pytest.approx((0.8486, 0.9056), abs=1e-4)
    assert {one.most_frequent_class for one in points} == {0.34}


PRINTED = (3_677, 7_745, 8_169, 8_469, 8_096)
"""Of 10,000 rows at 5,000 to 25,000 train rows: Mishra and Sachdeva 2020, Table 1."""


def _grown(stop: StopRule, *right: int, held_back: int = 10_000, repeats: int = 1) -> SampleCurve:
    """Samples of 5,000, 10,000, ... rows."""
    rows = tuple(5_000 * number for number in range(1, len(right) + 1))
    return SampleCurve(rows, tuple((each,) * repeats for each in right), held_back, held_back // 3, stop)


@pytest.mark.parametrize("stop", ["flat", "falls"])
def test_the_printed_curve_gives_the_papers_sample(stop: StopRule) -> None:
    curve = _grown(stop, *PRINTED)
    assert curve.chosen == 20_000
    assert sample_flaw(sample_points(curve)) is None
    assert [_grown(stop, *PRINTED[:tried]).chosen for tried in (1, 2, 3, 4)] == [5_000, 10_000, 15_000, 20_000]
    # One sample that is no better ends the paper's growth, two end that of the elbow.
    assert curve.ended == (stop == "falls")
    assert _grown(stop, *PRINTED, 8_300).ended
    assert _grown(stop, *PRINTED, 8_300).chosen == 20_000


@pytest.mark.parametrize(
    ("right", "flat", "falls"),
    [
        ((5_000, 6_000, 7_000, 8_000), (20_000, False), (20_000, False)),  # monotone
        ((8_000, 8_010, 8_020, 8_030), (5_000, True), (20_000, False)),  # flat, but each a little better
        ((8_000, 8_000, 8_000), (5_000, True), (5_000, True)),  # flat
        ((8_000, 7_000, 6_000), (5_000, True), (5_000, True)),  # falling at once
        ((6_000, 7_000, 6_900, 8_000, 8_400), (25_000, False), (10_000, True)),  # noisy: one bad training
        ((3_300, 3_350, 7_000, 7_040, 7_020), (15_000, True), (20_000, True)),  # learns late
        ((10_000, 10_000, 10_000), (5_000, True), (5_000, True)),  # one class
        ((0, 0, 0), (5_000, True), (5_000, True)),
    ],
)
def test_where_growth_ends(right: tuple[int, ...], flat: tuple[int, bool], falls: tuple[int, bool]) -> None:
    curves = {stop: _grown(stop, *right) for stop in ("flat", "falls")}
    assert (curves["flat"].chosen, curves["flat"].ended) == flat
    assert (curves["falls"].chosen, curves["falls"].ended) == falls


def test_repeats_count_by_their_mean() -> None:
    curve = SampleCurve((10, 20, 30), ((10, 90), (60, 61), (59, 62)), 100, 50, "falls")
    assert curve.chosen == 20  # 100 < 121 = 121 right in all
    assert curve.means.right == (50, 60, 60)
    points = sample_points(curve)
    assert [(one.repeats, one.lowest, one.accuracy, one.highest) for one in points] == [
        (2, 0.1, 0.5, 0.9), (2, 0.6, 0.605, 0.61), (2, 0.59, 0.605, 0.62),
    ]  # fmt: skip
    assert [one.chosen for one in points] == [False, True, False]
    assert (points[0].interval_low, points[0].interval_high) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_flaws_of_curves() -> None:
    assert curve_flaw(curve_points([_curve("a", 200, 420, 425, 428, 430)])) is None
    assert curve_flaw(curve_points([_curve("a", 430, 431, 432, 433, 434)])) is None  # the smallest size is enough
    assert curve_flaw(curve_points([_curve("a", 200, 260, 320, 380, 440)])) == "still rises"
    assert curve_flaw(curve_points([_curve("a", 160, 172, 168, 170, 181)])) == "no better than guessing"
    assert sample_flaw(sample_points(_grown("falls", 5_000, 6_000))) == "still rises"
    assert sample_flaw(sample_points(_grown("flat", 3_300, 3_320, 3_310))) == "no better than guessing"
    assert sample_flaw(sample_points(_grown("flat", 6_000, 6_010, 6_005))) == "never rises"
