from dataclasses import replace

import pytest

from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules.verdicts import Claim, Family, Verdict, judge

INTERVAL = CrossedInterval(5.0, 1.0, 9.0, 0.02, 8.0, (3, 3), 100, 100.0, True)
CLAIM = Claim(INTERVAL, 100, "whole sets")


def claim(p_value: float, difference: float = 5.0, family: Family = "whole sets") -> Claim:
    return replace(CLAIM, interval=replace(INTERVAL, p_value=p_value, difference=difference), family=family)


def judged(*claims: Claim, smallest_effect: float = 1.0) -> list[tuple[str | None, str | None]]:
    return [(one.side, one.why) for one in judge(claims, smallest_effect=smallest_effect)]


def test_sides() -> None:
    assert judged(claim(0.01)) == [("above", None)]
    assert judged(claim(0.01, -5.0)) == [("below", None)]
    assert judged(claim(0.06)) == [("open", None)]


def test_a_difference_must_be_there_in_the_mean_over_gold_labels() -> None:
    def labelled(low: float, high: float, difference: float = 5.0) -> Claim:
        return replace(claim(0.01, difference), label_mean=replace(INTERVAL, low=low, high=high))

    shift = ("open", "not surely in the mean over gold labels")
    assert judged(labelled(0.5, 9.0)) == [("above", None)]
    assert judged(labelled(-0.5, 9.0)) == judged(labelled(-9.0, -0.5)) == [shift]
    assert judged(labelled(-9.0, -0.5, -5.0)) == [("below", None)]
    assert judged(labelled(-9.0, 0.5, -5.0)) == [shift]


def test_each_family_is_judged_together() -> None:
    claims = [claim(0.03, family="deciding"), claim(0.03), claim(0.02), claim(0.03, family="parts of sets")]
    found = judge(claims, smallest_effect=1.0)
    assert [(one.side, one.why) for one in found] == [
        ("above", None), ("above", None), ("above", None), ("above", None),
    ]  # fmt: skip
    found = judge([*claims, claim(0.5), claim(0.2, family="deciding")], smallest_effect=1.0)
    many = ("open", "one of many comparisons")
    assert [(one.side, one.why) for one in found] == [
        many, many, many, ("above", None), ("open", None), ("open", None)
    ]  # fmt: skip
    assert [one.adjusted_p for one in found] == pytest.approx([0.06, 0.06, 0.06, 0.03, 0.5, 0.2])
    assert [one.family == "deciding" for one in found] == [True, False, False, False, False, True]


DECIDING = replace(
    CLAIM, family="deciding", label_mean=replace(INTERVAL, difference=4.0, low=1.0, high=7.0, p_value=0.01)
)


def test_deciding_comparisons_are_judged_by_the_mean_over_gold_labels() -> None:
    assert judged(DECIDING) == [("above", None)]
    unlike = replace(DECIDING, interval=replace(INTERVAL, difference=-30.0, p_value=1e-9))
    assert judged(unlike) == [("above", None)]
    assert judged(replace(DECIDING, label_mean=replace(INTERVAL, difference=0.5, p_value=0.01))) == [
        ("open", "under 1 point")
    ]


def test_a_gain_counts_only_beyond_natural_rows_where_that_is_needed() -> None:
    beyond = replace(INTERVAL, difference=3.0, p_value=0.04)
    needed = replace(DECIDING, needs_contrast=True)
    assert judged(needed) == [("open", "too few natural rows of the same class and difficulty")]
    assert judged(replace(needed, contrast=beyond)) == [("above", None)]
    no_more = ("open", "no more than on natural rows of the same class and difficulty")
    assert judged(replace(needed, contrast=replace(beyond, p_value=0.06))) == [no_more]
    assert judged(replace(needed, contrast=replace(beyond, difference=-3.0, p_value=1e-9))) == [no_more]
    loss = replace(DECIDING, label_mean=replace(INTERVAL, difference=-4.0, low=-7.0, high=-1.0, p_value=0.01))
    assert judged(replace(loss, needs_contrast=True)) == [("below", None)]


def test_holm_counts_the_weaker_of_gain_and_contrast() -> None:
    contrast = replace(INTERVAL, difference=3.0, p_value=0.03)
    counted = replace(DECIDING, needs_contrast=True, contrast=contrast)
    found = judge([counted, DECIDING], smallest_effect=1.0)
    assert [one.adjusted_p for one in found] == pytest.approx([0.03, 0.02])


def test_simultaneous_bounds_hold_for_the_whole_family() -> None:
    (alone,) = judge([DECIDING], smallest_effect=1.0)
    both = judge([DECIDING, DECIDING], smallest_effect=1.0)
    assert alone.simultaneous_low == pytest.approx(1.0)
    # t quantiles of 8 degrees of freedom: 2.306 at 95 %, 2.752 at 97.5 %
    assert both[0].simultaneous_low == pytest.approx(4 - 3 * 2.7515 / 2.3060, abs=1e-3)


def test_small_differences_are_never_called_one() -> None:
    assert judged(claim(0.0, 0.9)) == [("open", "under 1 point")]
    assert judged(claim(0.0, -0.9)) == [("open", "under 1 point")]
    assert judged(claim(0.0, 1.0)) == [("above", None)]
    assert judged(claim(0.0, 2.4), smallest_effect=2.5) == [("open", "under 2.5 points")]
    assert judged(claim(0.001, 0.2), smallest_effect=0.0) == [("above", None)]


@pytest.mark.parametrize(
    ("barred", "why"),
    [
        (replace(CLAIM, interval=None), "not run"),
        (replace(CLAIM, interval=None, test_rows=0), "no rows"),
        (replace(CLAIM, bar="took part in the filter"), "took part in the filter"),
        (replace(CLAIM, interval=None, bar="took part in the filter"), "not run"),
        (replace(CLAIM, interval=None, bar="not the control"), "not the control"),
        (replace(CLAIM, bar="collected adversarially"), "collected adversarially"),
        (replace(CLAIM, interval=replace(INTERVAL, counts_training=False)), "one seed"),
        (replace(CLAIM, test_rows=19), "few rows"),
        (replace(CLAIM, interval=replace(INTERVAL, effective_groups=9.9)), "few groups"),
    ],
)
def test_what_cannot_be_judged_says_why_and_counts_in_no_family(barred: Claim, why: str) -> None:
    found = judge([barred, claim(0.04)], smallest_effect=1.0)
    assert found[0] == Verdict(None, why, "whole sets", None)
    assert (found[1].side, found[1].adjusted_p) == ("above", 0.04)


def test_enough_is_enough() -> None:
    enough = replace(CLAIM, test_rows=20, interval=replace(INTERVAL, effective_groups=10.0))
    assert judged(enough) == [("above", None)]
