import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aflite_assets.diagnostics.data_checks.feature_columns import all_finite, feature_columns


def test_constant_and_repeated_columns_over_the_rows_asked_for() -> None:
    features = np.array([[0, 1, 5, 1, 2, 2, 5], [0, 2, 5, 2, 1, 1, 4], [9, 3, 9, 9, 9, 1, 9]], np.float32)
    found = feature_columns(features, np.array([True, True, False]))
    assert found.constant == (0, 2)
    assert found.all_zero == 1
    assert found.repeated == ((1, 3), (4, 5))
    np.testing.assert_allclose(found.deviations, [0, 0.5, 0, 0.5, 0.5, 0.5, 0.5])


def test_columns_that_differ_in_the_last_digit_are_not_repeated() -> None:
    column = np.linspace(1, 2, 20_000, dtype=np.float32)
    other = column.copy()
    other[-1] = np.nextafter(other[-1], np.float32(3))
    found = feature_columns(np.column_stack([column, other, column]), np.ones(20_000, bool))
    assert found.repeated == ((0, 2),)


def test_deviations_keep_their_digits_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    features = (1e6 + rng.integers(0, 3, (30_000, 2))).astype(np.float32)
    found = feature_columns(features, np.ones(len(features), bool))
    np.testing.assert_allclose(found.deviations, features.astype(np.float64).std(axis=0), rtol=1e-12)


@given(arrays.arrays(np.float32, (5, 4), elements=st.sampled_from([0, -0.0, 1, 2])))
def test_columns_are_those_found_one_by_one(features: np.ndarray) -> None:
    found = feature_columns(features, np.ones(5, bool))
    columns = [tuple(column) for column in features.T.tolist()]
    constant = [number for number, column in enumerate(columns) if len(set(column)) == 1]
    assert list(found.constant) == constant
    assert sorted(sum(found.repeated, ())) == [
        number for number, one in enumerate(columns) if columns.count(one) > 1 and number not in constant
    ]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_value_that_is_not_finite_is_noticed(value: float) -> None:
    features = np.zeros((20_000, 2), np.float32)
    assert all_finite(features)
    features[19_999, 1] = value
    assert not all_finite(features)
    assert all_finite(features[:0])


def test_zero_and_minus_zero_are_equal() -> None:
    features = np.array([[0.0, -0.0, -0.0], [1.0, 1.0, 0.0]], np.float32)
    found = feature_columns(features, np.ones(2, bool))
    assert (found.constant, found.all_zero, found.repeated) == ((2,), 1, ((0, 1),))
