from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.tables.in_distribution import HumanAgreement, InDistributionTable, in_distribution_tables


@pytest.fixture
def table(by_hand: BenchmarkData) -> InDistributionTable:
    (found,) = in_distribution_tables(by_hand)
    return found


def test_columns_are_full_then_random_twice_and_filtered_of_each_representation(table: InDistributionTable) -> None:
    assert [(one.train_set, one.representation, one.tested_on) for one in table.columns] == [
        ("full", None, "full"),
        ("random", "a", "full"),
        ("random", "a", "filtered"),
        ("filtered", "a", "filtered"),
        ("random", "b", "full"),
        ("random", "b", "filtered"),
        ("filtered", "b", "filtered"),
    ]
    assert table.test_rows == (6, 6, 3, 3, 6, 4, 4)
    assert table.train_rows == ((90,), (30,), (30,), (30,), (30,), (30,), (30,))
    assert (table.test_set, table.representations) == ("test", ("a", "b"))


def test_every_score_and_difference(table: InDistributionTable) -> None:
    p, q = table.rows
    assert [None if one.accuracy is None else one.accuracy.mean for one in p.scores] == pytest.approx(
        [0.75, 7 / 12, 0.5, 5 / 6, 1, 1, 0.625]
    )
    assert list(p.differences) == pytest.approx([-25 / 3, 12.5])
    assert [one.status if one.accuracy is None else one.accuracy.mean for one in q.scores] == [
        1, 0.5, 1, 0, "not run", "not run", 1,
    ]  # fmt: skip
    assert list(q.differences) == [100, 0]
    assert [one.unfinished_seeds for one in q.scores] == [0, 1, 1, 1, 2, 2, 0]


def test_human_row_is_over_annotated_rows_alone(table: InDistributionTable) -> None:
    assert table.human is not None
    full, a, b = ((2 / 3 + 1 + 0.5 + 1 + 0.25) / 5, 5), ((2 / 3 + 1) / 2, 2), ((0.5 + 1 + 0.25) / 3, 3)
    found = [(one.share, one.rows) for one in table.human.agreements if isinstance(one, HumanAgreement)]
    assert found == [pytest.approx(one) for one in (full, full, a, a, full, b, b)]
    assert table.human.differences == pytest.approx((-15.0, 10.0))


def test_without_annotators_there_is_no_human_row(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    bare = Examples(by_hand.examples.table.drop(["annotator_labels"]), by_hand.label_names)
    assert in_distribution_tables(make_by_hand(examples=bare))[0].human is None


def test_a_split_that_nothing_filtered_is_tested_on_all_its_rows(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    (one,) = in_distribution_tables(make_by_hand(test_sets=(replace(test, kept={}), odd)))
    assert [(column.train_set, column.representation) for column in one.columns] == [
        ("full", None), ("random", "a"), ("filtered", "a"), ("random", "b"), ("filtered", "b"),
    ]  # fmt: skip
    assert {column.tested_on for column in one.columns} == {"full"}
    assert not one.filtered_rows
    assert one.test_rows == (6,) * 5
    # p: 9, 7, 5, 12 and 5 of 12
    means = [score.accuracy.mean for score in one.rows[0].scores if score.accuracy is not None]
    assert means == pytest.approx([9 / 12, 7 / 12, 5 / 12, 1, 5 / 12])
    assert list(one.rows[0].differences) == pytest.approx([100 / 3, 100 / 3])
    assert one.human is not None
    assert one.human.differences == (0, 0)


def test_each_representation_says_whether_it_filtered_the_split(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    (one,) = in_distribution_tables(make_by_hand(test_sets=(replace(test, kept={"b": test.kept["b"]}), odd)))
    assert one.representations == ("a", "b")
    assert [(column.train_set, column.tested_on) for column in one.columns] == [
        ("full", "full"), ("random", "full"), ("filtered", "full"),
        ("random", "full"), ("random", "filtered"), ("filtered", "filtered"),
    ]  # fmt: skip
    assert len(one.rows[0].differences) == 2


def test_nothing_trained_is_no_table(make_by_hand: Any) -> None:
    assert in_distribution_tables(make_by_hand(cells=())) == ()
