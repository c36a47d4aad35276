"""What is measured of answers: markup, refusals, hedges, overlap, oddness."""

import time

import numpy as np
import pytest

from aflite_assets.scan.blind.answers import BlindAnswers
from aflite_assets.scan.blind.measures import Measure, measures_of, oddness
from aflite_assets.scan.properties.tokens import tokens_of


def _answers(questions: list[int], *, listed: bool = True) -> BlindAnswers:
    codes = np.array(questions)
    places = np.arange(len(questions))
    right = np.append(True, np.diff(codes) > 0)
    return BlindAnswers(places, right, codes, codes, [None] * (max(questions) + 1), "answer", listed)


def _measured(asked: str, *given: str) -> dict[str, list[float]]:
    measures = measures_of(_answers([0] * len(given)), [asked] * len(given), given)
    return {one.most: one.values.tolist() for one in measures}


def test_each_measure_counts_what_it_says() -> None:
    found = _measured(
        "Which river is long?",
        "The river **Nile**, 6650 km",
        "- I'm sorry, I can't answer that\n- perhaps the Amazon is not",
        " Maybe",
    )
    assert found["the longest answer"] == [27, 60, 6]
    assert found["the most markup"] == [2, 2, 0]
    assert found["the most digits"] == [4, 0, 0]
    assert found["the most hedging words"] == [0, 1, 1]
    assert found["the most refusals"] == [0, 2, 0]
    assert found["the most negations"] == [0, 2, 0]
    assert found["the most words of the question"] == [1, 1, 0]
    assert found["the most blanks at its ends"] == [0, 0, 1]
    assert found["the last answer"] == [0, 1, 2]


def test_places_are_measured_only_of_answers_that_the_source_lists() -> None:
    names = [one.most for one in measures_of(_answers([0, 0], listed=False), ["q"] * 2, ["a", "b"])]
    assert "the last answer" not in names
    assert "the odd one out" not in names  # two answers are equally far from each other


def test_the_odd_one_out_shares_fewest_words_with_the_others() -> None:
    texts = ["a red car", "a red house", "nothing alike", "a red car"]
    values = oddness(tokens_of(texts), np.zeros(4, np.int64))
    assert values.argmax() == 2
    assert values[2] == pytest.approx(1.0)
    assert values[0] == values[3] == values.min()


@pytest.mark.parametrize("text", ["\n" * 200_000, " " * 200_000, "|" * 200_000, "<a" * 100_000, "1" * 200_000])
def test_hostile_texts_take_no_time(text: str) -> None:
    started = time.perf_counter()
    measures_of(_answers([0, 0]), ["q"] * 2, [text, "b"])
    assert time.perf_counter() - started < 5


def test_markup_and_places_are_artefacts_and_lengths_are_candidates() -> None:
    reasons = {one.most: one.reason for one in measures_of(_answers([0, 0]), ["q"] * 2, ["a", "b"])}
    assert reasons["the most markup"] == reasons["the last answer"] == "artefact"
    assert reasons["the longest answer"] is reasons["the most negations"] is None
    assert isinstance(measures_of(_answers([0, 0]), ["q"] * 2, ["a", "b"])[0], Measure)
