import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.analysis.scores.accuracy import MissingScore, Score, correct_rows, score
from aflite_assets.errors import DataError, InvalidInputError
from tests.planted_comparisons import cell_accuracy

SHARES = st.floats(0, 1)
COUNTS = st.integers(1, 10_000_000)


def three_class_set(name: str = "test") -> TestSet:
    return TestSet(name, False, np.array([40, 10, 30, 20]), np.array([0, 1, 2, 0]), ("e", "n", "c"), {})


def cell(row_ids: list[int], predicted: list[int], *, test_set: str = "test", seed: int = 0) -> Cell:
    table = pa.table({"test_set": [test_set] * len(row_ids), "row_id": row_ids, "predicted": predicted})
    return Cell("linear", "full", None, seed, 100, "done", None, table)


@pytest.mark.parametrize(
    ("right", "rows", "low", "high"),
    [
        (8, 10, 0.490162, 0.943318),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (81, 263, 0.255313, 0.366202),  # Newcombe (1998), Statistics in Medicine 17, table I, method 3
        (15, 148, 0.062388, 0.160517),
        (1, 29, 0.006113, 0.171755),
    ],
)
def test_wilson_interval_has_published_values(right: int, rows: int, low: float, high: float) -> None:
    interval = wilson_interval(right / rows, rows)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


@given(SHARES, COUNTS)
def test_wilson_interval_holds_the_share_and_stays_in_the_unit_interval(share: float, rows: int) -> None:
    interval = wilson_interval(share, rows)
    assert 0 <= interval.low <= share <= interval.high <= 1


@given(SHARES, COUNTS)
def test_wilson_interval_mirrors(share: float, rows: int) -> None:
    here, there = wilson_interval(share, rows), wilson_interval(1 - share, rows)
    assert here.low == pytest.approx(1 - there.high, abs=1e-9)


@given(SHARES, st.integers(1, 100_000))
def test_wilson_interval_narrows_with_rows(share: float, rows: int) -> None:
    few, many = wilson_interval(share, rows), wilson_interval(share, 4 * rows)
    assert many.high - many.low < few.high - few.low


def test_fewer_degrees_of_freedom_widen_the_interval() -> None:
    # Wilson's formula with t in the place of z: at 12 degrees of freedom 2.1788
    found, t = wilson_interval(0.6, 50, 12), 2.178812829667229
    centre, half = 0.6 + t**2 / 100, t * math.sqrt(0.24 / 50 + t**2 / 10_000)
    assert (found.low, found.high) == pytest.approx(
        ((centre - half) / (1 + t**2 / 50), (centre + half) / (1 + t**2 / 50))
    )
    assert found.low < wilson_interval(0.6, 50).low


def test_rows_in_groups_are_worth_fewer() -> None:
    right, mask = np.repeat(np.arange(30) % 3 > 0, 3), np.ones(90, dtype=bool)
    groups = np.repeat(np.arange(30), 3)
    alone, together = score([right], mask, None), score([right], mask, groups)
    assert together.accuracy is not None
    assert together.effective_rows is not None
    assert (alone.accuracy, alone.effective_rows) == (together.accuracy, 90)
    assert together.accuracy == pytest.approx(2 / 3)
    # 30 groups of three alike: the binomial variance of 30 rows, with G - 1 for G
    assert together.effective_rows == pytest.approx(29)
    interval = wilson_interval(together.accuracy, together.effective_rows, 29)
    assert (together.interval_low, together.interval_high) == (interval.low, interval.high)
    assert score([right], np.arange(90) < 45, groups).effective_rows == pytest.approx(14)


@pytest.mark.parametrize(("share", "rows"), [(1.1, 5), (-0.1, 5), (0.5, 0), (math.nan, 5)])
def test_wilson_interval_refuses_what_is_no_share(share: float, rows: int) -> None:
    with pytest.raises(InvalidInputError, match="give an accuracy in"):
        wilson_interval(share, rows)


def scored(*right: int, rows: int = 100) -> Score:
    """The accuracy of seeds with so many right rows."""
    return score([np.arange(rows) < one for one in right], np.ones(rows, dtype=bool), None)


