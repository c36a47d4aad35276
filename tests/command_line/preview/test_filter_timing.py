"""Fits are timed on features of the right shape, and their number is the loop's."""

from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, score_rows
from aflite_assets.command_line.preview import filter_timing
from aflite_assets.command_line.preview.filter_timing import (
    encoder_like_features,
    measure_filter,
    rows_to_measure,
    scored_rows,
)
from aflite_assets.command_line.preview.run_plan import RunPlan, plan_run
from aflite_assets.specs.registry import parse_spec


def _plan(policy: str = "kept", **sizes: float) -> RunPlan:
    spec = parse_spec(
        {
            "name": "planned",
            "source": {"format": "digits"},
            "representations": {"given": {"kind": "identity"}},
            "evaluators": {"linear": {"kind": "linear"}},
            "filter": {"n_partitions": 4, "evaluation_rows": policy, **sizes},
        }
    )
    return plan_run(spec, {"train": 1000, "test": 200}, challenge_rows={}, warmup_rows=0)


def test_features_can_be_predicted_as_those_of_a_trained_encoder() -> None:
    features, labels = encoder_like_features(600, 32, 3, seed=0)
    assert (features.shape, features.dtype) == ((600, 32), np.float32)
    assert np.bincount(labels).tolist() == [200, 200, 200]
    assert np.sqrt((features**2).mean()) == pytest.approx(filter_timing.ROOT_MEAN_SQUARE, rel=0.05)
    settings = FilterSettings(target_size=500, train_size=200, slice_size=10, n_partitions=4)
    assert 0.6 < score_rows(features, labels, settings=settings, seed=0).representation_bias < 0.95


def test_more_classes_than_dimensions_and_one_dimension_are_no_problem() -> None:
    for width, classes in ((2, 5), (1, 2)):
        features, labels = encoder_like_features(60, width, classes, seed=0)
        assert np.isfinite(features).all()
        assert set(labels.tolist()) == set(range(classes))


def test_scored_rows_are_those_of_every_iteration() -> None:
    # Pools of 1000, 800, 600, 500 rows, in the end once more to score what is kept.
    plan = _plan(target_size=500, train_size=100, slice_size=200)
    assert plan.most_iterations == 4
    assert scored_rows(plan) == 1000 + 800 + 600 + 500
    scored = _plan("scored", target_size=500, train_size=100, slice_size=200)
    assert scored_rows(scored) == (1000 + 800 + 600 + 500) * 1200 // 1000


def test_rows_to_measure_keep_to_memory_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan("scored", target_size=500, train_size=100, slice_size=200)
    assert rows_to_measure(plan, 8) == 1200
    monkeypatch.setattr(filter_timing, "MOST_FEATURE_BYTES", 4 * 8 * 1100)
    assert rows_to_measure(plan, 8) == 1100
    monkeypatch.setattr(filter_timing, "MOST_ROWS", 300)
    assert rows_to_measure(plan, 8) == 300


def test_fewer_rows_than_planned_are_measured_with_the_planned_share(monkeypatch: pytest.MonkeyPatch) -> None:
    train_sizes: list[int] = []

    def spied(features: np.ndarray, labels: np.ndarray, *, settings: FilterSettings, **options: Any) -> Any:
        train_sizes.append(settings.train_size)
        return score_rows(features, labels, settings=settings, **options)

    monkeypatch.setattr(filter_timing, "score_rows", spied)
    features, labels = encoder_like_features(400, 8, 2, seed=0)
    settings = FilterSettings(target_size=3500, train_size=200, slice_size=10)
    timing = measure_filter(settings, features, labels, pool_rows=4000, rows_per_group=1)
    assert set(train_sizes) == {20}
    assert timing.rows == 400
    assert 0 < timing.row * 400 * len(train_sizes) < 60


def test_a_training_set_holds_a_group_and_leaves_one() -> None:
    features, labels = encoder_like_features(400, 8, 2, seed=0)
    settings = FilterSettings(target_size=3500, train_size=100, slice_size=10)
    assert measure_filter(settings, features, labels, pool_rows=4000, rows_per_group=50).rows == 400
    settings = FilterSettings(target_size=399, train_size=399, slice_size=10)
    assert measure_filter(settings, features, labels, pool_rows=400, rows_per_group=50).rows == 400
