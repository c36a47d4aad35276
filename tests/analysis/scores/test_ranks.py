from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores import accuracy
from aflite_assets.analysis.scores.accuracy import (
    MissingScore,
    correct_rows,
    gold_margins,
    gold_ranks,
    is_ranked,
    with_ranks,
)
from aflite_assets.errors import InvalidInputError
from tests.planted_comparisons import FALLING, MANY_NAMES, masked, natural_of_many, probable_cell


def test_ranks_count_the_classes_before_a_rows_own() -> None:
    assert gold_ranks(probable_cell("full", 0, FALLING), natural_of_many()).tolist() == [0, 4, 5, 12]  # type: ignore[union-attr]
    assert gold_ranks(probable_cell("full", 0, FALLING[::-1]), natural_of_many()).tolist() == [12, 8, 7, 0]  # type: ignore[union-attr]


def test_of_equal_probabilities_the_lowest_class_comes_first() -> None:
    assert gold_ranks(probable_cell("full", 0, np.full(13, 1 / 13)), natural_of_many()).tolist() == [0, 4, 5, 12]  # type: ignore[union-attr]


def test_a_class_mask_ranks_its_own_classes_alone() -> None:
    # c01 c02 c03 c04 c05 c07 c08 c09 ... from the likeliest on; gold is c01, c07, c08, c09
    assert gold_ranks(probable_cell("full", 0, FALLING), masked()).tolist() == [0, 5, 6, 7]  # type: ignore[union-attr]


def test_by_label_all_classes_are_ranked_and_any_that_counts_is_right() -> None:
    merged = replace(masked(), collapse="label")
    assert gold_ranks(probable_cell("full", 0, FALLING), merged).tolist() == [1, 7, 8, 9]  # type: ignore[union-attr]
    two = TestSet(
        "mask", True, np.arange(4), np.array([0, 1, 1, 0]), ("low", "high"), {}, class_map=np.arange(13) // 6 % 2
    )
    # low: classes 0 to 5 and 12; high: 6 to 11
    assert gold_ranks(probable_cell("full", 0, FALLING), two).tolist() == [0, 6, 6, 0]  # type: ignore[union-attr]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(13), 50).astype(np.float32)
    labels = rng.integers(0, 13, 50)
    order = rng.permutation(50)
    said = {"test_set": ["test"] * 50, "row_id": order, "predicted": rows[order].argmax(axis=1)}
    table = pa.table({**said, "probabilities": pa.array(rows[order].tolist(), pa.list_(pa.float32()))})
    one = TestSet("test", False, np.arange(50), labels, MANY_NAMES, {})
    slow = [sorted(range(13), key=lambda c: (-row[c], c)).index(gold) for row, gold in zip(rows, labels, strict=True)]
    for block in (7, 50, 1000):
        monkeypatch.setattr(accuracy, "BLOCK_ROWS", block)
        found = gold_ranks(Cell("net", "full", None, 0, 9, "done", None, table), one)
        assert isinstance(found, np.ndarray)
        assert found.tolist() == slow


def test_ranks_stand_in_for_probabilities() -> None:
    for one in (natural_of_many(), masked()):
        before = probable_cell("full", 0, FALLING)
        table = with_ranks(before, one)
        assert table.column_names == ["test_set", "row_id", "predicted", "gold_rank", "gold_margin"]
        filtered = replace(before, train_set="filtered", representation="a")
        assert "gold_margin" not in with_ranks(filtered, one).column_names
        after = replace(before, predictions=table)
        for function in (gold_ranks, gold_margins, correct_rows):
            was, now = function(before, one), function(after, one)
            assert isinstance(was, np.ndarray)
            assert isinstance(now, np.ndarray)
            assert was.tolist() == now.tolist()


def test_no_probabilities_stay_none() -> None:
    bare = probable_cell("full", 0, None)
    said = MissingScore("no probabilities", "net gives none to add up")
    assert gold_ranks(bare, masked()) == said
    assert gold_ranks(replace(bare, predictions=with_ranks(bare, masked())), masked()) == said
    with pytest.raises(InvalidInputError, match="'net' has no predictions of test set 'other': not run"):
        with_ranks(bare, replace(natural_of_many(), name="other"))


def test_ten_classes_are_enough() -> None:
    one = natural_of_many()
    assert [is_ranked(MANY_NAMES[:classes], replace(one, label_names=MANY_NAMES)) for classes in (9, 10)] == [
        False,
        True,
    ]
    assert not is_ranked(MANY_NAMES, replace(masked(), label_names=MANY_NAMES[:9], class_map=None))


def test_margins_are_of_the_rows_own_class_less_the_highest_other() -> None:
    # classes 0, 4, 5 and 12 of probabilities 13 / 91, 9 / 91, 8 / 91 and 1 / 91
    found = gold_margins(probable_cell("full", 0, FALLING), natural_of_many())
    assert isinstance(found, np.ndarray)
    by_row = dict(zip(natural_of_many().labels.tolist(), found.tolist(), strict=True))
    assert by_row == pytest.approx({0: 1 / 91, 4: -4 / 91, 5: -5 / 91, 12: -12 / 91}, abs=1e-6)
    right = correct_rows(probable_cell("full", 0, FALLING), natural_of_many())
    assert ((found > 0) == right).all()


def test_classes_that_count_as_the_rows_own_are_no_rivals() -> None:
    names, labels = ("yes", "no"), np.array([0, 1])
    merged = TestSet("test", True, np.arange(2), labels, names, {}, class_map=np.array([0, 1, 1]))
    said = {"test_set": ["test"] * 2, "row_id": [0, 1], "predicted": [1, 1]}
    rows = pa.array([[0.3, 0.4, 0.3], [0.2, 0.45, 0.35]], pa.list_(pa.float32()))
    cell = Cell("net", "full", None, 0, 9, "done", None, pa.table({**said, "probabilities": rows}))
    assert gold_margins(cell, merged) == pytest.approx([-0.1, 0.25], abs=1e-6)
    summed = replace(merged, collapse="probability")
    assert gold_margins(cell, summed) == pytest.approx([-0.4, 0.6], abs=1e-6)
    lacking = replace(merged, class_map=np.array([1, 1, 1]), labels=np.array([0, 1]))
    assert gold_margins(cell, lacking) == pytest.approx([-1.0, 0.45], abs=1e-6)
