import numpy as np
import pytest

from aflite_assets.diagnostics import AmongDraws


def test_the_drop_is_from_the_mean_of_the_random_sets() -> None:
    one = AmongDraws(full=10.0, random=(4.0, 6.0, 8.0), kept=1.5)
    assert (one.mean, one.deviation, one.drop) == (6.0, 2.0, 4.5)


@pytest.mark.parametrize(
    ("kept", "lowest", "highest"), [(3.9, True, False), (4.0, False, False), (8.0, False, False), (8.1, False, True)]
)
def test_what_equals_a_random_set_is_neither_lowest_nor_highest(kept: float, lowest: bool, highest: bool) -> None:
    one = AmongDraws(10.0, (4.0, 6.0, 8.0), kept)
    assert (one.kept_is_lowest, one.kept_is_highest) == (lowest, highest)


def test_one_of_equally_drawn_numbers_is_the_lowest_one_time_in_draws_and_one() -> None:
    numbers = np.random.default_rng(0).normal(size=(4000, 20))
    lowest = [AmongDraws(0.0, tuple(row[1:]), row[0]).kept_is_lowest for row in numbers]
    assert np.mean(lowest) == pytest.approx(1 / 20, abs=0.012)
