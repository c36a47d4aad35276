import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.errors import InvalidInputError
from aflite_assets.p_values import holm


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.6, 0.7]) == (1, 1)
    assert holm([]) == ()
    assert holm([0.04]) == (0.04,)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_lies_between_the_p_value_and_bonferroni(p_values: list[float]) -> None:
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        assert p <= adjusted <= min(1.0, len(p_values) * p) + 1e-12
    assert holm(p_values[::-1]) == holm(p_values)[::-1]


def test_holm_refuses_what_is_no_p_value() -> None:
    with pytest.raises(InvalidInputError, match=r"lie in \[0, 1\], but some are \[1.5\]"):
        holm([0.5, 1.5])