def test_summary_keeps_the_two_spreads_apart() -> None:
    found = scored(60, 70, 80)
    assert found.accuracy is not None
    assert found.accuracy == pytest.approx(0.7)
    assert found.seeds_deviation == pytest.approx(0.1)
    assert (found.seeds, found.test_rows) == (3, 100)
    interval = wilson_interval(found.accuracy, 100)
    assert (found.interval_low, found.interval_high) == (interval.low, interval.high)


def test_one_seed_has_no_deviation() -> None:
    assert scored(60).seeds_deviation is None


@given(st.lists(st.just(10), min_size=1, max_size=50))
def test_mean_of_ones_does_not_pass_one(right: list[int]) -> None:
    assert scored(*right, rows=10).accuracy == 1.0


def test_rows_are_matched_by_id_not_by_order() -> None:
    correct = correct_rows(cell([10, 20, 30, 40], [1, 1, 2, 0]), three_class_set())
    assert isinstance(correct, np.ndarray)
    assert correct.tolist() == [True, True, True, False]


def test_mask_selects_rows() -> None:
    tested, masked = cell([10, 20, 30, 40], [1, 1, 2, 0]), np.array([True, False, False, True])
    assert cell_accuracy(tested, three_class_set()) == 0.75
    assert cell_accuracy(tested, three_class_set(), masked) == 0.5
    assert cell_accuracy(tested, three_class_set(), np.zeros(4, dtype=bool)) is None


def test_three_classes_collapse_to_two() -> None:
    two = TestSet("hans", True, np.arange(4), np.array([0, 1, 1, 0]), ("yes", "no"), {}, class_map=np.array([0, 1, 1]))
    correct = correct_rows(cell([0, 1, 2, 3], [0, 1, 2, 2], test_set="hans"), two)
    assert isinstance(correct, np.ndarray)
    assert correct.tolist() == [True, True, True, False]


def test_a_class_without_counterpart_is_always_wrong() -> None:
    two = TestSet("x", True, np.arange(2), np.array([1, 1]), ("a", "b"), {}, class_map=np.array([0, 1, -1]))
    assert cell_accuracy(cell([0, 1], [2, 1], test_set="x"), two) == 0.5


@pytest.mark.parametrize("row_ids", [[10, 20, 30], [10, 20, 30, 30], [10, 20, 30, 41]])
def test_predictions_of_other_rows_are_refused(row_ids: list[int]) -> None:
    with pytest.raises(DataError, match="do not match the 4 test rows"):
        correct_rows(cell(row_ids, [0] * len(row_ids)), three_class_set())


def test_a_prediction_outside_the_classes_is_refused() -> None:
    with pytest.raises(DataError, match="are not all between 0 and 2"):
        correct_rows(cell([10, 20, 30, 40], [0, 1, 3, 0]), three_class_set())
    with pytest.raises(DataError, match="are not all between 0 and 2"):
        correct_rows(cell([10, 20, 30, 40], [0, 1, -1, 0]), three_class_set())


def test_cells_without_predictions_say_why() -> None:
    failed = Cell("a", "full", None, 0, 5, "failed", "out of memory")
    assert correct_rows(failed, three_class_set()) == MissingScore("failed", "out of memory")
    assert correct_rows(Cell("a", "full", None, 1, 5, "not run"), three_class_set()) == MissingScore("not run")
    assert correct_rows(cell([1], [0], test_set="other"), three_class_set()) == MissingScore("not run")


def test_score_says_why_there_is_none() -> None:
    mask = np.ones(4, dtype=bool)
    failed, waiting = MissingScore("failed", "out of memory"), MissingScore("not run")
    assert score([waiting, failed], mask, None).status == "failed"
    assert score([waiting, failed], mask, None).reason == "out of memory"
    assert score([waiting, MissingScore("no probabilities", "svm")], mask, None).reason == "svm"
    assert score([waiting], mask, None).status == "not run"
    assert score([], mask, None).status == "not run"
    assert score([np.ones(4, dtype=bool)], ~mask, None).status == "no rows"


def test_score_counts_unfinished_seeds() -> None:
    found = score([np.array([True, False, True, True]), MissingScore("not run")], np.ones(4, dtype=bool), None)
    assert found.status == "done"
    assert found.unfinished_seeds == 1
    assert found.accuracy is not None
    assert found.accuracy == 0.75


PROBABILITIES = [
    [0.4, 0.35, 0.25],  # entailment by label, non-entailment by probability
    [0.6, 0.3, 0.1],
    [0.1, 0.2, 0.7],
    [0.5, 0.25, 0.25],  # a tie of sums goes to the lowest class number
]


