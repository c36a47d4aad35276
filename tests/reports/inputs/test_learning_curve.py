"""Where planted learning curves flatten, and what is said of those that do not."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.figures.drawing import BLUE, MAX_BYTES, ORANGE
from aflite_assets.reports.figures.filtering_figures import learning_curve_picture
from aflite_assets.reports.inputs.learning_curve import LearningCurve, choice_text, chosen_rows, curve_rows, elbow
from aflite_assets.reports.intervals import wilson_interval

SIZES = (40, 80, 160, 320, 640)


def _curve(name: str, *right: int, held_back: int = 500, largest_class: int = 170) -> LearningCurve:
    return LearningCurve(name, SIZES[: len(right)], right, held_back, largest_class)


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
    rows = curve_rows(curves)
    assert [(row["representation"], row["rows"]) for row in rows if row["elbow"]] == [("early", 40), ("late", 320)]
    assert [(row["representation"], row["rows"]) for row in rows if row["chosen"]] == [("early", 320), ("late", 320)]
    assert rows[0]["accuracy"] == 0.88
    assert (rows[0]["interval_low"], rows[0]["interval_high"]) == pytest.approx((0.8486, 0.9056), abs=1e-4)
    assert {row["most_frequent_class"] for row in rows} == {0.34}
    assert choice_text(curves) == (
        "By their learning curves the encoders need a sample of 320 rows; with the 500 held-back rows that tell so, "
        "820 train rows are spent on warm-up."
    )


def test_a_curve_that_flattens_needs_no_caution() -> None:
    assert list(_curve("a", 200, 420, 425, 428, 430).cautions()) == []
    assert list(_curve("a", 430, 431, 432, 433, 434).cautions()) == []


def test_a_rise_to_the_end_is_named() -> None:
    (caution,) = _curve("a", 200, 260, 320, 380, 440).cautions()
    assert caution == (
        "a: accuracy still rises at 640 rows, the largest sample; its encoder may learn more from more rows: set "
        "warmup.size to a number to spend them"
    )


def test_an_encoder_that_learnt_nothing_is_named() -> None:
    (caution,) = _curve("a", 160, 172, 168, 170, 181).cautions()
    assert caution.startswith("a: no sample taught its encoder more than the most frequent class gives (34.0 %)")


@pytest.mark.parametrize(
    ("rows", "right"), [((), ()), ((20, 10), (1, 2)), ((10, 10), (1, 2)), ((10, 20), (1,)), ((10,), (101,))]
)
def test_curves_that_cannot_be_are_refused(rows: tuple[int, ...], right: tuple[int, ...]) -> None:
    message = f"the learning curve of 'a' has the sizes {list(rows)} with {list(right)} of 100 held-back rows right"
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        LearningCurve("a", rows, right, 100, 50)


def test_the_picture_draws_every_curve() -> None:
    curves = [_curve("a", 200, 420, 425, 428, 430), _curve("$b_{", 170, 180, 175, 300, 310)]
    encoded = learning_curve_picture(curves)
    assert len(encoded) < MAX_BYTES
    pixels = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB")).astype(int)
    for colour in (BLUE, ORANGE):
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (np.abs(pixels - wanted).sum(axis=2) < 12).any()
