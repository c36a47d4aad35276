"""The tidy tables of forgettable rows, from the planted weak model."""

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.studies.forgettables.analysis.analysis import (
    AGREEMENT,
    EVENTS,
    FORGETTABLE_CLASSES,
    MINORITIES,
    PHASE_AVERAGES,
    THRESHOLDS,
    WEAK_MODEL_ACCURACIES,
    WEAK_MODELS,
    ForgettableClass,
    WeakModel,
    WeakModelAccuracy,
)
from aflite_assets.studies.forgettables.analysis.records import Agreement, threshold_curve

OF_FORGETTABLES = (
    WEAK_MODELS, WEAK_MODEL_ACCURACIES, FORGETTABLE_CLASSES, EVENTS, AGREEMENT, MINORITIES, THRESHOLDS, PHASE_AVERAGES,
)  # fmt: skip


def test_without_weak_models_there_is_nothing(planted: BenchmarkData) -> None:
    assert [analyse(planted).of(table) for table in OF_FORGETTABLES] == [()] * len(OF_FORGETTABLES)


def test_sizes_classes_events_and_agreement_are_those_given(forgotten: BenchmarkData) -> None:
    analysis = analyse(forgotten)
    assert analysis.of(WEAK_MODELS) == (WeakModel("bow", 1_000, 200, 150, 40, 0.5, 0.9, 0.2),)
    assert analysis.of(WEAK_MODEL_ACCURACIES) == (WeakModelAccuracy("bow", "test", 0.8),)
    assert analysis.of(FORGETTABLE_CLASSES) == (ForgettableClass("bow", "entailment", 500, 120, 75),)
    assert [(one.events, one.rows, one.share) for one in analysis.of(EVENTS)] == [
        ("0", 800, 0.8), ("1", 150, 0.15), ("2", 10, 0.01), ("never_learnt", 40, 0.04),
    ]  # fmt: skip
    assert analysis.of(AGREEMENT) == (Agreement("bow, seed 0", "bow, seed 1", 200, 180, 90, 90 / 290, 0.1),)
    assert analysis.facts.untrained_weak_models == {"lstm": "ModelError: it diverged"}
    assert analysis.facts.weak_models["bow"].taken == 150
    assert analysis.facts.trained_alone == ("net",)


def test_minorities_have_intervals_and_one_draw_of_random_rows(forgotten: BenchmarkData) -> None:
    found = [one for one in analyse(forgotten).of(MINORITIES) if one.measure == "overlap"]
    assert [(one.weak_model, one.set, one.mean) for one in found] == [
        ("", "all", 0.33), ("bow", "random", 0.32), ("bow", "forgettable", 0.25),
    ]  # fmt: skip
    assert (found[2].low, found[2].high) == (pytest.approx(0.2103, abs=1e-4), pytest.approx(0.2897, abs=1e-4))
    (never,) = (one for one in analyse(forgotten).of(MINORITIES) if one.set == "never learnt")
    assert (never.measure, never.group, never.rows, never.mean) == ("cue = x", "all rows", 100, 0.0)
    assert never.low == 0.0
    assert never.high == pytest.approx(0.037, abs=1e-3)  # Wilson's, of 0 of 100


def test_averages_weigh_splits_and_challenge_sets_the_same(forgotten: BenchmarkData) -> None:
    found = {one.evaluator: one for one in analyse(forgotten).of(PHASE_AVERAGES)}
    assert list(found) == ["net", "net_bow", "net_random", "net_loss_5", "net_loss_0_5"]
    in_distribution = 0.8 * 0.6 + 0.5 * 0.4
    assert found["net_bow"].accuracy == pytest.approx((in_distribution + 0.6) / 2, abs=1e-3)
    assert found["net_bow"].seeds_deviation == pytest.approx(0, abs=1e-3)


def test_thresholds_name_the_best_one(forgotten: BenchmarkData) -> None:
    found = analyse(forgotten).of(THRESHOLDS)
    assert len(found) == 101
    assert {(one.evaluator, one.test_set, one.class_name, one.seeds) for one in found} == {
        ("net", "hans", "entailment", 3)
    }
    assert [(one.threshold, one.accuracy) for one in found if one.chosen] == [(0.0, 1.0)]


def test_the_best_threshold_is_the_one_nearest_to_a_half() -> None:
    thresholds = np.linspace(0, 1, 101)
    flat = threshold_curve("net", "hans", "yes", thresholds, np.where(thresholds > 0.2, 0.75, 0.5), 2)
    assert [one.threshold for one in flat if one.chosen] == [0.5]
