from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import InvalidInputError, StopReason, filter_dataset
from aflite_assets.algorithm.partitions import draw_partitions
from tests.algorithm.test_filtering import assert_partition, run, settings


def test_score_only_rows_go_when_they_pass_the_cutoff(blobs: Any) -> None:
    score_only = np.arange(120) >= 80
    result = run(blobs, changes={"target_size": 50, "train_size": 30, "slice_size": 10}, score_only=score_only)
    assert [record.rows_in for record in result.iterations] == [80, 70, 60, 50]
    assert [record.removed for record in result.iterations] == [10, 10, 10, 0]
    assert sum(record.scored_removed for record in result.iterations) == score_only[result.removed_rows].sum() > 10
    for record in result.iterations[:-1]:
        gone = result.removed_rows[result.removed_in_iteration == record.iteration]
        assert record.cutoff is not None
        assert (result.predictability[gone[score_only[gone]]] >= record.cutoff).all()
        assert score_only[gone].sum() == record.scored_removed
    assert result.iterations[-1].scored_bias == pytest.approx(
        result.predictability[result.kept_rows[result.kept_rows >= 80]].mean()
    )
    assert_partition(result, 120)


def test_score_only_rows_under_every_cutoff_stay(half_easy: Any) -> None:
    features, labels = np.vstack([half_easy.features] * 2), np.append(half_easy.labels, 1 - half_easy.labels)
    result = filter_dataset(
        features,
        labels,
        settings=settings(target_size=21, train_size=20, threshold=0.95, n_partitions=32),
        seed=0,
        score_only=np.arange(120) >= 60,
    )
    # Rows 60 to 89 carry the wrong label: always wrong while there is something to learn, never removed.
    assert np.isin(np.arange(60, 90), result.kept_rows).all()
    assert result.predictability[60:90].max() < 0.95


def test_groups_are_removed_whole(blobs: Any) -> None:
    groups = np.random.default_rng(0).permutation(np.arange(120) // 4)
    result = run(blobs, changes={"remove": "groups", "threshold": 0.6}, groups=groups)
    assert len(result.removed_rows) > 0
    assert not set(groups[result.removed_rows]) & set(groups[result.kept_rows])
    for record in result.iterations[:-1]:
        gone = result.removed_rows[result.removed_in_iteration == record.iteration]
        means = [result.predictability[gone[groups[gone] == group]].mean() for group in set(groups[gone])]
        assert min(means) == pytest.approx(record.cutoff)
        assert min(means) >= 0.6 - 1e-6
        assert record.removed <= 20


def test_group_removal_ends_within_reach_of_the_target() -> None:
    labels = np.arange(100) % 2
    features = np.where(labels == 1, 5.0, -5.0)[:, None]
    result = filter_dataset(
        features,
        labels,
        settings=settings(target_size=55, train_size=40, slice_size=20, remove="groups"),
        seed=0,
        groups=np.arange(100) // 10,
    )
    assert [record.removed for record in result.iterations] == [20, 20, 0]
    assert result.stop_reason is StopReason.TARGET_SIZE
    assert len(result.kept_rows) == 60


def test_score_only_rows_of_a_group_go_together(blobs: Any) -> None:
    score_only = np.arange(120) >= 60
    groups = np.arange(120) % 60 // 3
    changes = {"remove": "groups", "target_size": 40, "train_size": 30, "threshold": 0.5, "slice_size": 9}
    result = run(blobs, changes=changes, groups=groups, score_only=score_only)
    for part in (score_only, ~score_only):
        gone, kept = result.removed_rows[part[result.removed_rows]], result.kept_rows[part[result.kept_rows]]
        assert len(gone) > 0
        assert not set(groups[gone]) & set(groups[kept])


def test_training_sizes_with_groups_are_recorded(blobs: Any) -> None:
    groups = np.repeat(np.arange(12), [1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 18, 19])
    result = run(blobs, groups=groups)
    first = result.iterations[0]
    sizes = [
        len(rows)
        for rows in draw_partitions(np.arange(120), groups, train_size=40, n_partitions=6, seed=0, iteration=0)
    ]
    assert (first.smallest_train_size, first.largest_train_size) == (min(sizes), max(sizes))


def test_a_pool_left_with_groups_that_do_not_fit_is_an_error() -> None:
    # The two groups of 12 predict each other and go at once; the two of 30, where the sign is turned, are left.
    labels, groups = np.arange(84) % 2, np.repeat([0, 1, 2, 3], [12, 12, 30, 30])
    features = (np.where(groups < 2, 1.0, -1.0) * (20.0 * labels - 10.0))[:, None]
    chosen = settings(target_size=50, train_size=20, slice_size=24, threshold=0.9, n_partitions=16)
    message = "`train_size` is 20, but the smallest of the 2 groups in the pool of iteration 1 has 30 rows"
    with pytest.raises(InvalidInputError, match=message):
        filter_dataset(features, labels, settings=chosen, seed=0, groups=groups)
