"""Which evaluators may judge, from planted cells."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.scores.judges import judging, one_answers, over_largest_class
from aflite_assets.analysis.scores.questions import question_predictions, question_set

FAMILIES = {"representations.roberta": "linear", "evaluators.linear": "linear", "evaluators.other": "forest"}


def constant(cell: Cell, answer: int = 0) -> Cell:
    """A cell that gives every row one class."""
    assert cell.predictions is not None
    place = cell.predictions.column_names.index("predicted")
    said = np.full(cell.predictions.num_rows, answer)
    return replace(cell, predictions=cell.predictions.set_column(place, "predicted", pa.array(said)))


def with_other(planted: BenchmarkData, *, first: bool = False, **changes: Any) -> BenchmarkData:
    """The planted benchmark with `other`, which has the predictions of `linear`, behind it or in front."""
    linear = [cell for cell in planted.cells if cell.evaluator == "linear"]
    other = [replace(cell, evaluator="other") for cell in linear]
    return replace(planted, cells=tuple(other + linear if first else linear + other), **changes)


def without_learning(data: BenchmarkData, evaluator: str, *train_sets: str) -> BenchmarkData:
    cells = (constant(c) if c.evaluator == evaluator and c.train_set in train_sets else c for c in data.cells)
    return replace(data, cells=tuple(cells))


def test_a_model_that_learnt_is_over_the_largest_class_and_one_that_gives_it_is_not(planted: BenchmarkData) -> None:
    data = without_learning(with_other(planted), "other", "full")
    found = over_largest_class(data.cells, data.test_sets)
    assert list(found) == ["linear", "other"]
    assert (found["linear"].test_set, found["linear"].largest) == ("test", pytest.approx(0.334))
    right = 0.9 * 0.6 + 0.6 * 0.4
    assert found["linear"].accuracy == pytest.approx(right, abs=0.05)
    assert found["linear"].beaten
    assert (found["other"].margin.difference, found["other"].beaten) == (0.0, False)


def test_luck_on_few_seeds_does_not_beat_the_largest_class(planted: BenchmarkData, done_cell: Any) -> None:
    tests = planted.test_sets
    shares = (0.30, 0.30, 0.5), (0.75, 0.75, 0.5)
    cells = [
        done_cell(tests, share, evaluator="torn", train_set="full", seed=seed, train_rows=1_200)
        for seed, share in enumerate(shares)
    ]
    found = over_largest_class(cells, tests)["torn"]
    assert found.margin.difference == pytest.approx(100 * (0.525 - 0.334), abs=0.5)
    assert found.margin.low < 0
    assert not found.beaten


def test_where_it_cannot_be_asked_nobody_is_named(planted: BenchmarkData, by_hand: BenchmarkData) -> None:
    assert over_largest_class(by_hand.cells, by_hand.test_sets) == {}  # six rows
    assert over_largest_class(planted.cells, planted.test_sets[2:]) == {}  # a challenge set alone
    answers = TestSet(
        "test", False, np.arange(80), np.arange(80) % 4 // 3, ("wrong", "right"), {}, groups=np.arange(80) // 4
    )
    said = pa.table({"test_set": ["test"] * 80, "row_id": np.arange(80), "predicted": np.zeros(80, np.int64)})
    cell = Cell("small", "full", None, 0, 100, "done", None, said)
    assert over_largest_class([cell], [answers]) == {}  # of answers, most of which are wrong
    assert over_largest_class([cell], [replace(answers, groups=None)])["small"].margin.difference == 0


def test_one_class_alone_is_told_from_a_class_that_is_nearly_all_there_is(planted: BenchmarkData) -> None:
    cell = next(cell for cell in planted.cells if cell.train_set == "full")
    assert one_answers([cell, constant(cell)], planted.test_sets) != ()
    assert one_answers([cell], planted.test_sets) == ()
    rare = tuple(
        replace(one, labels=(np.arange(len(one.labels)) % 50 == 0).astype(np.int64))
        for one in planted.test_sets
        if not one.challenge
    )
    assert one_answers([constant(cell)], rare) == ()


def test_a_good_model_may_give_one_frequent_class_to_nearly_all_rows() -> None:
    rows = np.arange(1_000)
    labels = (rows < 60).astype(np.int64)
    test_set = TestSet("test", False, rows, labels, ("ham", "spam"), {})

    def cell(missed: int) -> Cell:
        said = pa.table({"test_set": ["test"] * 1_000, "row_id": rows, "predicted": np.where(rows < missed, 0, labels)})
        return Cell("good", "full", None, 0, 100, "done", None, said)

    assert one_answers([cell(15)], [test_set]) == ()  # 98.5 % right, 95.5 % of its answers are ham
    assert one_answers([cell(60)], [test_set]) != ()
    assert one_answers([cell(59)], [test_set]) != ()  # one row over the largest class is luck


def test_a_set_of_few_rows_does_not_show_one_class_alone(planted: BenchmarkData) -> None:
    cell = constant(next(cell for cell in planted.cells if cell.train_set == "full"))
    test = next(one for one in planted.test_sets if one.name == "test")

    def first(rows: int) -> TestSet:
        return replace(test, row_ids=test.row_ids[:rows], labels=test.labels[:rows], kept={})

    def within(rows: int) -> Cell:
        assert cell.predictions is not None
        chosen = pc.is_in(cell.predictions["row_id"], value_set=pa.array(test.row_ids[:rows]))
        return replace(cell, predictions=cell.predictions.filter(chosen))

    assert one_answers([within(19)], [first(19)]) == ()
    assert one_answers([within(20)], [first(20)]) != ()


def test_judges_learnt_something_and_those_of_another_make_come_first(planted: BenchmarkData) -> None:
    data = with_other(planted)
    assert judging(data).judges == ("linear", "other")
    assert judging(replace(data, families=FAMILIES)).judges == ("other", "linear")
    assert judging(replace(data, families=FAMILIES)).made_of == {"linear": ["roberta"]}
    for train_set in ("full", "random", "filtered"):
        assert judging(without_learning(data, "linear", train_set)).judges == ("other",)
    assert judging(without_learning(data, "linear", "single_pass_model")).judges == ("linear", "other")
    neither = without_learning(without_learning(data, "linear", "full"), "other", "full")
    assert judging(neither).judges == ()
    # better of the filter's own make than one that learnt nothing
    assert judging(without_learning(replace(data, families=FAMILIES), "other", "full")).judges == ("linear",)


def test_of_questions_the_rival_is_guessing_one_of_the_answers() -> None:
    rows, answers = 100, 4
    table = TestSet(
        "test",
        False,
        np.arange(answers * rows),
        np.asarray(np.arange(answers * rows) % answers == 0, np.int64),
        ("wrong", "right"),
        {},
        groups=np.arange(answers * rows) // answers,
    )
    asked = question_set(table, 1)

    def cell(name: str, right: int) -> Cell:
        """Finds the right answer of so many questions likeliest."""
        likelihood = np.full((rows, answers), 0.2)
        likelihood[:right, 0], likelihood[right:, 1] = 0.9, 0.9
        said = pa.table(
            {
                "test_set": ["test"] * answers * rows,
                "row_id": np.arange(answers * rows),
                "predicted": np.zeros(answers * rows, np.int64),
                "probabilities": pa.array([[1 - one, one] for one in likelihood.ravel()], pa.list_(pa.float32())),
            }
        )
        by_answer = Cell(name, "full", None, 0, 100, "done", None, said)
        return replace(by_answer, predictions=question_predictions(by_answer, table, 1))

    found = over_largest_class([cell("good", 60), cell("guessing", 27)], [asked])
    assert (found["good"].rival, found["good"].largest) == ("guessing an answer", 0.25)
    assert found["good"].margin.difference == pytest.approx(35)
    assert (found["good"].beaten, found["guessing"].beaten) == (True, False)
