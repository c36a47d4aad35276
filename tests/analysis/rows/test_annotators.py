from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.measured import ANNOTATORS
from aflite_assets.data.examples import Examples


def test_agreement_is_over_annotated_rows_alone(by_hand: BenchmarkData) -> None:
    full, a, b = (2 / 3 + 1 + 0.5 + 1 + 0.25) / 5, (2 / 3 + 1) / 2, (0.5 + 1 + 0.25) / 3
    found = analyse(by_hand).of(ANNOTATORS)
    assert [(one.train_set, one.representation, one.tested_on) for one in found] == [
        ("full", None, "full"), ("random", "a", "full"), ("random", "a", "filtered"), ("filtered", "a", "filtered"),
        ("random", "b", "full"), ("random", "b", "filtered"), ("filtered", "b", "filtered"),
    ]  # fmt: skip
    assert [one.share for one in found] == pytest.approx([full, full, a, a, full, b, b])
    assert [one.rows for one in found] == [5, 5, 2, 2, 5, 3, 3]
    assert [one.test_rows for one in found] == [6, 6, 3, 3, 6, 4, 4]
    assert [one.difference for one in found if one.difference is not None] == pytest.approx([-15, 10])


def test_on_rows_that_nothing_filtered_it_does_not_fall(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    found = analyse(make_by_hand(test_sets=(replace(test, kept={}), odd))).of(ANNOTATORS)
    assert [one.difference for one in found if one.train_set == "filtered"] == [0, 0]


def test_without_annotators_there_is_none(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    bare = Examples(by_hand.examples.table.drop(["annotator_labels"]), by_hand.label_names)
    assert analyse(make_by_hand(examples=bare)).of(ANNOTATORS) == ()


def test_no_annotated_row_left_is_no_share(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    kept = dict.fromkeys(test.kept, test.row_ids == 12)
    found = analyse(make_by_hand(test_sets=(replace(test, kept=kept), odd))).of(ANNOTATORS)
    filtered = [one for one in found if one.train_set == "filtered"]
    assert [(one.share, one.rows, one.test_rows, one.difference) for one in filtered] == [(None, 0, 1, None)] * 2
