from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, InvalidInputError


def settings(**changes: Any) -> FilterSettings:
    return FilterSettings(**({"target_size": 100, "train_size": 50, "slice_size": 10} | changes))


def test_defaults_are_the_papers() -> None:
    made = settings()
    assert (made.n_partitions, made.threshold, made.inverse_regularization) == (64, 0.75, 1.0)
    assert (made.selection, made.classifier, made.remove) == ("greedy", "logistic", "rows")


@pytest.mark.parametrize("name", ["target_size", "train_size", "slice_size", "n_partitions"])
@pytest.mark.parametrize("value", [0, -5, 2.0, "3", True, None])
def test_counts_must_be_whole_and_positive(name: str, value: object) -> None:
    message = f"`{name}` is {value!r}, but it must be a whole number of at least 1; give"
    with pytest.raises(InvalidInputError, match=message):
        settings(**{name: value})


@pytest.mark.parametrize("value", [-0.1, 1.01, float("nan"), float("inf"), "0.5", True])
def test_threshold_must_be_a_share(value: object) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"`threshold` is {value!r}, but it must be a number from 0 to 1; give"
    ):
        settings(threshold=value)


@pytest.mark.parametrize("value", [0, 0.0])
def test_threshold_zero_and_one_are_allowed(value: float) -> None:
    assert settings(threshold=value).threshold == 0.0
    assert settings(threshold=1).threshold == 1.0


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1"])
def test_inverse_regularization_must_be_positive(value: object) -> None:
    with pytest.raises(InvalidInputError, match=rf"`inverse_regularization` is {value!r}, but it must be .* above 0"):
        settings(inverse_regularization=value)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("selection", "greedy, gumbel, gumbel_over_threshold"),
        ("classifier", "logistic, linear_svm, both"),
        ("remove", "rows, groups"),
    ],
)
@pytest.mark.parametrize("value", ["best", 1, None, [1]])
def test_choices_are_named(name: str, choices: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=rf"`{name}` is .*, which is unknown; give one of {choices}$"):
        settings(**{name: value})


def test_numpy_numbers_become_plain_ones() -> None:
    made = settings(target_size=np.int32(100), threshold=np.float32(0.5))
    assert type(made.target_size) is int
    assert type(made.threshold) is float
    assert made == settings(threshold=0.5)
