from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import paired_differences
from aflite_assets.analysis.comparisons.falls import FALLS, challenge_steps, falls
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.subsets import headline_split


def with_matched(data: BenchmarkData) -> BenchmarkData:
    """The same with random_matched, which says what random says."""
    matched = tuple(replace(cell, train_set="random_matched") for cell in data.cells if cell.train_set == "random")
    return replace(data, cells=(*data.cells, *matched))


@pytest.mark.parametrize("matched", [False, True])
def test_the_terms_of_a_fall_add_up(planted: BenchmarkData, matched: bool) -> None:
    start, *changes, end = falls(with_matched(planted) if matched else planted, "roberta")[0]
    terms = {(one.change, one.after): one.difference for one in changes if one.difference is not None}
    expected = {("test rows", "full"): 18.0, ("fewer train rows", "random"): 5.0, ("which train rows", "filtered"): -15}
    if matched:
        expected["class sizes", "random_matched"] = 0.0
    assert terms == pytest.approx(expected)
    assert start.accuracy is not None
    assert end.accuracy is not None
    assert len(terms) == len(changes)
    assert sum(terms.values()) == pytest.approx(100 * (start.accuracy - end.accuracy))


def test_joint_intervals_are_wider_than_single_ones(planted: BenchmarkData) -> None:
    last = falls(planted, "roberta")[0][-2]
    single = next(one for one in paired_differences(planted) if one.tested_on == "filtered")
    assert last.low is not None
    assert last.high is not None
    assert single.difference is not None
    assert single.low is not None
    assert single.high is not None
    assert last.difference == pytest.approx(-single.difference)
    assert last.high - last.low > 1.1 * (single.high - single.low)


def test_a_missing_result_leaves_its_terms_open(planted: BenchmarkData) -> None:
    data = replace(planted, cells=tuple(cell for cell in planted.cells if cell.train_set != "random"))
    changes = falls(data, "roberta")[0][1:-1]
    assert [one.difference is None for one in changes] == [False, True, True]


def test_without_filtered_test_rows_there_is_no_fall(planted: BenchmarkData) -> None:
    kept = tuple(test if test.challenge else replace(test, kept={}) for test in planted.test_sets)
    assert falls(replace(planted, test_sets=kept), "roberta") == ()


def test_one_training_is_said_to_be_one(make_planted: Any) -> None:
    data = make_planted()
    one_seed = replace(data, cells=tuple(cell for cell in data.cells if cell.seed == data.cells[0].seed))
    assert {one.counts_training for one in falls(one_seed, "roberta")[0][1:-1]} == {False}


def test_the_split_that_is_spoken_of() -> None:
    assert headline_split(["dev", "validation", "test"]) == "test"
    assert headline_split(["dev", "validation"]) == "validation"
    assert headline_split(["dev"]) == "dev"
    assert headline_split([]) is None


def test_no_rows_kept_is_no_result(planted: BenchmarkData) -> None:
    none = tuple(
        test if test.challenge else replace(test, kept={"roberta": np.zeros(len(test.row_ids), bool)})
        for test in planted.test_sets
    )
    _, *changes, end = falls(replace(planted, test_sets=none), "roberta")[0]
    assert (end.accuracy, {one.difference for one in changes}) == (None, {None})


def test_terms_of_a_fall_are_records_from_the_start_to_the_end(planted: BenchmarkData) -> None:
    found = [one for one in analyse(planted).of(FALLS) if (one.evaluator, one.test_set) == ("linear", "test")]
    assert {(one.representation, one.test_set) for one in found} == {("roberta", "test")}
    assert [(one.change, one.after, one.accuracy, one.difference) for one in found] == [
        ("start", "full", pytest.approx(0.78), None),
        ("test rows", "full", None, pytest.approx(18)),
        ("fewer train rows", "random", None, pytest.approx(5)),
        ("which train rows", "filtered", None, pytest.approx(-15)),
        ("end", "filtered", pytest.approx(0.7), None),
    ]
    assert tuple(found) == falls(planted, "roberta")[0]
    assert all(one.low is not None and one.high is not None and one.counts_training for one in found[1:-1])


def test_steps_on_a_challenge_set_have_no_choice_of_test_rows(planted: BenchmarkData) -> None:
    start, *changes, end = challenge_steps(planted, "roberta")[0]
    assert (start.test_set, start.accuracy, end.accuracy) == ("hans", pytest.approx(0.55), pytest.approx(0.64))
    assert [(one.change, one.after, one.difference) for one in changes] == [
        ("fewer train rows", "random", pytest.approx(2.0)),
        ("which train rows", "filtered", pytest.approx(-11.0)),
    ]
    assert all(one.low is not None and one.high is not None and one.low < one.high for one in changes)
    analysis = analyse(planted)
    assert [fall[0].test_set for fall in analysis.falls("roberta", challenge=True)] == ["hans", "hans"]
    assert {fall[0].test_set for fall in analysis.falls("roberta")} == {"test"}


def test_without_a_challenge_set_there_are_no_steps_on_one(planted: BenchmarkData) -> None:
    natural = tuple(test for test in planted.test_sets if not test.challenge)
    assert challenge_steps(replace(planted, test_sets=natural), "roberta") == ()


def test_missing_terms_are_records_without_numbers(planted: BenchmarkData) -> None:
    data = replace(planted, cells=tuple(cell for cell in planted.cells if cell.train_set != "random"))
    found = [one for one in analyse(data).of(FALLS) if one.evaluator == "linear"]
    assert [(one.change, one.difference is None, one.low, one.counts_training) for one in found][2:4] == [
        ("fewer train rows", True, None, None),
        ("which train rows", True, None, None),
    ]
