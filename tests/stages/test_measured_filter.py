"""Fits are timed on features of the right shape, and their number is the loop's."""

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, score_rows
from aflite_assets.sources.registry import parse_spec
from aflite_assets.stages import measured_filter
from aflite_assets.stages.measured_filter import (
    encoder_like_features,
    held_out_rows,
    measure_filter,
    rows_to_measure,
)
from aflite_assets.stages.plan import RunPlan, plan_run


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
    assert np.sqrt((features**2).mean()) == pytest.approx(measured_filter.ROOT_MEAN_SQUARE, rel=0.05)
    settings = FilterSettings(target_size=500, train_size=200, slice_size=10, n_partitions=4)
    assert 0.6 < score_rows(features, labels, settings=settings, seed=0).representation_bias < 0.95


def test_more_classes_than_dimensions_and_one_dimension_are_no_problem() -> None:
    for width, classes in ((2, 5), (1, 2)):
        features, labels = encoder_like_features(60, width, classes, seed=0)
        assert np.isfinite(features).all()
        assert set(labels.tolist()) == set(range(classes))


def test_held_out_rows_are_those_of_every_partition() -> None:
    # Pools of 1000, 800, 600, 500 rows, in the end once more to score what is kept; 100 of each are trained on.
    plan = _plan(target_size=500, train_size=100, slice_size=200)
    assert plan.most_iterations == 4
    assert held_out_rows(plan) == 4 * (900 + 700 + 500 + 400)
    scored = _plan("scored", target_size=500, train_size=100, slice_size=200)
    assert held_out_rows(scored) == 4 * (900 + 700 + 500 + 400 + 200 * (1000 + 800 + 600 + 500) // 1000)


def test_rows_to_measure_keep_to_memory_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan("scored", target_size=500, train_size=100, slice_size=200)
    assert rows_to_measure(plan, 8) == 1200
    monkeypatch.setattr(measured_filter, "MOST_HELD_OUT", 300)
    assert rows_to_measure(plan, 8) == 400
    monkeypatch.setattr(measured_filter, "MOST_FEATURE_BYTES", 4 * 8 * 200)
    monkeypatch.setattr(measured_filter, "SMALLEST_TRAIN_SIZE", 50)
    assert rows_to_measure(plan, 8) == 200


def test_a_slow_fit_is_extrapolated_from_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_filter, "ENOUGH_SECONDS", 0.0)
    monkeypatch.setattr(measured_filter, "SMALLEST_TRAIN_SIZE", 50)
    features, labels = encoder_like_features(400, 8, 2, seed=0)
    settings = FilterSettings(target_size=350, train_size=200, slice_size=10)
    speed = measure_filter(settings, features, labels, rows_per_group=1)
    assert speed.train_size == 50
    assert 1.0 <= speed.growth <= 2.0
    assert speed.fit > 0
    assert speed.row >= 0


def test_groups_are_never_larger_than_what_is_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_filter, "ENOUGH_SECONDS", 0.001)
    features, labels = encoder_like_features(400, 8, 2, seed=0)
    settings = FilterSettings(target_size=350, train_size=60, slice_size=10)
    assert measure_filter(settings, features, labels, rows_per_group=50).train_size == 60
