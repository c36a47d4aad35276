"""Exact intervals and tests against published and independent values."""

import numpy as np
import pytest
from scipy.stats import binomtest

from aflite_assets.scan.blind.exact import effective_count, exact_interval, exact_p_value


@pytest.mark.parametrize(("found", "count"), [(0, 10), (10, 10), (7, 10), (570, 790)])
def test_intervals_and_p_values_are_those_of_the_binomial_test(found: int, count: int) -> None:
    expected = binomtest(found, count, 0.5, alternative="two-sided").proportion_ci(method="exact")
    assert exact_interval(found / count, count) == pytest.approx((expected.low, expected.high))
    assert exact_p_value(found / count, count, 0.25) == pytest.approx(
        binomtest(found, count, 0.25, alternative="greater").pvalue
    )


def test_questions_of_one_group_that_go_together_count_as_one() -> None:
    credit = np.repeat(np.array([1.0, 0.0, 1.0, 0.0]), 5)
    assert effective_count(credit, np.arange(20)) == pytest.approx(20)
    assert effective_count(credit, np.repeat(np.arange(4), 5)) == pytest.approx(4)
    assert effective_count(np.full(6, 0.5), np.array([0, 0, 0, 1, 1, 1])) == 2
