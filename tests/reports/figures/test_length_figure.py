"""Lengths of kept, removed and random rows: the shares that are drawn, counted by hand, and what is drawn of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE
from aflite_assets.analysis.lengths import DRAWS, length_shares
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.reports.figures.drawing import BLUE, GREY, MAX_BYTES, ORANGE
from aflite_assets.reports.figures.length_figure import length_pictures, lengths_png
from tests.reports.figures.test_all_figures import has_colour, pixels


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
    (one,) = length_shares(texts(2, 2, 3, None, 5, 5, 5, 2, 9, 9), entered)
    assert one.column == "text"
    assert one.starts.tolist() == [2, 3, 4, 5]  # test rows are none of them
    assert one.kept.tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])
    assert one.removed.tolist() == pytest.approx([1 / 4, 0, 0, 3 / 4])
    assert (one.kept_rows, one.removed_rows) == (3, 4)  # one kept row has no text
    assert (one.kept_mean, one.removed_mean) == pytest.approx((7 / 3, 17 / 4))
    assert one.random.shape == (DRAWS, 4)
    words = np.array([2, 2, 3, np.nan, 5, 5, 5, 2])
    for number, share in enumerate(one.random):
        drawn = words[np.random.default_rng([0, number]).choice(8, 4, replace=False)]
        assert share.tolist() == pytest.approx([np.mean(drawn[~np.isnan(drawn)] == length) for length in (2, 3, 4, 5)])


def test_long_texts_stand_together_at_the_last_of_at_most_forty_places(planted: BenchmarkData) -> None:
    lengths = np.arange(1000) % 200 + 1
    lengths[7] = 5000
    (one,) = length_shares(texts(*lengths.tolist()), rows_of(planted.filtered[0], [True, False] * 500))
    assert len(one.starts) == 40
    assert set(np.diff(one.starts)) == {5}
    assert one.starts[0] == 1
    assert one.removed[-1] == pytest.approx(np.mean(lengths[1::2] >= 196))
    for share in (one.kept, one.removed, *one.random):
        assert share.sum() == pytest.approx(1)


@pytest.mark.parametrize("kept", [True, False])
def test_a_side_without_rows_is_not_drawn(planted: BenchmarkData, kept: bool) -> None:
    found = length_shares(texts(*range(1, 51)), rows_of(planted.filtered[0], [kept] * 50))
    drawn = pixels(lengths_png(found, ["text"]))
    assert drawn.shape[1] == 616
    assert has_colour(drawn, GREY) == kept
    assert np.isnan(found[0].removed if kept else found[0].kept).all()


def test_texts_of_one_length_and_names_that_look_like_formulas(planted: BenchmarkData) -> None:
    found = length_shares(texts(*[3] * 50), rows_of(planted.filtered[0], [True] * 20 + [False] * 30))
    assert found[0].starts.tolist() == [3]
    drawn = pixels(lengths_png(found, ["$x_{"]))
    assert has_colour(drawn, BLUE)
    assert has_colour(drawn, ORANGE)


def test_nothing_of_rows_that_are_no_texts(planted: BenchmarkData, feature_examples: Any) -> None:
    assert length_shares(feature_examples(1400), planted.filtered[0]) == ()
    assert length_shares(texts(*[None] * 10), rows_of(planted.filtered[0], [True] * 10)) == ()


def test_rows_that_are_gone_are_named(planted: BenchmarkData) -> None:
    with pytest.raises(DataError, match="row"):
        length_shares(texts(1, 2), rows_of(planted.filtered[0], [True] * 10))


def test_the_picture_of_pairs_has_the_sources_names(planted: BenchmarkData) -> None:
    data = replace(planted, source=replace(NO_SOURCE, columns={"text": "premise", "text_pair": "hypothesis"}))
    ((name, picture),) = length_pictures(data)
    assert name == "lengths.roberta"
    assert len(picture.png) < MAX_BYTES
    assert pixels(picture.png).shape[1] == 1034
    assert picture.alt.startswith(
        "Share of 1,200 train rows by words, kept, removed and as many random as were kept, representation roberta. "
        "premise: kept rows have "
    )
    assert "; hypothesis: kept rows have " in picture.alt
