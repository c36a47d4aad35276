"""Counts of scores by bin and iteration, against slow ones."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.analysis.filtering import bin_edges, binned, count_scores


@given(st.lists(st.integers(0, 64)), st.integers(1, 64), st.sampled_from([1, 4, 20]))
def test_bins_equal_a_slow_count(hits: list[int], of: int, bins: int) -> None:
    scores = np.array([min(hit, of) / of for hit in hits], np.float32)
    edges = bin_edges(bins).astype(np.float32)
    slow = [0] * bins
    for score in scores:
        slow[max(place for place in range(bins) if score >= edges[place])] += 1
    assert binned(scores, bins).tolist() == slow


def test_a_share_at_an_edge_lies_in_the_bin_that_begins_there() -> None:
    # 0.7 as float32 is under 0.7 as float64
    assert np.flatnonzero(binned(np.array([0.7, 0.75, 1, 0], np.float32))).tolist() == [0, 14, 15, 19]


def planted_rows() -> pa.Table:
    """Rows 10 to 15 of train, of which 12 goes in iteration 0 and 10 in iteration 1; rows 20 and 21 of test."""
    removed = [1, None, 0, None, None, None, 0, None]
    splits = ["train"] * 6 + ["test"] * 2
    row_ids = pa.array([10, 11, 12, 13, 14, 15, 20, 21], pa.int64())
    return pa.table({"row_id": row_ids, "split": splits, "removed_in_iteration": pa.array(removed, pa.int64())})


def scores(**of: float) -> pa.Table:
    ids = pa.array([int(name[1:]) for name in of], pa.int64())
    return pa.table({"row_id": ids, "predictability": pa.array(list(of.values()), pa.float32())})


def test_counts_are_of_train_rows_and_name_what_went() -> None:
    tables = [
        (0, scores(r12=1.0, r10=0.9, r11=0.1, r13=0.3, r20=1.0)),  # rows 14 and 15 were never held out
        (1, scores(r10=0.8, r11=0.2, r13=0.6, r14=0.0, r21=0.0)),
        (2, scores(r11=0.2, r13=0.6, r14=0.0)),
    ]
    found = list(count_scores("r", iter(tables), planted_rows(), bins=4))
    assert [one.iteration for one in found] == [0] * 4 + [1] * 4 + [2] * 4
    assert [(one.low, one.high) for one in found] == [(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)] * 3
    assert [one.rows for one in found] == [1, 1, 0, 2, 2, 0, 1, 1, 2, 0, 1, 0]
    assert [one.removed for one in found] == [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]


def test_no_iteration_is_empty() -> None:
    assert list(count_scores("r", [], planted_rows())) == []
