"""Measures of answers that are numbers."""

import numpy as np
import pytest

from aflite_assets.scan.blind.meanings import _OF_RULES
from aflite_assets.scan.blind.numbers import NAMES, number_measures


def _measured(*given: str) -> dict[str, list[float]]:
    return {most: values.tolist() for most, _, values in number_measures(given, np.zeros(len(given), dtype=np.int64))}


def test_each_measure_of_a_number() -> None:
    found = _measured("9,400 people", "about 1200.0 people", "30 people", "3,500")
    assert found["the largest number"] == [9_400, 1_200, 30, 3_500]
    assert found["the highest first digits"] == pytest.approx(np.log10([9.4, 1.2, 3.0, 3.5]).tolist(), abs=1e-8)
    assert found["the least round number"] == [2, 2, 1, 2]
    assert int(np.argmax(found["the most outlying number"])) == 2


def test_answers_that_are_no_numbers_are_not_measured() -> None:
    assert _measured("red", "7", "blue", "9 or 10") == {}


def test_a_question_with_another_answer_is_not_decided() -> None:
    given, questions = ["1", "2", "none", "4", "5", "6", "7", "8", "9", "10"], np.array([0, 0, 0, *[1] * 7])
    sizes = {most: values for most, _, values in number_measures(given, questions)}["the largest number"]
    assert sizes.tolist() == [0, 0, 0, 4, 5, 6, 7, 8, 9, 10]


def test_digits_beyond_the_largest_number_are_still_numbers() -> None:
    found = _measured("9" * 400, "12", "7", "5")
    assert np.isfinite(list(found.values())).all()
    assert found["the largest number"] == [1e290, 12, 7, 5]


def test_every_rule_about_numbers_is_explained() -> None:
    assert {name for pair in NAMES for name in pair} <= set(_OF_RULES)
