"""Lengths of kept, removed and random rows: the shares, counted by hand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.rows.measured import DRAWS, length_shares
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError


def rows_of(filtered: FilteredSet, kept: Sequence[bool], splits: Sequence[str] | None = None) -> FilteredSet:
    rows = filtered.rows.slice(0, len(kept))
    rows = rows.set_column(rows.column_names.index("kept"), "kept", pa.array(kept))
    split = pa.array(["train"] * len(kept) if splits is None else splits)
    return replace(filtered, rows=rows.set_column(1, "split", split))


def texts(*words: int | None) -> Examples:
    said = pa.array([None if number is None else " ".join(["word"] * number) for number in words], pa.string())
    labels = np.zeros(len(words), np.int64)
    table = pa.table({"row_id": np.arange(len(words)), "label": labels, "text": said})
    return Examples(table, ("one",))


def test_shares_are_those_counted_by_hand(by_hand: BenchmarkData) -> None:
    filtered = replace(by_hand.filtered[0], rows=by_hand.filtered[0].rows.set_column(0, "row_id", pa.array(range(12))))
    kept = [True] * 4 + [False] * 4 + [True] * 2
    entered = rows_of(filtered, kept, ["train"] * 8 + ["test"] * 2)
    found = list(length_shares(texts(2, 2, 3, None, 5, 5, 5, 2, 9, 9), entered, lambda name: f"my {name}"))
    assert {(one.representation, one.column, one.column_name) for one in found} == {
        (filtered.representation, "text", "my text")
    }
    assert [one.start for one in found] == [2, 3, 4, 5]  # test rows are none of them
    assert [one.kept for one in found] == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert [one.removed for one in found] == pytest.approx([1 / 4, 0, 0, 3 / 4])
    assert {(one.kept_rows, one.removed_rows) for one in found} == {(3, 4)}  # one kept row has no text
    assert (found[0].kept_mean, found[0].removed_mean) == pytest.approx((7 / 3, 17 / 4))
    words = np.array([2, 2, 3, np.nan, 5, 5, 5, 2])
    drawn = [words[np.random.default_rng([0, number]).choice(8, 4, replace=False)] for number in range(DRAWS)]
    for one in found:
        shares = [np.mean(each[~np.isnan(each)] == one.start) for each in drawn]
        random = (one.random_mean, one.random_least, one.random_most)
        assert random == pytest.approx((np.mean(shares), min(shares), max(shares)))


def test_long_texts_stand_together_at_the_last_of_at_most_forty_places(planted: BenchmarkData) -> None:
    lengths = np.arange(1000) % 200 + 1
    lengths[7] = 5000
    found = list(length_shares(texts(*lengths.tolist()), rows_of(planted.filtered[0], [True, False] * 500)))
    assert [one.start for one in found] == list(range(1, 200, 5))
    assert found[-1].removed == pytest.approx(np.mean(lengths[1::2] >= 196))
    for name in ("kept", "removed", "random_mean"):
        assert sum(getattr(one, name) for one in found) == pytest.approx(1)


@pytest.mark.parametrize("kept", [True, False])
def test_a_side_without_rows_has_no_shares(planted: BenchmarkData, kept: bool) -> None:
    found = list(length_shares(texts(*range(1, 51)), rows_of(planted.filtered[0], [kept] * 50)))
    assert {(one.removed if kept else one.kept) for one in found} == {None}
    assert {(one.removed_mean if kept else one.kept_mean) for one in found} == {None}
    assert {one.random_mean is None for one in found} == {not kept}


def test_nothing_of_rows_that_are_no_texts(planted: BenchmarkData, feature_examples: Any) -> None:
    assert list(length_shares(feature_examples(1400), planted.filtered[0])) == []
    assert list(length_shares(texts(*[None] * 10), rows_of(planted.filtered[0], [True] * 10))) == []


def test_rows_that_are_gone_are_named(planted: BenchmarkData) -> None:
    with pytest.raises(DataError, match="row"):
        list(length_shares(texts(1, 2), rows_of(planted.filtered[0], [True] * 10)))
