import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics import class_shares_moved, label_balance
from aflite_assets.diagnostics.data_checks.balance import SplitBalance, split_balances
from aflite_assets.errors import InvalidInputError


def test_every_class_of_every_split_is_counted() -> None:
    table = pa.table(
        {
            "row_id": range(5),
            "split": ["train", "train", "train", "train", "test"],
            "label": [2, 0, 0, 0, 2],
            "text": list("abcde"),
        }
    )
    assert label_balance(Examples(table, ("a", "b", "c"))).to_pylist() == [
        {"split": "train", "label": 0, "label_name": "a", "rows": 3, "share": 0.75},
        {"split": "train", "label": 1, "label_name": "b", "rows": 0, "share": 0.0},
        {"split": "train", "label": 2, "label_name": "c", "rows": 1, "share": 0.25},
        {"split": "test", "label": 0, "label_name": "a", "rows": 0, "share": 0.0},
        {"split": "test", "label": 1, "label_name": "b", "rows": 0, "share": 0.0},
        {"split": "test", "label": 2, "label_name": "c", "rows": 1, "share": 1.0},
    ]


def test_balance_of_every_split() -> None:
    table = pa.table({"row_id": range(8), "split": ["train"] * 6 + ["test"] * 2, "label": [2, 0, 0, 1, 0, 1, 2, 2]})
    assert split_balances(Examples(table, ("a", "b", "c"))) == (
        SplitBalance("train", 6, "a", 0.5, "c", 1 / 6, 3.0, ()),
        SplitBalance("test", 2, "c", 1.0, "c", 1.0, 1.0, ("a", "b")),
    )


def test_classes_of_one_size_are_named_first_and_last() -> None:
    table = pa.table({"row_id": range(3), "split": ["train"] * 3, "label": [2, 1, 0]})
    (found,) = split_balances(Examples(table, ("a", "b", "c")))
    assert (found.largest, found.smallest, found.ratio) == ("a", "c", 1.0)


def test_shares_moved_by_hand() -> None:
    moved = class_shares_moved(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1, 2]), classes=4)
    np.testing.assert_allclose(moved, [-30, 10, 20, 0], atol=1e-12)


LABELS = st.lists(st.integers(0, 4), min_size=1)


@given(LABELS, LABELS)
def test_what_one_class_gains_others_lose(before: list[int], after: list[int]) -> None:
    moved = class_shares_moved(np.array(before), np.array(after), classes=5)
    assert moved.sum() == pytest.approx(0, abs=1e-9)
    assert np.abs(moved).max() <= 100
    np.testing.assert_allclose(moved, -class_shares_moved(np.array(after), np.array(before), classes=5), atol=1e-9)


def test_a_set_without_rows_has_no_shares() -> None:
    with pytest.raises(InvalidInputError, match="`after` has no rows"):
        class_shares_moved(np.array([0, 1]), np.array([], dtype=np.int64), classes=2)


@pytest.mark.parametrize("label", [-1, 2])
def test_a_class_number_out_of_range_is_refused(label: int) -> None:
    with pytest.raises(InvalidInputError, match=r"`before` has class numbers from .*, but `classes` is 2"):
        class_shares_moved(np.array([0, label]), np.array([0]), classes=2)
