"""What filtering did: iterations, shares of classes, predictability, removed rows, counted by hand."""

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.filtering import (
    class_shares,
    filter_table,
    guessing_deviation,
    predictability_counts,
    removed_by_class,
)
from aflite_assets.analysis.inputs.records import BenchmarkData


def test_filter_table_is_in_order_of_iterations(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0]
    rows = filter_table(filtered)
    assert [row.iteration for row in rows] == list(range(8))
    assert rows[0].rows_in == 1200
    assert rows[-1].cutoff is None
    assert all(a.rows_in - a.removed == b.rows_in for a, b in itertools.pairwise(rows))
    assert {row.representation for row in rows} == {"roberta"}


def test_the_largest_class_is_that_of_the_rows_that_entered(planted: BenchmarkData) -> None:
    rows = planted.filtered[0].rows
    filtered = replace(planted.filtered[0], rows=rows.filter(pa.array(rows["row_id"].to_numpy() % 5 != 0)))
    left = [(row["label"], row["removed_in_iteration"]) for row in filtered.rows.to_pylist() if row["split"] == "train"]
    for row in filter_table(filtered):
        entered = [label for label, removed_in in left if removed_in is None or removed_in >= row.iteration]
        assert row.largest_class == np.bincount(entered).max() / len(entered)
        share = row.largest_class
        assert row.guessing_deviation == pytest.approx((share * (1 - share) / row.rows_in) ** 0.5)


def test_class_shares_by_iteration(planted: BenchmarkData) -> None:
    shares = np.array([one.share for one in class_shares(planted.filtered[0], 4)]).reshape(8, 4)
    np.testing.assert_allclose(shares[0], [1 / 3, 1 / 3, 1 / 3, 0])
    left = planted.filtered[0].rows.to_pylist()
    kept = [row["label"] for row in left if row["removed_in_iteration"] in (None, 7)]
    np.testing.assert_allclose(shares[7], np.bincount(kept, minlength=4) / len(kept))
    assert [(one.iteration, one.label) for one in class_shares(planted.filtered[0], 4)][:5] == [
        (0, 0), (0, 1), (0, 2), (0, 3), (1, 0),
    ]  # fmt: skip


def test_the_deviation_is_that_of_guessing() -> None:
    drawn = np.random.default_rng(0).binomial(400, 0.3, 20_000) / 400
    assert guessing_deviation(np.array([0.3]), np.array([400]))[0] == pytest.approx(drawn.std(), 0.02)
    assert guessing_deviation(np.array([0.5]), np.array([0]))[0] == 0.5


def test_histogram_counts_train_rows_of_both_sides(planted: BenchmarkData) -> None:
    bins = predictability_counts(planted.filtered[0], bins=4)
    assert [(one.low, one.high) for one in bins] == [(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)]
    assert sum(one.kept for one in bins) == 402
    assert [one.removed for one in bins] == [0, 0, 0, 798]


def test_rows_without_a_score_and_other_splits_are_left_out(planted: BenchmarkData) -> None:
    rows = pa.table(
        {
            "row_id": [0, 1, 2, 3],
            "split": ["train", "train", "train", "test"],
            "label": [0, 0, 0, 0],
            "kept": [True, False, True, True],
            "removed_in_iteration": pa.array([None, 0, None, None], pa.int64()),
            "predictability": pa.array([0.1, 0.9, None, 0.2], pa.float32()),
            "label_probability": pa.array([0.5] * 4, pa.float32()),
        }
    )
    bins = predictability_counts(replace(planted.filtered[0], rows=rows), bins=2)
    assert [(one.kept, one.removed) for one in bins] == [(1, 0), (0, 1)]


def test_removed_rows_are_counted_by_class(planted: BenchmarkData) -> None:
    found = removed_by_class(planted.filtered[0], 4)
    assert [(one.label, one.rows, one.removed) for one in found] == [
        (0, 400, 266),
        (1, 400, 266),
        (2, 400, 266),
        (3, 0, 0),
    ]
    assert [one.share_before for one in found] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert sum(one.share_after for one in found) == pytest.approx(1)
