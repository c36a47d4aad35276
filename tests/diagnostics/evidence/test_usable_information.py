"""PVI by hand, and its mean on either side."""

import numpy as np
import pytest

from aflite_assets.diagnostics.evidence.usable_information import mean_information, pointwise_information
from aflite_assets.errors import InvalidInputError


def test_bits_by_hand() -> None:
    shares = np.array([0.5, 0.25, 0.25, 0.0])
    labels = np.array([0, 0, 1, 2, 3])
    probability = np.array([1.0, 0.5, 1.0, 0.125, 0.5], np.float32)
    np.testing.assert_array_equal(pointwise_information(probability, labels, shares), [1, 0, 2, -1, np.nan])


def test_a_probability_of_nought_is_the_smallest_number_of_float32() -> None:
    (found,) = pointwise_information(np.zeros(1, np.float32), np.array([0]), np.array([0.5, 0.5]))
    assert found == -125


@pytest.mark.parametrize(
    ("probability", "message"),
    [([0.5], "1 probabilities for 2 labels"), ([0.5, 1.5], "`label_probability` ranges from 0.5 to 1.5")],
)
def test_what_is_no_probability_is_refused(probability: list[float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        pointwise_information(np.array(probability), np.array([0, 1]), np.array([0.5, 0.5]))


def test_means_by_class_and_side() -> None:
    information = np.array([1.0, 3.0, -1.0, np.nan])
    labels, kept = np.array([0, 0, 1, 1]), np.array([True, False, True, True])
    table = mean_information({("linear", "test"): (information, labels, kept)}, ("no", "yes"))
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("linear", "test", None, 2, 0.0, 1, 3.0),
        ("linear", "test", "no", 1, 1.0, 1, 3.0),
        ("linear", "test", "yes", 1, -1.0, 0, None),
    ]