def probable_cell(probabilities: list[list[float] | None], *, test_set: str = "hans") -> Cell:
    predicted = [0 if row is None else int(np.argmax(row)) for row in probabilities]
    base = cell(list(range(len(probabilities))), predicted, test_set=test_set)
    assert base.predictions is not None
    column = pa.array(probabilities, pa.list_(pa.float32()))
    return replace(base, predictions=base.predictions.append_column("probabilities", column))


def two_class_set(collapse: Literal["label", "probability"], class_map: list[int], labels: list[int]) -> TestSet:
    names = ("entailment", "non-entailment")
    rows = np.arange(len(labels))
    return TestSet("hans", True, rows, np.array(labels), names, {}, class_map=np.array(class_map), collapse=collapse)


def answers(tested: Cell, collapse: Literal["label", "probability"], class_map: list[int]) -> list[list[bool]]:
    """Which rows are right if every row is of class 0, and if every row is of class 1."""
    rows = 0 if tested.predictions is None else tested.predictions.num_rows
    found = [correct_rows(tested, two_class_set(collapse, class_map, [gold] * rows)) for gold in (0, 1)]
    assert all(isinstance(each, np.ndarray) for each in found)
    return [each.tolist() for each in found if isinstance(each, np.ndarray)]


def test_collapse_by_label_and_by_probability_differ() -> None:
    tested = probable_cell([*PROBABILITIES])
    assert answers(tested, "label", [0, 1, 1]) == [[True, True, False, True], [False, False, True, False]]
    assert answers(tested, "probability", [0, 1, 1]) == [[False, True, False, True], [True, False, True, False]]


def test_labels_that_count_as_none_are_wrong_by_label_and_left_out_by_probability() -> None:
    tested = probable_cell([*PROBABILITIES])
    assert answers(tested, "label", [0, 1, -1]) == [[True, True, False, True], [False, False, False, False]]
    assert answers(tested, "probability", [0, 1, -1]) == [[True, True, False, True], [False, False, True, False]]


def test_a_class_mask_is_the_likeliest_class_of_the_subset_by_probability_alone() -> None:
    rows = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.3, 0.15, 0.05], [0.3, 0.1, 0.4, 0.2]]
    labels = np.array([1, 0, 1])
    masked = TestSet("a", True, np.arange(3), labels, ("b", "c"), {}, class_map=np.array([-1, 0, 1, -1]))
    assert cell_accuracy(probable_cell([*rows], test_set="a"), masked) == 1 / 3
    assert cell_accuracy(probable_cell([*rows], test_set="a"), replace(masked, collapse="probability")) == 1


def test_a_class_that_nothing_counts_as_never_wins() -> None:
    tested = probable_cell([[0.0, 0.0, 1.0]])
    assert answers(tested, "probability", [1, 1, -1]) == [[False], [True]]


def test_probabilities_are_matched_by_row_id() -> None:
    tested = probable_cell([*PROBABILITIES])
    assert tested.predictions is not None
    turned = replace(tested, predictions=tested.predictions.take(pa.array([2, 0, 3, 1])))
    assert answers(turned, "probability", [0, 1, 1]) == answers(tested, "probability", [0, 1, 1])


@pytest.mark.parametrize("given", [probable_cell([None, None]), cell([0, 1], [0, 1], test_set="hans")])
def test_an_evaluator_without_probabilities_says_so(given: Cell) -> None:
    found = correct_rows(given, two_class_set("probability", [0, 1, 1], [0, 1]))
    assert found == MissingScore("no probabilities", "linear gives none to add up")
    assert cell_accuracy(given, two_class_set("probability", [0, 1, 1], [0, 1])) is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [[0.5, 0.5], [0.5, 0.5]],
            "4 probabilities for 2 rows and 3 classes, and 0 of the probabilities are not",
        ),
        (
            [[0.5, 0.5, 0.0], [math.nan, 0.5, 0.5]],
            "6 probabilities for 2 rows .* 1 of the probabilities are not",
        ),
    ],
)
def test_probabilities_of_other_classes_are_refused(rows: list[list[float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        correct_rows(probable_cell([*rows]), two_class_set("probability", [0, 1, 1], [0, 1]))
